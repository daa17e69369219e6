"""What a class's results say: per exercise, per check, per misconception, and who needs a person."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autograder.grading.book.gradebook import GradeRow
from autograder.grading.course import Chapter
from autograder.grading.jobs import parsed
from autograder.grading.results import CheckResult, ClassResult, Note, SubmissionResult
from autograder.reporting.table import never_defined


@dataclass
class ExerciseSummary:
    """How a class did in one exercise: how many earned all, some and none of its points."""

    chapter: str
    name: str
    max_score: float
    full: int = 0
    some: int = 0
    none: int = 0
    total: float = 0.0

    @property
    def count(self) -> int:
        """Submissions that were graded in it."""
        return self.full + self.some + self.none

    @property
    def mean(self) -> float:
        """Mean score as a share of the points, 0 to 1."""
        return self.total / (self.count * self.max_score) if self.count and self.max_score else 0.0


@dataclass
class CheckSummary:
    """How many of those whose exercise was graded fail one check."""

    chapter: str
    exercise: str
    label: str
    hidden: bool
    failed: int = 0
    count: int = 0


@dataclass
class Misconception:
    """A sentence that explains a wrong answer, and who got it.

    `known` says that the course has the sentence for a value that this mistake produces; otherwise it is the check's
    hint or the comparison's own words.
    """

    chapter: str
    exercise: str
    label: str
    sentence: str
    known: bool
    students: list[str] = field(default_factory=list)


@dataclass
class Summary:
    """The class."""

    statuses: dict[str, int]
    students: list[str]
    chapters: list[str]
    exercises: list[ExerciseSummary]
    checks: list[CheckSummary]
    misconceptions: list[Misconception]
    needs_person: list[tuple[SubmissionResult, list[str]]]


#: (chapter, exercise, label) to the course's sentences, and whether each stands for one known mistake
Sentences = dict[tuple[str, str, str], dict[str, bool]]


def sentences_of(chapters: Iterable[Chapter]) -> Sentences:
    """The sentences that a course's check cells hold. One that is also the hint stands for no mistake in particular."""
    return {
        (chapter.name, cell.id, call.label): {sentence: True for _, sentence in call.wrong} | {call.hint: False}
        for chapter in chapters
        for cell in chapter.checks
        for call in parsed(cell.source).calls
    }


def summarize(result: ClassResult, sentences: Sentences | None = None) -> Summary:
    """Sum up a class.

    Parameters
    ----------
    result : ClassResult
    sentences : mapping, optional
        What the course says of failed checks (`sentences_of`). Without it no misconception is `known`, and
        messages are taken as they stand.
    """
    exercises: dict[tuple[str, str], ExerciseSummary] = {}
    checks: dict[tuple[str, str, str], CheckSummary] = {}
    found: dict[tuple[str, str, str], Misconception] = {}
    for submission in result.submissions:
        for exercise in submission.exercises:
            if exercise.manual or exercise.score is None:
                continue
            name = exercise.id.removeprefix("check-")
            row = exercises.setdefault(
                (submission.chapter, name), ExerciseSummary(submission.chapter, name, exercise.max_score)
            )
            row.total += exercise.score
            if exercise.score >= exercise.max_score - 1e-9:
                row.full += 1
            elif exercise.score > 0:
                row.some += 1
            else:
                row.none += 1
            undefined = never_defined(submission, exercise)  # then what its checks say is of no answer
            for check in exercise.checks:
                key = (submission.chapter, exercise.id, check.label)
                tally = checks.setdefault(key, CheckSummary(submission.chapter, name, check.label, check.hidden))
                tally.count += 1
                if not check.passed:
                    tally.failed += 1
                if not check.passed and not undefined:
                    sentence, known = _explanation(check, (sentences or {}).get(key, {}))
                    place = (submission.chapter, name, sentence)
                    entry = Misconception(submission.chapter, name, check.label, sentence, known)
                    found.setdefault(place, entry)
                    if submission.student not in found[place].students:
                        found[place].students.append(submission.student)
    return Summary(
        dict(Counter(submission.status for submission in result.submissions)),
        sorted({submission.student for submission in result.submissions}),
        sorted({submission.chapter for submission in result.submissions}),
        [exercises[key] for key in sorted(exercises, key=lambda key: (key[0], list(exercises).index(key)))],
        sorted((check for check in checks.values() if check.failed), key=lambda check: -check.failed / check.count),
        sorted(found.values(), key=lambda item: (item.chapter, not item.known, -len(item.students))),
        [(item, _reasons(item)) for item in result.submissions if item.needs_person],
    )


def everybody(results: Iterable[SubmissionResult], rows: Iterable[GradeRow]) -> list[SubmissionResult]:
    """The results, and one of status `missing` for everybody who stands in the gradebook without any."""
    found = list(results)
    worth = {result.chapter: result.max_score for result in found}
    have = {(result.student, result.chapter) for result in found}
    return found + [
        SubmissionResult(
            row.student,
            row.chapter,
            "missing",
            None,
            worth.get(row.chapter, row.max_score),
            notes=[Note("missing", "Nothing was handed in.")],
        )
        for row in rows
        if row.status == "missing" and (row.student, row.chapter) not in have
    ]


def by_chapter(result: ClassResult) -> dict[str, list[SubmissionResult]]:
    """Submissions of each chapter, in order of student."""
    chapters: dict[str, list[SubmissionResult]] = defaultdict(list)
    for submission in sorted(result.submissions, key=lambda item: (item.chapter, item.student)):
        chapters[submission.chapter].append(submission)
    return dict(chapters)


def _explanation(check: CheckResult, sentences: Mapping[str, bool]) -> tuple[str, bool]:
    """The sentence for a failed check, and whether it names a known mistake. Visible checks put what they got first."""
    for sentence, known in sentences.items():
        if sentence and check.message.endswith(sentence):
            return sentence, known
    return check.message or "It failed without a word.", False


def _reasons(submission: SubmissionResult) -> list[str]:
    return [note.text for note in submission.notes if note.needs_person] or [submission.status]
