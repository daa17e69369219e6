"""What can go wrong around a run of the grader: killed, interrupted, a folder that cannot be read, two graders at once."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from autograder.grading.gradebook import Book
from tests.mini_course import NAME, RIGHT, filled, hand_in

KILLS = int(os.environ.get("KILLS", "4"))  # KILLS=20 for the long run
STUDENTS = 12


def command(*more):
    return [sys.executable, "-m", "autograder.cli", "grade", "--submitted", "submitted", "--seed", "5", *more]


def grade(root, *more):
    return subprocess.run(command(*more), cwd=root, capture_output=True, text=True, timeout=120)


def standing(root, name):
    with Book.open(f"sqlite:///{root / name}", "autograd") as book:
        return [(row.student, row.chapter, row.score, row.max_score, row.status) for row in book.rows()]


@pytest.fixture
def many(course):
    for number in range(STUDENTS):
        answers = [RIGHT, {}, {"double": "def double(n):\n    return n\n", "guess": RIGHT["guess"]}][number % 3]
        hand_in(course, f"s{number:02}", filled(course, answers))
    return course


def test_a_killed_grader_goes_on_where_it_was(many):
    assert grade(many, "--gradebook", f"sqlite:///{many / 'calm.db'}").returncode == 0
    chance = random.Random(1)
    for _ in range(KILLS):
        process = subprocess.Popen(command(), cwd=many, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.5, 6.0))
        process.kill()
        process.wait()
    assert grade(many).returncode == 0
    assert standing(many, "gradebook.db") == standing(many, "calm.db")
    assert len(standing(many, "calm.db")) == STUDENTS


def test_an_interrupted_grader_says_so_and_keeps_what_was_graded(many):
    hand_in(many, "aa-slow", filled(many, {**RIGHT, "double": "def double(n):\n    while True: pass\n"}))
    process = subprocess.Popen(
        command("--jobs", "1"), cwd=many, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().startswith("Warm engine") or True
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "run the same command again" in stderr and "Traceback" not in stderr
    assert grade(many).returncode == 0
    assert len(standing(many, "gradebook.db")) == STUDENTS + 1


def test_two_graders_at_once_end_with_one_gradebook(many):
    both = [
        subprocess.Popen(command(), cwd=many, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0 or "Another program is writing" in stderr
        assert "Traceback" not in stderr
    assert len(standing(many, "gradebook.db")) == STUDENTS


@pytest.mark.skipif(os.geteuid() == 0 and not hasattr(os, "seteuid"), reason="needs a user who can be refused")
def test_a_folder_that_cannot_be_read_stops_nobody(many):
    closed = many / "submitted" / "s00" / NAME
    path = closed / f"{NAME}.ipynb"
    path.unlink()
    path.mkdir()  # a folder where a file should be: unreadable for root as well
    done = grade(many, "--json", "out.json")
    assert "Traceback" not in done.stderr
    results = {s["student"]: s for s in json.loads((many / "out.json").read_text())["submissions"]}
    assert results["s00"]["score"] is None and results["s00"]["notes"]
    assert results["s03"]["score"] == 5.0 and len(results) == STUDENTS


def test_a_regrade_against_a_changed_check_is_listed_by_compare(many):
    from tests import mini_course

    grade(many, "--json", "before.json")
    text = mini_course.TEXT.replace(
        'check("seven", lambda: double(7), 14)', 'check("a word", lambda: double("ab"), "abab")'
    )
    mini_course.make(many, text)
    assert grade(many, "--json", "after.json").returncode == 0
    shown = subprocess.run(
        [sys.executable, "-m", "autograder.cli", "compare", "before.json", "after.json"],
        cwd=many,
        capture_output=True,
        text=True,
    ).stdout
    assert "No grade changed" in shown or "a word" in shown
    after = json.loads((many / "after.json").read_text())
    assert all("a word" in [c["label"] for c in s["exercises"][0]["checks"]] for s in after["submissions"])


def test_a_score_given_by_hand_survives_a_regrade(many):
    from nbgrader.api import Gradebook

    grade(many)
    with Gradebook(f"sqlite:///{many / 'gradebook.db'}", "autograd") as book:
        mine = book.find_grade(f"explain-{NAME}", NAME, NAME, "s00")
        mine.manual_score, mine.needs_manual_grade = 1.5, False
        book.db.commit()
    assert grade(many, "--regrade").returncode == 0
    with Gradebook(f"sqlite:///{many / 'gradebook.db'}", "autograd") as book:
        assert book.find_grade(f"explain-{NAME}", NAME, NAME, "s00").manual_score == 1.5
