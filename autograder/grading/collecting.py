"""`autograder collect`: from what a learning platform or a colleague sends to nbgrader's folders.

Reads a folder or a zip of: students' folders, notebooks named by student, Moodle's and Canvas's bulk downloads,
nbgrader's inbound folder, archives in any of these. The source is only read; in the target nothing is overwritten.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.archives import File, FileTrouble, walk, walk_archive
from autograder.grading.attempts import OTHER_FORM, Attempt, choose, is_notebook, stem
from autograder.grading.course import Chapter
from autograder.grading.reading import MAX_BYTES
from autograder.grading.recognize import chapter_in_cells, chapter_in_name, without_chapter

_INBOUND = re.compile(r"^(?P<student>[^+]+)\+(?P<chapter>[^+]+)\+(?P<time>[^+]+)(\+.*)?$")
_MOODLE = re.compile(r"^(?P<student>.+?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<rest>.*)$")
_CANVAS = re.compile(r"^(?P<student>[^\W\d_][^_]*)_(?:LATE_)?(?P<number>\d+)_\d+_(?P<rest>.+)$")
_WORDS = re.compile(r"[^\w.@-]+")
MAX_COMPANIONS = 50  #: files that are copied beside a notebook, or of a student who handed in none
MAX_UNUSABLE_BYTES = 20 << 20  #: all files together of a student who handed in no notebook
_KINDS = {
    "py": "a Python script",
    "html": "a web page",
    "htm": "a web page",
    "doc": "a Word document",
    "docx": "a Word document",
    "odt": "a text document",
    "rtf": "a text document",
    "pages": "a text document",
    "txt": "a text file",
    "md": "a text file",
    "pdf": "a PDF",
    "png": "a picture",
    "jpg": "a picture",
    "jpeg": "a picture",
    "heic": "a picture",
}


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
    """

    source: str
    student: str | None
    chapter: str | None
    target: str | None
    why: str
    notebook: bool = True

    @property
    def settled(self) -> bool:
        """Whether it is a notebook that lies in its chapter's folder now, so that nobody has to look."""
        return self.notebook and self.chapter is not None and self.target is not None


@dataclass(eq=False)
class _Item:
    file: File
    student: str | None
    certain: bool = False  # a folder or the platform names the student, not the file's own name alone
    number: str = ""
    named: str | None = None  # the chapter that a folder or file name says
    stamp: str | None = None
    chapter: str | None = None
    attempt: Attempt | None = None


def collect(source: Path, submitted: Path, chapters: Mapping[str, Chapter]) -> list[Collected]:
    """Copy hand-ins into nbgrader's shape: submitted/STUDENT/CHAPTER/CHAPTER.ipynb.

    Of several attempts the one that `grade` would choose is copied. Where the target holds another notebook already,
    the new one is put beside it as a further attempt.

    Returns
    -------
    list of Collected
        One row per file that is, or may have been meant to be, a notebook; and of a student without a notebook, one
        per file.

    Raises
    ------
    CollectError
        The source is not there, or is neither a folder nor a zip; or the target cannot be written.
    """
    files = _unwrap(_files(source, submitted), list(chapters))
    items = [_item(file, parts, list(chapters)) for file, parts in files]
    _tell_namesakes_apart(items)
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


def _unwrap(files: list[File], chapters: list[str]) -> list[tuple[File, tuple[str, ...]]]:
    """Every file with its path, less the folders round the whole class."""
    paths = [file.parts for file in files]
    for _ in range(3):
        if not paths or len({path[0] for path in paths}) > 1 or any(len(path) < 2 for path in paths):
            break
        inside = {path[1]: len(path) > 2 for path in paths}
        if any(_INBOUND.match(name) or _MOODLE.match(name) or _CANVAS.match(name) for name in inside):
            students = 2
        else:
            students = len({without_chapter(stem(name), chapters) for name in inside} - {""})
        around = paths[0][0]
        if chapter_in_name(around, chapters) or _MOODLE.match(around) or students < 2:
            break
        paths = [path[1:] for path in paths]
    return list(zip(files, paths, strict=True))


