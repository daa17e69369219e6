"""Outputs leave a large notebook before it is parsed: 200 MB of pictures never become Python objects."""

from __future__ import annotations

import re

MAX_BRACKETS = 2_000_000  #: in outputs; beyond that the text is left as it is

# A quotation mark after a backslash stands inside a string; any other opens or closes one. So this finds keys alone.
_KEY = re.compile(r'(?<!\\)"outputs"\s*:\s*\[')
# Up to the next square bracket that stands outside a string.
_TO_BRACKET = re.compile(r'[^"\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]]*+)*+([\[\]])', re.DOTALL)


def drop_outputs(text: str) -> str:
    """Return the JSON text with every `"outputs": [...]` emptied; in time linear in the text, valid JSON or not."""
    parts = []
    start = budget = 0
    while key := _KEY.search(text, start):
        depth, end = 1, key.end()
        while depth:
            bracket = _TO_BRACKET.match(text, end)
            budget += 1
            if bracket is None or budget > MAX_BRACKETS:  # cut off, or no notebook: the parser says what is wrong
                parts.append(text[start:])
                return "".join(parts)
            depth += 1 if bracket[1] == "[" else -1
            end = bracket.end()
        parts.append(text[start : key.end()])
        parts.append("]")
        start = end
    parts.append(text[start:])
    return "".join(parts)
