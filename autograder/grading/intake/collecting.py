"""`autograder collect`: from what a learning platform or a colleague sends to nbgrader's folders.

Reads a folder or a zip of: students' folders, notebooks named by student, Moodle's and Canvas's bulk downloads,
nbgrader's inbound folder, archives in any of these. The source is only read; in the target nothing is overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.course import Chapter
from autograder.grading.intake.archives import walk, walk_archive
from autograder.grading.intake.attempts import Attempt, choose, is_notebook, was_meant
from autograder.grading.intake.copying import write_new
from autograder.grading.intake.files import File, FileTrouble
from autograder.grading.intake.paths import Item, read_paths, safe_name
from autograder.grading.intake.recognize import chapter_in_cells
from autograder.grading.reading.kinds import kind_of_name, no_notebook
from autograder.grading.reading.notebook import MAX_BYTES

MAX_COMPANIONS = 50  #: files that are copied beside a notebook, or of a student who handed in none
MAX_UNUSABLE_BYTES = 20 << 20  #: all files together of a student who handed in no notebook


class CollectError(Exception):
    """Nothing can be collected; the text is one sentence."""


@dataclass(frozen=True)
class Collected:
    """What became of one file.

    Attributes
    ----------
    source : str
        Where it came from, below the source; an archive counts as a folder.
    student, chapter : str or None
        None where nothing says it.
    target : str or None
        Where it went, below the target; None where it was not copied.
    why : str
        In words.
    notebook : bool
        Whether it is meant to be one.
    along : bool
        Whether it is a file that a notebook may need, and was copied with one.
    """

    source: str
    student: str | None
    chapter: str | None
    target: str | None
    why: str
    notebook: bool = True
    along: bool = False

    @property
    def settled(self) -> bool:
        """Whether it lies in its chapter's folder now, a notebook or with one, so that nobody has to look."""
        return (self.notebook or self.along) and self.chapter is not None and self.target is not None


def collect(source: Path, submitted: Path, chapters: Mapping[str, Chapter]) -> list[Collected]:
    """Copy hand-ins into nbgrader's shape: submitted/STUDENT/CHAPTER/CHAPTER.ipynb.

    Of several attempts the one that `grade` would choose is copied. Where the target holds another notebook already,
    the new one is put beside it as a further attempt.

    Returns
    -------
    list of Collected
        One row per file. Of a student's further files beyond `MAX_COMPANIONS` one row tells how many there are; what
        tools leave behind has none.

    Raises
    ------
    CollectError
        The source is not there, or is neither a folder nor a zip; or the target cannot be written.
    """
    items = read_paths(_files(source, submitted), list(chapters))
    collection = _Collection(submitted, chapters, items)
    try:
        return collection.rows()
    except OSError as error:
        raise CollectError(f"{error.filename or submitted} cannot be written: {error.strerror or error}.") from None


def _files(source: Path, submitted: Path) -> list[File]:
    if source.is_dir():
        target = submitted.resolve()
        return [
            file
            for file in walk(source, whole_class=True)
            if file.path is None or not file.path.resolve().is_relative_to(target)
        ]
    if source.is_file() and source.suffix.lower() == ".zip":
        return list(walk_archive(source))
    if source.exists():
        raise CollectError(f"{source} is neither a folder nor a zip archive: unpack it first.")
    raise CollectError(f"{source} is not there.")


