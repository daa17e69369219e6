"""A submission goes back into its chapter: answers from the student, check cells and locked cells from the course.

Nothing in a submission says what a cell is worth or what it is: that comes from the chapter. A submission only says
what the student wrote, and where.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from autograder.grading.course import Chapter, CourseCell
from autograder.grading.reading.notebook import Reading, Unreadable
from autograder.grading.restore.answers import Answers
from autograder.grading.restore.definitions import Definitions
from autograder.grading.restore.match import Index, Match, checks_something, index_of, match
from autograder.grading.restore.notes import Mends
from autograder.grading.restore.order import Piece, in_course_order
from autograder.grading.results import Note

_FEW = 0.2  #: share of a chapter's cells below which a notebook without a single exercise is not this chapter


@dataclass
class PlacedCell:
    """One cell of the restored notebook.

    Attributes
    ----------
    id : str
        Unique; the course cell's id where it stands for one.
    source : str
        What student and instructor see; a course or check cell's released source.
    role : {"course", "answer", "student", "check", "demo", "text", "manual"}
        "student" is a code cell of the student's own, "demo" a demo cell, edited or not.
    exercise : str or None
        Which exercise the cell answers or checks.
    run : bool
        Whether it runs in grading: never prose, and no demo cell that the student left as it was.
    metadata : dict
        The released cell's metadata; empty for a cell of the student's own.
    """

    id: str
    cell_type: str
    source: str
    role: str
    exercise: str | None = None
    run: bool = True
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class Restored:
    """A submission in its chapter.

    Attributes
    ----------
    cells : list of PlacedCell
        In the order in which they run.
    notes : list of Note
        What was odd about the file, and what was mended.
    repaired : bool
        Whether anything was mended.
    answered : frozenset of str
        Exercises for which the student wrote something that binds the name.
    unanswered : frozenset of str
        Ids of answer cells and free answers that hold what was released, or nothing.
    """

    cells: list[PlacedCell]
    notes: list[Note]
    repaired: bool
    answered: frozenset[str]
    unanswered: frozenset[str]


def restore(reading: Reading, chapter: Chapter) -> Restored:
    """Put a submission's answers into the chapter.

    Raises
    ------
    Unreadable
        Nothing in the notebook belongs to this chapter.
    """
    return _Restoration(reading, chapter).restored()


class _Restoration:
    def __init__(self, reading: Reading, chapter: Chapter) -> None:
        self.reading = reading
        self.chapter = chapter
        self.index: Index = index_of(chapter)
        self.definitions = Definitions()
        self.mends = Mends()
        self.pieces: list[Piece] = []
        self.present: set[int] = set()  # places of course cells that the submission holds
        self.elsewhere: set[str] = set()  # exercises that another cell answers than their answer cell

    def restored(self) -> Restored:
        cells = self.reading.cells
        matches = match(cells, self.index, self.definitions)
        self._find_manual(matches)
        self.present = {found.place for found in matches if found.place is not None}
        self._note_metadata(matches)
        anchor = -1
        for number, (cell, found) in enumerate(zip(cells, matches, strict=True)):
            if found.place is None:
                self._own(number, cell, anchor, found.foreign)
            else:
                self._known(number, cell, found)
                if found.primary:
                    anchor = found.place
        answers = Answers(self.index, self.definitions, self.mends)
        self.pieces = answers.join_halves(self.pieces)
        self.pieces, answered, self.elsewhere = answers.settle(self.pieces)
        self._refuse_another_chapter(matches, answered)
        written = {piece.place for piece in self.pieces if piece.place is not None}
        unanswered = frozenset(
            cell.id
            for place, cell in enumerate(self.chapter.cells)
            if cell.role in ("answer", "manual") and place not in written and cell.exercise not in answered
        )
        self._put_back()
        notes = [*self.reading.notes, *self.mends.notes()]
        return Restored(self._placed(), notes, bool(self.mends), frozenset(answered), unanswered)

    # one submitted cell

    def _own(self, number: int, cell: dict[str, Any], anchor: int, foreign: bool = False) -> None:
        role = "student" if cell["cell_type"] == "code" else "text"
        run = not (foreign and checks_something(cell["source"]) is not None)
        self.pieces.append(Piece((anchor, 2, number), cell["source"], role, cell["cell_type"], run=run, own=True))

    def _known(self, number: int, cell: dict[str, Any], found: Match) -> None:
        place = found.place
        assert place is not None
        course, source = self.chapter.cells[place], cell["source"]
        if course.role in ("answer", "manual"):
            if not found.untouched and source.strip():
                self.pieces.append(
                    Piece((place, 1, number), source, course.role, course.cell_type, place, course.exercise)
                )
            if not found.primary and course.role == "answer":
                self.mends.add("answer-copied", course.id)
        elif course.locked:
            if not found.untouched:
                self._locked(number, course, place, source)
            if not found.primary and course.role == "check":
                self.mends.add("check-copied", course.id)
        elif found.untouched or not source.strip():
            pass  # the course's own stands there, once
        elif found.primary:
            self.pieces.append(Piece((place, 1, number), source, course.role, course.cell_type, place))
        else:
            self._own(number, cell, place)

    def _locked(self, number: int, course: CourseCell, place: int, source: str) -> None:
        self.mends.add("check-edited" if course.role == "check" else "setup-edited", course.id)
        if course.cell_type != "code" or not source.strip():
            return
        typed = self.definitions.typed_in(source, course.released)
        if typed is None:
            self.mends.add("locked-unclear", course.id)
        elif typed:
            self.mends.add("typed-in", course.id)
            # Below a set-up cell, whose imports it may use; above a check, which may use it.
            beside = 2 if course.role == "course" else 0
            self.pieces.append(Piece((place, beside, number), typed, "student", "code", own=True))

    def _find_manual(self, matches: list[Match]) -> None:
        """A free answer without any mark: prose of the student's own where the chapter's free answer stood."""
        present = {found.place: number for number, found in enumerate(matches) if found.primary}
        for place, cell in enumerate(self.chapter.cells):
            if cell.role != "manual" or place in present:
                continue
            above = max((known for known in present if known is not None and known < place), default=None)
            below = min((known for known in present if known is not None and known > place), default=None)
            start = present[above] + 1 if above is not None else 0
            end = present[below] if below is not None else len(matches)
            for number in range(start, end):
                handed_in = self.reading.cells[number]
                if matches[number].place is not None or handed_in["cell_type"] != cell.cell_type:
                    continue
                if self.index.answered_by(handed_in["source"], self.definitions) is None:
                    matches[number] = Match(place, "likeness", primary=place not in present)
                    present[place] = number
                    self.mends.add("manual-found", cell.id)

    # the whole

    def _refuse_another_chapter(self, matches: list[Match], answered: set[str]) -> None:
        known: set[int] = set()
        foreign: dict[str, None] = {}
        for cell, found in zip(self.reading.cells, matches, strict=True):
            if found.foreign:
                grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id")
                foreign[grade_id if isinstance(grade_id, str) else f"check-{checks_something(cell['source'])}"] = None
            elif found.place is not None and found.how in ("grade_id", "text", "check"):
                role = self.chapter.cells[found.place].role
                if role in ("answer", "check") or (role == "manual" and found.how == "grade_id"):
                    known.add(found.place)
        name = self.chapter.name
        if not known and foreign and 2 * len(answered) < len(foreign):
            raise Unreadable(
                f"The notebook holds another chapter's cells ({next(iter(foreign))[:60]} ...), none of {name}; "
                f"the notebook of {name} is needed."
            )
        if not known and not answered and len(self.present) < _FEW * len(self.chapter.cells):
            raise Unreadable(f"The notebook holds no exercise of {name}; the notebook of {name} is needed.")
        for grade_id in foreign:
            self.mends.add("chapter-mixed" if len(foreign) > len(known) else "unknown-cell", grade_id)

    def _put_back(self) -> None:
        """Add the course's own cells: all locked ones, and the others where the student left or deleted them."""
        edited = {piece.place for piece in self.pieces if piece.place is not None}
        for place, cell in enumerate(self.chapter.cells):
            missing = place not in self.present
            if place in edited:
                continue
            if cell.role == "answer" and cell.exercise in self.elsewhere:
                if missing:
                    self._adopt(place, cell)
                else:
                    self.pieces.append(self._course_piece(place, cell, run=False))
                continue
            if missing:
                self._note_missing(cell)
            self.pieces.append(self._course_piece(place, cell))

    def _course_piece(self, place: int, cell: CourseCell, run: bool = True) -> Piece:
        run = run and cell.cell_type == "code" and cell.role not in ("demo", "manual")
        return Piece((place, 1, -1), cell.released, cell.role, cell.cell_type, place, cell.exercise, run=run)

    def _adopt(self, place: int, cell: CourseCell) -> None:
        """Let the cell that answers a missing answer cell stand for it; one that answers two stands for the first."""
        for piece in reversed(self.pieces):
            if piece.own and piece.exercise == cell.exercise and piece.place is None:
                piece.place = place
                return

    def _note_missing(self, cell: CourseCell) -> None:
        code = {
            "answer": "answer-missing",
            "check": "check-missing",
            "manual": "manual-missing",
            "course": "setup-missing",
        }
        if cell.role in code:
            self.mends.add(code[cell.role], cell.id)

    def _placed(self) -> list[PlacedCell]:
        placed: list[PlacedCell] = []
        names = _Names({cell.id for cell in self.chapter.cells})
        used = names.used
        for piece in in_course_order(self.pieces):
            course = self.chapter.cells[piece.place] if piece.place is not None else None
            identity = course.id if course is not None else f"own-{piece.key[2] + 1}"
            if course is None or identity in used:
                identity = names.free(identity if course is None else f"{identity}-2")
                course = None
            used.add(identity)
            run = piece.run and piece.cell_type == "code" and piece.role != "text"
            metadata = dict(course.metadata) if course is not None else {}
            placed.append(
                PlacedCell(identity, piece.cell_type, piece.source, piece.role, piece.exercise, run, metadata)
            )
        return _join_manual(placed)

    def _note_metadata(self, matches: list[Match]) -> None:
        furthest = -1
        for cell, found in zip(self.reading.cells, matches, strict=True):
            if found.place is None or not found.primary:
                continue
            course = self.chapter.cells[found.place]
            ours = course.metadata.get("nbgrader")
            if course.cell_type != cell["cell_type"]:
                self.mends.add("cell-retyped", course.id)
            if found.place < furthest and course.role != "text":
                self.mends.add("cell-moved", course.id)
            furthest = max(furthest, found.place)
            if not isinstance(ours, dict):
                continue
            theirs = cell["metadata"].get("nbgrader")
            if theirs is None or not theirs.get("grade_id"):
                self.mends.add("metadata-lost", course.id)
            elif found.how != "grade_id" or _marks(theirs) != _marks(ours):
                self.mends.add("metadata-edited", course.id)
            if theirs is not None and _number(theirs.get("schema_version")) > 3:
                self.mends.add("schema-version", course.id)


