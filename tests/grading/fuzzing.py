"""Random edits of a notebook, as Hypothesis strategies: what comes out, and which answers are still in it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.grading.small_chapter import (
    ANSWERS,
    NAME,
    answered_notebook,
    clone,
    code_cell,
    find_cell,
    released_notebook,
)

WRONG = {
    "double": "def double(x):\n    return x",
    "total": "def total(numbers):\n    return 1.0\n",
    "guess": 'guess = {"q1": "a", "q2": ""}',
}
OWN = [
    "x = 1",
    "print(double(3))",
    "%pip install nothing",
    "!ls",
    "import functools",
    "1 / 0",
    "not ( Python",
    "name = input()",
    "def helper(y):\n    return y",
    "for k in range(3):\n    print(k)",
    "%%bash\necho hi",
    "",
    "check = 3",
    "math = None",
    "from google.colab import drive",
]
MARKS = ["grade", "solution", "locked", "task", "points", "schema_version", "cell_type", "checksum"]
VALUES = [True, False, None, 0, 1, -5, "3", "", 1e308, float("nan"), float("inf"), [], {}]


@dataclass
class Fuzzed:
    """A submission and the exercises that it answers rightly."""

    data: bytes
    right: frozenset[str]
    edits: list[str]


@st.composite
def submissions(draw) -> Fuzzed:
    """An answered notebook after up to eight edits."""
    truth = {name: draw(st.sampled_from(["right", "right", "wrong", "blank"]), label=name) for name in ANSWERS}
    given = {name: WRONG[name] for name, what in truth.items() if what == "wrong"}
    notebook = answered_notebook(**given)
    for name, what in truth.items():
        if what == "blank":
            find_cell(notebook, name)["source"] = find_cell(released_notebook(), name)["source"]
    edits = draw(st.lists(st.sampled_from(sorted(EDITS)), max_size=8), label="edits")
    edits.sort(key="exchange_marks".__eq__)  # last: the other edits go by the marks
    for name in edits:
        EDITS[name](draw, notebook)
    if "exchange_marks" not in edits and draw(
        st.booleans(), label="split"
    ):  # half a function under a locked mark is lost
        split(draw, notebook)
        edits.append("split")
    data = draw(st.sampled_from(sorted(SAVED)), label="saved as")
    right = frozenset(name for name, what in truth.items() if what == "right")
    return Fuzzed(SAVED[data](notebook), right, [*edits, data])


def _pick(draw, notebook, keep=lambda cell: True):
    cells = [number for number, cell in enumerate(notebook["cells"]) if keep(cell)]
    return draw(st.sampled_from(cells)) if cells else None


def _is_answer(cell):
    """Whether a cell holds a part of an answer: what an edit must not lose."""
    return cell.get("_answer", False) or _marks(cell).get("grade_id") in ANSWERS


def _is_marked_answer(cell):
    """Whether a cell has an answer's mark, and code in it: marks may have been exchanged."""
    return _marks(cell).get("grade_id") in ANSWERS and ("def " in cell["source"] or "guess =" in cell["source"])


def _marks(cell):
    marks = cell["metadata"].get("nbgrader")
    return marks if isinstance(marks, dict) else {}


def delete(draw, notebook):
    place = _pick(draw, notebook, lambda cell: not _is_answer(cell))
    if place is not None and len(notebook["cells"]) > 4:
        del notebook["cells"][place]


def duplicate(draw, notebook):
    place = _pick(draw, notebook)
    to = draw(st.integers(place + 1, len(notebook["cells"])))
    notebook["cells"].insert(to, clone(notebook["cells"][place]))


def blank_copy(draw, notebook):
    """A copy of an answer cell as it was released."""
    place = _pick(draw, notebook, _is_marked_answer)
    if place is not None:
        copied = clone(notebook["cells"][place])
        copied["source"] = find_cell(released_notebook(), _marks(copied)["grade_id"])["source"]
        notebook["cells"].insert(draw(st.integers(0, len(notebook["cells"]))), copied)


def move(draw, notebook):
    cell = notebook["cells"].pop(_pick(draw, notebook))
    notebook["cells"].insert(draw(st.integers(0, len(notebook["cells"]))), cell)


def retype(draw, notebook):
    cell = notebook["cells"][_pick(draw, notebook)]
    cell["cell_type"] = draw(st.sampled_from(["code", "markdown", "raw"]))


def strip_marks(draw, notebook):
    cell = notebook["cells"][_pick(draw, notebook)]
    _remember(cell)
    cell["metadata"].pop("nbgrader", None)


def strip_id(draw, notebook):
    notebook["cells"][_pick(draw, notebook)].pop("id", None)


def strip_all(draw, notebook):
    for cell in notebook["cells"]:
        _remember(cell)
        cell["metadata"] = {}
        if draw(st.booleans()):
            cell.pop("id", None)


def scramble(draw, notebook):
    place = _pick(draw, notebook, lambda cell: _marks(cell))
    if place is not None:
        marks = _marks(notebook["cells"][place])
        for key in draw(st.lists(st.sampled_from(MARKS), min_size=1, max_size=4)):
            marks[key] = draw(st.sampled_from(VALUES))


def drop_mark(draw, notebook):
    place = _pick(draw, notebook, lambda cell: _marks(cell))
    if place is not None:
        _remember(notebook["cells"][place])
        marks = _marks(notebook["cells"][place])
        marks.pop(draw(st.sampled_from(sorted(marks))), None)


