"""Two runs of the grader: whose grade changed, and by which check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich.table import Table
from rich.text import Text

from autograder.checks.table import points
from autograder.grading.results import CheckResult, ClassResult, ExerciseResult, SubmissionResult
from autograder.reporting.table import escape

CHECKS_SHOWN = 5  #: checks named beside one changed grade


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


def summary(before: ClassResult, after: ClassResult, changes: Sequence[Change]) -> list[str]:
    """What differs, the most important line first: how many grades, what only one run has, seed and torch."""
    both = len(_keys(before) & _keys(after))
    changed = sum("absent" not in (change.status_before, change.status_after) for change in changes)
    lines = [f"Changed: {changed} of the {both} grades that both runs have." if changed else "No grade changed."]
    if not both:
        lines = ["The two runs have no submission in common."]
    for word, status in (("first", "status_after"), ("second", "status_before")):
        alone = Counter(change.chapter for change in changes if getattr(change, status) == "absent")
        if alone:
            shown = ", ".join(f"{chapter} ({number})" for chapter, number in sorted(alone.items()))
            lines.append(f"Only in the {word} run: {escape(shown)}.")
    for name, old, new in (("seed", before.seed, after.seed), ("torch", before.torch, after.torch)):
        if old != new:
            lines.append(f"{name} was {escape(str(old))}, now {escape(str(new))}.")
    return lines


def compare_table(changes: Iterable[Change]) -> Table:
    """The grades that both runs have and that changed, for a terminal, by chapter."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("chapter", "student", "before", "after"):
        table.add_column(name, no_wrap=True)
    table.add_column("checks", overflow="fold")
    chapter = None
    for change in sorted(changes, key=lambda change: (change.chapter, change.student)):
        if "absent" in (change.status_before, change.status_after):
            continue
        shown = [escape(str(check)) for check in change.checks[:CHECKS_SHOWN]]
        if len(change.checks) > CHECKS_SHOWN:
            shown.append(f"and {len(change.checks) - CHECKS_SHOWN} more")
        table.add_row(
            Text("" if change.chapter == chapter else escape(change.chapter)),
            Text(escape(change.student)),
            Text(_standing_text(change.before, change.max_before, change.status_before)),
            Text(_standing_text(change.after, change.max_after, change.status_after)),
            Text("\n".join(shown)),
        )
        chapter = change.chapter
    return table


def _keys(result: ClassResult) -> set[tuple[str, str]]:
    return {(item.student, item.chapter) for item in result.submissions}


def _standing(item: SubmissionResult | None) -> object:
    if item is None:
        return None
    exercises = {exercise.id: (exercise.score, exercise.max_score) for exercise in item.exercises}
    return item.score, item.max_score, item.status, exercises


def _checks(before: SubmissionResult | None, after: SubmissionResult | None) -> list[CheckChange]:
    if before is None or after is None or before.score is None or after.score is None:
        return []  # the status says it all
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
    return status if score is None else f"{points(score)} / {points(max_score)}"
