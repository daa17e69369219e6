"""A clock that jumps by hours while the grader works, and files from the future: no deadline, penalty or order breaks."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from autograder.grading.book.gradebook import Book
from autograder.grading.intake.handins import find
from tests.grading.corpus import encode
from tests.grading.small_chapter import NAME as SMALL
from tests.grading.small_chapter import answered_notebook, small_chapter
from tests.mini_course import NAME, RIGHT, filled, hand_in

HOURS = (0, 9, -7, 30, -1000)  # where the clock stands, a tenth of a second each
# Python runs this before anything else. Only the wall clock jumps; `monotonic` goes on, as it does on a real machine.
JUMPING = f"""
import datetime, time

_time, _monotonic, _hours = time.time, time.monotonic, {HOURS!r}

def jumped():
    return _time() + 3600 * _hours[int(_monotonic() * 10) % len(_hours)]

class Moment(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(jumped(), tz)

    @classmethod
    def utcnow(cls):
        return cls.fromtimestamp(jumped(), datetime.timezone.utc).replace(tzinfo=None)

    @classmethod
    def today(cls):
        return cls.fromtimestamp(jumped())

time.time = jumped
time.time_ns = lambda: int(jumped() * 1e9)
datetime.datetime = Moment
"""
MOVES_THE_CLOCK = """import time
def double(n):
    time.time = lambda: 1e12
    return n + n
"""
DUE = datetime(2026, 1, 10, 12, tzinfo=UTC)
STAMPS = {"early": "2026-01-10 11:59:59 UTC", "late": "2026-01-10 13:00:01 +0000", "future": "2999-12-31 23:59:59 UTC"}


def grade(root, *more, jumping=None):
    line = [sys.executable, "-m", "autograder", "grade", "--submitted", "submitted", "--seed", "5", *more]
    env = {**os.environ, **({"PYTHONPATH": str(jumping)} if jumping else {})}
    done = subprocess.run(line, cwd=root, capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done


def standing(root, name):
    """What the gradebook says of everybody."""
    with Book.open(f"sqlite:///{root / name}", "autograd") as book:
        return [(row.student, row.score, row.raw_score, row.late_submission_penalty, row.status) for row in book.rows()]


def set_due(root, name):
    from nbgrader.api import Gradebook

    Book.open(f"sqlite:///{root / name}", "autograd").close()
    with Gradebook(f"sqlite:///{root / name}", "autograd") as book:
        book.update_or_create_assignment(NAME, duedate=DUE.replace(tzinfo=None))


@pytest.fixture
def jumping(tmp_path):
    folder = tmp_path / "jumping"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(JUMPING)
    return folder


def test_the_clock_of_these_tests_jumps(jumping):
    look = "import time, datetime\nseen = []\nend = time.monotonic() + 1\nwhile time.monotonic() < end: seen.append(time.time())\n"
    look += "steps = [b - a for a, b in zip(seen, seen[1:])]\nprint(max(steps) > 1e4, min(steps) < -1e4)\n"
    look += "print(abs(datetime.datetime.now().timestamp() - time.time()) < 4e6)"
    done = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, env={"PYTHONPATH": str(jumping)}
    )
    assert done.stdout.split() == ["True"] * 3, done.stderr


def test_a_clock_that_jumps_during_the_run_changes_nothing(course, jumping):
    for student, stamp in STAMPS.items():
        path = hand_in(course, student, filled(course, RIGHT))
        path.with_name("timestamp.txt").write_text(stamp)
    hand_in(course, "blank", filled(course, {}))
    hand_in(course, "endless", filled(course, {**RIGHT, "double": "def double(n):\n    while True: pass\n"}))
    hand_in(course, "mover", filled(course, {**RIGHT, "double": MOVES_THE_CLOCK}))
    for seconds, student in ((0, "epoch"), (4e9, "ahead")):
        os.utime(hand_in(course, student, filled(course, RIGHT)), (seconds, seconds))
    with (course / "nbgrader_config.py").open("a") as config:
        config.write('\nget_config().LateSubmissionPlugin.penalty_method = "zero"\n')
    (course / "calm").mkdir()
    for name in ("gradebook.db", "calm/gradebook.db"):
        set_due(course, name)
    grade(course, "--out", "calm", "--json", "calm.json")
    done = grade(course, "--json", "jumped.json", jumping=jumping)
    grade(course, "--json", "again.json", jumping=jumping)  # nothing is graded again

    calm = standing(course, "calm/gradebook.db")
    assert standing(course, "gradebook.db") == calm
    penalties = {student: penalty for student, _, _, penalty, _ in calm}
    assert {student for student, penalty in penalties.items() if penalty} == {"late", "future"}
    assert {student: score for student, score, *_ in calm} == {
        **dict.fromkeys(["early", "mover", "epoch", "ahead"], 5.0), "blank": 0.0, "late": 0.0, "future": 0.0, "endless": 1.0,
    }  # fmt: skip
    runs = [json.loads((course / f"{name}.json").read_text())["submissions"] for name in ("calm", "jumped", "again")]
    assert all(0 <= submission["seconds"] < 60 for run in runs for submission in run)
    assert runs[1] == runs[2]
    for run in runs:
        for submission in run:
            submission["seconds"] = 0
    assert runs[0] == runs[1]
    assert not re.search(r"-\d", done.stdout.replace(NAME, "")), done.stdout  # no negative time


def test_attempts_from_the_future_and_from_the_epoch_keep_their_order(tmp_path):
    chapters = {SMALL: small_chapter()}
    versions = {}
    for student, moments in {"anna": (0, 1e9, 4e9), "ben": (4e9, 0, 1e9), "chen": (-1e9, 0, 1)}.items():
        for number, seconds in enumerate(moments):
            path = tmp_path / student / f"{'abc'[number]} {SMALL}.ipynb"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(
                encode(answered_notebook(double=f"def double(x):\n    return x + x + {number} - {number}"))
            )
            os.utime(path, (seconds, seconds))
            versions[student, number] = path.read_bytes()
    found = {handin.student: handin for handin in find(tmp_path, chapters)}
    assert {student: handin.attempt for student, handin in found.items()} == {"anna": 3, "ben": 3, "chen": 3}
    assert found["anna"].data == versions["anna", 2]
    assert found["ben"].data == versions["ben", 0]
    assert found["chen"].data == versions["chen", 2]


@pytest.mark.parametrize(
    "text", ["9999-12-31 23:59:59 -1200", "0001-01-01 00:00:00 +1400", "9999-12-31 23:59:59 UTC", "0001-01-01"]
)
def test_a_time_at_the_end_of_time_costs_nobody_else(tmp_path, text):
    for student in ("anna", "ben"):
        path = tmp_path / student / SMALL / f"{SMALL}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(encode(answered_notebook()))
    path.with_name("timestamp.txt").write_text(text)
    found = {handin.student: handin for handin in find(tmp_path, {SMALL: small_chapter()})}
    assert [handin.status for handin in found.values()] == ["found", "found"]
    assert found["anna"].timestamp is None and found["anna"].notes == []
    assert found["ben"].timestamp or [note.code for note in found["ben"].notes] == ["timestamp-broken"]
