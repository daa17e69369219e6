"""What grading found, and the JSON that says so.

The dataclasses are the JSON of `autograder grade --json`, field by field.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

SubmissionStatus = Literal["graded", "repaired", "unreadable", "missing"]
ExerciseStatus = Literal["ran", "not-run", "timed-out", "died"]


@dataclass
class CheckResult:
    """One check: its label, whether it passed, whether it is hidden, and the sentence a failed one shows its student."""

    label: str
    passed: bool
    hidden: bool = False
    message: str = ""


@dataclass
class ExerciseResult:
    """One graded cell.

    Attributes
    ----------
    id : str
        The grade_id of the check cell or of the manually graded cell.
    score : float or None
        Points; None where a person must grade.
    max_score : float
        Points that the cell can earn.
    manual : bool
        Whether a person must grade it. Manual cells stay out of the submission's sums.
    """

    id: str
    status: ExerciseStatus
    manual: bool
    score: float | None
    max_score: float
    checks: list[CheckResult] = field(default_factory=list)


@dataclass
class Note:
    """What student and instructor should know of a submission: a code for programs, a sentence for people."""

    code: str
    text: str
    cell: str | None = None
    needs_person: bool = False


@dataclass
class Source:
    """Which file was graded: its path, the SHA-256 of its bytes, and its number among the attempts (from 1)."""

    path: str
    sha256: str
    attempt: int = 1


@dataclass
class SubmissionResult:
    """One student's chapter."""

    student: str
    chapter: str
    status: SubmissionStatus
    score: float | None
    max_score: float
    seconds: float = 0.0
    engine: str = ""
    sandbox: str = ""
    source: Source | None = None
    notes: list[Note] = field(default_factory=list)
    exercises: list[ExerciseResult] = field(default_factory=list)

    @property
    def needs_person(self) -> bool:
        """Whether a person must look: unreadable, or a note says so."""
        return self.status == "unreadable" or any(note.needs_person for note in self.notes)


@dataclass
class ClassResult:
    """One run of the grader."""

    course: str
    seed: int
    torch: str
    submissions: list[SubmissionResult] = field(default_factory=list)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    def write(self, path: Path) -> None:
        text = self.to_json() + "\n"
        if path.is_symlink() or (path.exists() and not path.is_file()):  # such as /dev/stdout
            path.write_text(text, encoding="utf-8")
            return
        part = path.with_name(f".{path.name}.part")  # whoever stops us leaves no half a file
        part.write_text(text, encoding="utf-8")
        part.replace(path)

    @classmethod
    def read(cls, path: Path) -> ClassResult:
        return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ClassResult:
        """Rebuild from the JSON; KeyError or TypeError where it is not this JSON."""
        return cls(data["course"], data["seed"], data["torch"], [_submission(item) for item in data["submissions"]])


def _submission(item: dict[str, Any]) -> SubmissionResult:
    exercises = [
        ExerciseResult(**{**exercise, "checks": [CheckResult(**check) for check in exercise["checks"]]})
        for exercise in item["exercises"]
    ]
    return SubmissionResult(
        **{
            **item,
            "source": Source(**item["source"]) if item["source"] else None,
            "notes": [Note(**note) for note in item["notes"]],
            "exercises": exercises,
        }
    )
