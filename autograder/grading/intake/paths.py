"""Whose file is it, and of which chapter? Read from where it lies: folders, Moodle's, Canvas's and nbgrader's names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.grading.intake.attempts import Attempt
from autograder.grading.intake.files import File, stem
from autograder.grading.intake.recognize import chapter_in_name, names_fully, without_chapter

_INBOUND = re.compile(r"^(?P<student>[^+]+)\+(?P<chapter>[^+]+)\+(?P<time>[^+]+)(\+.*)?$")
_MOODLE = re.compile(r"^(?P<student>.+?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<rest>.*)$")
_CANVAS = re.compile(r"^(?P<student>[^\W\d_][^_]*)_(?:LATE_)?(?P<number>\d+)_\d+_(?P<rest>.+)$")
_WORDS = re.compile(r"[^\w.@-]+")


@dataclass(eq=False)
class Item:
    """A file and what its path says.

    Attributes
    ----------
    student : str or None
    certain : bool
        A folder or the platform names the student, not the file's own name alone.
    number : str
        The platform's number of the student or the submission; "" where there is none.
    named : str or None
        The chapter that a folder or file name says; the whole name of one goes before "hw1".
    sure : bool
        A folder and the file's own name hold the whole name of that chapter, as in nbgrader's folders.
    stamp : str or None
        The time that nbgrader's inbound folder says.
    chapter : str or None
        As `named`, or the one that its cells are of.
    attempt : Attempt or None
        For a notebook.
    """

    file: File
    student: str | None
    certain: bool = False
    number: str = ""
    named: str | None = None
    sure: bool = False
    stamp: str | None = None
    chapter: str | None = None
    attempt: Attempt | None = None


def read_paths(files: list[File], chapters: list[str]) -> list[Item]:
    """Read every file's path; names become fit for folders, and two people of one name stay apart."""
    items = [_item(file, parts, chapters) for file, parts in _unwrap(files, chapters)]
    _tell_namesakes_apart(items)
    return items


def _unwrap(files: list[File], chapters: list[str]) -> list[tuple[File, tuple[str, ...]]]:
    """Every file with its path, less the folders round the whole class.

    "submissions/anna/x.ipynb" and "submissions/ben/y.ipynb" lose "submissions", at most three such folders. A folder that
    names a chapter says something, and one in which a single name remains may be the only student's: both stay.
    """
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


def _item(file: File, path: tuple[str, ...], chapters: list[str]) -> Item:
    """Read student and chapter from a file's path, from its outermost part inwards.

    A folder's name is the student's unless it names a chapter, so "01-graph/anna/solution.ipynb" is Anna's; of a file's
    name the student is what is left without the chapter, so "anna_01-graph.ipynb" is hers as well. A chapter's whole name
    goes before "hw1", and among equals the inner one counts.
    """
    item = Item(file, None)
    beside_chapter = ""  # what else a part says that names a chapter: the student of "01-graph anna/x.ipynb"
    fully: str | None = None  # the last chapter whose whole name was met
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
        if names_fully(name, chapter):
            item.sure = last and fully == chapter
            item.named = fully = chapter
        elif fully is None:
            item.named = chapter or item.named
        rest = without_chapter(name, chapters)
        if item.student is None and (last or chapter is None):
            item.student = rest or None
            item.certain = item.student is not None and not last
        beside_chapter = beside_chapter or rest
    item.student = item.student or beside_chapter or None
    return item


def _tell_namesakes_apart(items: Iterable[Item]) -> None:
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
