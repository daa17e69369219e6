"""The course's own chapters: every answer is found, whatever a tool took off the notebook, and no other chapter's."""

import ast
import json
from pathlib import Path

import pytest

from autograder.grading.course import chapter_of
from autograder.grading.reading.notebook import Unreadable, read_notebook
from autograder.grading.restore.graft import restore
from tests.grading.corpus import encode

ROOT = Path(__file__).parents[3]
RELEASES = sorted(path for path in ROOT.glob("notebooks/*/*.ipynb") if path.stem == path.parent.name)


def real_chapter(path):
    release = json.loads(path.read_text(encoding="utf-8"))
    return chapter_of(path.stem, release, release)


def answered_from_the_bank(path):
    """A release with the bank's right answers in it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        exercise = cell["metadata"].get("nbgrader", {}).get("grade_id")
        for answer in sorted((ROOT / "tests" / "bank" / path.stem / str(exercise)).glob("right_*.py"))[:1]:
            cell["source"] = answer.read_text(encoding="utf-8")
    return notebook


@pytest.mark.parametrize("path", RELEASES, ids=lambda path: path.stem)
def test_a_real_chapter_is_recognized_without_any_mark(path):
    chapter, notebook = real_chapter(path), answered_from_the_bank(path)
    plain = restore(read_notebook(encode(notebook)), chapter)
    assert plain.answered == set(chapter.exercises) and not plain.repaired
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    bare = restore(read_notebook(encode(notebook)), chapter)
    assert bare.answered == set(chapter.exercises)
    assert [(cell.role, cell.source) for cell in bare.cells if cell.run] == [
        (cell.role, cell.source) for cell in plain.cells if cell.run
    ]


@pytest.mark.parametrize("path", RELEASES, ids=lambda path: path.stem)
def test_a_real_chapter_refuses_the_others(path):
    chapter = real_chapter(path)
    for other in RELEASES:
        if other != path:
            with pytest.raises(Unreadable, match=path.stem):
                restore(read_notebook(encode(answered_from_the_bank(other))), chapter)


def bare(source):
    """The code without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


@pytest.mark.parametrize("deleted", [False, True], ids=["checks kept", "checks deleted"])
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("path", RELEASES, ids=lambda path: path.stem)
def test_bare_answers_under_the_ids_of_other_cells_are_found(path, step, deleted):
    """A tool that deletes prose and numbers the cells anew gives each the id that another cell had."""
    chapter, notebook = real_chapter(path), answered_from_the_bank(path)
    ids = [cell["id"] for cell in notebook["cells"]]
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if deleted:
        cells = [cell for cell in cells if not cell["metadata"].get("nbgrader", {}).get("grade")]
    answers = {}
    for number, cell in enumerate(cells):
        exercise = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if exercise in chapter.exercises:
            cell["source"] = answers[exercise] = bare(cell["source"])
        cell.update(metadata={}, id=ids[number * step % len(ids)])
    restored = restore(read_notebook(encode({**notebook, "cells": cells})), chapter)
    assert restored.answered == set(chapter.exercises)
    run = [cell for cell in restored.cells if cell.run]
    for exercise, source in answers.items():
        end = next(number for number, cell in enumerate(run) if cell.id == f"check-{exercise}")
        assert any(source in cell.source for cell in run[:end]), exercise
