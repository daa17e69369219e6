"""Where students stand, read from nbgrader's gradebook: scores, what people gave, late penalties."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from nbgrader.api import Base

from autograder.grading.book.database import SUBMISSION
from autograder.grading.book.late import seconds_late
from autograder.grading.book.rows import ASSIGNMENT, COMMENT, GRADE, NOTEBOOK, SCORE, STUDENT, SUBMITTED

_T = Base.metadata.tables
_BASE = _T["base_cell"]


@dataclass(frozen=True)
class GradeRow:
    """One student's standing in one chapter, as the gradebook has it: scores given by hand and late penalties included.

    `score` is `raw_score` less `late_submission_penalty`, at least 0; the three are None where nothing was handed in.
    As in nbgrader, all four count what people grade. `seconds_late` is after the due date and the student's extension.
    `waiting` names the free answers that wait for a person, `unanswered` those left blank: zero, and nobody need look.
    """

    chapter: str
    student: str
    last_name: str
    first_name: str
    email: str
    due: datetime | None
    timestamp: datetime | None
    raw_score: float | None
    late_submission_penalty: float | None
    score: float | None
    max_score: float
    needs_manual_grade: bool
    status: str
    seconds_late: float = 0.0
    waiting: frozenset[str] = frozenset()
    unanswered: frozenset[str] = frozenset()


@dataclass
class ByHand:
    """What people gave to one submission, by grade_id."""

    scores: dict[str, float] = field(default_factory=dict)
    extra_credit: dict[str, float] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)


def grade_rows(connection: sa.Connection) -> list[GradeRow]:
    """Every student's standing in every chapter, by chapter and student."""
    person = (STUDENT.c.id, STUDENT.c.last_name, STUDENT.c.first_name, STUDENT.c.email)
    people = connection.execute(sa.select(*person).order_by(STUDENT.c.id)).all()
    status = {
        (chapter, student): state
        for chapter, student, state in connection.execute(
            sa.select(SUBMISSION.c.chapter, SUBMISSION.c.student, SUBMISSION.c.status)
        )
    }
    maximum = _max_scores(connection)
    handed_in = _handed_in(connection)
    waiting, unanswered = _free_answers(connection)
    rows = []
    for chapter, due in connection.execute(
        sa.select(ASSIGNMENT.c.name, ASSIGNMENT.c.duedate).order_by(ASSIGNMENT.c.name)
    ):
        for student, last, first, email in people:
            found = handed_in.get((chapter, student))
            timestamp, extension, raw, penalty, open_ = found or (None, None, None, None, False)
            state = status.get((chapter, student), "graded") if found else "missing"
            readable = state in ("graded", "repaired")
            rows.append(
                GradeRow(
                    chapter,
                    student,
                    last or "",
                    first or "",
                    email or "",
                    due,
                    timestamp,
                    raw,
                    penalty,
                    None if raw is None else max(0.0, raw - (penalty or 0.0)),
                    maximum.get(chapter, 0.0),
                    open_,
                    state,
                    seconds_late(timestamp, due, extension),
                    frozenset(waiting.get((chapter, student), ()) if readable else ()),
                    frozenset(unanswered.get((chapter, student), ()) if readable else ()),
                )
            )
    return rows


def by_hand(connection: sa.Connection) -> dict[tuple[str, str], ByHand]:
    """(student, chapter) to what people gave there; only where they gave any."""
    found: dict[tuple[str, str], ByHand] = {}
    given = GRADE.c.manual_score.is_not(None) | GRADE.c.extra_credit.is_not(None)
    scored = _of(GRADE, GRADE.c.manual_score, GRADE.c.extra_credit).where(given)
    for student, chapter, cell, manual, extra in connection.execute(scored):
        entry = found.setdefault((student, chapter), ByHand())
        if manual is not None:
            entry.scores[cell] = manual
        if extra:
            entry.extra_credit[cell] = extra
    commented = _of(COMMENT, COMMENT.c.manual_comment).where(COMMENT.c.manual_comment.is_not(None))
    for student, chapter, cell, text in connection.execute(commented):
        found.setdefault((student, chapter), ByHand()).comments[cell] = text
    return found


