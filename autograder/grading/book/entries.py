"""One chapter's submissions become rows: scores, what needs a person, and what is said at an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from autograder.grading.book import rows
from autograder.grading.book.autograded import Notebook
from autograder.grading.book.cells import ChapterIds
from autograder.grading.book.database import BookError
from autograder.grading.book.harmless import harmless_markdown
from autograder.grading.book.late import utc
from autograder.grading.book.rows import Upsert
from autograder.grading.results import SubmissionResult


@dataclass
class Written:
    """One submission to enter.

    Attributes
    ----------
    result : SubmissionResult
        Status `missing` enters the student and nothing else; what was entered as unreadable before is taken back,
        but for what people gave. An exercise without a score waits for a person.
    fingerprint : str
        Stands for everything that the grade depends on; an equal one later means that there is no need to grade again.
    timestamp : datetime or None
        When it was handed in; without a zone it is UTC. None is never late.
    unanswered : set of str
        grade_ids of solution cells left as released: "No response.", and zero for one that a person would grade.
    notebook : dict or None
        What goes to `autograded/`, see `autograded.autograded_notebook`.
    """

    result: SubmissionResult
    fingerprint: str
    timestamp: datetime | None = None
    unanswered: frozenset[str] = frozenset()
    notebook: Notebook | None = None


def enter_chapter(
    connection: sa.Connection, chapter: ChapterIds, items: Mapping[str, Written], unchanged: set[str]
) -> None:
    """Enter a chapter's submissions, by student; `unchanged` are those whose notebook is the one that was graded before."""
    notebooks = rows.submitted_notebooks(connection, chapter, {s: moment(item) for s, item in items.items()})
    grades = Upsert(connection, rows.GRADE, notebooks.values())
    comments = Upsert(connection, rows.COMMENT, notebooks.values())
    for student, item in items.items():
        scores = {exercise.id: exercise.score for exercise in item.result.exercises}
        unknown = scores.keys() - chapter.grade_cells.keys()
        if unknown:
            raise BookError(
                f"The gradebook knows no cell {min(unknown)!r} in {chapter.name}: enter the chapter before its grades."
            )
        for name, cell in chapter.grade_cells.items():
            auto = scores.get(name)
            if auto is None and name in item.unanswered:
                auto = 0.0
            old = grades.old(notebooks[student], cell)
            needs = _needs_person(old, auto, student in unchanged)
            grades.put(notebooks[student], cell, auto_score=auto, needs_manual_grade=needs)
        for name, cell in chapter.solution_cells.items():
            comments.put(notebooks[student], cell, auto_comment=_comment(name, item))
    grades.flush()
    comments.flush()


def _needs_person(old: sa.RowMapping | None, auto: float | None, unchanged: bool) -> bool:
    if old is None or old["manual_score"] is None:
        return auto is None
    return bool(old["needs_manual_grade"]) or not unchanged or auto != old["auto_score"]


def _comment(name: str, item: Written) -> str | None:
    """What the grader says at an answer: that it is missing, or its notes on it."""
    # nbgrader shows comments as Markdown
    notes = [harmless_markdown(note.text) for note in item.result.notes if note.cell in {name, f"check-{name}"}]
    text = " ".join((["No response."] if name in item.unanswered else []) + notes)
    return storable(text) or None


def storable(text: str) -> str:
    """A text as every database can hold it: what is no UTF-8, as in an odd folder's name, is written out."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def moment(item: Written) -> datetime | None:
    """When it was handed in, in UTC without a zone, as nbgrader keeps it."""
    return None if item.timestamp is None else utc(item.timestamp)
