"""Damaged submissions, made from a released notebook the way people and tools damage them.

Each kind takes an answered notebook and returns what lies in the student's folder. It says which status and which notes
must come out, and what share of the answers is still there.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.grading.small_chapter import (
    ANSWERS,
    EXPLANATION,
    FULL_MARKS,
    NAME,
    another_chapter,
    answered_notebook,
    clone,
    code_cell,
    find_cell,
    position,
    released_notebook,
)

MANUAL = f"explain-{NAME}"


@dataclass(frozen=True)
class Damage:
    """One kind of damage.

    Attributes
    ----------
    make : callable
        Notebook (dict) to what is handed in: bytes of the notebook file, or a dict of file names below the student's
        folder to bytes, or to a str, which is the target of a link.
    status : str
        What must come out.
    codes : tuple of str
        Notes that must be among those that come out.
    score : float or None
        Points of 7 that must come out; None where there is no grade.
    """

    kind: str
    make: Callable[[dict], bytes | dict]
    status: str
    codes: tuple[str, ...] = ()
    score: float | None = FULL_MARKS


DAMAGES: list[Damage] = []


def damage(kind, status="repaired", *codes, score=FULL_MARKS):
    """Register a kind of damage; the function may also change the notebook in place and return None."""

    def register(make):
        def made(notebook):
            result = make(notebook)
            return encode(notebook if result is None else result) if not isinstance(result, bytes | Files) else result

        expected = None if status in ("unreadable", "missing") else score
        DAMAGES.append(Damage(kind, made, status, codes, expected))
        return make

    return register


class Files(dict):
    """Files below the student's folder: name to bytes, or to a str for a link."""


def encode(notebook) -> bytes:
    return json.dumps(notebook, indent=1).encode()


def zipped(files: dict[str, bytes], **kinds) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def write(folder: Path, made) -> None:
    """Put what a damage made into a student's folder."""
    files = {f"{NAME}/{NAME}.ipynb": made} if isinstance(made, bytes) else made
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = folder / name
        if data is None:
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, str):
            path.symlink_to(data)
        else:
            path.write_bytes(data)


def age(folder: Path, name: str, days: float) -> None:
    """Make a file some days old."""
    then = 1_760_000_000 - days * 86_400
    os.utime(folder / name, (then, then))


def blank():
    return encode(released_notebook())


# --- nothing is wrong -------------------------------------------------------------------------------------------------


@damage("as handed out, answered", "graded")
def _(nb): ...


@damage("nothing answered", "graded", score=0.0)
def _(nb):
    return released_notebook()


@damage("one answer wrong", "graded", score=5.0)
def _(nb):
    find_cell(nb, "double")["source"] = "def double(x):\n    return x"


# --- cells ------------------------------------------------------------------------------------------------------------


@damage("check cell deleted", "repaired", "check-missing")
def _(nb):
    nb["cells"].remove(find_cell(nb, "check-total"))


@damage("all check cells deleted", "repaired", "check-missing")
def _(nb):
    nb["cells"] = [c for c in nb["cells"] if not c["metadata"].get("nbgrader", {}).get("grade") or c["id"] == "explain"]


@damage("check cell edited to pass", "repaired", "check-edited")
def _(nb):
    find_cell(nb, "check-double")["source"] = (
        'check = Check("double", points=2)\ncheck("two", lambda: 2, 2)\ncheck.report()'
    )


@damage("check cell emptied", "repaired", "check-edited")
def _(nb):
    find_cell(nb, "check-double")["source"] = ""


@damage("check cells moved to the end", "repaired", "cell-moved")
def _(nb):
    cell = find_cell(nb, "check-double")
    nb["cells"].remove(cell)
    nb["cells"].append(cell)


@damage("check cell copied", "repaired", "check-copied")
def _(nb):
    nb["cells"].append(clone(find_cell(nb, "check-double")))


@damage("all cells in reverse order", "repaired", "cell-moved")
def _(nb):
    nb["cells"].reverse()


