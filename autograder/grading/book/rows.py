"""Rows of nbgrader's gradebook, read and written many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from nbgrader.api import Base

from autograder.grading.book.cells import ChapterIds
from autograder.grading.book.database import SUBMISSION

_T = Base.metadata.tables
STUDENT, ASSIGNMENT, SUBMITTED = _T["student"], _T["assignment"], _T["submitted_assignment"]
NOTEBOOK, GRADE, COMMENT = _T["submitted_notebook"], _T["grade"], _T["comment"]
_CHUNK = 400  #: values in one IN (...); SQLite takes at least 999 parameters

#: nbgrader's score of one grade: by hand before automatic; extra credit is added to a score, not to the absence of one
SCORE = sa.func.coalesce(GRADE.c.manual_score, GRADE.c.auto_score, 0.0) + sa.case(
    (
        sa.or_(GRADE.c.manual_score.is_not(None), GRADE.c.auto_score.is_not(None)),
        sa.func.coalesce(GRADE.c.extra_credit, 0.0),
    ),
    else_=0.0,
)


class Upsert:
    """Rows of `grade` or `comment`, one per (submitted notebook, cell): new ones inserted, different ones updated."""

    def __init__(self, connection: sa.Connection, table: sa.Table, notebooks: Iterable[str]) -> None:
        self._connection, self._table = connection, table
        self._old: dict[tuple[str, str], sa.RowMapping] = {}
        for part in chunks(list(notebooks)):
            for row in connection.execute(sa.select(table).where(table.c.notebook_id.in_(part))).mappings():
                self._old[row["notebook_id"], row["cell_id"]] = row
        self._inserts: list[dict[str, Any]] = []
        self._updates: list[dict[str, Any]] = []

    def old(self, notebook: str, cell: str) -> sa.RowMapping | None:
        """The row as it stands in the database."""
        return self._old.get((notebook, cell))

    def put(self, notebook: str, cell: str, **values: Any) -> None:
        """Set these columns; every call names the same ones."""
        row = self.old(notebook, cell)
        if row is None:
            self._inserts.append({"id": uuid4().hex, "notebook_id": notebook, "cell_id": cell, **values})
        elif any(row[name] != value for name, value in values.items()):
            self._updates.append({"row": row["id"], **{f"new_{name}": value for name, value in values.items()}})

    def flush(self) -> None:
        """Write: one statement for new rows, one for changed ones."""
        if self._inserts:
            self._connection.execute(self._table.insert(), self._inserts)
        if self._updates:
            names = [name.removeprefix("new_") for name in self._updates[0] if name != "row"]
            update = self._table.update().where(self._table.c.id == sa.bindparam("row"))
            values: dict[str, Any] = {name: sa.bindparam(f"new_{name}") for name in names}
            self._connection.execute(update.values(values), self._updates)


def add_students(connection: sa.Connection, students: Iterable[str]) -> None:
    """Enter those who are not there yet."""
    wanted = sorted(set(students))
    there: set[str] = set()
    for part in chunks(wanted):
        there.update(connection.scalars(sa.select(STUDENT.c.id).where(STUDENT.c.id.in_(part))))
    rows = [{"id": student} for student in wanted if student not in there]
    if rows:
        connection.execute(STUDENT.insert(), rows)


def submitted_notebooks(
    connection: sa.Connection, chapter: ChapterIds, timestamps: Mapping[str, datetime | None]
) -> dict[str, str]:
    """The submitted notebook's id of each student, entered where it is new; timestamps are brought up to date."""
    assignments: dict[str, str] = {}
    moved = []
    for part in chunks(list(timestamps)):
        query = sa.select(SUBMITTED.c.student_id, SUBMITTED.c.id, SUBMITTED.c.timestamp).where(
            SUBMITTED.c.assignment_id == chapter.assignment, SUBMITTED.c.student_id.in_(part)
        )
        for student, key, timestamp in connection.execute(query):
            assignments[student] = key
            if timestamp != timestamps[student]:
                moved.append({"row": key, "moment": timestamps[student]})
    fresh = [
        {"id": uuid4().hex, "assignment_id": chapter.assignment, "student_id": student, "timestamp": timestamp}
        for student, timestamp in timestamps.items()
        if student not in assignments
    ]
    if fresh:
        connection.execute(SUBMITTED.insert(), fresh)
        assignments |= {str(row["student_id"]): str(row["id"]) for row in fresh}
    if moved:
        update = SUBMITTED.update().where(SUBMITTED.c.id == sa.bindparam("row"))
        connection.execute(update.values(timestamp=sa.bindparam("moment")), moved)

    notebooks: dict[str, str] = {}
    for part in chunks(list(assignments.values())):
        query = sa.select(NOTEBOOK.c.assignment_id, NOTEBOOK.c.id).where(
            NOTEBOOK.c.notebook_id == chapter.notebook, NOTEBOOK.c.assignment_id.in_(part)
        )
        notebooks.update(connection.execute(query).tuples().all())
    rows = [
        {"id": uuid4().hex, "notebook_id": chapter.notebook, "assignment_id": assignment, "flagged": False}
        for assignment in assignments.values()
        if assignment not in notebooks
    ]
    if rows:
        connection.execute(NOTEBOOK.insert(), rows)
        notebooks |= {str(row["assignment_id"]): str(row["id"]) for row in rows}
    return {student: notebooks[assignment] for student, assignment in assignments.items()}


