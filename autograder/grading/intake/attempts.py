"""One student's files: which are notebooks of which chapter, and which attempt counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from autograder.grading.course import Chapter
from autograder.grading.intake.archives import File, FileTrouble, read_file
from autograder.grading.intake.recognize import chapter_in_cells, chapter_in_name, names_fully, slug
from autograder.grading.reading.notebook import Reading, Unreadable, read_notebook
from autograder.grading.restore.graft import Restored, restore

MAX_ATTEMPTS = 20  #: the newest so many are looked into
HELD = 16 * 2**20  #: bytes of notebooks that are kept for a second look; others are read again

_NOTEBOOK = re.compile(r"\.ipynb(\.txt|\.json)?$", re.IGNORECASE)
_MAYBE = re.compile(r"(^|/)[^.]*$|\.(json|txt)$", re.IGNORECASE)
OTHER_FORM = re.compile(
    r"\.(py|html?|tar|tgz|gz|bz2|xz|zst|rar|7z)$", re.IGNORECASE
)  #: endings of what people hand in instead
_NUMBER = re.compile(r"(\d+)")


@dataclass(eq=False)
class Attempt:
    """A file that may be a student's notebook of a chapter.

    Attributes
    ----------
    when : float
        Seconds since the epoch: a timestamp beside it, else when the file was changed.
    """

    file: File
    when: float
    data: bytes | None = None
    reading: Reading | None = None
    trouble: str | None = None
    chapter: Chapter | None = None  # the one that it was restored to
    grafted: Restored | None = None

    def read(self) -> bytes | None:
        """The bytes, or None with `trouble` set."""
        if self.data is None and self.trouble is None:
            try:
                self.data = self.file.read()
            except FileTrouble as trouble:
                self.trouble = str(trouble)
        return self.data

    def forget(self) -> None:
        """Free the memory; the file is still there."""
        self.data = self.reading = self.grafted = None

    def parsed(self) -> Reading | None:
        """The notebook, or None where it cannot be read."""
        try:
            return self._parsed()
        except Unreadable:
            return None

    def restored(self, chapter: Chapter) -> Restored:
        """The notebook in its chapter: made once, for ranking as for grading; Unreadable where it cannot be."""
        if self.grafted is None or self.chapter is not chapter:
            self.chapter, self.grafted = chapter, restore(self._parsed(), chapter)
        return self.grafted

    def _parsed(self) -> Reading:
        if self.reading is None:
            if (data := self.read()) is None:
                raise Unreadable(self.trouble or "")
            self.reading = read_notebook(data)
        return self.reading


@dataclass
class Sorted:
    """One student's files by chapter.

    Attributes
    ----------
    attempts : dict
        Chapter to notebooks of it.
    strays : dict
        Chapter to notebooks that lie in its folder and hold another chapter; they count for that one as well.
    troubles : dict
        Chapter, or None where nothing says which, to files that are no notebook but were perhaps meant to be one.
    notebooks : list of File
        All notebooks, of whatever chapter.
    others : dict
        Chapter, or None where nothing says which, to everything else.
    held : int
        Bytes of notebooks in memory.
    """

    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    strays: dict[str, list[Attempt]] = field(default_factory=dict)
    troubles: dict[str | None, list[File]] = field(default_factory=dict)
    notebooks: list[File] = field(default_factory=list)
    others: dict[str | None, list[File]] = field(default_factory=dict)
    held: int = 0


def sort_files(
    files: Iterable[File], chapters: Mapping[str, Chapter], times: Mapping[tuple[str, ...], float] = {}
) -> Sorted:
    """Say of every file of a student what it is; `times` are handing-in times by folder."""
    found = Sorted()
    notebooks = found.notebooks
    for file in files:
        if is_notebook(file):
            notebooks.append(file)
        else:
            kind = found.troubles if file.trouble is not None or OTHER_FORM.search(file.name) else found.others
            kind.setdefault(_named(file, chapters)[2], []).append(file)
    for file in notebooks:
        _place(found, file, chapters, _when(file, times))
    return found


def is_notebook(file: File) -> bool:
    """Whether a file is meant to be a notebook: by its name, or by how it begins where the name says nothing."""
    if _NOTEBOOK.search(file.name):
        return True
    if file.trouble is not None or not _MAYBE.search(file.name):
        return False
    try:
        data = file.read()
    except FileTrouble:
        return False
    return data[:4096].lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and b'"cells"' in data


def may_hold_notebooks(path: Path) -> bool:
    """Whether a file in a student's folder is a notebook or an archive, by its name or by how it begins."""
    if path.name.startswith(".") or not path.is_file():
        return False
    file = File((path.name,), 0.0, path, None, partial(read_file, path))
    return path.suffix.lower() == ".zip" or is_notebook(file)