@damage("set-up cell moved to the end", "repaired", "cell-moved")
def _(nb):
    nb["cells"].append(nb["cells"].pop(position(nb, "setup")))


@damage("set-up cell deleted", "repaired", "setup-missing")
def _(nb):
    nb["cells"].remove(find_cell(nb, "setup"))


@damage("set-up cell broken", "repaired", "setup-edited")
def _(nb):
    find_cell(nb, "setup")["source"] = "import maths\nraise SystemExit"


@damage("unlocked course cell deleted", "repaired", "setup-missing")
def _(nb):
    nb["cells"].remove(find_cell(nb, "helpers"))


@damage("unlocked course cell emptied", "repaired", "setup-missing")
def _(nb):
    find_cell(nb, "helpers")["source"] = "\n"


@damage("unlocked course cell edited, meaning kept", "graded")
def _(nb):
    find_cell(nb, "helpers")["source"] = "def halves(number):\n    half = number / 2\n    return half, number - half"


@damage("demo cell edited", "graded")
def _(nb):
    find_cell(nb, "demo-1")["source"] = "print('a demonstration', math.tau)\nmine = 3"


@damage("demo cell broken", "graded")
def _(nb):
    find_cell(nb, "demo-2")["source"] = "for number in range(3):\n    print(number * nothing)"


@damage("demo and text cells deleted", "graded")
def _(nb):
    nb["cells"] = [c for c in nb["cells"] if "demo" not in c["id"] and "intro" not in c["id"]]


@damage("everything deleted but answers", "repaired", "check-missing", "setup-missing")
def _(nb):
    nb["cells"] = [find_cell(nb, name) for name in ANSWERS]


@damage("answer cell deleted", "repaired", "answer-missing", score=4.0)
def _(nb):
    nb["cells"].remove(find_cell(nb, "total"))


@damage("answer cell emptied", "graded", score=4.0)
def _(nb):
    find_cell(nb, "total")["source"] = ""


@damage("answer cell turned to Markdown", "repaired", "cell-retyped")
def _(nb):
    retype(find_cell(nb, "total"), "markdown")


@damage("answer cell turned to raw", "repaired", "cell-retyped")
def _(nb):
    retype(find_cell(nb, "double"), "raw")


@damage("check cell turned to Markdown", "repaired", "cell-retyped")
def _(nb):
    retype(find_cell(nb, "check-guess"), "markdown")


@damage("set-up cell turned to raw", "repaired", "cell-retyped")
def _(nb):
    retype(find_cell(nb, "setup"), "raw")


@damage("free answer turned to code", "repaired", "cell-retyped")
def _(nb):
    cell = find_cell(nb, MANUAL)
    cell.update(cell_type="code", outputs=[], execution_count=None)


@damage("answer in a copy, the original left blank", "repaired", "answer-copied")
def _(nb):
    cell = find_cell(nb, "double")
    nb["cells"].insert(position(nb, "double") + 1, clone(cell))
    cell["source"] = find_cell(released_notebook(), "double")["source"]


@damage("a blank copy below the answer", "repaired", "answer-copied")
def _(nb):
    copied = clone(find_cell(nb, "double"))
    copied["source"] = find_cell(released_notebook(), "double")["source"]
    nb["cells"].append(copied)


@damage("two edited copies, the last one right", "repaired", "answer-copied")
def _(nb):
    cell = find_cell(nb, "double")
    nb["cells"].insert(position(nb, "double") + 1, clone(cell))
    cell["source"] = "def double(x):\n    return x"


@damage("two edited copies, the last one wrong", "repaired", "answer-copied", score=5.0)
def _(nb):
    copied = clone(find_cell(nb, "double"))
    copied["source"] = "def double(x):\n    return x"
    nb["cells"].append(copied)


