"""What can go wrong around a run of the grader: killed, interrupted, a folder that cannot be read, two graders at once."""

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.grading.book.gradebook import Book
from autograder.interrupts import STOPPED
from tests import mini_course
from tests.mini_course import NAME, RIGHT, filled, hand_in

pytestmark = pytest.mark.usefixtures("signals_as_in_a_terminal")
KILLS = int(os.environ.get("KILLS", "2"))  # KILLS=30 for the long run
STUDENTS = 12
HALF = {"double": "def double(n):\n    return n\n", "guess": RIGHT["guess"]}
GRADE = ("grade", "--submitted", "submitted", "--seed", "5")
# From here on Ctrl-C is the program's to answer; before, Python itself is starting.
TAKEN_OVER = (
    "import runpy; from autograder import interrupts; interrupts.listen(); print('begun', flush=True); "
    "runpy.run_module('autograder', run_name='__main__')"
)


def command(*more, start=("-m", "autograder")):
    return [sys.executable, *start, *GRADE, *more]


@pytest.fixture
def grade_here(autograder_here):
    return lambda root, *more: autograder_here(root, *GRADE, *more)


def standing(root):
    with Book.open(f"sqlite:///{root / 'gradebook.db'}", "autograd") as book:
        return [(row.student, row.chapter, row.score, row.max_score, row.status) for row in book.rows()]


def shown(root):
    """The notebooks to show, byte by byte."""
    place = root / "autograded"
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def hand_in_many(root):
    for number in range(STUDENTS):
        hand_in(root, f"s{number:02}", filled(root, [RIGHT, {}, HALF][number % 3]))
    return root


@pytest.fixture
def many(course):
    return hand_in_many(course)


@pytest.fixture(scope="module")
def calm(built_course, tmp_path_factory):
    """A folder in which an undisturbed run was made, and how long that took, in seconds."""
    root = tmp_path_factory.mktemp("calm") / "course"
    hand_in_many(Path(shutil.copytree(built_course, root)))
    start = time.monotonic()
    subprocess.run(command(), cwd=root, capture_output=True, timeout=120, check=True)
    return root, time.monotonic() - start


@pytest.fixture
def assert_as_after_a_calm_run(calm, grade_here):
    def look(root):
        """Running again ends with the gradebook and the notebooks of an undisturbed run."""
        if (root / "gradebook.db").exists():
            with contextlib.closing(sqlite3.connect(root / "gradebook.db")) as book:
                assert book.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert grade_here(root).returncode == 0
        assert standing(root) == standing(calm[0])
        assert len(standing(root)) == STUDENTS
        assert shown(root) == shown(calm[0])

    return look


def start_over(root):
    for path in (*root.glob("gradebook.db*"), root / "out.json"):
        path.unlink(missing_ok=True)
    shutil.rmtree(root / "autograded", ignore_errors=True)


