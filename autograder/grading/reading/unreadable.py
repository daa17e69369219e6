"""Why a file is no notebook, and what is needed instead, in words for student and instructor."""

from __future__ import annotations

import json
import re

from autograder.grading.reading.kinds import kind_of_bytes

AGAIN = "the notebook is needed again, saved in Jupyter as an .ipynb file"


class Unreadable(Exception):
    """No grade can be given; the text is one sentence: what is wrong, and what is needed instead."""


def refuse_other_files(data: bytes) -> None:
    """Raise Unreadable where the first bytes are those of another kind of file."""
    kind = kind_of_bytes(data)
    if kind is not None:
        raise Unreadable(f"The file is {kind.words}, not a notebook; the .ipynb file is needed.")


_CONFLICT = re.compile(r"^(<<<<<<<|>>>>>>>) ?", re.MULTILINE)
_PYTHON = re.compile(r"^(# %%|#!|import \w|from \w[\w.]* import |def \w+\(|class \w+[(:]|\"\"\")", re.MULTILINE)


def why_not_json(text: str, error: json.JSONDecodeError) -> str:
    """The sentence for a text that does not parse."""
    if _CONFLICT.search(text):
        line = text.count("\n", 0, _CONFLICT.search(text).start()) + 1  # type: ignore[union-attr]
        return (
            f"The file holds conflict marks of a merge (line {line:,}); the notebook is needed again, "
            "with the conflict resolved."
        )
    if re.match(r"\s*(<\?xml|<!doctype|<html|<!--|<head|<body)", text, re.IGNORECASE):
        return (
            "The file is a web page, not a notebook (a page that shows a notebook was saved); "
            "the .ipynb file itself is needed."
        )
    if not text.startswith(("{", "[", '"')):
        if _PYTHON.search(text):
            return "The file is a Python script, not a notebook; the .ipynb file is needed."
        return f"The file is plain text, not a notebook; {AGAIN}."
    if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string"):
        return f"The file is cut off after {len(text):,} characters, as after a broken upload; {AGAIN}."
    return f"The file is broken at line {error.lineno:,} ({error.msg[:60]}); {AGAIN}."
