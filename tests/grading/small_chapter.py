"""A small chapter in nbgrader's format, as source and as release: three exercises, a free answer, demos, set-up cells.

It needs no torch beyond the lab's own import, so that grading it is quick.
"""

from __future__ import annotations

import copy
import json
import re

from autograder.grading.course import Chapter, chapter_of

NAME = "01-small"

SETUP = "import math\nfrom autograder.lab import Check"
HELPERS = "def halves(number):\n    return number / 2, number - number / 2"

DOUBLE = '''def double(x: float) -> float:
    """Return twice x."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION'''
CHECK_DOUBLE = """check = Check("double", points=2)
check("two", lambda: double(1), 2, wrong={1: "You returned x itself."})
### BEGIN HIDDEN TESTS
check("a negative number", lambda: double(-3.5), -7.0, hint="Mind the sign.")
### END HIDDEN TESTS
check.report()"""

TOTAL = '''def total(numbers: list[float]) -> float:
    """Return the sum of numbers; 0.0 for an empty list."""
    ### BEGIN SOLUTION
    result = 0.0
    for number in numbers:
        result += number
    return result
    ### END SOLUTION'''
CHECK_TOTAL = """sample = [1.0, 2.0, 3.5]
check = Check("total", points=3)
check("three numbers", lambda: total(sample), 6.5)
check("none", lambda: total([]), 0.0)
### BEGIN HIDDEN TESTS
check("many", lambda: total([0.5] * 1000), 500.0)
check("halves", lambda: total(list(halves(9.0))), 9.0)
### END HIDDEN TESTS
check.report()"""

GUESS = """# Fill in a letter for each question.
guess = {"q1": "", "q2": ""}
### BEGIN SOLUTION
guess = {"q1": "b", "q2": "a"}
### END SOLUTION"""
CHECK_GUESS = """check = Check("guess", points=2)
check("question 1", lambda: guess["q1"], "b", wrong={"a": "That is what a copy would do."})
check("question 2", lambda: guess["q2"], "a")
check.report()"""

#: what students may write instead of the reference answers
ANSWERS = {
    "double": 'def double(x: float) -> float:\n    """Return twice x."""\n    return x + x',
    "total": (
        "def total(numbers: list[float]) -> float:\n"
        '    """Return the sum of numbers; 0.0 for an empty list."""\n'
        "    return math.fsum(numbers)"
    ),
    "guess": 'guess = {"q1": "b", "q2": "a"}',
}
EXPLANATION = "Doubling is adding a number to itself, and a total is doubling's patient cousin."
FULL_MARKS = 7.0


def source_notebook(name: str = NAME) -> dict:
    """The instructor's notebook."""
    cells = [
        _markdown("title", f"# {name}\n\nWhat you will be able to do."),
        _code("setup", SETUP, grade_id="setup", locked=True),
        _markdown("intro", "Numbers first."),
        _code("demo-1", "print('a demonstration', math.pi)", tags=["demo"]),
        _code("helpers", HELPERS),
        _markdown("exercise-1", "### Exercise: double"),
        _code("answer-1", DOUBLE, grade_id="double", solution=True),
        _code("check-1", CHECK_DOUBLE, grade_id="check-double", grade=True, locked=True, points=2),
        _markdown("exercise-2", "### Exercise: total\n\n<details><summary>Stuck?</summary>Add.</details>"),
        _code("answer-2", TOTAL, grade_id="total", solution=True),
        _code("check-2", CHECK_TOTAL, grade_id="check-total", grade=True, locked=True, points=3),
        _code("demo-2", "for number in range(3):\n    print(number, number * number)", tags=["demo"]),
        _code("constants", "LIMIT = 1000", grade_id="constants", locked=True),
        _code("answer-3", GUESS, grade_id="guess", solution=True),
        _code("check-3", CHECK_GUESS, grade_id="check-guess", grade=True, locked=True, points=2),
        _markdown(
            "explain",
            "Explain aloud what doubling is.",
            grade_id=f"explain-{name}",
            grade=True,
            solution=True,
            points=2,
        ),
        _markdown("summary", "Five lines of summary."),
    ]
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": cells,
    }


