"""Find what students handed in: nbgrader's folders, and what people make of them."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from autograder.grading.course import Chapter
from autograder.grading.intake.archives import File, FileTrouble, readable, walk
from autograder.grading.intake.attempts import Attempt, Sorted, choose, sort_files
from autograder.grading.intake.collecting import Collected, CollectError, collect
from autograder.grading.results import Note

__all__ = ["CollectError", "Collected", "Handin", "collect", "find", "parse_timestamp", "strays", "student_folders"]

MAX_SIBLINGS = 50  #: files that are copied along with a notebook
MAX_SIBLING_BYTES = 20 << 20  #: all of them together

Files = tuple[tuple[str, Path], ...]


@dataclass
class Handin:
    """What one student handed in for one chapter.

    Attributes
    ----------
    status : {"found", "missing", "unreadable"}
        "found" says that there are bytes; whether they are a notebook turns out when they are read.
    notebook : Attempt or None
        The notebook file, read and restored as far as ranking needed it.
    path : str
        Where it lies, below the folder of submissions; an archive counts as a folder. "" where nothing was found.
    sha256 : str
        Of the notebook's bytes; "" where nothing was found.
    mark : str
        As sha256, over the files that are copied along as well: what a grade depends on.
    attempt : int
        Its number among the student's attempts, from 1, by time.
    timestamp : datetime or None
        When it was handed in, in UTC without a zone as nbgrader keeps it; None where no timestamp.txt says so.
    files : tuple of (str, Path)
        Files beside the notebook: the name in the work folder (it may hold folders), and where a copy of the file lies.
    """

    student: str
    chapter: str
    status: Literal["found", "missing", "unreadable"]
    notebook: Attempt | None = None
    path: str = ""
    sha256: str = ""
    mark: str = ""
    attempt: int = 1
    timestamp: datetime | None = None
    notes: list[Note] = field(default_factory=list)
    files: Files = ()

    @property
    def data(self) -> bytes | None:
        """The notebook's bytes."""
        return self.notebook.read() if self.notebook is not None else None


def find(
    submitted: Path,
    chapters: Mapping[str, Chapter],
    students: Iterable[str] = (),
    spool: Path | None = None,
    others: Mapping[str, Chapter] = {},
) -> Iterator[Handin]:
    """Every student's hand-in for every chapter, by student: one `Handin` each, "missing" where there is none.

    Parameters
    ----------
    submitted : Path
        nbgrader's shape: submitted/STUDENT/CHAPTER/CHAPTER.ipynb. Inside a student's folder renamed notebooks, zip
        archives and several attempts are found as well. Nothing is written.
    chapters : mapping
        The chapters to look for, by name.
    students : iterable of str
        Students who are known besides those who have a folder.
    spool : Path, optional
        A folder for copies of the files that lie beside a notebook, so that a run gets the bytes that `mark` stands for,
        whatever is done to the files meanwhile. Without it they are not copied along, and a note says so.
    others : mapping, optional
        The course's other chapters, so that a notebook of one of them is not taken for a hand-in of these.

    Raises
    ------
    OSError
        Where `submitted` itself cannot be listed. Nothing below it raises.
    """
    folders = student_folders(submitted)
    for student in sorted({*folders, *students}):
        if student not in folders:
            for chapter in chapters:
                yield _missing(student, chapter, "Nothing was handed in.")
            continue
        folder = folders[student]
        files = _linked(folder) if folder.is_symlink() else list(walk(folder))
        yield from _of_student(student, files, chapters, {**others, **chapters}, spool)