class _Collection:
    """Copies what was found, student by student, and keeps one row for every file.

    Attributes
    ----------
    groups : dict
        (student, chapter) to the notebooks for it, and what was meant to be one.
    homeless : list of Item
        The same, where nothing says whose it is or of which chapter.
    others : dict
        Student to files that are no notebooks, and with which nothing is wrong.
    done : dict
        File to its row; to None where another file's row speaks of it as well.
    served : set
        (student, chapter) for which there is a notebook; `authors` are the students of any.
    flat : set
        Folders in which notebooks of several students lie, told apart by their names alone.
    """

    def __init__(self, submitted: Path, chapters: Mapping[str, Chapter], items: list[Item]) -> None:
        self.submitted, self.chapters, self.items = submitted, chapters, items
        self.groups: dict[tuple[str, str], list[Item]] = {}
        self.homeless: list[Item] = []
        self.others: dict[str | None, list[Item]] = {}
        self.done: dict[File, Collected | None] = {}
        for item in items:
            self._sort(item)
        notebooks = [item for item in items if item.attempt is not None]
        self.served = {(item.student, item.chapter) for item in notebooks}
        self.authors = {item.student for item in notebooks}
        self.flat = {item.file.parts[:-1] for item in notebooks if not item.certain}

    def rows(self) -> list[Collected]:
        """Copy, and say what was done."""
        for (_, chapter), group in sorted(self.groups.items(), key=lambda pair: pair[0]):
            self._group(group, self.chapters[chapter])
        for item in self.homeless:
            if item.file not in self.done:
                self._homeless(item)
        for items in self.others.values():
            self._others([item for item in items if item.file not in self.done])
        return [row for item in self.items if (row := self.done[item.file]) is not None]

    def _sort(self, item: Item) -> None:
        item.chapter = item.named
        if is_notebook(item.file):
            item.attempt = Attempt(item.file, item.file.modified)
            if not item.sure:
                item.chapter = chapter_in_cells(item.attempt.parsed(), self.chapters, (item.named,)) or item.named
            item.attempt.forget()  # a class does not fit into memory
        elif item.file.trouble is None:
            self.others.setdefault(item.student, []).append(item)
            if not was_meant(item.file.name):
                return
        if item.student is None or item.chapter is None:
            self.homeless.append(item)
        else:
            self.groups.setdefault((item.student, item.chapter), []).append(item)

    def _group(self, group: list[Item], chapter: Chapter) -> None:
        """One student's files for one chapter: the attempt that counts, and what lies with it."""
        folder = self.submitted / (group[0].student or "") / chapter.name
        attempts = [item.attempt for item in group if item.attempt is not None]
        if not attempts:
            for item in group:
                self._copy(item, folder, item.file.name, _no_notebook(item.file))
            return
        chosen, _, count = choose(attempts, chapter)
        chosen.forget()
        (item,) = (item for item in group if item.attempt is chosen)
        why = "The chapter is in its path." if item.named == chapter.name else "Its cells are this chapter's."
        if count > 1:
            why += f" Of {count} attempts it is the newest with answers."
        self._copy(item, folder, f"{chapter.name}.ipynb", why)
        if item.stamp is not None:
            write_new(folder / "timestamp.txt", f"{item.stamp}\n".encode(), item.file.modified)
        self._along(item, folder)
        for other in group:
            if other.file not in self.done:
                why = "Another attempt counts." if other.attempt is not None else "There is a notebook as well."
                self._say(other, why)

    def _along(self, notebook: Item, folder: Path) -> None:
        """Copy what lies in the notebook's folder and below it, unless that is for another chapter."""
        around = notebook.file.parts[:-1]
        companions = [
            item
            for item in self.others.get(notebook.student, [])
            if around
            and item.file.parts[: len(around)] == around
            and item.named in (None, notebook.named, notebook.chapter)
        ]
        for item in companions[:MAX_COMPANIONS]:
            item.chapter = notebook.chapter
            *inner, name = item.file.parts[len(around) :]
            self._copy(item, folder.joinpath(*inner), name, "It lies with the notebook.", along=True)
        self._say_once(companions[MAX_COMPANIONS:], f"{MAX_COMPANIONS} are enough beside a notebook.")

    def _homeless(self, item: Item) -> None:
        if item.student is None:
            self._say(item, "Nothing in its path names a student.")
            return
        why = "Neither its name nor its cells name a chapter; grading will say what is needed."
        if item.attempt is None:
            why = _no_notebook(item.file)
        self._copy(item, self.submitted / item.student, item.file.name, why)

    def _others(self, items: list[Item]) -> None:
        """What lies with no notebook: carried over where there is none, so that `grade` knows the student and the files."""
        wanted: list[Item] = []
        for item in items:
            if not self._knows(item):
                item.student = None
                self._say(item, f"{_no_notebook(item.file)} Not copied: nothing but its own name says whose it is.")
            elif item.file.name == "timestamp.txt":
                self._say(item, "Not copied: no notebook lies with it.")
            elif (item.student, item.chapter) in self.served or (item.chapter is None and item.student in self.authors):
                self._say(item, "Not copied: there is a notebook, and this file lies elsewhere.")
            else:
                wanted.append(item)
        size = 0
        for item in wanted[:MAX_COMPANIONS]:
            home = self.submitted / (item.student or "") / (item.chapter or "")
            home.mkdir(parents=True, exist_ok=True)  # also where nothing can be copied: `grade` is to know the student
            row = self._copy(item, home, item.file.name, _no_notebook(item.file), room=MAX_UNUSABLE_BYTES - size)
            size += (self.submitted / row.target).stat().st_size if row.target else 0
        self._say_once(wanted[MAX_COMPANIONS:], f"{MAX_COMPANIONS} are enough without a notebook.")

    def _knows(self, item: Item) -> bool:
        """Whether the student of a file is one: a folder, the platform or a notebook says so, or a document's place."""
        if item.certain or item.student in self.authors:
            return item.student is not None
        kind = kind_of_name(item.file.name)
        is_document = kind is not None and kind.sort == "document"
        return item.student is not None and is_document and item.file.parts[:-1] in self.flat

    def _copy(
        self, item: Item, folder: Path, name: str, why: str, *, along: bool = False, room: int = MAX_BYTES
    ) -> Collected:
        file = item.file
        try:
            data = file.opener(MAX_BYTES) if file.trouble is not None and file.path is not None else file.read()
        except FileTrouble as trouble:
            return self._say(item, str(trouble))
        if len(data) > room:
            return self._say(item, f"{why} Not copied: all files together exceed {MAX_UNUSABLE_BYTES >> 20} MB.")
        # Answers open the files beside them by name, so those keep theirs.
        name = name if along else safe_name(name)
        target, new = write_new(folder / name, data, file.modified)
        if not new:
            why = "It is there already."
        elif target.name != name:
            why += " Another file of that name is there already, so it stands beside it."
        return self._say(item, why, target.relative_to(self.submitted).as_posix(), along)

    def _say(self, item: Item, why: str, target: str | None = None, along: bool = False) -> Collected:
        """Keep the first row of a file."""
        row = Collected(item.file.shown, item.student, item.chapter, target, why, item.attempt is not None, along)
        return self.done.setdefault(item.file, row) or row

    def _say_once(self, items: list[Item], why: str) -> None:
        items = [item for item in items if item.file not in self.done]
        if items:
            self._say(items[0], f"Not copied, like all further files ({len(items)}): {why}")
            self.done |= {item.file: None for item in items[1:]}


def _no_notebook(file: File) -> str:
    """What a file is instead of a notebook, and what to do."""
    return file.trouble if file.trouble is not None else no_notebook(file.name)