def test_a_killed_grader_goes_on_where_it_was(many, calm, assert_as_after_a_calm_run):
    _, seconds = calm
    chance = random.Random(1)
    for moment in range(KILLS):
        process = subprocess.Popen(command(), cwd=many, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep((moment + chance.random()) / KILLS * seconds)
        process.kill()
        process.wait()
    assert_as_after_a_calm_run(many)


def test_ctrl_c_at_any_moment_is_one_sentence_and_leaves_nothing(many, calm, tmp_path, assert_as_after_a_calm_run):
    _, seconds = calm
    chance = random.Random(2)
    codes = []
    for moment in range(KILLS):
        start_over(many)
        scratch = tmp_path / f"scratch-{moment}"
        scratch.mkdir()
        process = subprocess.Popen(
            command("--json", "out.json", start=("-c", TAKEN_OVER)), cwd=many, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(scratch)}, start_new_session=True,
        )  # fmt: skip
        assert process.stdout.readline() == "begun\n"
        # Moments all over the run and somewhat beyond; as a terminal sends it or to the grader alone; once or more often.
        # The first comes early whatever the machine's load was when the calm run was timed.
        when = (moment + chance.random()) / KILLS * 1.1 * seconds if moment else chance.random() / 2
        pauses = chance.choice([(), (), (0.0,), (0.02, 0.1), (0.3,)])
        number = chance.choice([signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        press = chance.choice([os.killpg, os.kill])
        for pause in (when, *pauses):
            time.sleep(pause)
            with contextlib.suppress(ProcessLookupError):
                press(process.pid, number)
        _, said = process.communicate(timeout=60)
        where = f"after {when:.2f} of {seconds:.2f} s, again {pauses}, {press.__name__}({number.name}): {process.returncode}, {said}"
        codes.append(process.returncode)
        assert said == (STOPPED + "\n" if process.returncode == 130 else "") and process.returncode in (0, 130), where
        assert list(scratch.iterdir()) == [], where
        assert not left_of(scratch), where
        if (many / "out.json").exists():
            assert len(json.loads((many / "out.json").read_text())["submissions"]) == STUDENTS, where
        assert not [path for path in many.rglob(".*") if path.suffix in (".new", ".old", ".part")], where
        assert_as_after_a_calm_run(many)
    print(f"exit codes of {len(codes)} interrupted runs: {codes}")
    assert 130 in codes


def left_of(scratch):
    """Processes that know of a scratch folder, once they had time to end."""
    until = time.monotonic() + 5
    while found := [
        path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if os.fsencode(scratch) in _read(path)
    ]:
        if time.monotonic() > until:
            return found
        time.sleep(0.05)
    return []


def _read(path):
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


def test_an_interrupted_grader_keeps_what_was_graded(many, grade_here):
    hand_in(many, "aa", filled(many, {**RIGHT, "guess": "import time\ntime.sleep(1)\nguess = {'a': 1}\n"}))
    hand_in(many, "zz", filled(many, {**RIGHT, "double": "def double(n):\n    while True: pass\n"}))
    process = subprocess.Popen(
        command("--jobs", "1"), cwd=many, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().startswith("Warm engine, 1 at once.")
    until = time.monotonic() + 60
    while time.monotonic() < until and not (many / "autograded").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (130, STOPPED + "\n")
    kept = standing(many)
    assert 0 < len(kept) <= STUDENTS + 1  # not the endless one
    stamps = {path: path.stat().st_mtime_ns for path in (many / "autograded").rglob("*.ipynb")}
    assert len(stamps) == len(kept)
    assert grade_here(many).returncode == 0
    assert len(standing(many)) == STUDENTS + 2
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())  # they were not graded again


def test_two_graders_at_once_end_with_one_gradebook(many, assert_as_after_a_calm_run):
    both = [
        subprocess.Popen(command(), cwd=many, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [(process.communicate(timeout=120)[1], process.returncode) for process in both]
    for said, code in ended:
        assert (said, code) == ("", 0) or (code == 2 and said.count("\n") == 1 and "Another program is writing" in said)
    assert 0 in [code for _, code in ended]
    assert_as_after_a_calm_run(many)


def test_a_folder_where_a_file_should_be_stops_nobody(many, grade_here):
    path = many / "submitted" / "s00" / NAME / f"{NAME}.ipynb"
    path.unlink()
    path.mkdir()  # unreadable for root as well
    done = grade_here(many, "--json", "out.json")
    assert "Traceback" not in done.stderr
    results = {s["student"]: s for s in json.loads((many / "out.json").read_text())["submissions"]}
    assert results["s00"]["score"] is None and results["s00"]["notes"]
    assert results["s03"]["score"] == 5.0 and len(results) == STUDENTS


def test_a_regrade_against_a_changed_check_is_listed_by_compare(many, grade_here, autograder_here):
    text = mini_course.TEXT.replace(
        'check("seven", lambda: double(7), 14)', 'check("a word", lambda: double("ab"), "abab")'
    )
    assert text.count("a word") == 1
    # Only this one doubles 7 and not a word.
    strict = "def double(n):\n    return n + n + 0\n"
    hand_in(many, "strict", filled(many, {**RIGHT, "double": strict}))
    assert grade_here(many, "--json", "before.json").returncode == 0
    mini_course.make(many, text)
    assert grade_here(many, "--json", "after.json").returncode == 0
    shown = autograder_here(many, "compare", "before.json", "after.json").stdout
    assert "strict" in shown and "a word" in shown and "s00" not in shown
    before, after = (
        {s["student"]: s for s in json.loads((many / name).read_text())["submissions"]}
        for name in ("before.json", "after.json")
    )
    assert (before["strict"]["score"], after["strict"]["score"]) == (5.0, 4.0)
    assert {s: r["score"] for s, r in before.items() if s != "strict"} == {
        s: r["score"] for s, r in after.items() if s != "strict"
    }
    assert all("a word" in [c["label"] for c in s["exercises"][0]["checks"]] for s in after.values())
    assert autograder_here(many, "compare", "after.json", "after.json").stdout == "No grade changed.\n"


def test_a_score_given_by_hand_survives_a_regrade(many, grade_here):
    from nbgrader.api import Gradebook

    assert grade_here(many).returncode == 0
    with Gradebook(f"sqlite:///{many / 'gradebook.db'}", "autograd") as book:
        mine = book.find_grade(f"explain-{NAME}", NAME, NAME, "s00")
        mine.manual_score, mine.needs_manual_grade = 1.5, False
        book.db.commit()
    assert grade_here(many, "--regrade").returncode == 0
    with Gradebook(f"sqlite:///{many / 'gradebook.db'}", "autograd") as book:
        assert book.find_grade(f"explain-{NAME}", NAME, NAME, "s00").manual_score == 1.5
