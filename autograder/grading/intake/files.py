"""One file that was found: where it lies, how it is opened without following links or waiting, and why it cannot be."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from autograder.grading.reading.kinds import kind_of_name
from autograder.grading.reading.notebook import MAX_BYTES

# Control characters, line separators, and the marks that turn the direction of writing.
TIMESTAMP = "timestamp.txt"  #: says when a notebook in its folder was handed in
_NOTEBOOK = re.compile(r"\.ipynb(\.txt|\.json)?$", re.IGNORECASE)
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_JUNK = {"__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"}


class FileTrouble(Exception):
    """A file cannot be opened; the text is one sentence: what is wrong, and what is needed instead."""


@dataclass(frozen=True, eq=False)
class File:
    """A file that was found.

    Attributes
    ----------
    parts : tuple of str
        Its path below the folder that was searched; an archive counts as a folder.
    modified : float
        Seconds since the epoch; 0 where nobody knows.
    path : Path or None
        Where it lies on disk; None inside an archive.
    trouble : str or None
        Why it cannot be opened, as a sentence.
    archive : str or None
        The zip archive that it was taken out of, to show people.
    is_folder : bool
        Whether it is a folder with the name of a file, so that there is no such file; `trouble` says what lies in it.
    """

    parts: tuple[str, ...]
    modified: float
    path: Path | None
    trouble: str | None
    opener: Callable[[int], bytes]
    archive: str | None = None
    is_folder: bool = False

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def shown(self) -> str:
        """The path to show people."""
        return "/".join(self.parts)

    def read(self, limit: int = MAX_BYTES) -> bytes:
        """The bytes, at most `limit`; FileTrouble where they cannot be had."""
        if self.trouble is not None:
            raise FileTrouble(self.trouble)
        return self.opener(limit)


def called_notebook(name: str) -> bool:
    """Whether a file's name is a notebook's: "01-graph.ipynb", and what browsers make of that."""
    return _NOTEBOOK.search(name) is not None


def stem(name: str) -> str:
    """A notebook's file name without its ending."""
    return _NOTEBOOK.sub("", name)


def open_file(path: Path) -> BinaryIO:
    """Open a regular file that is no link, without waiting for a pipe or a device; FileTrouble where it cannot be."""
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        file = os.fdopen(os.open(path, flags), "rb")
    except OSError as error:
        raise FileTrouble(cannot_open(path.name, error)) from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise FileTrouble(f"{path.name} is no regular file; the .ipynb file is needed.")
    return file


def read_file(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file, at most `limit`. Errors as `File.read`."""
    with open_file(path) as file:
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise FileTrouble(cannot_open(path.name, error)) from None
    if len(data) > limit:
        raise FileTrouble(
            f"{path.name} is larger than {limit >> 20} MB; it is needed again, saved with all outputs cleared."
        )
    return data


def kind_trouble(name: str) -> str | None:
    kind = kind_of_name(name)
    if kind is not None and kind.sort == "archive":
        return f"{name} is an archive of a kind that is not opened here; the .ipynb file, or a zip of it, is needed."
    return None


def troubled(parts: tuple[str, ...], trouble: str) -> File:
    return File(parts, 0.0, None, trouble, lambda limit: b"")


def cannot_open(name: str, error: OSError) -> str:
    if getattr(error, "errno", None) == 40:  # ELOOP: a link where a file was
        return f"{readable(name)} is a link and was not followed; the file itself is needed."
    if isinstance(error, FileNotFoundError):
        return f"{readable(name)} was there a moment ago and is gone; put it back, or grade again."
    return f"{readable(name)} cannot be opened ({error.strerror or error}); see to its permissions, then grade again."


def is_junk(name: str) -> bool:
    return name.startswith(".") or name in _JUNK


def readable(name: str) -> str:
    """A file name that can be printed and written: bytes that are no text, and control characters, become marks."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return name if name.isprintable() else _UNPRINTABLE.sub("\ufffd", name)