def student_folders(submitted: Path) -> dict[str, Path]:
    """Student to folder; hidden folders and files are no students. OSError where `submitted` cannot be listed.

    A name with bytes that are no text, or with control characters, is changed so that it can be written down.
    """
    folders: dict[str, Path] = {}
    with os.scandir(submitted) as listing:
        entries = sorted((entry for entry in listing if not entry.name.startswith(".")), key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir():
            name = base = readable(entry.name)
            while name in folders:
                name = f"{base}-{len(folders)}"
            folders[name] = Path(entry.path)
    return folders


def strays(submitted: Path) -> list[str]:
    """Names in `submitted` that are no student's folder: files that `autograder collect` would know what to do with."""
    with os.scandir(submitted) as listing:
        return sorted(
            readable(entry.name) for entry in listing if not entry.name.startswith(".") and not entry.is_dir()
        )


def _of_student(
    student: str,
    files: list[File],
    chapters: Mapping[str, Chapter],
    known: Mapping[str, Chapter],
    spool: Path | None,
) -> Iterator[Handin]:
    stamps = {file.parts[:-1]: file for file in files if file.name == "timestamp.txt" and file.path is not None}
    files = [file for file in files if file.name != "timestamp.txt"]
    times, broken = _read_stamps(stamps)
    seconds = {folder: time.replace(tzinfo=UTC).timestamp() for folder, time in times.items()}
    found = sort_files(files, known, seconds)
    for name, chapter in chapters.items():
        attempts = found.attempts.get(name) or found.strays.get(name)
        if attempts:
            beside = [file for file in files if file not in found.notebooks]
            yield _found(student, chapter, attempts, beside, times, broken, spool)
        else:
            yield _nothing(student, name, found)


def _found(
    student: str,
    chapter: Chapter,
    attempts: list[Attempt],
    beside: list[File],
    times: Mapping[tuple[str, ...], datetime],
    broken: set[tuple[str, ...]],
    spool: Path | None,
) -> Handin:
    chosen, number, count = choose(attempts, chapter)
    path = f"{student}/{chosen.file.shown}"
    data = chosen.read()
    if data is None:
        note = Note("unreadable", chosen.trouble or "", needs_person=True)
        return Handin(student, chapter.name, "unreadable", path=path, attempt=number, notes=[note])
    notes = []
    if count > 1:
        text = f"{count} attempts were found; answers go before blanks, then the newest counts: {chosen.file.shown}."
        notes.append(Note("several-attempts", text))
    if chosen.file.parts != (chapter.name, f"{chapter.name}.ipynb"):
        notes.append(Note("found-elsewhere", f"The notebook was found as {chosen.file.shown}."))
    folder = chosen.file.parts[:-1]
    stamp = _nearest(folder, times)
    if stamp is None and _nearest(folder, dict.fromkeys(broken, True)):
        text = "timestamp.txt could not be read, so no late penalty was charged."
        notes.append(Note("timestamp-broken", text))
    siblings, left = _siblings(chosen.file, beside)
    left += len(siblings) if spool is None else 0
    if left:
        text = f"{left} files beside the notebook were not copied along (too many, too large, or not to be opened)."
        notes.append(Note("files-left-out", text, needs_person=True))
    digest = hashlib.sha256(data)
    sha256 = digest.hexdigest()
    for name, contents in siblings:
        digest.update(f"\0{name}\0".encode())
        digest.update(contents)
    return Handin(
        student=student,
        chapter=chapter.name,
        status="found",
        notebook=chosen,
        path=path,
        sha256=sha256,
        mark=digest.hexdigest(),
        attempt=number,
        timestamp=stamp,
        notes=notes,
        files=() if spool is None else tuple((name, _spooled(contents, spool)) for name, contents in siblings),
    )


def _nothing(student: str, chapter: str, found: Sorted) -> Handin:
    """A chapter without a notebook: unreadable where something was meant to be one, else missing."""
    troubled = found.troubles.get(chapter) or ([] if found.attempts else found.troubles.get(None, []))
    if troubled:
        file = troubled[0]
        note = Note("unreadable", _trouble(file, found), needs_person=True)
        return Handin(student, chapter, "unreadable", path=f"{student}/{file.shown}", notes=[note])
    files = found.others.get(chapter) or ([] if found.attempts else found.others.get(None, []))
    if files:
        names = ", ".join(sorted(file.name for file in files)[:5])
        text = f"No notebook was handed in for {chapter}, only {names}; the .ipynb file is needed."
        return _missing(student, chapter, text, needs_person=True)
    return _missing(student, chapter, "Nothing was handed in.")


def _trouble(file: File, found: Sorted) -> str:
    if file.trouble is not None:
        return file.trouble
    if file in found.notebooks:
        return f"{file.name} holds no chapter that is known here; the name of its chapter is needed."
    kind = "a web page" if re.search(r"\.html?$", file.name, re.IGNORECASE) else "a Python script"
    return f"{file.name} is {kind}, not a notebook; the .ipynb file is needed."


def _missing(student: str, chapter: str, text: str, needs_person: bool = False) -> Handin:
    return Handin(student, chapter, "missing", notes=[Note("missing", text, needs_person=needs_person)])


def _linked(folder: Path) -> list[File]:
    text = f"The folder {folder.name} is a link and was not followed; the files themselves are needed there."
    return [File((folder.name,), 0.0, None, text, lambda limit: b"")]


def _siblings(notebook: File, files: list[File]) -> tuple[list[tuple[str, bytes]], int]:
    """The files to copy along, and how many are left out: those in the notebook's folder and, where that is its own, below it."""
    folder = notebook.parts[:-1]
    kept: list[tuple[str, bytes]] = []
    left = size = 0
    for file in files:
        if file.parts[: len(folder)] != folder or (not folder and len(file.parts) > 1) or file.trouble is not None:
            continue
        data = None
        if len(kept) < MAX_SIBLINGS:
            with suppress(FileTrouble):
                data = file.read(MAX_SIBLING_BYTES - size)
        if data is None:
            left += 1
        else:
            size += len(data)
            kept.append(("/".join(file.parts[len(folder) :]), data))
    return kept, left


def _spooled(data: bytes, spool: Path) -> Path:
    """A copy where the engine can read it."""
    handle, name = tempfile.mkstemp(dir=spool)
    with os.fdopen(handle, "wb") as copy:
        copy.write(data)
    return Path(name)


def _nearest(folder: tuple[str, ...], values: Mapping[tuple[str, ...], Any]) -> Any:
    for length in range(len(folder), -1, -1):
        if folder[:length] in values:
            return values[folder[:length]]
    return None


def _read_stamps(
    stamps: Mapping[tuple[str, ...], File],
) -> tuple[dict[tuple[str, ...], datetime], set[tuple[str, ...]]]:
    times, broken = {}, set()
    for folder, file in stamps.items():
        try:
            times[folder] = parse_timestamp(file.read()[:200].decode("utf-8-sig"))
        except (FileTrouble, ValueError, OverflowError):
            broken.add(folder)
    return times, broken


def parse_timestamp(text: str) -> datetime:
    """The time that a timestamp.txt says, in UTC without a zone; ValueError where it says none.

    nbgrader writes "2026-02-03 15:58:23.948203 UTC" or a zone's name at the end; ISO 8601 is read as well. A time
    without a zone is UTC, as nbgrader takes it.
    """
    text = text.strip().strip("\0")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        bare, _, zone = text.rpartition(" ")
        moment = datetime.fromisoformat(bare)
        if re.fullmatch(r"[+-]\d{4}", zone):
            moment = datetime.fromisoformat(f"{bare}{zone}")
        elif zone not in ("UTC", "GMT", "Z"):
            try:
                moment = moment.replace(tzinfo=ZoneInfo(zone))
            except (OSError, KeyError, ValueError):
                raise ValueError(f"there is no time zone {zone!r}") from None
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo is not None else moment