def released_notebook(name: str = NAME) -> dict:
    """What students are given."""
    notebook = source_notebook(name)
    for cell in notebook["cells"]:
        text = cell["source"]
        text = re.sub(r"### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS\n", "", text, flags=re.DOTALL)
        text = re.sub(
            r"^( *)### BEGIN SOLUTION\n.*?### END SOLUTION",
            lambda found: "    # YOUR CODE HERE\n    raise NotImplementedError()" if found[1] else "# YOUR CODE HERE",
            text,
            flags=re.DOTALL | re.MULTILINE,
        )
        if cell["metadata"].get("nbgrader", {}).get("solution") and cell["cell_type"] == "markdown":
            text = "YOUR ANSWER HERE"
        cell["source"] = text
    return notebook


def small_chapter(name: str = NAME) -> Chapter:
    """The chapter, loaded."""
    return chapter_of(name, source_notebook(name), released_notebook(name))


def answered_notebook(name: str = NAME, **answers: str) -> dict:
    """The release with answers in it: all right ones unless said; None leaves an exercise as it was released."""
    notebook = released_notebook(name)
    given = {**ANSWERS, f"explain-{name}": EXPLANATION, **answers}
    for cell in notebook["cells"]:
        grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if given.get(grade_id) is not None:
            cell["source"] = given[grade_id]
        if cell["cell_type"] == "code":
            cell["execution_count"] = 3
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["as run\n", "by a student\n"]}]
    return notebook


def another_chapter(name: str = "02-other") -> dict:
    """An answered notebook of a chapter with other exercises; set-up cells and the last words are the same."""
    return _otherwise(answered_notebook(name))


def other_chapter(name: str = "02-other") -> Chapter:
    """That chapter, loaded."""
    return chapter_of(name, _otherwise(source_notebook(name)), _otherwise(released_notebook(name)))


def _otherwise(notebook: dict) -> dict:
    text = json.dumps(notebook)
    for old, new in (
        ("double", "triple"),
        ("total", "product"),
        ("guess", "forecast"),
        ("halves", "thirds"),
        ("demonstration", "show"),
        ("number * number", "number + 1"),
        ("Numbers first.", "Letters first."),
    ):
        text = text.replace(old, new)
    return json.loads(text)


def find_cell(notebook: dict, grade_id: str) -> dict:
    """The first cell with this grade_id, or with this cell id."""
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id or cell.get("id") == grade_id:
            return cell
    raise KeyError(grade_id)


def position(notebook: dict, grade_id: str) -> int:
    """Where that cell stands."""
    return next(number for number, cell in enumerate(notebook["cells"]) if cell is find_cell(notebook, grade_id))


def code_cell(source: str, **metadata: object) -> dict:
    """A code cell of a student's own."""
    return {"cell_type": "code", "metadata": dict(metadata), "source": source, "outputs": [], "execution_count": None}


def clone(cell: dict) -> dict:
    """A deep copy."""
    return copy.deepcopy(cell)


def _markdown(cell_id: str, source: str, **grader: object) -> dict:
    return {"cell_type": "markdown", "id": cell_id, "metadata": _metadata(grader), "source": source}


def _code(cell_id: str, source: str, tags: list[str] | None = None, **grader: object) -> dict:
    metadata = _metadata(grader)
    if tags:
        metadata["tags"] = tags
    return {
        "cell_type": "code",
        "id": cell_id,
        "metadata": metadata,
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def _metadata(grader: dict) -> dict:
    if not grader:
        return {}
    marks = {"grade": False, "locked": False, "schema_version": 3, "solution": False, "task": False, **grader}
    return {"nbgrader": marks}
