"""Every file below a folder, zip archives opened like folders. No link is followed, and nothing is unpacked on disk."""

from __future__ import annotations

import io
import os
import re
import stat
import struct
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from autograder.grading.reading.kinds import kind_of_name
from autograder.grading.reading.notebook import MAX_BYTES

MAX_DEPTH = 10  #: folders in folders, archives counted
MAX_FILES = 5_000  #: in one student's folder, or in one archive
MAX_UNPACKED = 512 << 20  #: bytes that one archive may hold, archives inside it included
CLASS_FILES, CLASS_UNPACKED = 200_000, 64 << 30  #: the same for an archive that holds a whole class
MAX_NESTED = 3  #: archives in archives
_MAX_DIRECTORY = 8 << 20  #: bytes of a zip's list of contents
# Control characters, line separators, and the marks that turn the direction of writing.
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
    """

    parts: tuple[str, ...]
    modified: float
    path: Path | None
    trouble: str | None
    opener: Callable[[int], bytes]

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


def open_file(path: Path) -> BinaryIO:
    """Open a regular file that is no link, without waiting for a pipe or a device; FileTrouble where it cannot be."""
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    try:
        file = os.fdopen(os.open(path, flags), "rb")
    except OSError as error:
        raise FileTrouble(_cannot_open(path.name, error)) from None
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
            raise FileTrouble(_cannot_open(path.name, error)) from None
    if len(data) > limit:
        raise FileTrouble(
            f"{path.name} is larger than {limit >> 20} MB; it is needed again, saved with all outputs cleared."
        )
    return data


def walk(root: Path, whole_class: bool = False) -> Iterator[File]:
    """Every file below a folder, in order of names; hidden files and what tools leave behind are passed over.

    Links, archives of a kind that is not opened here, and archives that are unsafe to open come as files with a
    trouble. Never raises: a folder that cannot be listed is such a file too.

    Parameters
    ----------
    root : Path
    whole_class : bool
        Whether it holds many students' files, so that larger limits hold.
    """
    yield from _folder(root, (), _Budget(whole_class))


def walk_archive(path: Path) -> Iterator[File]:
    """Every file in a zip archive that holds a whole class, as `walk`."""
    yield from _zip((path.name,), lambda: open_file(path), _Budget(True), 1, strip=1)


class _Budget:
    """What may still be opened."""

    def __init__(self, whole_class: bool = False) -> None:
        self.whole_class = whole_class
        self.files = CLASS_FILES if whole_class else MAX_FILES
        self.bytes = CLASS_UNPACKED if whole_class else MAX_UNPACKED

    def nested(self) -> _Budget:
        """For an archive inside: a student's own in a class, shared otherwise."""
        return _Budget() if self.whole_class else self


def _folder(folder: Path, parts: tuple[str, ...], budget: _Budget) -> Iterator[File]:
    if len(parts) > MAX_DEPTH:
        yield _troubled(parts, f"The folder {'/'.join(parts)[:80]} is nested too deeply; look into it by hand.")
        return
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        yield _troubled(parts or (folder.name,), _cannot_open(folder.name, error))
        return
    for entry in entries:
        here = (*parts, readable(entry.name))
        if _is_junk(entry.name):
            continue
        budget.files -= 1
        if budget.files < 0:
            yield _troubled(here, f"There are more than {MAX_FILES:,} files; look into the folder by hand.")
            return
        path = Path(entry.path)
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError as error:
            yield _troubled(here, _cannot_open(here[-1], error))
            continue
        if stat.S_ISLNK(info.st_mode):
            yield _troubled(here, f"{here[-1]} is a link and was not followed; the file itself is needed.")
        elif stat.S_ISDIR(info.st_mode):
            yield from _folder(path, here, budget)
        elif not stat.S_ISREG(info.st_mode):
            yield _troubled(here, f"{here[-1]} is no regular file; the .ipynb file is needed.")
        elif here[-1].lower().endswith(".zip"):
            yield from _zip(here, partial(open_file, path), _Budget(budget.whole_class), 1)
        else:
            yield File(here, info.st_mtime, path, _kind_trouble(here[-1]), partial(read_file, path))


def _zip(
    parts: tuple[str, ...], opener: Callable[[], BinaryIO], budget: _Budget, nested: int, strip: int = 0
) -> Iterator[File]:
    """The files in a zip archive; `strip` parts of its own name are left out of theirs."""
    name = parts[-1]
    if nested > MAX_NESTED:
        yield _troubled(parts, f"{name} is an archive in archives; the .ipynb file is needed.")
        return
    try:
        archive = _open_zip(opener(), name, budget)
    except FileTrouble as reason:
        yield _troubled(parts, str(reason))
        return
    folder = (*parts[:-1], name[:-4] if name.lower().endswith(".zip") else name)[strip:]
    for info in sorted(archive.infolist(), key=lambda info: info.filename):
        inner = PurePosixPath(info.filename.replace("\\", "/"))
        if info.is_dir() or any(_is_junk(part) for part in inner.parts if part != ".."):
            continue
        here = (*folder, *(readable(part) for part in inner.parts))
        trouble = _member_trouble(info, inner, name)
        if trouble is None and len(here) > MAX_DEPTH + 5:
            trouble = f"{here[-1]} lies too deep in the archive {name}; the .ipynb file itself is needed."
        if trouble is not None:
            yield _troubled((*folder, here[-1] if here else name), trouble)
        elif here[-1].lower().endswith(".zip"):
            yield from _zip(here, partial(_member_file, archive, info, budget), budget.nested(), nested + 1)
        else:
            yield File(here, _zip_time(info), None, _kind_trouble(here[-1]), partial(_member, archive, info, budget))


