"""What a run tells besides points, in a class and at home: modules that are not here, input(), pasted signs, a course cell."""

# ruff: noqa: RUF001

import json

import pytest

from autograder.engine.api import CellRun
from autograder.grading.learner import check_file, released_chapters
from autograder.grading.run_notes import run_notes
from tests.grading.corpus import encode
from tests.grading.grading_small import grade
from tests.grading.small_chapter import (
    ANSWERS,
    FULL_MARKS,
    NAME,
    answered_notebook,
    code_cell,
    find_cell,
    position,
    released_notebook,
    small_chapter,
)

HEAD = 'def double(x: float) -> float:\n    """Return twice x."""\n'


def judged(engine, tmp_path, own=None, above="helpers", helpers=None, **answers):
    """Result of a class of one, and the notes that `check` has for the same notebook."""
    notebook = answered_notebook(**answers)
    if own is not None:
        notebook["cells"].insert(position(notebook, above), code_cell(own))
    if helpers is not None:
        find_cell(notebook, "helpers")["source"] = helpers
    path = tmp_path / "submitted" / "anna" / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(encode(notebook))
    release = tmp_path / "course" / "notebooks" / NAME / f"{NAME}.ipynb"
    release.parent.mkdir(parents=True)
    release.write_text(json.dumps(released_notebook()), encoding="utf-8")
    at_home = check_file(engine, released_chapters(tmp_path / "course"), path)
    return grade(engine, tmp_path / "submitted", tmp_path / "out")["anna"], at_home


def texts(notes, code):
    return [note.text for note in notes if note.code == code]


@pytest.mark.parametrize(
    "head",
    ["from tqdm_is_not_here import tqdm", "import einops_is_not_here.torch, math", "import wandb_is_not_here as w"],
)
def test_an_import_of_what_is_not_here_costs_nothing_and_a_note_names_it(engine, tmp_path, head):
    module = head.split()[1].partition(".")[0].strip(",")
    result, at_home = judged(engine, tmp_path, double=f"{head}\n{ANSWERS['double']}")
    assert result.score == FULL_MARKS and at_home.score == at_home.max_score
    wanted = [
        f"The cell double imports the module {module}, which is not installed here; whatever uses it fails, the rest was run."
    ]
    assert texts(result.notes, "module-missing") == texts(at_home.notes, "module-missing") == wanted
    assert result.status == "graded" and not result.needs_person


def test_an_answer_that_uses_it_is_told_so_by_its_check(engine, tmp_path):
    source = f"import einops_is_not_here\n{HEAD}    return einops_is_not_here.repeat(x)"
    result, _ = judged(engine, tmp_path, double=source)
    assert result.score == FULL_MARKS - 2
    assert "the module einops_is_not_here is not installed here" in result.exercises[0].checks[0].message
    inside, _ = judged(engine, tmp_path / "2", double=f"{HEAD}    import no_such_thing\n    return no_such_thing.a()")
    assert texts(inside.notes, "module-missing") == [
        "The answer to double needs the module no_such_thing, which is not installed here; whatever uses it fails, the rest was run."
    ]


@pytest.mark.parametrize("line", ["breakpoint()", "import pdb; pdb.set_trace()"])
def test_a_debugger_that_was_left_costs_nothing(engine, tmp_path, line):
    result, at_home = judged(engine, tmp_path, double=f"{HEAD}    {line}\n    return 2 * x")
    assert result.score == FULL_MARKS and result.notes == [] and at_home.score == at_home.max_score


def test_input_in_an_answer_is_named_in_message_and_note(engine, tmp_path):
    sentence = "input(). Nobody is there to type while it is checked: take it out, or put a value in its place."
    result, at_home = judged(engine, tmp_path, double=f'{HEAD}    input("go on?")\n    return 2 * x')
    assert [c.message for c in result.exercises[0].checks] == [f"It called {sentence}"] * 2
    assert (
        texts(result.notes, "asks-input")
        == texts(at_home.notes, "asks-input")
        == [f"The answer to double calls {sentence}"]
    )
    stopped, _ = judged(engine, tmp_path / "2", double='input("go on?")\n' + ANSWERS["double"])
    assert texts(stopped.notes, "answer-stopped") == [f"Line 1 of the cell double stopped at {sentence}"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("print(“twice”)", "“ (U+201C, left double quotation mark), as web pages and word processors write it: type \" instead."),
        ("name = ‘x’", "‘ (U+2018, left single quotation mark), as web pages and word processors write it: type ' instead."),
        ("y =\u00a0x", "U+00A0 (no-break space), a blank that is not Python's, as web pages have it: type a plain space instead."),
        ("y = x – 1", "– (U+2013, en dash), as web pages and word processors write it: type - instead."),
        ("y = x\u200b", "U+200B (zero width space), which nobody can see: delete it, or type the line anew."),
        ("print（x)", "（ (U+FF08, fullwidth left parenthesis), as web pages and word processors write it: type ( instead."),
        ("print('it’s)", "a string that does not end, and ’ (U+2019, right single quotation mark), as web pages and word processors write it: type ' instead."),
    ],
)  # fmt: skip
def test_a_sign_from_a_web_page_is_named_with_its_line_and_what_to_type(engine, tmp_path, line, words):
    result, at_home = judged(engine, tmp_path, double=f"{HEAD}    {line}\n    return 2 * x")
    assert result.score == FULL_MARKS - 2
    wanted = [f"Line 3 of the cell double holds {words}"]
    assert texts(result.notes, "answer-stopped") == texts(at_home.notes, "answer-stopped") == wanted


def test_a_locked_cell_that_stops_is_named_with_its_cause():
    """What a cell above it could do to it is put back, where it is known; so here the run is made up."""
    error = {"output_type": "error", "ename": "TypeError", "evalue": "range() missing 1\nargument", "traceback": []}
    (note,) = run_notes([CellRun("setup", status="error", outputs=[error])], small_chapter())
    assert (note.code, note.cell, note.needs_person) == ("course-stopped", "setup", True)
    assert note.text == (
        "The course's cell setup stopped with TypeError: range() missing 1 argument. With the course's own answers it runs, "
        "so a cell above it in this notebook must be the cause; checks that need it fail."
    )


def test_an_unlocked_cell_that_a_student_broke_needs_nobody(engine, tmp_path):
    result, _ = judged(engine, tmp_path, helpers="def halves(number):\n    return number / 2, number / 2\n1 / 0")
    (note,) = [note for note in result.notes if note.code == "course-stopped"]
    assert not note.needs_person and "ZeroDivisionError" in note.text


def test_names_that_import_everything_hides_are_told(engine, tmp_path):
    result, at_home = judged(engine, tmp_path, own="from math import *")
    (text,) = texts(result.notes, "builtins-hidden")
    assert text.startswith(
        "The cell own-5 imports everything from a module, which hides Python's own pow from the answers"
    )
    assert texts(at_home.notes, "builtins-hidden") == [text] and result.score == FULL_MARKS