@damage("answer cell split between statements", "repaired", "answer-split")
def _(nb):
    cell = find_cell(nb, "total")
    second = clone(cell)
    second["source"] = cell["source"]
    cell["source"] = "import functools"
    nb["cells"].insert(position(nb, "total") + 1, second)


@damage("answer cell split inside a function", "repaired", "answer-joined")
def _(nb):
    cell = find_cell(nb, "total")
    second = clone(cell)
    cell["source"], _, second["source"] = cell["source"].rpartition("\n")
    nb["cells"].insert(position(nb, "total") + 1, second)


@damage("answer cell split inside a function, second part unmarked", "repaired", "answer-joined")
def _(nb):
    cell = find_cell(nb, "total")
    head, _, tail = cell["source"].rpartition("\n")
    cell["source"] = head
    nb["cells"].insert(position(nb, "total") + 1, code_cell(tail))


@damage("answer cell split inside a function, the mark with the second part", "repaired", "answer-joined")
def _(nb):
    cell = find_cell(nb, "total")
    head, _, cell["source"] = cell["source"].rpartition("\n")
    nb["cells"].insert(position(nb, "total"), code_cell(head))


@damage("two answer cells merged, the second deleted", "repaired", "answer-elsewhere")
def _(nb):
    find_cell(nb, "double")["source"] += "\n\n" + find_cell(nb, "total")["source"]
    nb["cells"].remove(find_cell(nb, "total"))


@damage("all answers in the last answer cell", "repaired", "answer-elsewhere")
def _(nb):
    texts = [find_cell(nb, name)["source"] for name in ANSWERS]
    find_cell(nb, "guess")["source"] = "\n\n".join(texts)
    find_cell(nb, "double")["source"] = find_cell(released_notebook(), "double")["source"]
    nb["cells"].remove(find_cell(nb, "total"))


@damage("answer in an own cell below the blank one", "repaired", "answer-elsewhere")
def _(nb):
    cell = find_cell(nb, "total")
    nb["cells"].insert(position(nb, "total") + 1, code_cell(cell["source"]))
    cell["source"] = find_cell(released_notebook(), "total")["source"]


@damage("answer in an own cell above the blank one", "repaired", "answer-elsewhere")
def _(nb):
    cell = find_cell(nb, "total")
    nb["cells"].insert(position(nb, "total"), code_cell(cell["source"]))
    cell["source"] = find_cell(released_notebook(), "total")["source"]


@damage("all answers in own cells at the end, with a helper", "repaired", "answer-elsewhere")
def _(nb):
    blank_ones = released_notebook()
    own = [code_cell("def _twice(x):\n    return x + x"), code_cell("def double(x):\n    return _twice(x)")]
    own += [code_cell(find_cell(nb, name)["source"]) for name in ("total", "guess")]
    for name in ANSWERS:
        find_cell(nb, name)["source"] = find_cell(blank_ones, name)["source"]
    nb["cells"] += own


@damage("answer cell deleted, answer in an own cell at the end", "repaired", "answer-elsewhere")
def _(nb):
    cell = find_cell(nb, "total")
    nb["cells"].remove(cell)
    nb["cells"].append(code_cell(cell["source"]))


@damage("answer typed into the check cell", "repaired", "typed-in", "answer-elsewhere")
def _(nb):
    check, cell = find_cell(nb, "check-total"), find_cell(nb, "total")
    check["source"] = cell["source"] + "\n" + check["source"]
    cell["source"] = find_cell(released_notebook(), "total")["source"]


@damage("answer in place of the check cell", "repaired", "typed-in")
def _(nb):
    check, cell = find_cell(nb, "check-total"), find_cell(nb, "total")
    check["source"] = cell["source"]
    nb["cells"].remove(cell)


@damage("imports typed into the set-up cell", "repaired", "typed-in")
def _(nb):
    find_cell(nb, "setup")["source"] += "\nimport functools, operator"
    find_cell(nb, "total")["source"] = "def total(numbers):\n    return functools.reduce(operator.add, numbers, 0.0)"