def stem(name: str) -> str:
    """A notebook's file name without its ending."""
    return _NOTEBOOK.sub("", name)


def _place(found: Sorted, file: File, chapters: Mapping[str, Chapter], when: float) -> None:
    attempt = Attempt(file, when)
    by_folder, by_name, chapter = _named(file, chapters)
    its_folder = any(names_fully(part, by_folder) for part in file.parts[:-1])
    if not (its_folder and names_fully(file.name, by_folder)):  # in nbgrader's own shape the path decides
        chapter = chapter_in_cells(attempt.parsed(), chapters, (by_folder, by_name)) or chapter
        if by_folder is not None and its_folder and chapter != by_folder:
            found.strays.setdefault(by_folder, []).append(attempt)
    if chapter is None:
        found.troubles.setdefault(None, []).append(file)
        return
    found.attempts.setdefault(chapter, []).append(attempt)
    found.held += len(attempt.data or b"")
    if found.held > HELD:
        attempt.forget()


def _named(file: File, chapters: Mapping[str, Chapter]) -> tuple[str | None, str | None, str | None]:
    """The chapter that the nearest folder names, the one that the file names, and which of them to go by."""
    by_folder = next((name for part in reversed(file.parts[:-1]) if (name := chapter_in_name(part, chapters))), None)
    by_name = chapter_in_name(stem(file.name).rpartition(".")[0] or stem(file.name), chapters)
    return by_folder, by_name, by_folder or by_name


def _when(file: File, times: Mapping[tuple[str, ...], float]) -> float:
    for length in range(len(file.parts) - 1, 0, -1):
        if file.parts[:length] in times:
            return times[file.parts[:length]]
    return file.modified


def choose(attempts: list[Attempt], chapter: Chapter) -> tuple[Attempt, int, int]:
    """Which attempt counts: answered beats blank, then the newest, then the last by name.

    Returns
    -------
    tuple
        The attempt, its number among the attempts in order of time, and how many there are. Notebooks that belong to
        another chapter, or cannot be read, are no attempts while there are others.
    """
    ordered = sorted(attempts, key=_age)[-MAX_ATTEMPTS:]
    if len(ordered) == 1:
        return ordered[0], 1, 1
    ranks, held = {}, 0
    for attempt in ordered:
        ranks[id(attempt)] = _rank(attempt, chapter)
        held += len(attempt.data or b"")
        if held > HELD:
            attempt.forget()
    belonging = [attempt for attempt in ordered if ranks[id(attempt)] > 0] or ordered
    chosen = max(belonging, key=lambda attempt: (ranks[id(attempt)], _age(attempt)))
    for attempt in ordered:
        if attempt is not chosen:
            attempt.forget()
    return chosen, belonging.index(chosen) + 1, len(belonging)


def _rank(attempt: Attempt, chapter: Chapter) -> int:
    """2 for a notebook with an answer, 1 for a blank one of this chapter, 0 for any other."""
    try:
        restored = attempt.restored(chapter)
    except Unreadable:
        return 0
    written = restored.answered or any(cell.id not in restored.unanswered for cell in chapter.manual)
    return 2 if written else 1


def _age(attempt: Attempt) -> tuple[float, list[tuple[int, str]], str]:
    pieces = _NUMBER.split(slug(attempt.file.shown))
    return attempt.when, [(int(piece) if piece.isdigit() else -1, piece) for piece in pieces], attempt.file.shown
