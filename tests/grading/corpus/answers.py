"""Answers in other cells than their own, copied, split, merged or pasted; cells of the student's own."""

from __future__ import annotations

from tests.grading.corpus.damages import (
    MANUAL,
    damage,
    retype,
)
from tests.grading.small_chapter import (
    ANSWERS,
    clone,
    code_cell,
    find_cell,
    position,
    released_notebook,
)


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
