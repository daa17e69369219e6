"""An answer pasted from a web page or a chat comes between Markdown fences, sometimes with the prose around it."""

from __future__ import annotations

import re

from autograder.grading.restore.definitions import Definitions

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*[\w{}.+-]*[ \t]*$")


def without_fences(source: str, definitions: Definitions) -> str | None:
    """The code, with the fences and whatever stands outside them made comments, so that lines keep their numbers.

    Returns
    -------
    str or None
        None where the cell has no fences, is Python as it is (a docstring may hold fences), or is none without them.
    """
    if "```" not in source and "~~~" not in source:
        return None
    lines = source.split("\n")
    fences = [bool(_FENCE.match(line)) for line in lines]
    if not any(fences) or definitions.tree(source) is not None:
        return None
    inside, outside = False, []
    for fence in fences:
        inside ^= fence
        outside.append(fence or not inside)
    for taken in (fences, outside):  # a fence that was left alone, then whole blocks with prose around them
        text = "\n".join(
            f"# {line}".rstrip() if take and line.strip() else line for line, take in zip(lines, taken, strict=True)
        )
        tree = definitions.tree(text)
        if tree is not None and tree.body:
            return text
    return None