def rename(draw, notebook):
    place = _pick(draw, notebook, lambda cell: _marks(cell))
    if place is not None:
        _remember(notebook["cells"][place])
        _marks(notebook["cells"][place])["grade_id"] = draw(st.sampled_from(["cell-9f", "check-old", "", 3, None]))


def exchange_marks(draw, notebook):
    places = [number for number, cell in enumerate(notebook["cells"]) if _marks(cell)]
    if len(places) > 1:
        one, other = (notebook["cells"][draw(st.sampled_from(places))] for _ in range(2))
        _remember(one)
        _remember(other)
        one["metadata"], other["metadata"] = other["metadata"], one["metadata"]


def tag(draw, notebook):
    cell = notebook["cells"][_pick(draw, notebook)]
    cell["metadata"]["tags"] = draw(st.sampled_from([["demo"], ["skip-execution"], "demo", None, [3], []]))


def own_cell(draw, notebook):
    place = draw(st.integers(0, len(notebook["cells"])))
    notebook["cells"].insert(place, code_cell(draw(st.sampled_from(OWN))))


def edit_course(draw, notebook):
    place = _pick(draw, notebook, lambda cell: not _is_answer(cell) and cell.get("id") != "helpers")
    if place is not None:
        cell = notebook["cells"][place]
        text = draw(st.sampled_from(["", "# changed", "import functools", "raise ValueError", "x = (", "\n\ny = 3"]))
        cell["source"] = draw(st.sampled_from([text, cell["source"] + "\n" + text, text + "\n" + cell["source"]]))


def comment(draw, notebook):
    cell = notebook["cells"][_pick(draw, notebook, _is_answer)]
    cell["source"] = (
        draw(st.sampled_from(["{}\n# mine", "# mine\n{}", "{}\n\n\n", "\n{}", "{}   "]))
        .format("\0")
        .replace("\0", cell["source"])
    )


def fill_check(draw, notebook):
    """An answer typed into its check cell as well."""
    name = draw(st.sampled_from(sorted(ANSWERS)))
    checks = [cell for cell in notebook["cells"] if _marks(cell).get("grade_id") == f"check-{name}"]
    answers = [cell for cell in notebook["cells"] if _marks(cell).get("grade_id") == name]
    if checks and answers:
        checks[0]["source"] = answers[-1]["source"] + "\n" + checks[0]["source"]


def to_own_cell(draw, notebook):
    """An answer in a cell of the student's own, somewhere below its blank answer cell."""
    place = _pick(draw, notebook, _is_marked_answer)
    if place is not None:
        cell = notebook["cells"][place]
        own = code_cell(cell["source"]) | {"_answer": True}
        cell["source"] = find_cell(released_notebook(), _marks(cell)["grade_id"])["source"]
        notebook["cells"].insert(draw(st.integers(place + 1, len(notebook["cells"]))), own)


def merge(draw, notebook):
    """Two answer cells in one, the other deleted or left blank."""
    written = lambda cell: _is_marked_answer(cell) and "YOUR CODE" not in cell["source"]
    place = _pick(draw, notebook, written)
    other = _pick(draw, notebook, written)
    if place is None or other == place:
        return
    one, two = notebook["cells"][place], notebook["cells"][other]
    if _marks(one)["grade_id"] != _marks(two)["grade_id"]:
        one["source"] += "\n\n" + two["source"]
        if draw(st.booleans()):
            del notebook["cells"][other]
        else:
            two["source"] = find_cell(released_notebook(), _marks(two)["grade_id"])["source"]


def split(draw, notebook):
    """An answer cell cut in two at any line; the second part has the same marks, or none. It comes last."""
    whole = lambda cell: _is_answer(cell) and "\n" in cell["source"] and "YOUR CODE" not in cell["source"]
    place = _pick(draw, notebook, whole)
    if place is not None:
        cell = notebook["cells"][place]
        lines = cell["source"].split("\n")
        cut = draw(st.integers(1, len(lines) - 1))
        second = clone(cell) if draw(st.booleans()) else code_cell("") | {"cell_type": cell["cell_type"]}
        cell["source"], second["source"] = "\n".join(lines[:cut]), "\n".join(lines[cut:])
        notebook["cells"].insert(place + 1, second)


def _remember(cell):
    """Keep in mind that a cell holds an answer, when its mark goes."""
    if _is_answer(cell):
        cell["_answer"] = True


EDITS = {
    edit.__name__: edit
    for edit in (
        delete,
        duplicate,
        blank_copy,
        move,
        retype,
        strip_marks,
        strip_id,
        strip_all,
        scramble,
        drop_mark,
        rename,
        exchange_marks,
        tag,
        own_cell,
        edit_course,
        comment,
        fill_check,
        to_own_cell,
        merge,
    )
}


def _json(notebook):
    return json.dumps(_public(notebook)).encode()


def _public(notebook):
    cells = [{key: value for key, value in cell.items() if key != "_answer"} for cell in notebook["cells"]]
    return {**notebook, "cells": cells}


def _lines(notebook):
    for cell in notebook["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
    return _json(notebook)


def _old(notebook):
    notebook = _public(notebook)
    return json.dumps({"nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": notebook["cells"]}]}).encode()


SAVED = {
    "json": _json,
    "lines": _lines,
    "indented": lambda notebook: json.dumps(_public(notebook), indent=2).replace("\n", "\r\n").encode(),
    "utf-16": lambda notebook: _json(notebook).decode().encode("utf-16"),
    "bom": lambda notebook: b"\xef\xbb\xbf" + _json(notebook),
    "nbformat 3": _old,
    "wrapped": lambda notebook: json.dumps({"type": "notebook", "content": _public(notebook)}).encode(),
}

assert NAME  # the chapter that all of this is about
