"""Two runs of the grader: whose grade changed, and by which check."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.table import Table
from rich.text import Text

from autograder.grading.results import CheckResult, ClassResult, ExerciseResult, SubmissionResult
from autograder.reporting.table import escape


@dataclass(frozen=True)
class CheckChange:
    """One check whose verdict differs; None where a run does not have the check."""

    exercise: str
    label: str
    before: bool | None
    after: bool | None

    def __str__(self) -> str:
        words = {None: "absent", True: "passed", False: "failed"}
        return f"{self.exercise.removeprefix('check-')}: {self.label}: {words[self.before]}, now {words[self.after]}"


@dataclass(frozen=True)
class Change:
    """One submission whose score, status or maximum differs. "absent" is the status in a run that does not have it."""

    student: str
    chapter: str
    before: float | None
    after: float | None
    status_before: str
    status_after: str
    max_before: float = 0.0
    max_after: float = 0.0
    checks: list[CheckChange] = field(default_factory=list)


def compare(before: ClassResult, after: ClassResult) -> list[Change]:
    """What changed from one run to another, by student and chapter.

    A submission counts as changed when its score, maximum or status differs, or the score of one of its exercises.
    """
    old = {(item.student, item.chapter): item for item in before.submissions}
    new = {(item.student, item.chapter): item for item in after.submissions}
    changes = []
    for student, chapter in sorted(old.keys() | new.keys()):
        first, second = old.get((student, chapter)), new.get((student, chapter))
        if _standing(first) == _standing(second):
            continue
        changes.append(
            Change(
                student,
                chapter,
                first.score if first else None,
                second.score if second else None,
                first.status if first else "absent",
                second.status if second else "absent",
                first.max_score if first else 0.0,
                second.max_score if second else 0.0,
                _checks(first, second),
            )
        )
    return changes


def compare_table(changes: list[Change]) -> Table:
    """The changes for a terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("student", "chapter", "before", "after"):
        table.add_column(name, no_wrap=True)
    table.add_column("checks", overflow="fold")
    for change in changes:
        table.add_row(
            Text(escape(change.student)),
            Text(escape(change.chapter)),
            Text(_standing_text(change.before, change.max_before, change.status_before)),
            Text(_standing_text(change.after, change.max_after, change.status_after)),
            Text("\n".join(escape(str(check)) for check in change.checks)),
        )
    return table


def _standing(item: SubmissionResult | None) -> object:
    if item is None:
        return None
    exercises = {exercise.id: (exercise.score, exercise.max_score) for exercise in item.exercises}
    return item.score, item.max_score, item.status, exercises


def _checks(before: SubmissionResult | None, after: SubmissionResult | None) -> list[CheckChange]:
    old, new = _by_label(before), _by_label(after)
    changes = []
    for key in dict.fromkeys([*old, *new]):
        first, second = old.get(key), new.get(key)
        passed = (first.passed if first else None, second.passed if second else None)
        if passed[0] is not passed[1]:
            changes.append(CheckChange(*key, *passed))
    return changes


def _by_label(item: SubmissionResult | None) -> dict[tuple[str, str], CheckResult]:
    exercises: list[ExerciseResult] = item.exercises if item else []
    return {(exercise.id, check.label): check for exercise in exercises for check in exercise.checks}


def _standing_text(score: float | None, max_score: float, status: str) -> str:
    return status if score is None else f"{score:.4g} / {max_score:.4g}"
