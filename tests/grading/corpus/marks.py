"""Metadata: grading marks that were changed, lost or exchanged, ids, other releases."""

from __future__ import annotations

from tests.grading.corpus.damages import (
    MANUAL,
    damage,
    each_grader,
    encode,
    position_of_id,
    retype,
)
from tests.grading.small_chapter import (
    ANSWERS,
    another_chapter,
    code_cell,
    find_cell,
)


@damage("points changed to text", "repaired", "metadata-edited")
def _(nb):
    find_cell(nb, "check-double")["metadata"]["nbgrader"]["points"] = "two hundred"


@damage("points changed to NaN", "repaired", "metadata-edited")
def _(nb):
    find_cell(nb, "check-double")["metadata"]["nbgrader"]["points"] = float("nan")


@damage("points changed to 400 digits", "repaired", "metadata-edited")
def _(nb):
    find_cell(nb, "check-double")["metadata"]["nbgrader"]["points"] = 10**400


@damage("an integer of 10,000 digits in metadata", "graded", "long-number")
def _(nb):
    nb["metadata"]["loss"] = "LONG"
    find_cell(nb, "double")["metadata"]["nbgrader"]["loss"] = "LONG"
    return encode(nb).replace(b'"LONG"', b"9" * 10_000)


@damage("points changed to 1e308", "repaired", "metadata-edited")
def _(nb):
    find_cell(nb, "check-double")["metadata"]["nbgrader"]["points"] = 1e308


@damage("grade and solution swapped", "repaired", "metadata-edited")
def _(nb):
    for marks in each_grader(nb):
        marks["grade"], marks["solution"] = marks["solution"], marks["grade"]


@damage("answer marked as locked", "repaired", "metadata-edited")
def _(nb):
    find_cell(nb, "double")["metadata"]["nbgrader"]["locked"] = True


@damage("only grade_id left", "repaired", "metadata-edited")
def _(nb):
    for cell in nb["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"] = {"nbgrader": {"grade_id": cell["metadata"]["nbgrader"]["grade_id"]}}


@damage("nbgrader marks stripped, ids left", "repaired", "metadata-lost")
def _(nb):
    for cell in nb["cells"]:
        cell["metadata"].pop("nbgrader", None)


@damage("all metadata and ids stripped", "repaired", "metadata-lost")
def _(nb):
    for cell in nb["cells"]:
        cell["metadata"] = {}
        cell.pop("id")


@damage("all metadata and ids stripped, checks edited", "repaired", "metadata-lost")
def _(nb):
    for cell in nb["cells"]:
        if "check.report()" in cell["source"]:
            cell["source"] = cell["source"].replace("check.report()", "# mine\ncheck.report()")
        cell["metadata"] = {}
        cell.pop("id")


@damage("all metadata stripped, answers as Markdown", "repaired", "answer-elsewhere")
def _(nb):
    for cell in nb["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution") and cell["cell_type"] == "code":
            retype(cell, "markdown")
        cell["metadata"] = {}
        cell.pop("id")


@damage("metadata set to null and to a list", "repaired", "metadata-lost")
def _(nb):
    find_cell(nb, "double")["metadata"] = None
    nb["cells"][position_of_id(nb, "check-1")]["metadata"] = []


@damage("marks of an answer and its check exchanged", "repaired")
def _(nb):
    one, other = find_cell(nb, "double"), find_cell(nb, "check-double")
    one["metadata"], other["metadata"] = other["metadata"], one["metadata"]


@damage("marks of two answers exchanged", "repaired", "answer-elsewhere")
def _(nb):
    one, other = find_cell(nb, "double"), find_cell(nb, "total")
    one["metadata"], other["metadata"] = other["metadata"], one["metadata"]


@damage("an answer made prose, its mark exchanged with the free answer's", "repaired", "answer-elsewhere")
def _(nb):
    one, other = find_cell(nb, "guess"), find_cell(nb, MANUAL)
    one["metadata"], other["metadata"] = other["metadata"], one["metadata"]
    one["cell_type"] = "markdown"
    del one["outputs"], one["execution_count"]


@damage("every grade_id renamed", "repaired", "unknown-cell")
def _(nb):
    for marks in each_grader(nb):
        marks["grade_id"] = "my-" + marks["grade_id"]
    find_cell(nb, MANUAL.replace("explain", "my-explain"))


@damage("a cell with an unknown grade_id", "repaired", "unknown-cell")
def _(nb):
    marks = {
        "grade": True,
        "grade_id": "check-old",
        "locked": True,
        "points": 9,
        "schema_version": 3,
        "solution": False,
    }
    nb["cells"].append(code_cell('check = Check("old", points=9)\ncheck.report()', nbgrader=marks))


@damage("grade_id a number", "repaired", "metadata-edited")
def _(nb):
    find_cell(nb, "double")["metadata"]["nbgrader"]["grade_id"] = 7


@damage("nbgrader schema 1", "graded", "schema-old")
def _(nb):
    for marks in each_grader(nb):
        marks["schema_version"] = 1
        marks.pop("task", None)


@damage("nbgrader schema 2", "graded", "schema-old")
def _(nb):
    for marks in each_grader(nb):
        marks["schema_version"] = 2


@damage("nbgrader schema 4", "repaired", "schema-version")
def _(nb):
    for marks in each_grader(nb):
        marks["schema_version"] = 4


@damage("skip-execution and demo tags on answers", "graded")
def _(nb):
    for name in ANSWERS:
        find_cell(nb, name)["metadata"]["tags"] = ["skip-execution", "demo", "remove-cell"]


@damage("cell ids missing", "graded")
def _(nb):
    nb["nbformat_minor"] = 4
    for cell in nb["cells"]:
        cell.pop("id")


@damage("cell ids all the same", "graded")
def _(nb):
    for cell in nb["cells"]:
        cell["id"] = "same"


@damage("an older release of the chapter", "repaired", "check-edited")
def _(nb):
    find_cell(nb, "check-total")["source"] = (
        'check = Check("total", points=1)\ncheck("one", lambda: total([1.0]), 1.0)\ncheck.report()'
    )
    find_cell(nb, "setup")["source"] = "import math\nfrom old_lab import Check"
    nb["cells"].remove(find_cell(nb, "constants"))


@damage("two chapters in one notebook", "repaired")
def _(nb):
    nb["cells"] += another_chapter()["cells"]
