"""What a file is instead of a notebook: one table, by the ending of its name and by the bytes that it begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: "form": the notebook in another form, such as the script that Jupyter saves; "archive": of a kind that is not opened
#: here; "document": what students hand in where a notebook is asked; "other": anything else with a name of its own.
Sort = Literal["form", "archive", "document", "other"]


@dataclass(frozen=True)
class Kind:
    """One kind of file.

    Attributes
    ----------
    words : str
        As it stands in a sentence: "a PDF".
    sort : {"form", "archive", "document", "other"}
    endings : tuple of str
        In lower case, with their dots.
    beginnings : tuple of bytes
    """

    words: str
    sort: Sort
    endings: tuple[str, ...] = ()
    beginnings: tuple[bytes, ...] = ()


ZIP = (b"PK\x03\x04", b"PK\x05\x06")  #: how a zip begins, whatever it is called
KINDS = (
    Kind("a Python script", "form", (".py",)),
    Kind("a web page", "form", (".html", ".htm")),
    Kind("a PDF", "document", (".pdf",), (b"%PDF",)),
    Kind("a Word document", "document", (".doc", ".docx")),
    Kind("an Office document", "document", (), (b"\xd0\xcf\x11\xe0",)),
    Kind("a text document", "document", (".odt", ".rtf", ".pages")),
    Kind("a text file", "other", (".txt", ".md")),
    Kind("a picture", "other", (".png", ".jpg", ".jpeg", ".heic"), (b"\x89PNG", b"\xff\xd8\xff")),
    Kind("a program", "other", (), (b"\x7fELF",)),
    Kind("a zip archive", "other", (".zip",), ZIP),
    Kind("a RAR archive", "archive", (".rar",), (b"Rar!",)),
    Kind("a 7z archive", "archive", (".7z",), (b"7z\xbc\xaf",)),
    Kind("a gzip archive", "archive", (".gz", ".tgz"), (b"\x1f\x8b",)),
    Kind("a bzip2 archive", "archive", (".bz2",), (b"BZh",)),
    Kind("an xz archive", "archive", (".xz",), (b"\xfd7zXZ",)),
    Kind("a zstandard archive", "archive", (".zst",), (b"\x28\xb5\x2f\xfd",)),
    Kind("a tar archive", "archive", (".tar",)),
)
_BY_ENDING = {ending: kind for kind in KINDS for ending in kind.endings}
_BY_BEGINNING = {beginning: kind for kind in KINDS for beginning in kind.beginnings}
_TAR = _BY_ENDING[".tar"]


def kind_of_name(name: str) -> Kind | None:
    """The kind that a file's name says; None for a notebook's, and for what is not in the table."""
    return _BY_ENDING.get(f".{name.lower().rpartition('.')[2]}") if "." in name else None


def kind_of_bytes(data: bytes) -> Kind | None:
    """The kind whose files begin so."""
    if data[257:262] == b"ustar":
        return _TAR
    return next((kind for beginning, kind in _BY_BEGINNING.items() if data.startswith(beginning)), None)


def no_notebook(name: str) -> str:
    """What a file is instead of a notebook, as its name says, and what to do: one sentence."""
    kind = kind_of_name(name)
    return f"{name} is {f'{kind.words}, ' if kind is not None else ''}not a notebook; the .ipynb file is needed."
