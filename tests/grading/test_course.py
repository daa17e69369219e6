"""Loading a chapter: source beside release, and one sentence where they are wrong."""

import json

import pytest

from autograder.grading.course import CourseError, chapter_names, chapter_of, load_chapter
from tests.grading.small_chapter import NAME, released_notebook, small_chapter, source_notebook


def write(root, source=None, release=None, name=NAME):
    for kind, notebook in (("source", source), ("notebooks", release)):
        if notebook is not None:
            path = root / kind / name / f"{name}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(notebook if isinstance(notebook, str) else json.dumps(notebook))


def test_a_chapter_is_loaded_from_the_course(tmp_path):
    write(tmp_path, source_notebook(), released_notebook())
    assert chapter_names(tmp_path) == [NAME]
    chapter = load_chapter(tmp_path, NAME)
    assert [cell.id for cell in chapter.cells] == [cell.id for cell in small_chapter().cells]
    assert chapter.exercises == ("double", "total", "guess")
    assert chapter.max_score == 7.0
    assert [cell.id for cell in chapter.manual] == [f"explain-{NAME}"]
    check, answer = chapter.by_id["check-double"], chapter.by_id["double"]
    assert (check.exercise, check.points, check.role, check.locked) == ("double", 2.0, "check", True)
    assert "HIDDEN" in check.source and "HIDDEN" not in check.released
    assert (answer.role, answer.exercise, answer.locked) == ("answer", "double", False)
    assert "SOLUTION" in answer.source and "NotImplementedError" in answer.released
    roles = {cell.id: cell.role for cell in chapter.cells}
    assert roles["demo-1"] == "demo" and roles["helpers"] == roles["setup"] == "course" and roles["intro"] == "text"
    assert chapter.metadata["kernelspec"]["name"] == "python3"


def test_sources_may_be_lists_of_lines():
    source, release = source_notebook(), released_notebook()
    for notebook in (source, release):
        for cell in notebook["cells"]:
            cell["source"] = cell["source"].splitlines(keepends=True)
    assert chapter_of(NAME, source, release).by_id["double"].source == small_chapter().by_id["double"].source


def changed(change, of="source"):
    notebooks = {"source": source_notebook(), "release": released_notebook()}
    change(notebooks[of]["cells"])
    return notebooks


BROKEN = {
    "a cell is missing in the release": (lambda: changed(lambda cells: cells.pop(5), "release"), "not in step"),
    "a cell was renamed since": (
        lambda: changed(lambda cells: cells[6]["metadata"]["nbgrader"].update(grade_id="twice")),
        "not in step",
    ),
    "points are no number": (
        lambda: changed(lambda cells: cells[7]["metadata"]["nbgrader"].update(points="two")),
        "points of 'check-double'",
    ),
    "a check without an answer": (
        lambda: {
            "source": (both := changed(lambda cells: cells.pop(6)))["source"],
            "release": {**both["release"], "cells": both["release"]["cells"][:6] + both["release"]["cells"][7:]},
        },
        "belongs to no answer cell",
    ),
    "two cells of one id": (
        lambda: {
            key: {**nb, "cells": nb["cells"] + [nb["cells"][6]]}
            for key, nb in {"source": source_notebook(), "release": released_notebook()}.items()
        },
        "two cells with the id 'double'",
    ),
    "no source": (lambda: {"release": released_notebook()}, "is not there: run `autograder build"),
    "no release": (lambda: {"source": source_notebook()}, "is not there: run `autograder build"),
    "a source that is no JSON": (lambda: {"source": "{", "release": released_notebook()}, "cannot be read"),
    "a source that is no notebook": (lambda: {"source": "[]", "release": released_notebook()}, "no notebook"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_course_is_one_sentence(tmp_path, kind):
    make, words = BROKEN[kind]
    write(tmp_path, **make())
    with pytest.raises(CourseError) as error:
        load_chapter(tmp_path, NAME)
    text = str(error.value)
    assert words in text and "\n" not in text and NAME in text and text.endswith(".")