def _of(table: sa.Table, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select student, chapter, cell and these columns of the grades or comments."""
    return (
        sa.select(SUBMITTED.c.student_id, ASSIGNMENT.c.name, _BASE.c.name, *columns)
        .join(NOTEBOOK, NOTEBOOK.c.id == table.c.notebook_id)
        .join(SUBMITTED, SUBMITTED.c.id == NOTEBOOK.c.assignment_id)
        .join(ASSIGNMENT, ASSIGNMENT.c.id == SUBMITTED.c.assignment_id)
        .join(_BASE, _BASE.c.id == table.c.cell_id)
    )


_Cells = dict[tuple[str, str], set[str]]


def _free_answers(connection: sa.Connection) -> tuple[_Cells, _Cells]:
    """(chapter, student) to the free answers that wait for a person, and to those that were left blank."""
    waiting: _Cells = {}
    blank: _Cells = {}
    zero = (GRADE.c.auto_score == 0) & GRADE.c.manual_score.is_(None)
    query = _of(GRADE, GRADE.c.needs_manual_grade).where(
        GRADE.c.needs_manual_grade | zero, _BASE.c.name.not_like("check-%")
    )
    for student, chapter, cell, needs in connection.execute(query):
        (waiting if needs else blank).setdefault((chapter, student), set()).add(cell)
    return waiting, blank


def _max_scores(connection: sa.Connection) -> dict[str, float]:
    notebook, base, cell = _T["notebook"], _T["base_cell"], _T["grade_cells"]
    query = (
        sa.select(ASSIGNMENT.c.name, sa.func.sum(cell.c.max_score))
        .join(notebook, notebook.c.assignment_id == ASSIGNMENT.c.id)
        .join(base, base.c.notebook_id == notebook.c.id)
        .join(cell, cell.c.id == base.c.id)
        .group_by(ASSIGNMENT.c.name)
    )
    return {name: float(points) for name, points in connection.execute(query)}


_HandedIn = tuple[datetime | None, timedelta | None, float, float, bool]


def _handed_in(connection: sa.Connection) -> dict[tuple[str, str], _HandedIn]:
    """(chapter, student) to timestamp, extension, score, penalty and whether a person must grade, over all notebooks."""
    open_ = sa.func.max(sa.case((GRADE.c.needs_manual_grade, 1), else_=0))
    per_notebook = (
        sa.select(
            NOTEBOOK.c.assignment_id.label("submitted"),
            sa.func.coalesce(sa.func.sum(SCORE), 0.0).label("score"),
            sa.func.coalesce(NOTEBOOK.c.late_submission_penalty, 0.0).label("penalty"),
            open_.label("open"),
        )
        .outerjoin(GRADE, GRADE.c.notebook_id == NOTEBOOK.c.id)
        .group_by(NOTEBOOK.c.id, NOTEBOOK.c.assignment_id, NOTEBOOK.c.late_submission_penalty)
        .subquery()
    )
    query = (
        sa.select(
            ASSIGNMENT.c.name,
            SUBMITTED.c.student_id,
            SUBMITTED.c.timestamp,
            SUBMITTED.c.extension,
            sa.func.sum(per_notebook.c.score),
            sa.func.sum(per_notebook.c.penalty),
            sa.func.max(per_notebook.c.open),
        )
        .join(SUBMITTED, SUBMITTED.c.assignment_id == ASSIGNMENT.c.id)
        .join(per_notebook, per_notebook.c.submitted == SUBMITTED.c.id)
        .group_by(ASSIGNMENT.c.name, SUBMITTED.c.student_id, SUBMITTED.c.timestamp, SUBMITTED.c.extension)
    )
    return {
        (chapter, student): (timestamp, extension, float(score), float(penalty), bool(needs))
        for chapter, student, timestamp, extension, score, penalty, needs in connection.execute(query)
    }
