"""Nothing is wrong, or cells of the course were deleted, edited, moved or retyped."""

from __future__ import annotations

from tests.grading.corpus.damages import (
    damage,
)
from tests.grading.small_chapter import (
    ANSWERS,
    clone,
    find_cell,
    position,
    released_notebook,
)


@damage("as handed out, answered", "graded")
def _(nb): ...


@damage("nothing answered", "graded", score=0.0)
def _(nb):
    return released_notebook()


@damage("one answer wrong", "graded", score=5.0)
def _(nb):
    find_cell(nb, "double")["source"] = "def double(x):\n    return x"


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