def _marks(grader: dict[str, Any]) -> tuple[Any, ...]:
    marks = tuple(grader.get(key) for key in ("grade", "solution", "locked"))
    return (*marks, _number(grader.get("points")) if grader.get("grade") is True else None)


def _number(value: Any) -> float:
    """The value as a number; -1 where it is none, so that it equals nothing that the course says."""
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return -1.0


class _Names:
    """Gives out ids that no cell has."""

    def __init__(self, taken: set[str]) -> None:
        self.taken, self.used = taken, set[str]()
        self.numbers: dict[str, int] = {}  # the last one given to a name

    def free(self, name: str) -> str:
        base = name
        while name in self.taken or name in self.used:
            self.numbers[base] = self.numbers.get(base, 1) + 1
            name = f"{base}-{self.numbers[base]}"
        return name


def _join_manual(cells: list[PlacedCell]) -> list[PlacedCell]:
    """Copies of a free answer become one cell, so that a person reads all of it in one place."""
    joined: list[PlacedCell] = []
    first: PlacedCell | None = None
    for cell in cells:
        if cell.role != "manual":
            joined.append(cell)
        elif cell.metadata or first is None:
            first = cell
            joined.append(cell)
        else:
            first.source += "\n\n" + cell.source
    return joined


__all__ = ["PlacedCell", "Restored", "Unreadable", "restore"]