def recorded_hashes(connection: sa.Connection, students: Iterable[str]) -> dict[tuple[str, str], str]:
    """(student, chapter) to the hash of the file that was graded last."""
    found: dict[tuple[str, str], str] = {}
    for part in chunks(sorted(set(students))):
        query = sa.select(SUBMISSION.c.student, SUBMISSION.c.chapter, SUBMISSION.c.sha256).where(
            SUBMISSION.c.student.in_(part)
        )
        found.update({(student, chapter): sha256 for student, chapter, sha256 in connection.execute(query)})
    return found


def unreadable(connection: sa.Connection, students: Iterable[str]) -> dict[tuple[str, str], str | None]:
    """(student, chapter) of what was entered as unreadable, to its submission in nbgrader's tables.

    None where that must stay, because a person gave a score, extra credit, a comment or an extension.
    """
    by_person = sa.or_(
        GRADE.c.manual_score.is_not(None),
        GRADE.c.extra_credit.is_not(None),
        COMMENT.c.manual_comment.is_not(None),
        SUBMITTED.c.extension.is_not(None),
    )
    found: dict[tuple[str, str], str | None] = {}
    for part in chunks(sorted(set(students))):
        query = (
            sa.select(
                SUBMISSION.c.student,
                SUBMISSION.c.chapter,
                SUBMITTED.c.id,
                sa.func.max(sa.case((by_person, 1), else_=0)),
            )
            .join(ASSIGNMENT, ASSIGNMENT.c.name == SUBMISSION.c.chapter)
            .join(
                SUBMITTED,
                (SUBMITTED.c.assignment_id == ASSIGNMENT.c.id) & (SUBMITTED.c.student_id == SUBMISSION.c.student),
            )
            .outerjoin(NOTEBOOK, NOTEBOOK.c.assignment_id == SUBMITTED.c.id)
            .outerjoin(GRADE, GRADE.c.notebook_id == NOTEBOOK.c.id)
            .outerjoin(COMMENT, COMMENT.c.notebook_id == NOTEBOOK.c.id)
            .where(SUBMISSION.c.student.in_(part), SUBMISSION.c.status == "unreadable")
            .group_by(SUBMISSION.c.student, SUBMISSION.c.chapter, SUBMITTED.c.id)
        )
        for student, chapter, submitted, kept in connection.execute(query):
            found[student, chapter] = None if kept else submitted
    return found


def remove_submitted(connection: sa.Connection, submissions: Sequence[str]) -> None:
    """Remove submissions from nbgrader's tables, with what hangs on them."""
    for part in chunks(submissions):
        notebooks = sa.select(NOTEBOOK.c.id).where(NOTEBOOK.c.assignment_id.in_(part))
        for table in (GRADE, COMMENT):
            connection.execute(table.delete().where(table.c.notebook_id.in_(notebooks)))
        connection.execute(NOTEBOOK.delete().where(NOTEBOOK.c.assignment_id.in_(part)))
        connection.execute(SUBMITTED.delete().where(SUBMITTED.c.id.in_(part)))


def record(connection: sa.Connection, rows: Sequence[Mapping[str, Any]], known: Iterable[tuple[str, str]]) -> None:
    """Write rows of our own table in place of those of the same student and chapter."""
    replaced = set(known)
    old = [
        {"who": row["student"], "what": row["chapter"]} for row in rows if (row["student"], row["chapter"]) in replaced
    ]
    if old:
        connection.execute(
            SUBMISSION.delete().where(
                SUBMISSION.c.student == sa.bindparam("who"), SUBMISSION.c.chapter == sa.bindparam("what")
            ),
            old,
        )
    if rows:
        connection.execute(SUBMISSION.insert(), [dict(row) for row in rows])


def scores(chapter: str) -> sa.Select[Any]:
    """Select of each submitted notebook of a chapter with its score and what a late penalty depends on."""
    kept = (
        NOTEBOOK.c.id,
        NOTEBOOK.c.late_submission_penalty,
        SUBMITTED.c.student_id,
        SUBMITTED.c.timestamp,
        SUBMITTED.c.extension,
        ASSIGNMENT.c.duedate,
    )
    return (
        sa.select(*kept, sa.func.coalesce(sa.func.sum(SCORE), 0.0).label("score"))
        .select_from(NOTEBOOK)
        .join(SUBMITTED, SUBMITTED.c.id == NOTEBOOK.c.assignment_id)
        .join(ASSIGNMENT, ASSIGNMENT.c.id == SUBMITTED.c.assignment_id)
        .outerjoin(GRADE, GRADE.c.notebook_id == NOTEBOOK.c.id)
        .where(ASSIGNMENT.c.name == chapter)
        .group_by(*kept)
    )


def chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Parts small enough for one IN (...)."""
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
