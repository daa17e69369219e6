"""Check and set-up cells of a release: folded, titled, and without the key of a prediction. Grading minds none of it."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.authoring.release_cells import finished
from autograder.authoring.source import read_source, source_names
from autograder.authoring.stubs import is_prediction
from autograder.checks.grammar import parse, visible
from autograder.checks.verdict import NO_EMPTY_FORM
from autograder.grading.course import load_chapter
from autograder.grading.reading.notebook import read_notebook
from autograder.grading.restore.graft import restore
from tests import mini_course
from tests.mini_course import NAME, ROOT, released
from tests.test_colab_round_trip import grade

FOLDED = {"setup": "Set-up", "check-double": "Check: double", "check-guess": "Check: guess"}
STUB = 'guess = {"a": "", "b": 0, "c": None, "d": [1]}\n# YOUR CODE HERE'
CHECK = """\
check = Check("guess", points=4)
check("ä", lambda: guess["a"].strip(), "key", wrong={"no": "Thé reason.", (lambda v: v == "né"): "Other."}, hint="Look up.")
check("b", lambda: guess["b"], runs("b"))
check("c", lambda: guess["c"],
      False, rtol=0.5)
check.that("d", lambda: guess["d"], lambda v: v == ["key"])
check.report()"""


def cells(notebook):
    return {cell["id"]: cell for cell in notebook["cells"]}


def test_check_and_setup_cells_come_folded_and_no_other(built_course):
    found = cells(released(built_course))
    for name, title in FOLDED.items():
        assert found[name]["metadata"]["jupyter"] == {"source_hidden": True}
        assert found[name]["metadata"]["cellView"] == "form"
        assert "".join(found[name]["source"]).startswith(f"#@title {title}\n")
    others = [cell for name, cell in found.items() if name not in FOLDED]
    assert len(others) > 3
    assert not any({"jupyter", "cellView"} & cell["metadata"].keys() or "#@title" in "".join(cell["source"]) for cell in others)  # fmt: skip


def test_a_prediction_is_sealed_and_says_the_same():
    done = finished(CHECK, STUB, 7)
    for secret in ("key", "False", "reason", "Other", "Look up"):
        assert secret not in done
    assert 'runs("b")' in done and "rtol=0.5" in done  # an expression gives nothing away
    before, after = parse(CHECK), parse(done)
    assert [call.empty for call in after.calls[:3]] == ["", 0, None]
    assert [(c.label, c.thunk, c.expected, c.hint) for c in before.calls] == [
        (c.label, c.thunk, c.expected, c.hint) for c in after.calls
    ]
    assert after.calls[0].wrong[0] == ("no", "Thé reason.") and after.calls[0].wrong[1][0]("né")
    assert after.calls[3].predicate(["key"]) and not after.calls[3].predicate([1])


def test_a_check_of_a_function_stays_readable_and_knows_how_many_there_are():
    done = finished(CHECK, "def guess():\n    raise NotImplementedError()", 7)
    assert done == CHECK.replace("points=4)", "points=4, of=7)")


@pytest.mark.parametrize("name", source_names(ROOT))
def test_the_released_checks_of_a_chapter_mean_what_the_source_means(name):
    notebook = json.loads((ROOT / "notebooks" / name / f"{name}.ipynb").read_text())
    given = cells(notebook)
    code = [cell for cell in read_source(ROOT, name).cells if cell.cell_type == "code"]
    checks = [cell for cell in code if cell.metadata.get("nbgrader", {}).get("grade")]
    for cell in checks:
        before, after = (parse(visible("".join(c["source"]))) for c in (cell, given[cell["id"]]))
        assert before.program(expected=True) == after.program(expected=True)
        assert [(c.label, c.hint, [text for _, text in c.wrong]) for c in before.calls] == [
            (c.label, c.hint, [text for _, text in c.wrong]) for c in after.calls
        ]
        text = "".join(given[cell["id"]]["source"])
        assert f", of={len(checks)})" in text
        if is_prediction("".join(given[after.exercise]["source"])):
            assert "wrong=Check.sealed(" in text and "wrong={" not in text and "wrong=[" not in text
            assert all(call.empty is not NO_EMPTY_FORM for call in after.calls)


def unfolded(notebook):
    """As a front end may save it that shows everything and knows no forms."""
    for cell in notebook["cells"]:
        cell["metadata"].pop("jupyter", None)
        cell["metadata"].pop("cellView", None)
    return notebook


def without_titles(notebook):
    for cell in unfolded(notebook)["cells"]:
        text = "".join(cell["source"])
        cell["source"] = text.partition("\n")[2] if text.startswith("#@title") else text
    return notebook


def folded_everywhere(notebook):
    for cell in notebook["cells"]:
        cell["metadata"] |= {"jupyter": {"source_hidden": True, "outputs_hidden": True}, "cellView": "form", "collapsed": True}  # fmt: skip
    return notebook


@pytest.mark.parametrize("change", [lambda notebook: notebook, unfolded, without_titles, folded_everywhere])
def test_what_a_front_end_makes_of_folding_costs_nothing(course, engine, tmp_path, change):
    notebook = change(copy.deepcopy(mini_course.filled(course, mini_course.RIGHT)))
    mini_course.hand_in(course, "s01", notebook)
    (result,) = grade(engine, course, [NAME], course / "submitted", tmp_path / "out")
    assert (result.status, result.score, result.max_score) == ("graded", 5.0, 5.0)
    assert result.notes == []


def test_a_check_cell_without_its_mark_is_known_by_its_text(course):
    notebook = mini_course.filled(course, mini_course.RIGHT)
    for cell in notebook["cells"]:
        cell.pop("id")
        cell["metadata"] = {}
    found = restore(read_notebook(json.dumps(notebook | {"nbformat_minor": 4}).encode()), load_chapter(course, NAME))
    assert [cell.id for cell in found.cells if cell.role == "check"] == ["check-double", "check-guess"]


def test_the_gradebook_keeps_the_cells_as_they_were_written(course):
    """Stock nbgrader puts them back before it grades: what a release hides is hidden from no grader."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    words = [sys.executable, "-m", "nbgrader", "generate_assignment", NAME, "--force", "--create"]
    done = subprocess.run(words, cwd=course, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        kept = book.find_source_cell("check-guess", NAME, NAME).source
    assert "#@title" not in kept and "Check.sealed" not in kept and 'guess["a"], 1)' in kept
    assert "Check.sealed" in "".join(cells(released(course))["check-guess"]["source"])
