"""A class of sample submissions, made on the spot from the releases and the bank, graded for real.

python -m tests.sample_class FOLDER [CHAPTER ...]
"""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder.engine import open_engine
from autograder.grading.course import Chapter, load_chapter
from autograder.grading.results import ClassResult
from autograder.pipeline import open_course
from tests.bank_lib import Entry, entries, faults

ROOT = Path(__file__).parents[1]
CHAPTERS = ("00-start", "01-graph")
ENDLESS = "def {name}(*args, **kwargs):\n    while True:\n        pass\n"
FREE_ANSWER = "Each operation leaves a node, and the nodes lead back to the leaves. Backward runs each of them once."
EXIT = "import os\nos._exit(0)\n"
CHEAT = """
class _Always:
    def __eq__(self, other):
        return True
    __hash__ = None
def {name}(*args, **kwargs):
    return _Always()
import autograder.lab
autograder.lab.Check.report = Check.report = lambda self: self.points
"""


@dataclass
class Student:
    """One sample: what to put into the answer cells, what to do to the notebook, and what it must score."""

    name: str
    story: str
    answers: Callable[[Chapter, Shelf], dict[str, Entry | str]]
    damage: Callable[[dict], None] = lambda notebook: None
    file: str = "{chapter}.ipynb"
    status: str = "graded"
    raw: Callable[[str], str] = lambda text: text
    free: str = ""


class Shelf:
    """The bank of one chapter."""

    def __init__(self, chapter: Chapter) -> None:
        self.right: dict[str, list[Entry]] = {}
        self.wrong: dict[str, list[Entry]] = {}
        for entry in entries(chapter.name):
            (self.right if entry.right else self.wrong).setdefault(entry.exercise, []).append(entry)


def right(chapter, shelf, which=0):
    return {name: shelf.right[name][which % len(shelf.right[name])] for name in chapter.exercises}


def wrong(which):
    return lambda chapter, shelf: {
        name: shelf.wrong[name][which % len(shelf.wrong[name])] for name in chapter.exercises
    }


