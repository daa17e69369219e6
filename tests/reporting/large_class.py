"""A class of 500 made up from the small one, to look at: python -m tests.reporting.large_class FOLDER."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

from autograder.grading.results import ClassResult
from autograder.reporting.class_report import write_class_report
from autograder.reporting.feedback import write_feedback
from tests.reporting import sample_class as sample

CHAPTERS = 8
NAMES = ("ada", "bea.lovelace", "cem_yilmaz", "maria-magdalena.von-hohenstein", "s{n:06d}", "zoë müller", "ng")

WEIGHTS = [0.1 if student in ("ilse", "jomo") else 1.0 for student in sample.STUDENTS]


def large_class(students: int = 500, seed: int = 0):
    """Results and standings: every student hands in what somebody of the small class did, chapter by chapter."""
    draw = random.Random(seed)
    submissions, rows = [], []
    for n in range(students):
        name = NAMES[n % len(NAMES)].format(n=n) + ("" if n < len(NAMES) else f"-{n}")
        for number in range(CHAPTERS):
            kind = list(sample.COURSE)[number % 2]
            chapter = f"{number:02d}-{kind.split('-', 1)[1]}"
            found = sample.result(draw.choices(sample.STUDENTS, WEIGHTS)[0], kind)
            found = replace(found, student=name, chapter=chapter)
            submissions.append(found)
            late = draw.random() < 0.03
            by_hand = draw.choice([0.0, 1.5, 2.0])
            waits = found.status == "graded" and draw.random() < 0.05
            score = None if found.status == "missing" else (found.score or 0.0) + by_hand * (not waits) - late
            rows.append(
                sample.row(
                    name,
                    chapter=chapter,
                    status=found.status,
                    score=score,
                    max_score=found.max_score + 2,
                    seconds_late=7_000.0 * late,
                    late_submission_penalty=1.0 * late,
                    waiting=frozenset({f"explain-{chapter}"} if waits else ()),
                )
            )
    return ClassResult("autograd", 7, "2.13.0", submissions), rows


if __name__ == "__main__":
    out = Path(sys.argv[1])
    result, rows = large_class()
    write_feedback(result.submissions, out / "feedback", rows=rows)
    print(write_class_report(result, out / "report.html", (), rows, out / "feedback"))
