"""Feedback: one page per student and chapter that names each check and says what a failed one means."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.grading.book.autograded import folder_of
from autograder.grading.book.gradebook import ByHand, GradeRow
from autograder.grading.course import text_of
from autograder.grading.results import CheckResult, ExerciseResult, SubmissionResult
from autograder.reporting.pages import render, write
from autograder.reporting.table import duration, never_defined


@dataclass
class _Shown:
    """An exercise as the page shows it. `stopped` says why its answer does not exist, where nothing else is wrong."""

    id: str
    name: str
    status: str
    by_person: bool
    score: float | None
    max_score: float
    comment: str
    answer: str
    unanswered: bool
    stopped: str
    checks: list[CheckResult] = field(default_factory=list)

    @property
    def failed(self) -> list[CheckResult]:
        return [check for check in self.checks if not check.passed]

    @property
    def passed(self) -> list[CheckResult]:
        return [check for check in self.checks if check.passed]

    @property
    def all_well(self) -> bool:
        """Whether there is nothing to read: all points, no comment, nothing failed."""
        full = self.score is not None and self.score >= self.max_score - 1e-9
        return full and self.status == "ran" and not self.comment and not self.failed


def feedback_page(
    result: SubmissionResult,
    by_hand: ByHand | None = None,
    answers: Mapping[str, str] | None = None,
    row: GradeRow | None = None,
) -> str:
    """The page for one submission: what lost points first, the rest folded.

    Parameters
    ----------
    result : SubmissionResult
    by_hand : ByHand, optional
        What people gave in the gradebook: scores, extra credit, comments.
    answers : mapping, optional
        grade_id of an answer cell to its source, to be shown under its checks.
    row : GradeRow, optional
        Where the student stands in the gradebook: how late it was, what that costs, and which free answers were left
        blank.

    Returns
    -------
    str
        HTML that needs no other file. Of hidden checks it holds the label and the message.
    """
    given = by_hand or ByHand()
    exercises = [_shown(result, exercise, given, answers or {}, row) for exercise in result.exercises]
    told = {exercise.name for exercise in exercises if exercise.stopped}
    scores = [exercise.score for exercise in exercises if exercise.score is not None]
    graded = result.score is not None or bool(scores)
    penalty = (row.late_submission_penalty if row else None) or 0.0
    total = max(0.0, sum(scores) - penalty) if graded else None
    return render(
        "feedback.html",
        result=result,
        exercises=sorted(exercises, key=lambda exercise: exercise.all_well),
        notes=[note for note in result.notes if (note.code, note.cell in told) != ("answer-stopped", True)],
        hidden=any(check.hidden for exercise in exercises for check in exercise.checks),
        total=total,
        max_score=sum(e.max_score for e in exercises if e.score is not None) or result.max_score,
        late=duration(row.seconds_late) if row and (row.seconds_late > 0 or penalty) else "",
        penalty=penalty,
        open_cells=[exercise for exercise in exercises if exercise.by_person and exercise.score is None],
    )


def write_feedback(
    results: Iterable[SubmissionResult],
    folder: Path,
    by_hand: Mapping[tuple[str, str], ByHand] | None = None,
    autograded: Path | None = None,
    rows: Iterable[GradeRow] = (),
) -> list[Path]:
    """Write `<folder>/<student>/<chapter>/<chapter>.html` for all but the missing, and return the paths.

    Parameters
    ----------
    by_hand : mapping, optional
        `Book.by_hand()`.
    autograded : Path, optional
        The folder of autograded notebooks; answers come from there.
    rows : iterable of GradeRow, optional
        `Book.rows()`.
    """
    standing = {(row.student, row.chapter): row for row in rows}
    pages = []
    for result in results:
        if result.status == "missing":
            continue
        answers = _answers(autograded, result) if autograded is not None else {}
        key = (result.student, result.chapter)
        page = feedback_page(result, (by_hand or {}).get(key), answers, standing.get(key))
        pages.append(write(folder_of(folder, result.student, result.chapter) / f"{result.chapter}.html", page))
    return pages


def _shown(
    result: SubmissionResult, exercise: ExerciseResult, given: ByHand, answers: Mapping[str, str], row: GradeRow | None
) -> _Shown:
    name = exercise.id.removeprefix("check-")
    score = given.scores.get(exercise.id, exercise.score)
    unanswered = score is None and row is not None and exercise.id in row.unanswered
    score = 0.0 if unanswered else score
    if score is not None:
        score += given.extra_credit.get(exercise.id, 0.0)
    return _Shown(
        exercise.id,
        name,
        exercise.status,
        (exercise.score is None and not unanswered) or exercise.id in given.scores,
        score,
        exercise.max_score,
        given.comments.get(name, ""),
        "" if unanswered else answers.get(name, ""),
        unanswered,
        never_defined(result, exercise),
        exercise.checks,
    )


def _answers(autograded: Path, result: SubmissionResult) -> dict[str, str]:
    """Answers by grade_id, from the autograded notebook; none where it is not there."""
    path = folder_of(autograded, result.student, result.chapter) / f"{result.chapter}.ipynb"
    if result.score is None or not path.is_file():
        return {}
    answers = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        mark = cell["metadata"].get("nbgrader", {})
        if mark.get("solution"):
            answers[mark["grade_id"]] = text_of(cell["source"])
    return answers
