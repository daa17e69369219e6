"""grades.csv: one line per chapter and student, with the columns of `nbgrader export` and two more."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from datetime import datetime
from io import StringIO
from pathlib import Path

from autograder.checks.table import points
from autograder.grading.book.gradebook import GradeRow
from autograder.reporting.pages import write
from autograder.reporting.table import visible

COLUMNS = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
    "needs_manual_grade",
    "status",
)


def grades_csv(rows: Iterable[GradeRow]) -> str:
    """The text of grades.csv. Times are UTC.

    As `nbgrader export` has it, nothing handed in is zero points, and scores and `max_score` count what people grade.
    They have at most two decimals, as on every page.

    A text that a spreadsheet would take for a formula (it begins with =, +, - or @) gets an apostrophe in front.
    Control characters are written out, line breaks and tabs become spaces.
    """
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        table.writerow(
            [
                _safe(row.chapter),
                _time(row.due),
                _time(row.timestamp),
                *map(_safe, (row.student, row.last_name, row.first_name, row.email)),
                *(points(n or 0.0) for n in (row.raw_score, row.late_submission_penalty, row.score, row.max_score)),
                "yes" if row.needs_manual_grade else "no",
                _safe(row.status),
            ]
        )
    return text.getvalue()


def write_grades(rows: Iterable[GradeRow], path: Path) -> Path:
    """Write grades.csv."""
    return write(path, grades_csv(rows))


def _safe(text: str) -> str:
    text = visible(text.translate({ord(c): " " for c in "\t\r\n"}))
    return f"'{text}" if text.lstrip()[:1] in {"=", "+", "-", "@"} else text


def _time(moment: datetime | None) -> str:
    return "" if moment is None else str(moment)
