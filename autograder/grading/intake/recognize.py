"""Which chapter is this? What the notebook holds says it; a name does where the cells say nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from autograder.grading.course import Chapter
from autograder.grading.reading.notebook import Reading
from autograder.grading.restore.match import index_of, normal

_COPY = re.compile(
    r"\(\d+\)|\bcopy of\b|\bcopie de\b|\bkopie von\b|\bcopia de\b|[-_ ]+(?:copy|kopie|copie|copia)\b(?:[-_ ]*\d+)?",
    re.IGNORECASE,
)
#: "hw1", "week-01", "Assignment 1", in a name that `slug` has made plain; {} is the chapter's number.
_WORD_AND_NUMBER = (
    r"(?:^|-)(?:chapter|ch|week|hw|homework|assignment|lab|exercise|ex|notebook|nb|unit|module)-?0*{}(?:-|$)"
)


def without_copy_marks(name: str) -> str:
    """A file's stem without "Copy of", " - Copy", "(1)" and the like."""
    return _COPY.sub(" ", unicodedata.normalize("NFKC", name)).strip(" -_")


def slug(name: str) -> str:
    """Letters and digits in lower case, with one hyphen for anything between them."""
    return re.sub(r"[\W_]+", "-", unicodedata.normalize("NFKC", name).casefold()).strip("-")


def chapter_in_name(name: str, chapters: Iterable[str]) -> str | None:
    """The chapter that a file or folder is named after: by its whole name, its topic, or "week 3" and the like.

    None where the name fits none, or several equally well. The more of a chapter's name stands there, the better: of
    "01-graph" and "02-saved-tensors", "my graph, week 2" is the first, since a topic goes before a number.
    """
    text = slug(without_copy_marks(name))
    found: dict[str, int] = {}
    for chapter in chapters:
        whole = slug(chapter)
        number, _, topic = whole.partition("-")
        if text == whole:
            return chapter
        if names_fully(name, chapter):
            found[chapter] = 1000 + len(whole)  # above every topic, however long
        elif topic and f"-{topic}-" in f"-{text}-":
            found[chapter] = len(topic)
        elif number.isdigit() and re.search(_WORD_AND_NUMBER.format(int(number)), text):
            found[chapter] = 1
    best = max(found.values(), default=0)
    winners = [chapter for chapter, weight in found.items() if weight == best]
    return winners[0] if len(winners) == 1 else None


def names_fully(name: str, chapter: str | None) -> bool:
    """Whether the whole name of a chapter stands in a name: "01_Graph (3)", not "hw1" or "graph" alone."""
    if chapter is None:
        return False
    text, whole = slug(without_copy_marks(name)), slug(chapter)
    joined = rf"(?<!\d){re.escape(whole.replace('-', ''))}"
    return f"-{whole}-" in f"-{text}-" or re.search(joined, text.replace("-", "")) is not None


def without_chapter(name: str, chapters: Iterable[str]) -> str:
    """What a name says besides the chapter: "jane" of "01-graph - jane (2)"."""
    text = without_copy_marks(name)
    chapter = chapter_in_name(text, chapters)
    if chapter is not None:
        number, _, topic = slug(chapter).partition("-")
        topic = r"[\W_]*".join(map(re.escape, topic.split("-")))
        word = _WORD_AND_NUMBER.format(int(number)) if number.isdigit() else "(?!)"
        # The pattern is for plain names; here the name is as it was typed, with blanks, dots and capitals.
        word = word.replace("(?:^|-)", r"(?<![^\W_])").replace("-?0*", r"[\W_]*0*").replace("(?:-|$)", r"(?![^\W_])")
        for pattern in (rf"{re.escape(number)}[\W_]*{topic}", word, rf"(?<![^\W_]){topic}(?![^\W_])"):
            text, found = re.subn(pattern, " ", text, count=1, flags=re.IGNORECASE)
            if found:
                break
    return text.strip(" -_.+")


def chapter_in_cells(
    reading: Reading | None, chapters: Mapping[str, Chapter], named: Iterable[str | None] = ()
) -> str | None:
    """The chapter whose exercises the notebook holds; None where it holds none, or as much of two.

    Every cell that carries the grade_id of a graded cell speaks for its chapter twice, and once where its text is that
    of the release. A chapter that the file's path names is believed where its cells speak for it at least half as much as for
    any other: the notebook of chapter 02 into which somebody has pasted much of chapter 01 stays one of chapter 02.
    """
    if reading is None:
        return None
    ids = {cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in reading.cells}
    ids = {name for name in ids if isinstance(name, str)}
    texts = {normal(cell["source"]) for cell in reading.cells}
    weights = {}
    for name, chapter in chapters.items():
        index = index_of(chapter)
        graded = [place for place, cell in enumerate(chapter.cells) if cell.role in ("answer", "check", "manual")]
        weights[name] = sum(
            2 * (chapter.cells[place].id in ids) + (bool(index.normal[place]) and index.normal[place] in texts)
            for place in graded
        )
    best = max(weights.values(), default=0)
    if not best:
        return None
    for likely in named:
        if likely is not None and 2 * weights[likely] >= best:
            return likely
    winners = [name for name, weight in weights.items() if weight == best]
    return winners[0] if len(winners) == 1 else None
