"""Why a file is no notebook, and what is needed instead, in words for student and instructor."""

from __future__ import annotations

import json
import re

AGAIN = "the notebook is needed again, saved in Jupyter as an .ipynb file"


class Unreadable(Exception):
    """No grade can be given; the text is one sentence: what is wrong, and what is needed instead."""


_MAGIC = (
    (b"%PDF", "a PDF"),
    (b"PK\x03\x04", "a zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"\xd0\xcf\x11\xe0", "an Office document"),
    (b"\x7fELF", "a program"),
)


def refuse_other_files(data: bytes) -> None:
    """Raise Unreadable where the first bytes are those of another kind of file."""
    kind = next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
    if kind is None and data[257:262] == b"ustar":
        kind = "a tar archive"
    if kind is not None:
        raise Unreadable(f"The file is {kind}, not a notebook; the .ipynb file is needed.")


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
