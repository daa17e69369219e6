"""A small class made by hand: two chapters, a dozen students, every status, and names that bite."""

from __future__ import annotations

import hashlib
from typing import Any

from autograder.grading.book.gradebook import GradeRow
from autograder.grading.course import Chapter, chapter_of
from autograder.grading.results import CheckResult, ClassResult, ExerciseResult, Note, Source, SubmissionResult

LIVE = "<img src=x onerror=alert(1)>"  #: what must never reach a page unescaped

#: chapter -> exercise -> (points, checks: label, hidden, message when it fails)
COURSE: dict[str, dict[str, tuple[float, list[tuple[str, bool, str]]]]] = {
    "01-graph": {
        "walk": (
            3.0,
            [
                ("the root comes first", False, "Got (1, 'MulBackward0'), expected (0, 'SumBackward0')."),
                ("one entry per path", False, "You visited the leaf once. walk lists paths: it appears once per edge."),
                ("None edges are skipped", True, "An input that needs no gradient leaves None in next_functions."),
                ("depth counts from the root", True, "The depth of fn itself is 0."),
            ],
        ),
        "nodes": (
            4.0,
            [
                (
                    "every node once",
                    False,
                    "A node reached by two edges was listed twice: remember what you have seen.",
                ),
                ("60 doublings finish", True, "You follow every path, and paths double with each addition."),
                (
                    "a chain of 20,000 nodes",
                    True,
                    "Recursion ends at 1,000 frames. Keep a list of what is left to visit.",
                ),
            ],
        ),
        "saved": (
            3.0,
            [
                ("keys have no prefix", False, "The keys still begin with _saved_."),
                ("values that are no tensors are left out", True, "_saved_dim is an int; only tensors count."),
            ],
        ),
    },
    "02-saved-tensors": {
        "saved_bytes": (
            4.0,
            [
                ("the MLP's bytes", False, "You counted elements, not bytes: multiply by element_size()."),
                ("parameters count", True, "Weights are saved by reference, and they count here."),
            ],
        ),
        "ledger": (
            5.0,
            [
                ("one row per storage", False, "A view shares its storage with its base: one row for both."),
                ("a reused address is not mistaken", True, "Hold the storage, or its address may be given away again."),
            ],
        ),
    },
}

#: student -> exercise -> indices of the checks that fail; absent exercises pass
FAILS: dict[str, dict[str, list[int]]] = {
    "ada": {},
    "bea": {"walk": [1]},
    "cem": {"walk": [1], "nodes": [1, 2], "ledger": [1]},
    "dilnoza": {"nodes": [2], "saved": [0]},
    "emre": {"walk": [0, 1, 2, 3], "nodes": [0, 1, 2], "saved": [0, 1], "saved_bytes": [0, 1], "ledger": [0, 1]},
    "fatima": {"nodes": [1], "saved_bytes": [0]},
    "goran": {"walk": [2], "ledger": [0, 1]},
    "hana": {"nodes": [1], "ledger": [0]},
    "=cmd|calc": {"saved": [1]},
    "zoë müller": {"walk": [1], "saved_bytes": [0, 1]},
}
STUDENTS = [*FAILS, "ilse", "jomo"]