def _open_zip(file: BinaryIO, name: str, budget: _Budget) -> zipfile.ZipFile:
    try:
        size = file.seek(0, io.SEEK_END)
        if size:
            _refuse_large_directory(file, size)
            archive = zipfile.ZipFile(file)
            files = [info for info in archive.infolist() if not info.is_dir()]
    except FileTrouble:
        raise
    except Exception:  # zipfile raises a dozen kinds of error for damaged archives
        raise FileTrouble(f"The archive {name} is damaged; the .ipynb file itself is needed.") from None
    if not size:
        raise FileTrouble(f"{name} is an empty file; it is needed again.")
    if len(files) > budget.files or sum(info.file_size for info in files) > budget.bytes:
        raise FileTrouble(
            f"The archive {name} holds more than {budget.files:,} files or {budget.bytes >> 20:,} MB: not opened; "
            "the .ipynb file itself is needed."
        )
    budget.files -= len(files)
    return archive


def _member_file(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: _Budget) -> BinaryIO:
    return io.BytesIO(_member(archive, info, budget, MAX_BYTES))


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: _Budget, limit: int) -> bytes:
    limit = min(limit, budget.bytes)
    try:
        with archive.open(info) as file:
            data = file.read(limit + 1)
    except Exception:  # as above
        raise FileTrouble(
            f"{info.filename[:80]!r} cannot be taken out of its archive; the .ipynb file itself is needed."
        ) from None
    if len(data) > limit:
        raise FileTrouble(f"{info.filename[:80]!r} is too large; it is needed again, saved with all outputs cleared.")
    budget.bytes -= len(data)
    return data


def _member_trouble(info: zipfile.ZipInfo, inner: PurePosixPath, name: str) -> str | None:
    if inner.is_absolute() or ".." in inner.parts or not inner.parts or inner.parts[0][1:2] == ":":
        return f"The archive {name} holds a file with an unsafe path; the .ipynb file itself is needed."
    if stat.S_ISLNK(info.external_attr >> 16):
        return f"The archive {name} holds a link; the file itself is needed."
    if info.flag_bits & 1:
        return f"The archive {name} is locked with a password; the .ipynb file itself is needed."
    return None


def _refuse_large_directory(file: BinaryIO, size: int) -> None:
    """Refuse a zip whose list of contents alone would fill the memory: its size stands at the archive's end."""
    file.seek(max(0, size - 66_000))
    tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or end + 22 > len(tail):
        return  # zipfile says that it is no archive
    listed: int = struct.unpack_from("<I", tail, end + 12)[0]
    wide = tail.rfind(b"PK\x06\x06", max(0, end - 1_000), end)
    if wide >= 0 and wide + 48 <= len(tail):
        listed = struct.unpack_from("<Q", tail, wide + 40)[0]
    if listed > _MAX_DIRECTORY:
        raise FileTrouble("The archive lists more files than any hand-in has; the .ipynb file itself is needed.")


def _zip_time(info: zipfile.ZipInfo) -> float:
    try:
        return time.mktime((*info.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        return 0.0


def _kind_trouble(name: str) -> str | None:
    kind = kind_of_name(name)
    if kind is not None and kind.sort == "archive":
        return f"{name} is an archive of a kind that is not opened here; the .ipynb file, or a zip of it, is needed."
    return None


def _troubled(parts: tuple[str, ...], trouble: str) -> File:
    return File(parts, 0.0, None, trouble, lambda limit: b"")


def _cannot_open(name: str, error: OSError) -> str:
    if getattr(error, "errno", None) == 40:  # ELOOP: a link where a file was
        return f"{readable(name)} is a link and was not followed; the file itself is needed."
    if isinstance(error, FileNotFoundError):
        return f"{readable(name)} was there a moment ago and is gone; put it back, or grade again."
    return f"{readable(name)} cannot be opened ({error.strerror or error}); see to its permissions, then grade again."


def _is_junk(name: str) -> bool:
    return name.startswith(".") or name in _JUNK


def readable(name: str) -> str:
    """A file name that can be printed and written: bytes that are no text, and control characters, become marks."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return name if name.isprintable() else _UNPRINTABLE.sub("\ufffd", name)
