"""Stock `nbgrader autograde` and `autograder grade` give every honest submission the same score."""

import csv
import json
import os
import shutil
import subprocess
import sys

import pytest

from autograder.authoring.build import write_source_notebook
from tests.bank_lib import entries
from tests.mini_course import ROOT
from tests.sample_class import fill

CHAPTER = "00-start"


def answers(kind):
    bank = entries(CHAPTER)
    right = {entry.exercise: entry for entry in bank if entry.right}
    wrong = {entry.exercise: entry for entry in bank if not entry.right}
    return {"blank": {}, "right": right, "wrong": wrong, "own": {}}[kind]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A course of one real chapter with honest submissions, graded by us."""
    root = tmp_path_factory.mktemp("interop")
    for file in ("nbgrader_config.py", "pyproject.toml"):
        shutil.copy(ROOT / file, root / file)
    (root / "source").mkdir()
    shutil.copy(ROOT / "source" / f"{CHAPTER}.py", root / "source")
    write_source_notebook(root, CHAPTER)
    shutil.copytree(ROOT / "notebooks" / CHAPTER, root / "notebooks" / CHAPTER)
    release = json.loads((root / "notebooks" / CHAPTER / f"{CHAPTER}.ipynb").read_text())
    for kind in ("blank", "right", "wrong", "own"):
        notebook = fill(release, answers(kind))
        if kind == "own":  # half of an answer, and a cell of the student's own before it
            own = {
                "cell_type": "code",
                "id": "mine",
                "metadata": {},
                "source": "guess = 'b'",
                "outputs": [],
                "execution_count": 1,
            }
            notebook["cells"].insert(3, own)
            for cell in notebook["cells"]:
                if cell["metadata"].get("nbgrader", {}).get("grade_id") == "selftest":
                    cell["source"] = "answers = dict.fromkeys(['q1', 'q2', 'q3', 'q4', 'q5'], guess)"
        path = root / "submitted" / kind / CHAPTER / f"{CHAPTER}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook))
    command = [sys.executable, "-m", "autograder", "grade", "--submitted", "submitted", "--json", "ours.json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return root


def stock(root, *words):
    environment = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *words],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def exported(root):
    stock(root, "export")
    with (root / "grades.csv").open() as file:
        return {line["student_id"]: float(line["score"]) for line in csv.DictReader(file)}


def test_honest_submissions_score_the_same_in_both(root):
    ours = {s["student"]: s["score"] for s in json.loads((root / "ours.json").read_text())["submissions"]}
    assert exported(root) == pytest.approx(ours)
    assert len(set(ours.values())) > 2  # the class is not of one score
    stock(root, "autograde", CHAPTER, "--force")
    assert exported(root) == pytest.approx(ours)