def _item(file: File, path: tuple[str, ...], chapters: list[str]) -> _Item:
    """Read student and chapter from a file's path, from its outermost part inwards."""
    item = _Item(file, None)
    beside_chapter = ""
    for depth, part in enumerate(path):
        last = depth == len(path) - 1
        name = (stem(part).rpartition(".")[0] or stem(part)) if last else part
        if found := _INBOUND.match(name):
            item.student, item.stamp = found["student"], found["time"].replace("_", " ")
            item.certain = True
            name = found["chapter"]
        elif found := (_MOODLE.match(part) or _CANVAS.match(part)):
            item.student, item.number, item.certain = found["student"], found["number"], True
            name = stem(found["rest"])
        chapter = chapter_in_name(name, chapters)
        item.named = chapter or item.named
        rest = without_chapter(name, chapters)
        if item.student is None and (last or chapter is None):
            item.student = rest or None
            item.certain = item.student is not None and not last
        beside_chapter = beside_chapter or rest
    item.student = item.student or beside_chapter or None
    return item


def _tell_namesakes_apart(items: Iterable[_Item]) -> None:
    """Make names fit for folders; two people of one name get their platform's number behind it."""
    items = [item for item in items if item.student is not None]
    numbers: dict[str, set[str]] = {}
    for item in items:
        item.student = safe_name(item.student or "")
        numbers.setdefault(item.student, set()).add(item.number)
    for item in items:
        if item.student is not None and len(numbers[item.student] - {""}) > 1 and item.number:
            item.student = f"{item.student}-{item.number}"


def safe_name(name: str) -> str:
    """A folder's name: letters, digits, dots, hyphens and @ of any script."""
    text = _WORDS.sub("-", unicodedata.normalize("NFC", name)).strip("-.")
    return text[:100] or "unnamed"


