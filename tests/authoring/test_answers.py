"""`make answers`: our answers for whoever learns alone, and nothing that graders keep to themselves."""

import re
import subprocess

import pytest

from autograder.authoring.answers import REASON, answers_notebook, main, write_answers
from autograder.authoring.source import SourceError, read_source, source_names
from tests.mini_course import NAME, ROOT

CHAPTERS = source_names(ROOT)


def cells_of(notebook):
    return {cell.id: cell.source for cell in notebook.cells}


def test_answers_stand_where_the_stubs_would_and_hidden_checks_do_not(course):
    cells = cells_of(answers_notebook(course, NAME))
    assert cells["double"].endswith('    """Twice n."""\n    secret_way = n * 2\n    return secret_way')
    assert cells["guess"] == 'guess: dict[str, int] = {"a": 0}\nguess = {"a": 1}'
    assert "hidden_input" not in cells["check-double"] and cells["check-double"].endswith("check.report()")
    assert cells[f"explain-{NAME}"] == "The model answer, for whoever grades."


def test_it_cannot_be_taken_for_a_release(course):
    notebook = answers_notebook(course, NAME)
    assert "Try first" in notebook.cells[0].source
    assert not [cell for cell in notebook.cells if "nbgrader" in cell.metadata]


def test_the_module_writes_one_notebook_per_chapter(course, monkeypatch, capsys):
    monkeypatch.chdir(course)
    assert main("90") == 0
    assert capsys.readouterr().out.strip() == f"answers/{NAME}/{NAME}.ipynb"
    assert (course / "answers" / NAME / f"{NAME}.ipynb").is_file()
    assert main("no-such") == 2
    with pytest.raises(SourceError, match="no chapter"):
        write_answers(course, "no-such")


def test_git_ignores_the_folder():
    path = "answers/01-graph/01-graph.ipynb"
    assert subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_that_gives_reasons_gives_one_for_every_function(name):
    """And none of them is in the release."""
    answers = {
        cell.id: cell.source
        for cell in read_source(ROOT, name).cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
    }
    functions = {id for id, source in answers.items() if re.search(r"^ +### BEGIN SOLUTION", source, re.MULTILINE)}
    reasoned = {id for id, source in answers.items() if REASON in source}
    assert not reasoned or functions <= reasoned
    for id in reasoned:
        begin, reason, end = (answers[id].index(text) for text in ("### BEGIN SOLUTION", REASON, "### END SOLUTION"))
        assert begin < reason < end, f"{name}, {id}: the reason stands outside the solution, so learners would see it"
    assert REASON not in (ROOT / "notebooks" / name / f"{name}.ipynb").read_text(encoding="utf-8")
