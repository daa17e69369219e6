"""Which cell of the chapter is this? By grade_id, by text, by cell id, by what it checks, and at last by likeness."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from autograder.grading.course import Chapter
from autograder.grading.restore.definitions import Definitions, bound, parse

How = Literal["grade_id", "text", "cell_id", "check", "likeness"]

_CHECK = re.compile(r"""\bCheck\(\s*["']([\w.-]+)["']""")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_LIKE = 0.6  #: share of common tokens from which a cell without a name is taken for the course's
_RELATED = 0.3  #: share from which a cell id is believed
_TOKENS_OF = 8_000  #: characters of a cell that likeness looks at
_CANDIDATES = 200  #: cells without a name that are compared with the course's


@dataclass
class Match:
    """What was found out about one submitted cell.

    Attributes
    ----------
    place : int or None
        The course cell's place in its chapter; None for a cell of the student's own.
    how : str or None
        What told it.
    untouched : bool
        Whether it holds what was released, spaces at line ends aside.
    primary : bool
        Whether it is the first in the submission that stands for this course cell.
    foreign : bool
        Whether it is a check cell, or marked as a graded cell or an answer, that this chapter does not have.
    """

    place: int | None = None
    how: How | None = None
    untouched: bool = False
    primary: bool = False
    foreign: bool = False


def normal(source: str) -> str:
    """The text without trailing spaces, without blank lines around it and without the title that Colab shows over it."""
    first, *rest = lines = [line.rstrip() for line in source.strip().split("\n")]
    return "\n".join(rest if first.startswith("#@title") else lines)


def checks_something(source: str) -> str | None:
    """The exercise that a cell checks where it looks like a check cell of any chapter."""
    found = _CHECK.search(source)
    return found[1] if found is not None else None


class Index:
    """What a chapter's cells can be told by."""

    def __init__(self, chapter: Chapter) -> None:
        self.chapter = chapter
        self.ids = {cell.id: place for place, cell in enumerate(chapter.cells) if _grade_id(cell)}
        self.cell_ids = {cell.cell_id: place for place, cell in enumerate(chapter.cells) if cell.cell_id}
        self.normal = [normal(cell.released) for cell in chapter.cells]
        self.texts: dict[str, list[int]] = {}
        for place, text in enumerate(self.normal):
            if text:
                self.texts.setdefault(text, []).append(place)
        self.answers = {cell.exercise: place for place, cell in enumerate(chapter.cells) if cell.role == "answer"}
        self.checks: dict[str | None, int] = {}
        for place, cell in enumerate(chapter.cells):
            if cell.role == "check":
                self.checks.setdefault(cell.exercise, place)

    def place_of_mark(self, cell: dict[str, Any]) -> int | None:
        """The course cell whose grade_id a submitted cell carries."""
        grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id")
        return self.ids.get(grade_id) if isinstance(grade_id, str) else None

    @cached_property
    def targets(self) -> dict[str, frozenset[str]]:
        """Exercise to the names that its answer must bind: its own where the reference binds that, else all of them."""
        targets = {}
        for exercise in self.chapter.exercises:
            tree = parse(self.chapter.cells[self.answers[exercise]].source)
            names = set(bound(tree.body)) if tree is not None else set()
            targets[exercise] = frozenset({exercise} if exercise in names or not names else names)
        return targets

    def answered_by(self, source: str, definitions: Definitions) -> int | None:
        """The place of the first answer cell whose name this code binds."""
        return next(
            (self.answers[name] for name, names in self.targets.items() if definitions.binds(source, names)), None
        )

    @cached_property
    def tokens(self) -> list[Counter[str]]:
        """Per cell, how often each token occurs."""
        return [_tokens(cell.released) for cell in self.chapter.cells]


@lru_cache(maxsize=64)
def index_of(chapter: Chapter) -> Index:
    """The index of a chapter, made once."""
    return Index(chapter)


def match(cells: Sequence[dict[str, Any]], index: Index, definitions: Definitions) -> list[Match]:
    """Say of every submitted cell which course cell it stands for; one `Match` per cell."""
    matches = [_by_name(cell, index, definitions) for cell in cells]
    _free_lost_answers(cells, matches, index, definitions)
    seen: set[int] = set()
    for found in matches:
        if found.place is not None:
            found.primary = found.place not in seen
            seen.add(found.place)
    _spread_equal_texts(matches, index, seen)
    _by_likeness(cells, matches, index, seen, definitions)
    return matches


def _by_name(cell: dict[str, Any], index: Index, definitions: Definitions) -> Match:
    text = normal(cell["source"])
    equal = index.texts.get(text, ())
    grader = cell["metadata"].get("nbgrader", {})
    grade_id = grader.get("grade_id")
    place = index.place_of_mark(cell)
    if place is not None:
        if equal and place not in equal and index.chapter.cells[equal[0]].role != "text":
            return Match(equal[0], "text", untouched=True)  # it carries another cell's mark
        if _wrong_kind(cell, place, index, definitions):
            return Match()
        return Match(place, "grade_id", untouched=text == index.normal[place])
    foreign = bool(
        isinstance(grade_id, str)
        and grade_id
        and (grader.get("grade") is True or grader.get("solution") is True or grade_id.startswith("check-"))
    )
    by_id = index.cell_ids.get(cell["id"]) if cell["id"] is not None else None
    if equal and not (foreign and index.chapter.cells[equal[0]].role == "manual"):
        return Match(by_id if by_id in equal else equal[0], "text", untouched=True)
    if cell["cell_type"] == "code" and (found := _CHECK.search(text)) is not None:
        # A check cell says whose it is; one of another exercise is the student's own cell, however alike.
        return Match(index.checks[found[1]], "check") if found[1] in index.checks else Match(foreign=True)
    if by_id is not None and not foreign and _believable(cell, by_id, index, definitions):
        return Match(by_id, "cell_id")
    return Match(foreign=foreign)


def _wrong_kind(cell: dict[str, Any], place: int, index: Index, definitions: Definitions) -> bool:
    """Whether code carries the mark of a free answer, or prose that of code."""
    role, code = index.chapter.cells[place].role, cell["cell_type"] == "code"
    if role == "manual" and code and index.chapter.cells[place].cell_type != "code":
        return index.answered_by(cell["source"], definitions) is not None
    if role != "answer" or code or definitions.tree(cell["source"]) is not None:
        return False
    return not definitions.binds(cell["source"], index.targets[index.chapter.cells[place].exercise or ""])


def _free_lost_answers(
    cells: Sequence[dict[str, Any]], matches: list[Match], index: Index, definitions: Definitions
) -> None:
    """Code that became prose under a free answer's mark is no free answer where its exercise has no other cell."""
    taken = {found.place for found in matches}
    for number, (cell, found) in enumerate(zip(cells, matches, strict=True)):
        manual = found.place is not None and index.chapter.cells[found.place].role == "manual"
        if manual and not found.untouched and cell["cell_type"] != "code":
            lost = index.answered_by(cell["source"], definitions)
            if lost is not None and lost not in taken and definitions.tree(cell["source"]) is not None:
                matches[number] = Match()
                taken.add(lost)
                for place, other in enumerate(cells):  # whose mark the free answer has in exchange
                    mark = other["metadata"].get("nbgrader", {}).get("grade_id")
                    if matches[place].place is None and other["cell_type"] != "code" and index.ids.get(mark) == lost:
                        matches[place] = found
                        break


def _believable(cell: dict[str, Any], place: int, index: Index, definitions: Definitions) -> bool:
    """Whether a cell may be an edited copy of the course cell whose id it has: an old release may number otherwise."""
    course = index.chapter.cells[place]
    if course.role == "manual":
        return cell["cell_type"] != "code"
    if course.role == "answer" and definitions.binds(cell["source"], index.targets[course.exercise or ""]):
        return True
    if index.answered_by(cell["source"], definitions) is not None:
        return False  # it answers another exercise, and a few lines of code share brackets and commas with anything
    ours, theirs = index.tokens[place], _tokens(cell["source"])
    common = (ours & theirs).total()
    related = _RELATED if cell["cell_type"] == course.cell_type else _LIKE
    return common >= related * min(ours.total(), max(theirs.total(), 1)) and common > 0


def _spread_equal_texts(matches: list[Match], index: Index, seen: set[int]) -> None:
    """Where the release holds a text several times, give its copies to the places one after the other."""
    for found in matches:
        if found.how == "text" and not found.primary and found.place is not None:
            for place in index.texts[index.normal[found.place]]:
                if place not in seen:
                    found.place, found.primary = place, True
                    seen.add(place)
                    break


def _by_likeness(
    cells: Sequence[dict[str, Any]], matches: list[Match], index: Index, seen: set[int], definitions: Definitions
) -> None:
    open_places = [
        place
        for place, cell in enumerate(index.chapter.cells)
        if place not in seen and cell.role in ("course", "check", "demo") and index.normal[place]
    ]
    if not open_places:
        return
    candidates = [
        (number, _tokens(cell["source"]))
        for number, (cell, found) in enumerate(zip(cells, matches, strict=True))
        if found.place is None and not found.foreign and cell["source"]
    ][:_CANDIDATES]
    pairs = []
    for number, theirs in candidates:
        if index.answered_by(cells[number]["source"], definitions) is not None:
            continue  # an answer is no cell of the course's, however alike
        size = theirs.total()
        for place in open_places:
            ours = index.tokens[place]
            both = size + ours.total()
            if 2 * min(size, ours.total()) >= _LIKE * both and 2 * (ours & theirs).total() >= _LIKE * both:
                pairs.append((2 * (ours & theirs).total() / both, -number, -place))
    for _, number, place in sorted(pairs, reverse=True):
        if matches[-number].place is None and -place not in seen:
            matches[-number] = Match(-place, "likeness", primary=True)
            seen.add(-place)


def _tokens(source: str) -> Counter[str]:
    return Counter(_TOKEN.findall(source[:_TOKENS_OF]))


def _grade_id(cell: Any) -> bool:
    grader = cell.metadata.get("nbgrader")
    return isinstance(grader, dict) and bool(grader.get("grade_id"))