class _Collection:
    """Copies what was found, student by student."""

    def __init__(self, submitted: Path, chapters: Mapping[str, Chapter], items: list[_Item]) -> None:
        self.submitted, self.chapters = submitted, chapters
        self.groups: dict[tuple[str, str], list[_Item]] = {}
        self.homeless: list[_Item] = []
        self.beside: dict[tuple[str, ...], list[_Item]] = {}
        self.along: set[File] = set()  # copied along with a notebook
        for item in items:
            self._sort(item)

    def rows(self) -> list[Collected]:
        """Copy, and say what was done."""
        rows = []
        for (_, chapter), group in sorted(self.groups.items(), key=lambda pair: pair[0]):
            rows += self._group(group, self.chapters[chapter])
        rows += [self._homeless(item) for item in self.homeless if item.file not in self.along]
        for items in self._without_notebook().values():
            rows += self._unusable(items)
        return rows

    def _sort(self, item: _Item) -> None:
        item.chapter = item.named
        if is_notebook(item.file):
            item.attempt = Attempt(item.file, item.file.modified)
            if item.chapter is None and (reading := item.attempt.parsed()) is not None:
                item.chapter = chapter_in_cells(reading, self.chapters)
            item.attempt.data = item.attempt.reading = None  # a class does not fit into memory
        elif item.file.trouble is None:
            self.beside.setdefault(item.file.parts[:-1], []).append(item)
            if not OTHER_FORM.search(item.file.name):
                return
        if item.student is None or item.chapter is None:
            self.homeless.append(item)
        else:
            self.groups.setdefault((item.student, item.chapter), []).append(item)

    def _homeless(self, item: _Item) -> Collected:
        if item.student is None:
            return _row(item, None, "Nothing in its path names a student.")
        why = "Neither its name nor its cells name a chapter; grading will say what is needed."
        if item.attempt is None:
            why = _no_notebook(item.file)
        return self._copy(item, item.file, self.submitted / item.student, item.file.name, why)

    def _without_notebook(self) -> dict[str, list[_Item]]:
        """What else there is of the students who handed in no notebook, by student."""
        sorted_items = [item for group in self.groups.values() for item in group] + self.homeless
        served = {item.student for item in sorted_items if item.attempt is not None}
        found: dict[str, list[_Item]] = {}
        for item in (item for items in self.beside.values() for item in items):
            left_over = item.certain and not OTHER_FORM.search(item.file.name) and item.file.name != "timestamp.txt"
            if item.student is not None and left_over and item.student not in served:
                found.setdefault(item.student, []).append(item)
        return found

    def _unusable(self, items: list[_Item]) -> list[Collected]:
        """Carry over what a student handed in instead of a notebook, so that `grade` knows the student and the files."""
        home = self.submitted / (items[0].student or "")
        home.mkdir(parents=True, exist_ok=True)
        rows, size = [], 0
        for item in items[:MAX_COMPANIONS]:
            why = _no_notebook(item.file)
            try:
                size += len(item.file.read())
            except FileTrouble as trouble:
                why = str(trouble)
            else:
                if size <= MAX_UNUSABLE_BYTES:
                    rows.append(self._copy(item, item.file, home / (item.chapter or ""), item.file.name, why))
                    continue
                why += f" Not copied: all files together exceed {MAX_UNUSABLE_BYTES >> 20} MB."
            rows.append(_row(item, None, why))
        if left := items[MAX_COMPANIONS:]:
            why = f"Not copied, like all further files ({len(left)}): {MAX_COMPANIONS} are enough without a notebook."
            rows.append(_row(left[0], None, why))
        return rows

    def _group(self, group: list[_Item], chapter: Chapter) -> list[Collected]:
        student = group[0].student or ""
        folder = self.submitted / student / chapter.name
        attempts = [item.attempt for item in group if item.attempt is not None]
        if not attempts:
            return [self._copy(item, item.file, folder, item.file.name, _no_notebook(item.file)) for item in group]
        chosen, _, count = choose(attempts, chapter)
        chosen.data = chosen.reading = None
        rows = []
        for item in group:
            if item.attempt is not chosen:
                why = "Another attempt counts." if item.attempt is not None else "There is a notebook as well."
                rows.append(_row(item, None, why))
                continue
            why = "The chapter is in its path." if item.named else "Its cells are this chapter's."
            if count > 1:
                why += f" Of {count} attempts it is the newest with answers."
            rows.append(self._copy(item, item.file, folder, f"{chapter.name}.ipynb", why))
            if item.stamp is not None:
                _write(folder / "timestamp.txt", f"{item.stamp}\n".encode(), item.file.modified)
            for companion in self.beside.get(item.file.parts[:-1], [])[:MAX_COMPANIONS]:
                if companion.student == student and len(companion.file.parts) > 1:
                    self.along.add(companion.file)
                    self._copy(item, companion.file, folder, companion.file.name, "")
        return [row for row, item in zip(rows, group, strict=True) if item.file not in self.along]

    def _copy(self, item: _Item, file: File, folder: Path, name: str, why: str) -> Collected:
        try:
            data = file.opener(MAX_BYTES) if file.trouble is not None and file.path is not None else file.read()
        except FileTrouble as trouble:
            return _row(item, None, str(trouble))
        target, new = _write(folder / safe_name(name), data, file.modified)
        if not new:
            why = "It is there already."
        elif target.name != safe_name(name):
            why += " Another file of that name is there already, so it stands beside it."
        return _row(item, target.relative_to(self.submitted).as_posix(), why)


def _row(item: _Item, target: str | None, why: str) -> Collected:
    return Collected(item.file.shown, item.student, item.chapter, target, why, item.attempt is not None)


def _no_notebook(file: File) -> str:
    """What a file is instead of a notebook, and what to do."""
    if file.trouble is not None:
        return file.trouble
    kind = _KINDS.get(file.name.rpartition(".")[2].lower())
    return f"{file.name} is {f'{kind}, ' if kind else ''}not a notebook; the .ipynb file is needed."


def _write(path: Path, data: bytes, modified: float) -> tuple[Path, bool]:
    """Write a new file whole, under the first free name; returns where, and whether it had to be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        if modified:
            os.utime(part, (modified, modified))
        number = 1
        while True:
            target = path if number == 1 else path.with_name(f"{path.stem} ({number}){path.suffix}")
            if _publish(part, target):
                return target, True
            if target.is_file() and not target.is_symlink() and target.read_bytes() == data:
                return target, False
            number += 1
    finally:
        part.unlink(missing_ok=True)


def _publish(part: Path, target: Path) -> bool:
    """Give a finished file its name; False where the name is taken."""
    try:
        os.link(part, target)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if target.exists() or target.is_symlink():
            return False
        part.rename(target)
    return True
