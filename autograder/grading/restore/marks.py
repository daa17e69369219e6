"""What a submission's marks say beside the course's: lost, changed, moved, or those of another chapter."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

from autograder.grading.course import Chapter
from autograder.grading.reading.notebook import Unreadable
from autograder.grading.restore.match import Match, checks_something
from autograder.grading.restore.notes import Mends

_FEW = 0.2  #: share of a chapter's cells below which a notebook without a single exercise is not this chapter
_SCHEMA = 3  #: of nbgrader's cell metadata
Cells = Sequence[dict[str, Any]]


def note_metadata(cells: Cells, matches: Sequence[Match], chapter: Chapter, mends: Mends) -> None:
    """Note cells that were moved or retyped, and grading marks that were changed or lost."""
    furthest = -1
    for cell, found in zip(cells, matches, strict=True):
        if found.place is None or not found.primary:
            continue
        course = chapter.cells[found.place]
        ours = course.metadata.get("nbgrader")
        if course.cell_type != cell["cell_type"]:
            mends.add("cell-retyped", course.id)
        if found.place < furthest and course.role != "text":
            mends.add("cell-moved", course.id)
        furthest = max(furthest, found.place)
        if not isinstance(ours, dict):
            continue
        theirs = cell["metadata"].get("nbgrader")
        if theirs is None or not theirs.get("grade_id"):
            mends.add("metadata-lost", course.id)
        elif found.how != "grade_id" or _marks(theirs) != _marks(ours):
            mends.add("metadata-edited", course.id)
        version = _number(theirs.get("schema_version")) if theirs is not None else -1.0
        if version > _SCHEMA:
            mends.add("schema-version", course.id)
        elif 0 <= version < _SCHEMA:
            mends.add("schema-old", course.id)


def refuse_another_chapter(
    cells: Cells, matches: Sequence[Match], chapter: Chapter, answered: set[str], mends: Mends
) -> None:
    """Raise Unreadable where nothing in the notebook belongs to this chapter; note graded cells of something else."""
    present = {found.place for found in matches if found.place is not None}
    known: set[int] = set()
    foreign: dict[str, None] = {}
    for cell, found in zip(cells, matches, strict=True):
        if found.foreign:
            grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id")
            foreign[grade_id if isinstance(grade_id, str) else f"check-{checks_something(cell['source'])}"] = None
        elif found.place is not None and found.how in ("grade_id", "text", "check"):
            role = chapter.cells[found.place].role
            if role in ("answer", "check") or (role == "manual" and found.how == "grade_id"):
                known.add(found.place)
    name = chapter.name
    if not known and foreign and 2 * len(answered) < len(foreign):
        raise Unreadable(
            f"The notebook holds another chapter's cells ({next(iter(foreign))[:60]} ...), none of {name}; "
            f"the notebook of {name} is needed."
        )
    if not known and not answered and len(present) < _FEW * len(chapter.cells):
        raise Unreadable(f"The notebook holds no exercise of {name}; the notebook of {name} is needed.")
    for grade_id in foreign:
        mends.add("chapter-mixed" if len(foreign) > len(known) else "unknown-cell", grade_id)


def _marks(grader: dict[str, Any]) -> tuple[Any, ...]:
    marks = tuple(grader.get(key) for key in ("grade", "solution", "locked"))
    return (*marks, _number(grader.get("points")) if grader.get("grade") is True else None)


def _number(value: Any) -> float:
    """The value as a number; -1 where it is none, so that it equals nothing that the course says."""
    with contextlib.suppress(OverflowError):  # an integer of hundreds of digits
        if isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    return -1.0