def half(chapter, shelf):
    return dict(list(right(chapter, shelf).items())[: (len(chapter.exercises) + 1) // 2])


def one_bad(text):
    def answers(chapter, shelf):
        return {**right(chapter, shelf), chapter.exercises[0]: text.format(name=chapter.exercises[0])}

    return answers


def drop_check(notebook):
    first = next(
        c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade") and c["cell_type"] == "code"
    )
    notebook["cells"].remove(first)


def edit_points(notebook):
    for cell in notebook["cells"]:
        mark = cell["metadata"].get("nbgrader", {})
        if mark.get("grade") and cell["cell_type"] == "code":
            mark["points"] = 1000
            cell["source"] = "1000.0"


CLASS = [
    Student("ada", "everything right, the free answer too, which waits for a person", right, free=FREE_ANSWER),
    Student("alan", "everything right, in another style", lambda c, s: right(c, s, 1)),
    Student("blank", "handed in as released", lambda c, s: {}),
    Student("half", "the first half right, the rest untouched", half),
    Student("wrong-1", "a misconception in every exercise", wrong(0)),
    Student("wrong-2", "another misconception in every exercise", wrong(1)),
    Student("wrong-3", "a third misconception in every exercise", wrong(2)),
    Student(
        "mixed",
        "right and wrong by turns",
        lambda c, s: {name: (s.right if i % 2 else s.wrong)[name][0] for i, name in enumerate(c.exercises)},
    ),
    Student("renamed", "everything right, in a renamed file", right, file="{chapter} (1).ipynb"),
    Student("no-check", "everything right, a check cell deleted", right, drop_check, status="repaired"),
    Student("points", "nothing right, check cells and points edited", lambda c, s: {}, edit_points, status="repaired"),
    Student("loops", "the first exercise never ends", one_bad(ENDLESS)),
    Student("syntax", "a syntax error in the first exercise", one_bad("def {name}(:\n")),
    Student("exits", "the first exercise ends the process", one_bad(EXIT)),
    Student("cheats", "the first exercise equals everything and patches the checks", one_bad(CHEAT)),
    Student("cut-off", "a file that was cut off", right, status="unreadable", raw=lambda text: text[: len(text) // 2]),
]


def build(folder: Path, chapter: Chapter, engine) -> dict[tuple[str, str], tuple[str, float | None]]:
    """Write FOLDER/<student>/<chapter>/...; return what every submission must get: status and score.

    What an answer must score in company is what it scores alone.
    """
    release = json.loads((ROOT / "notebooks" / chapter.name / f"{chapter.name}.ipynb").read_text("utf-8"))
    shelf = Shelf(chapter)
    answers = {student.name: student.answers(chapter, shelf) for student in CLASS}
    used = {answer for chosen in answers.values() for answer in chosen.values() if isinstance(answer, Entry)}
    alone = {entry: result.score for entry, result, _ in faults(chapter, sorted(used, key=lambda e: e.path), engine)}
    intended = {}
    for student in CLASS:
        notebook = fill(release, answers[student.name], student.free)
        student.damage(notebook)
        path = folder / student.name / chapter.name / student.file.format(chapter=chapter.name)
        path.parent.mkdir(parents=True)
        path.write_text(student.raw(json.dumps(notebook)), encoding="utf-8")
        score = sum(alone.get(answer, 0.0) for answer in answers[student.name].values())
        intended[student.name, chapter.name] = (student.status, None if student.status == "unreadable" else score)
    return intended


def fill(release: dict, answers: dict[str, Entry | str], free: str = "") -> dict:
    """The release with answers typed in, by exercise; `free` into the cells that people grade."""
    notebook = copy.deepcopy(release)
    for cell in notebook["cells"]:
        mark = cell["metadata"].get("nbgrader", {})
        answer = answers.get(mark.get("grade_id"))
        if answer is not None and cell["cell_type"] == "code":
            cell["source"] = answer.source if isinstance(answer, Entry) else answer
        elif free and mark.get("solution") and cell["cell_type"] == "markdown":
            cell["source"] = free
    return notebook


def surprises(result: ClassResult, intended: dict[tuple[str, str], tuple[str, float | None]]) -> list[str]:
    """Where a grade is not what the sample's author intended."""
    found = {(s.student, s.chapter): (s.status, s.score) for s in result.submissions}
    lines = []
    for key, (status, score) in intended.items():
        got = found.get(key, ("absent", None))
        same = got[1] == score or (score is not None and got[1] is not None and abs(got[1] - score) < 1e-9)
        if got[0] != status or not same:
            lines.append(f"{key[0]} {key[1]}: intended {status} {score}, got {got[0]} {got[1]}")
    return lines


def main(folder: str = "demo-class", *names: str) -> int:
    out = Path(folder)
    if out.exists() and not (out / "submitted").is_dir():
        print(f"{out} exists and is no demo class: name another folder.", file=sys.stderr)
        return 2
    shutil.rmtree(out, ignore_errors=True)
    have = [path.stem for path in sorted((ROOT / "source").glob("*.py"))]
    chosen = [name for name in (names or CHAPTERS) if name in have]
    open_course(ROOT, chosen)
    chapters = [load_chapter(ROOT, name) for name in chosen]
    intended = {}
    with open_engine() as engine:
        for chapter in chapters:
            intended |= build(out / "submitted", chapter, engine)
    print(
        f"{len(intended)} sample submissions in {out / 'submitted'}; grading them with `autograder grade`.", flush=True
    )
    grades = out / "grades.json"
    begun = time.perf_counter()
    command = [sys.executable, "-m", "autograder"]
    common = ["--root", str(ROOT), "--gradebook", f"sqlite:///{(out / 'gradebook.db').resolve()}"]
    code = subprocess.run(
        [
            *command,
            "grade",
            *chosen,
            "--submitted",
            str(out / "submitted"),
            "--out",
            str(out),
            "--json",
            str(grades),
            *common,
        ]
    ).returncode
    if code not in (0, 1):
        return code
    took = time.perf_counter() - begun
    for step in (
        ["feedback", "--out", str(out / "feedback"), "--autograded", str(out / "autograded")],
        ["report", "--out", str(out / "report.html")],
        ["export", "--to", str(out / "grades.csv")],
    ):
        subprocess.run([*command, *step, *common], check=True)
    result = ClassResult.read(grades)
    odd = surprises(result, intended)
    print(f"\nGraded {len(result.submissions)} submissions in {took:.1f} s. Look at:")
    for what in ("report.html", "feedback", "grades.csv", "gradebook.db", "grades.json"):
        print(f"  {out / what}")
    for line in odd:
        print("not as intended:", line)
    print(
        "Every score is the one that the sample's author intended."
        if not odd
        else f"{len(odd)} scores are not as intended."
    )
    return bool(odd)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