def notebooks(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Source and release of a chapter, as the build would write them."""
    return _notebook(name, True), _notebook(name, False)


def chapters() -> list[Chapter]:
    return [chapter_of(name, *notebooks(name)) for name in COURSE]


def result(student: str, chapter: str) -> SubmissionResult:
    """One student's chapter, as grading would report it."""
    points = sum(points for points, _ in COURSE[chapter].values())
    where = f"submitted/{student}/{chapter}/{chapter}.ipynb"
    source = Source(where, hashlib.sha256(where.encode()).hexdigest())
    if student == "jomo":
        return SubmissionResult(
            student, chapter, "missing", None, points, notes=[Note("missing", "Nothing handed in.")]
        )
    if student == "ilse" and chapter == "01-graph":
        note = Note(
            "html-page", f"The file is a web page named {LIVE}: the notebook itself is needed.", needs_person=True
        )
        return SubmissionResult(student, chapter, "unreadable", None, points, 0.0, "warm", "namespaces", source, [note])
    fails = FAILS.get(student, {})
    exercises = []
    for name, (most, checks) in COURSE[chapter].items():
        bad = fails.get(name, [])
        rows = [
            CheckResult(label, i not in bad, hidden, message if i in bad else "")
            for i, (label, hidden, message) in enumerate(checks)
        ]
        exercises.append(ExerciseResult(f"check-{name}", "ran", False, most * (1 - len(bad) / len(checks)), most, rows))
    exercises.append(ExerciseResult(f"explain-{chapter}", "ran", True, None, 2.0))
    result = SubmissionResult(
        student, chapter, "graded", 0.0, points, 0.11, "warm", "namespaces", source, [], exercises
    )
    if student == "hana" and chapter == "01-graph":
        exercises[1].status = "timed-out"
        exercises[1].score = 0.0
        exercises[1].checks[1].message = "Stopped after 5 s."
    if student == "goran" and chapter == "01-graph":
        exercises[0].checks[2].message = f"Got '{LIVE}\x1b[31m', expected 'AccumulateGrad'."
        exercises[0].checks[2].hidden = False
        result.status = "repaired"
        result.notes.append(Note("check-restored", "A check cell had been deleted; it was put back.", "check-walk"))
    result.score = sum(exercise.score or 0.0 for exercise in exercises)
    return result


def never_defined() -> SubmissionResult:
    """A syntax error in the first answer: every check of it failed for the same reason."""
    broken = result("ada", "01-graph")
    broken.notes.append(
        Note("answer-stopped", "Line 1 of the cell walk stopped with SyntaxError: invalid syntax", "walk")
    )
    walk = broken.exercises[0]
    walk.score = 0.0
    for check in walk.checks:
        check.passed = False
        text = "." if check.hidden else ": name 'walk' is not defined."
        check.message = f"It raised NameError{text} A hint for quite another fault."
    broken.score = 7.0
    return broken


def row(student: str, **values: Any) -> GradeRow:
    """Where a student stands in the first chapter, as the gradebook would say it."""
    plain: dict[str, Any] = {"last_name": "", "first_name": "", "email": "", "due": None, "timestamp": None}
    plain |= {"raw_score": 1.0, "late_submission_penalty": 0.0, "score": 1.0, "max_score": 10.0}
    plain |= {"needs_manual_grade": False, "status": "graded"}
    return GradeRow(**({"chapter": "01-graph", "student": student} | plain | values))


def sample_class() -> ClassResult:
    """Everybody's everything."""
    submissions = [result(student, chapter) for chapter in COURSE for student in STUDENTS]
    return ClassResult("autograd", 7, "2.13.0", submissions)


def submission_cells(student: str, chapter: Chapter) -> list[dict[str, Any]]:
    """The cells of a submission: the release with answers typed in, and one cell of the student's own."""
    cells = []
    for cell in _notebook(chapter.name, False)["cells"]:
        mark = cell["metadata"].get("nbgrader", {})
        if mark.get("solution") and cell["cell_type"] == "code":
            cell["source"] = f"def {mark['grade_id']}(x):\n    return x  # {student}"
        cells.append(cell)
    own = {"cell_type": "code", "id": "own", "metadata": {}, "execution_count": None, "outputs": [], "source": "1 + 1"}
    return [*cells, own]


def _notebook(name: str, with_answers: bool) -> dict[str, Any]:
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "id": "title", "metadata": {}, "source": f"# {name}"}]
    cells.append(_code("setup", "import math", locked=True))
    for exercise, (points, _) in COURSE[name].items():
        answer = "return x" if with_answers else "raise NotImplementedError()"
        cells.append(_code(exercise, f"def {exercise}(x):\n    {answer}", solution=True))
        hidden = (
            "\n### BEGIN HIDDEN TESTS\nsecret_of_" + exercise + " = 1\n### END HIDDEN TESTS" if with_answers else ""
        )
        source = f"seen = {exercise}(1){hidden}\n{points} * (seen == 1)"
        cells.append(_code(f"check-{exercise}", source, grade=True, locked=True, points=points))
    explain = _code(f"explain-{name}", "Explain it aloud.", grade=True, solution=True, points=2.0)
    del explain["execution_count"], explain["outputs"]
    cells.append(explain | {"cell_type": "markdown"})
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": spec}, "cells": cells}


def _code(grade_id: str, source: str, **flags: Any) -> dict[str, Any]:
    mark = {"grade": False, "solution": False, "locked": False, "task": False, "schema_version": 3} | flags
    return {
        "cell_type": "code",
        "id": grade_id,
        "metadata": {"nbgrader": mark | {"grade_id": grade_id}},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }
