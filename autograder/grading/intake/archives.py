"""Every file below a folder, zip archives opened like folders. No link is followed, and nothing is unpacked on disk."""

from __future__ import annotations

import io
import os
import stat
import struct
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from autograder.grading.intake.files import (
    TIMESTAMP,
    File,
    FileTrouble,
    called_notebook,
    cannot_open,
    is_junk,
    kind_trouble,
    open_file,
    read_file,
    readable,
    stem,
    troubled,
)
from autograder.grading.reading.kinds import ZIP
from autograder.grading.reading.notebook import MAX_BYTES

MAX_DEPTH = 10  #: folders in folders, archives counted
MAX_FILES = 5_000  #: in one student's folder, or in one archive
MAX_UNPACKED = 512 << 20  #: bytes that one archive may hold, archives inside it included
CLASS_FILES, CLASS_UNPACKED = 200_000, 64 << 30  #: the same for an archive that holds a whole class
MAX_NESTED = 3  #: archives in archives
_MAX_DIRECTORY = 8 << 20  #: bytes of a zip's list of contents


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
    """How many files and bytes may still come: of one student's folder, of one archive, or of a whole class.

    Archives in an archive take from the same budget, so that a zip of zips cannot multiply.
    """

    def __init__(self, whole_class: bool = False) -> None:
        self.whole_class = whole_class
        self.files = CLASS_FILES if whole_class else MAX_FILES
        self.bytes = CLASS_UNPACKED if whole_class else MAX_UNPACKED

    def nested(self) -> _Budget:
        """The budget of an archive inside an archive: in a whole class's it is one student's, with a student's limits."""
        return _Budget() if self.whole_class else self


def _folder(folder: Path, parts: tuple[str, ...], budget: _Budget) -> Iterator[File]:
    if len(parts) > MAX_DEPTH:
        yield troubled(parts, f"The folder {'/'.join(parts)[:80]} is nested too deeply; look into it by hand.")
        return
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        yield troubled(parts or (folder.name,), cannot_open(folder.name, error))
        return
    for entry in entries:
        here = (*parts, readable(entry.name))
        if is_junk(entry.name):
            continue
        budget.files -= 1
        if budget.files < 0:
            yield troubled(here, f"There are more than {MAX_FILES:,} files; look into the folder by hand.")
            return
        path = Path(entry.path)
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError as error:
            yield troubled(here, cannot_open(here[-1], error))
            continue
        if stat.S_ISLNK(info.st_mode):
            yield troubled(here, f"{here[-1]} is a link and was not followed; the file itself is needed.")
        elif stat.S_ISDIR(info.st_mode):
            inside = _folder(path, here, budget)
            yield from _instead_of_a_file(here, inside) if _is_meant_as_a_file(here[-1]) else inside
        elif not stat.S_ISREG(info.st_mode):
            yield troubled(here, f"{here[-1]} is no regular file; the .ipynb file is needed.")
        elif here[-1].lower().endswith(".zip"):
            yield from _zip(here, partial(open_file, path), _Budget(budget.whole_class), 1)
        elif called_notebook(here[-1]) and _begins_as_zip(partial(open_file, path)):
            yield from _instead_of_a_notebook(here, partial(open_file, path), _Budget(budget.whole_class), 1)
        else:
            yield File(here, info.st_mtime, path, kind_trouble(here[-1]), partial(read_file, path))


def _zip(
    parts: tuple[str, ...], opener: Callable[[], BinaryIO], budget: _Budget, nested: int, strip: int = 0
) -> Iterator[File]:
    """The files in a zip archive; `strip` parts of its own name are left out of theirs."""
    name = parts[-1]
    if nested > MAX_NESTED:
        yield troubled(parts, f"{name} is an archive in archives; the .ipynb file is needed.")
        return
    try:
        archive = _open_zip(opener(), name, budget)
    except FileTrouble as reason:
        yield troubled(parts, str(reason))
        return
    folder = (*parts[:-1], stem(name[:-4] if name.lower().endswith(".zip") else name))[strip:]
    for info in sorted(archive.infolist(), key=lambda info: info.filename):
        inner = PurePosixPath(info.filename.replace("\\", "/"))
        if info.is_dir() or any(is_junk(part) for part in inner.parts if part != ".."):
            continue
        here = (*folder, *(readable(part) for part in inner.parts))
        trouble = _member_trouble(info, inner, name)
        if trouble is None and len(here) > MAX_DEPTH + 5:
            trouble = f"{here[-1]} lies too deep in the archive {name}; the .ipynb file itself is needed."
        if trouble is not None:
            yield troubled((*folder, here[-1] if here else name), trouble)
            continue
        opened, when = partial(_member_file, archive, info, budget), _zip_time(info)
        if here[-1].lower().endswith(".zip"):
            yield from _zip(here, opened, budget.nested(), nested + 1)
        elif called_notebook(here[-1]) and _begins_as_zip(partial(archive.open, info)):
            yield from _instead_of_a_notebook(here, opened, budget.nested(), nested + 1)
        else:
            member = partial(_member, archive, info, budget)
            yield File(here, when, None, kind_trouble(here[-1]), member, "/".join(parts))


def _begins_as_zip(opener: Callable[[], IO[bytes]]) -> bool:
    """Whether what is called a notebook is a zip archive: some browsers and people rename a download so."""
    try:
        with opener() as file:
            return file.read(4) in ZIP
    except Exception:  # whoever reads it whole will say what is wrong
        return False


def _instead_of_a_notebook(
    parts: tuple[str, ...], opener: Callable[[], BinaryIO], budget: _Budget, nested: int
) -> Iterator[File]:
    """The files of an archive that is called a notebook; a trouble where none of them is one."""
    files = list(_zip(parts, opener, budget, nested))
    if any(called_notebook(file.name) for file in files):
        yield from files
        return
    names = ", ".join(sorted(file.name for file in files)[:3])
    held = f"holds no notebook, only {names}" if names else "holds nothing"
    yield troubled(parts, f"{parts[-1]} is a zip archive that {held}; the .ipynb file is needed.")


def _is_meant_as_a_file(name: str) -> bool:
    return called_notebook(name) or name == TIMESTAMP


def _instead_of_a_file(parts: tuple[str, ...], files: Iterable[File]) -> Iterator[File]:
    """What lies in a folder that has the name of a notebook, or of a timestamp; a trouble where it holds none."""
    inside = list(files)
    if not any(_is_meant_as_a_file(file.name) for file in inside):
        names = ", ".join(file.name for file in inside[:3])
        held = f"that holds only {names}" if names else "that holds nothing"
        yield replace(troubled(parts, f"{parts[-1]} is a folder {held}; the file itself is needed."), is_folder=True)
    yield from inside


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
