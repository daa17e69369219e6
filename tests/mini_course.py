"""A course of one small chapter, in a folder of its own: quick to build and quick to grade."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path

from autograder.authoring.build import release, write_source_notebook

ROOT = Path(__file__).parents[1]
NAME = "90-mini"


def mark(grade_id: str, *, grade=False, solution=False, locked=False, points=None) -> str:
    fields = {
        "grade": grade,
        "grade_id": grade_id,
        "locked": locked,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    if points is not None:
        fields["points"] = points
    return f"nbgrader={json.dumps(fields)}"


TEXT = f"""\
# %% [markdown]
# # A small chapter
# [Colab](https://colab.research.google.com/github/YOUR-NAME/YOUR-REPOSITORY/blob/main/notebooks/{NAME}/{NAME}.ipynb)

# %% {mark("setup", locked=True)}
import torch
from autograder.lab import Check

base = torch.tensor([1.0, 2.0])

# %% tags=["demo"]
print("only to look at")

# %% {mark("double", solution=True)}
def double(n):
    \"\"\"Twice n.\"\"\"
    ### BEGIN SOLUTION
    secret_way = n * 2
    return secret_way
    ### END SOLUTION

# %% {mark("check-double", grade=True, locked=True, points=4)}
check = Check("double", points=4)
check("two", lambda: double(2), 4, wrong={{2: "Nothing was doubled."}}, limit=2)
check("the course's tensor", lambda: double(base), base * 2)
### BEGIN HIDDEN TESTS
hidden_input = torch.randn(3)
check("a tensor", lambda: double(hidden_input), hidden_input * 2, hint="Double every element.")
check("seven", lambda: double(7), 14)
### END HIDDEN TESTS
check.report()

# %% {mark("guess", solution=True)}
guess: dict[str, int] = {{"a": 0}}
### BEGIN SOLUTION
guess = {{"a": 1}}
### END SOLUTION

# %% {mark("check-guess", grade=True, locked=True, points=1)}
check = Check("guess", points=1)
check("a", lambda: guess["a"], 1)
check.report()

# %% [markdown] {mark(f"explain-{NAME}", grade=True, solution=True, points=2)}
# The model answer, for whoever grades.
"""
RIGHT = {"double": "def double(n):\n    return n + n\n", "guess": 'guess = {"a": 1}\n'}


def make(root: Path, text: str = TEXT) -> Path:
    """Write the course below `root` and build it."""
    write_text(root, text)
    write_source_notebook(root, NAME)
    release(root, NAME)
    return root


def write_text(root: Path, text: str = TEXT) -> None:
    (root / "source").mkdir(parents=True, exist_ok=True)
    (root / "source" / f"{NAME}.py").write_text(text, encoding="utf-8")
    for file in ("nbgrader_config.py", "pyproject.toml"):
        shutil.copy(ROOT / file, root / file)


def released(root: Path) -> dict:
    return json.loads((root / "notebooks" / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8"))


def filled(root: Path, answers: dict[str, str]) -> dict:
    """The release with answers typed in, by grade_id."""
    notebook = copy.deepcopy(released(root))
    for cell in notebook["cells"]:
        answer = answers.get(cell["metadata"].get("nbgrader", {}).get("grade_id"))
        if answer is not None:
            cell["source"] = answer
    return notebook


def hand_in(root: Path, student: str, notebook: dict | str) -> Path:
    path = root / "submitted" / student / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(notebook if isinstance(notebook, str) else json.dumps(notebook), encoding="utf-8")
    return path
