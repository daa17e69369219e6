"""The class as a table in a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from autograder.checks.table import points
from autograder.grading.results import ExerciseResult, SubmissionResult

if TYPE_CHECKING:  # it imports nbgrader, for which no learner's check should wait
    from autograder.grading.book.standing import GradeRow

_STYLES = {"graded": "", "repaired": "yellow", "unreadable": "bold red", "missing": "dim"}


def visible(text: str) -> str:
    """Text with every character that is not shown as itself written out, line breaks and tabs excepted."""
    return "".join(c if c.isprintable() or c in "\n\t" else _escaped(c) for c in text)


def escape(text: str) -> str:
    """Text on one line, fit for a terminal: no control character, no change of direction, nothing invisible."""
    return " ".join(visible(text).split())


def class_table(submissions: Iterable[SubmissionResult], rows: Iterable[GradeRow] = ()) -> Table:
    """Student, chapter, both scores, status, and the first failed check of each submission; who was late, if anybody.

    A timestamp that could not be read is said in the same column.

    Parameters
    ----------
    submissions : iterable of SubmissionResult
    rows : iterable of GradeRow
        Where they stand in the gradebook: it knows the final scores, and when they handed in.
    """
    submissions, rows = list(submissions), list(rows)
    late = handing_in(submissions, rows)
    standing = {(row.student, row.chapter): row for row in rows}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("student", "chapter", "checks", "final", "status"):
        table.add_column(name, justify="right" if name in ("checks", "final") else "left", no_wrap=True)
    if late:
        table.add_column("handed in")
    table.add_column("first failed check", overflow="fold")
    for submission in submissions:
        style = _STYLES.get(submission.status, "")
        table.add_row(
            Text(escape(submission.student)),
            Text(escape(submission.chapter)),
            Text(score_of(submission)),
            Text(final_of(standing.get((submission.student, submission.chapter)))),
            Text(submission.status, style=style),
            *([Text(late.get((submission.student, submission.chapter), ""))] if late else []),
            Text(escape(first_trouble(submission))),
        )
    return table


def score_of(submission: SubmissionResult) -> str:
    """What the checks gave, and their maximum, as in 7.5 / 10; a dash where they gave no score."""
    return f"{points(submission.score)} / {points(submission.max_score)}"


def final_of(row: GradeRow | None) -> str:
    """What grades.csv says, as in 9.5 / 12; "so far" while a free answer waits."""
    if row is None:
        return points(None)
    return f"{points(row.score or 0.0)} / {points(row.max_score)}{' so far' if row.waiting else ''}"


def lateness(row: GradeRow | None) -> str:
    """By what a submission was late and what that cost, as in "3 h 20 min, 2 points off"; empty where it was not."""
    if row is None or (row.seconds_late <= 0 and not row.late_submission_penalty):
        return ""
    taken = points(row.late_submission_penalty or 0.0)
    cost = {"0": "nothing", "1": "1 point"}.get(taken, f"{taken} points")
    return f"{duration(row.seconds_late)}, {cost} off"


def handing_in(submissions: Iterable[SubmissionResult], rows: Iterable[GradeRow]) -> dict[tuple[str, str], str]:
    """(student, chapter) to "late" and by what, or that nothing can be said of it; only where there is something."""
    said = {(row.student, row.chapter): f"late {lateness(row)}" for row in rows if lateness(row)}
    broken = {
        (item.student, item.chapter): "timestamp.txt could not be read"
        for item in submissions
        if any(note.code == "timestamp-broken" for note in item.notes)
    }
    return said | broken


def waiting(rows: Iterable[GradeRow]) -> dict[tuple[str, str], list[str]]:
    """(chapter, free answer) to the students whose answer waits for a person."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in sorted(rows, key=lambda row: (row.chapter, row.student)):
        for cell in sorted(row.waiting):
            found.setdefault((row.chapter, cell), []).append(row.student)
    return found


def never_defined(submission: SubmissionResult, exercise: ExerciseResult) -> str:
    """Why an answer's name does not exist, where all of its checks failed for that alone; else empty."""
    name = exercise.id.removeprefix("check-")
    stopped = next((note for note in submission.notes if (note.code, note.cell) == ("answer-stopped", name)), None)
    if stopped is None or not exercise.checks:
        return ""
    alike = all(not check.passed and check.message.startswith("It raised NameError") for check in exercise.checks)
    return stopped.text if alike else ""


def duration(seconds: float) -> str:
    """A time as people say it, in its two largest units: 2 days 3 h, 3 h 20 min, 1 min."""
    minutes = max(1, round(seconds / 60))
    days, hours = divmod(minutes // 60, 24)
    if days:
        parts = [f"{days} day{'' if days == 1 else 's'}", f"{hours} h" if hours else ""]
    else:
        parts = [f"{hours} h" if hours else "", f"{minutes % 60} min" if minutes % 60 else ""]
    return " ".join(part for part in parts if part)


def first_trouble(submission: SubmissionResult) -> str:
    """The first failed check as "exercise: label", or why there is nothing to check; empty where all is well."""
    if submission.score is None:
        return next((note.text for note in submission.notes), "")
    for exercise in submission.exercises:
        if stopped := never_defined(submission, exercise):
            return stopped
        if label := first_failed(exercise):
            return f"{exercise.id.removeprefix('check-')}: {label}"
    return ""


def first_failed(exercise: ExerciseResult) -> str:
    """The label of the first failed check; empty where there is none."""
    return next((check.label for check in exercise.checks if not check.passed), "")


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