@damage("helper typed into a check cell", "repaired", "typed-in")
def _(nb):
    find_cell(nb, "check-double")["source"] += "\ndef _helper(x):\n    return x + x"
    find_cell(nb, "total")["source"] = (
        "def total(numbers):\n    return sum(map(_helper, numbers)) / 2 if numbers else 0.0"
    )


@damage("own cells everywhere", "graded")
def _(nb):
    cells = []
    for number, cell in enumerate(nb["cells"]):
        cells += [cell, code_cell(f"mine_{number} = {number}\nprint(mine_{number})")]
    nb["cells"] = cells


@damage("own cell that raises", "graded")
def _(nb):
    nb["cells"].insert(position(nb, "double") + 1, code_cell("1 / 0"))


@damage("own cell that is no Python", "graded")
def _(nb):
    nb["cells"].insert(position(nb, "double") + 1, code_cell("this is ( not Python"))


@damage("leftovers: pip, shell, drive, input, widgets", "graded")
def _(nb):
    leftovers = [
        "%pip install -q somepackage",
        "!ls -la",
        "from google.colab import drive\ndrive.mount('/content/drive')",
        "name = input('your name? ')",
        "import ipywidgets as widgets\nwidgets.IntSlider()",
        "files = !ls\n%matplotlib inline",
        "%%time\nx = 1",
        "%%bash\necho hello",
        "?print",
    ]
    nb["cells"][1:1] = [code_cell(text) for text in leftovers]


# --- what was pasted --------------------------------------------------------------------------------------------------


@damage("answer between Markdown fences", "repaired", "fences-removed")
def _(nb):
    cell = find_cell(nb, "double")
    cell["source"] = f"```python\n{cell['source']}\n```"


@damage("answer pasted with the prose around it", "repaired", "fences-removed")
def _(nb):
    cell = find_cell(nb, "total")
    cell["source"] = f"Here is the answer:\n\n~~~ py\n{cell['source']}\n~~~\n\nIt's quick, isn't it?"


@damage("answer with the closing fence alone", "repaired", "fences-removed")
def _(nb):
    find_cell(nb, "total")["source"] += "\n```\n"


@damage("answer between fences, turned to Markdown", "repaired", "fences-removed", "cell-retyped")
def _(nb):
    cell = find_cell(nb, "double")
    cell["source"] = f"My answer:\n```{{python}}\n{cell['source']}\n```"
    retype(cell, "markdown")


@damage("all metadata stripped, answers as Markdown between fences", "repaired", "fences-removed", "answer-elsewhere")
def _(nb):
    for cell in nb["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution") and cell["cell_type"] == "code":
            cell["source"] = f"```\n{cell['source']}\n```"
            retype(cell, "markdown")
        cell["metadata"] = {}
        cell.pop("id")


@damage("fences in a docstring and in the free answer", "graded")
def _(nb):
    find_cell(nb, "double")["source"] = (
        'def double(x):\n    """As in\n\n    ```python\n    double(1)\n    ```\n    """\n    return 2 * x'
    )
    find_cell(nb, MANUAL)["source"] += "\n```python\ndef double(x): ...\n```"


# --- metadata ---------------------------------------------------------------------------------------------------------


def each_grader(nb):
    return [c["metadata"]["nbgrader"] for c in nb["cells"] if "nbgrader" in c["metadata"]]


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


# --- the file ---------------------------------------------------------------------------------------------------------


@damage("UTF-8 with BOM", "graded")
def _(nb):
    return b"\xef\xbb\xbf" + encode(nb)


@damage("UTF-16 with BOM", "graded", "encoding")
def _(nb):
    return encode(nb).decode().encode("utf-16")


@damage("UTF-16 big-endian without BOM", "graded", "encoding")
def _(nb):
    return encode(nb).decode().encode("utf-16-be")


@damage("Latin-1", "graded", "encoding")
def _(nb):
    find_cell(nb, "double")["source"] += "\n# \xe9t\xe9"
    return json.dumps(nb, ensure_ascii=False).encode("latin-1")


@damage("CRLF line ends, in the file and in cells", "graded")
def _(nb):
    for cell in nb["cells"]:
        cell["source"] = cell["source"].replace("\n", "\r\n")
    return encode(nb).replace(b"\n", b"\r\n")


@damage("zeros at the end", "graded")
def _(nb):
    return encode(nb) + b"\0" * 4096


@damage("text after the end", "graded", "trailing-text")
def _(nb):
    return encode(nb) + b'\n ]}\n "left from a longer file"'


@damage("source as lists", "graded")
def _(nb):
    for cell in nb["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)


@damage("source as lists without line ends", "graded", "lines-joined")
def _(nb):
    for cell in nb["cells"]:
        cell["source"] = cell["source"].splitlines()


@damage("nbformat 3", "graded", "old-format")
def _(nb):
    cells = []
    for cell in nb["cells"]:
        old = {key: value for key, value in cell.items() if key not in ("source", "id")}
        old["input" if cell["cell_type"] == "code" else "source"] = cell["source"]
        cells.append(old)
    return {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": cells, "metadata": {}}],
    }


@damage("nbformat 4.0, no kernelspec", "graded")
def _(nb):
    nb.update(nbformat_minor=0, metadata={})
    for cell in nb["cells"]:
        cell.pop("id")


@damage("an unknown kernelspec", "graded")
def _(nb):
    nb["metadata"]["kernelspec"] = {"name": "julia-1.9", "display_name": None, "language": "julia"}


@damage("metadata null", "graded")
def _(nb):
    nb["metadata"] = None


@damage("Colab's metadata", "graded")
def _(nb):
    nb.update(nbformat_minor=0)
    nb["metadata"] = {
        "colab": {"provenance": [], "toc_visible": True},
        "kernelspec": {"name": "python3"},
        "accelerator": "GPU",
    }
    for cell in nb["cells"]:
        cell["metadata"] |= {
            "id": "x" + cell.pop("id"),
            "colab": {"base_uri": "https://localhost:8080/"},
            "outputId": "1f",
        }


@damage("VS Code's metadata", "graded")
def _(nb):
    for cell in nb["cells"]:
        cell["metadata"]["vscode"] = {"languageId": "python"}
        cell["id"] = "#VSC-" + cell["id"]


@damage("VS Code's own notebook form", "repaired", "metadata-lost")
def _(nb):
    cells = [
        {"kind": 2 if c["cell_type"] == "code" else 1, "language": "python", "value": c["source"].splitlines()}
        for c in nb["cells"]
    ]
    return {"cells": cells}


@damage("wrapped by the contents API", "graded", "wrapped")
def _(nb):
    return {"name": "x.ipynb", "path": "x.ipynb", "type": "notebook", "format": "json", "content": nb}


@damage("wrapped as a string", "graded", "wrapped")
def _(nb):
    return json.dumps(json.dumps(nb)).encode()


@damage("broken widget state", "graded")
def _(nb):
    nb["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {"a": None, "b": [{"c": 1}]}}}


@damage("NaN in the JSON", "graded")
def _(nb):
    nb["metadata"]["loss"] = float("nan")
    find_cell(nb, "demo-1")["metadata"]["score"] = float("-inf")


@damage("outputs of 30 MB", "graded")
def _(nb):
    for name in ANSWERS:
        find_cell(nb, name)["outputs"] = [
            {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBOR" * 2_000_000}},
            {"output_type": "stream", "name": "stdout", "text": ['a "quoted" [line]\n'] * 1000},
        ]


@damage("broken outputs", "graded")
def _(nb):
    find_cell(nb, "double")["outputs"] = {"not": "a list"}
    find_cell(nb, "total")["outputs"] = [None, 3, "text"]
    find_cell(nb, "guess")["execution_count"] = "three"


@damage("lone surrogates", "graded", "broken-characters")
def _(nb):
    find_cell(nb, "double")["source"] += "\n# \ud83d and \udc00"


@damage("cells that are no cells", "graded", "broken-cells")
def _(nb):
    nb["cells"][3:3] = [None, 5, "text", []]


@damage("unknown cell types", "graded")
def _(nb):
    nb["cells"][2:2] = [
        {"cell_type": "heading", "level": 2, "metadata": {}, "source": "My heading"},
        {"cell_type": "sql"},
    ]


@damage("nbformat as text", "graded")
def _(nb):
    nb["nbformat"] = "4"


@damage("empty file", "unreadable", "unreadable")
def _(nb):
    return b""


@damage("file of zeros", "unreadable", "unreadable")
def _(nb):
    return b"\0" * 1000


@damage("an empty list", "unreadable", "unreadable")
def _(nb):
    return b"[]"


@damage("an empty object", "unreadable", "unreadable")
def _(nb):
    return b"{}"


@damage("no cells", "unreadable", "unreadable")
def _(nb):
    nb["cells"] = []


@damage("a web page saved as .ipynb", "unreadable", "unreadable")
def _(nb):
    return b"<!DOCTYPE html>\n<html><body>01-small.ipynb</body></html>"


@damage("conflict marks of a merge", "unreadable", "unreadable")
def _(nb):
    lines = encode(nb).splitlines()
    return b"\n".join(
        [*lines[:20], b"<<<<<<< HEAD", *lines[20:22], b"=======", *lines[20:22], b">>>>>>> theirs", *lines[22:]]
    )


@damage("truncated", "unreadable", "unreadable")
def _(nb):
    data = encode(nb)
    return data[: len(data) // 2]


@damage("nbformat 5", "unreadable", "unreadable")
def _(nb):
    nb["nbformat"] = 5


@damage("nested too deeply", "unreadable", "unreadable")
def _(nb):
    return b"[" * 200_000


@damage("a PDF called .ipynb", "unreadable", "unreadable")
def _(nb):
    return b"%PDF-1.7\n..."


@damage("a script called .ipynb", "unreadable", "unreadable")
def _(nb):
    return b"# %%\nimport math\ndef double(x):\n    return 2 * x\n"


@damage("another chapter's notebook", "unreadable", "unreadable")
def _(nb):
    return another_chapter()


@damage("another chapter's notebook, marks stripped", "unreadable", "unreadable")
def _(nb):
    other = another_chapter()
    for cell in other["cells"]:
        cell["metadata"] = {}
        cell.pop("id")
    return other


@damage("somebody's own notebook", "unreadable", "unreadable")
def _(nb):
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [code_cell("print('hello')"), code_cell("x = 1")],
    }


# --- the folder -------------------------------------------------------------------------------------------------------


@damage("renamed: (1)", "graded")
def _(nb):
    return Files({f"{NAME}/{NAME} (1).ipynb": encode(nb)})


@damage("renamed: Copy of, with spaces and plus signs", "graded")
def _(nb):
    return Files({f"{NAME}/Copy of 01+small my name \u00e9\u4e2d.ipynb": encode(nb)})


@damage("lone notebook in the student's folder", "graded", "found-elsewhere")
def _(nb):
    return Files({f"{NAME}.ipynb": encode(nb)})


@damage("lone notebook with any name", "graded", "found-elsewhere")
def _(nb):
    return Files({"Untitled.ipynb": encode(nb)})


@damage("chapter folder written otherwise", "graded", "found-elsewhere")
def _(nb):
    return Files({"01 Small/homework.ipynb": encode(nb)})


@damage("downloaded as .ipynb.txt", "graded", "found-elsewhere")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb.txt": encode(nb)})


@damage("downloaded as .json", "graded", "found-elsewhere")
def _(nb):
    return Files({f"{NAME}/{NAME}.json": encode(nb)})


@damage("a zip", "graded", "found-elsewhere", "zip-opened")
def _(nb):
    return Files({f"{NAME}/handin.zip": zipped({f"{NAME}.ipynb": encode(nb), "__MACOSX/._x": b"junk"})})


@damage("a zip in a zip", "graded", "found-elsewhere", "zip-opened")
def _(nb):
    inner = zipped({f"my work/{NAME}.ipynb": encode(nb)})
    return Files({"all.zip": zipped({"inner.zip": inner})})


@damage("a zip under the notebook's name", "graded", "zip-opened")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": zipped({f"{NAME}.ipynb": encode(nb)})})


@damage("a zip under the notebook's name, in a zip", "graded", "zip-opened")
def _(nb):
    return Files({"all.zip": zipped({f"{NAME}.ipynb": zipped({f"{NAME}.ipynb": encode(nb)})})})


@damage("a Word document under the notebook's name", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": zipped({"word/document.xml": b"<w/>", "[Content_Types].xml": b"<T/>"})})


@damage("a damaged zip under the notebook's name", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": zipped({f"{NAME}.ipynb": encode(nb)})[:-40]})


@damage("a folder with the notebook's name, the notebook in it", "graded", "found-elsewhere")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb/{NAME}.ipynb": encode(nb)})


@damage("an empty folder with the notebook's name", "missing", "missing")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": None})


@damage("a folder with the notebook's name, without a notebook", "missing", "missing")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb/answers.pdf": b"%PDF-1.7"})


@damage("several attempts, the newest blank", "graded", "several-attempts")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/{NAME} (1).ipynb": blank()})


@damage("a scratch notebook beside it", "graded")
def _(nb):
    scratch = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [code_cell("x = 1")]}
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/Untitled.ipynb": encode(scratch)})


@damage("a sibling file that the answer reads", "graded")
def _(nb):
    find_cell(nb, "double")["source"] = "from mine import double"
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/mine.py": b"def double(x):\n    return 2 * x\n"})


@damage("a broken timestamp", "graded", "timestamp-broken")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/timestamp.txt": b"yesterday, late"})


@damage("a timestamp in the future", "graded", "timestamp-future")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/timestamp.txt": b"2999-01-01 00:00:00 UTC"})


@damage("a timestamp that is a folder", "graded", "timestamp-broken")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/timestamp.txt": None})


@damage("a timestamp that is a link", "graded", "timestamp-broken")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/timestamp.txt": "/etc/hostname"})


@damage("only a script", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.py": b"def double(x):\n    return 2 * x\n"})


@damage("a tar archive", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.tar.gz": b"\x1f\x8b..."})


@damage("a RAR archive", "unreadable", "unreadable")
def _(nb):
    return Files({"homework.rar": b"Rar!..."})


@damage("a damaged zip", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.zip": zipped({f"{NAME}.ipynb": encode(nb)})[:-40]})


@damage("a zip with unsafe paths", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.zip": zipped({f"../../{NAME}.ipynb": encode(nb)})})


@damage("a link in place of the notebook", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": "/etc/hostname"})


@damage("a link in place of the folder", "unreadable", "unreadable")
def _(nb):
    return Files({NAME: "/etc"})


@damage("a web page", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.html": b"<html>"})


@damage("an empty zip", "missing", "missing")
def _(nb):
    return Files({f"{NAME}/{NAME}.zip": zipped({})})


@damage("only a PDF", "missing", "missing")
def _(nb):
    return Files({f"{NAME}/answers.pdf": b"%PDF-1.7"})


@damage("an empty folder", "missing", "missing")
def _(nb):
    return Files({NAME: None})


def retype(cell, kind):
    cell["cell_type"] = kind
    cell.pop("outputs", None)
    cell.pop("execution_count", None)


def position_of_id(nb, cell_id):
    return next(number for number, cell in enumerate(nb["cells"]) if cell.get("id") == cell_id)


def made(kind: Damage):
    """What a student with this damage hands in."""
    return kind.make(answered_notebook())


assert EXPLANATION  # the free answer is in every answered notebook
