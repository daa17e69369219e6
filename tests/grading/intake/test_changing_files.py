"""Submissions that change while they are graded: what is graded is what was hashed, and nobody else notices."""

import hashlib
import os
import random
import shutil
import threading

import pytest

from autograder.grading.intake.archives import walk
from autograder.grading.intake.files import FileTrouble
from tests.grading.corpus import blank, encode, zipped
from tests.grading.grading_small import grade
from tests.grading.small_chapter import FULL_MARKS, NAME, answered_notebook

WHOLE = encode(answered_notebook())
PART = encode(answered_notebook(double="def double(x):\n    return x"))  # two points fewer
USES_FILE = encode(answered_notebook(double="from mine import factor\ndef double(x):\n    return factor * x"))
OTHERS = ("aa", "mm", "zz")


def put(root, name, data):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def place(student):
    return f"{student}/{NAME}/{NAME}.ipynb"


@pytest.fixture
def submitted(tmp_path):
    for student in (*OTHERS, "changing"):
        put(tmp_path / "submitted", place(student), WHOLE)
    return tmp_path / "submitted"


class Meddling:
    """An engine before whose jobs something happens to the files: the hand-in was read and hashed, and has not run."""

    def __init__(self, engine, **happens):
        self.engine, self.happens = engine, happens
        self.name, self.device = engine.name, engine.device
        self.expect = engine.expect

    def run(self, jobs):
        return self.engine.run(self._watched(jobs))

    def _watched(self, jobs):
        for job in jobs:
            self.happens.pop(job.key.partition("/")[0], lambda: None)()
            yield job


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def grow(path):
    with path.open("ab") as file:
        file.write(b"\n{")


def replace(path):
    other = path.with_name("other")
    other.write_bytes(PART)
    other.replace(path)


def become_a_folder(path):
    path.unlink()
    path.mkdir()


def become_a_link(path):
    path.unlink()
    path.symlink_to(path.parents[2] / place("aa"))


CHANGES = {
    "replaced": (replace, "graded", FULL_MARKS - 2),
    "rewritten in place": (lambda path: path.write_bytes(PART), "graded", FULL_MARKS - 2),
    "truncated": (truncate, "unreadable", None),
    "emptied": (lambda path: os.truncate(path, 0), "unreadable", None),
    "grown": (grow, "graded", FULL_MARKS),  # what follows the notebook is no part of it
    "removed": (lambda path: path.unlink(), "missing", None),
    "its folder removed": (lambda path: shutil.rmtree(path.parents[1]), "missing", None),
    "made a folder": (become_a_folder, "missing", None),
    "made a link": (become_a_link, "unreadable", None),
}


def assert_others_have_full_marks(results):
    assert {student: results[student].score for student in OTHERS} == dict.fromkeys(OTHERS, FULL_MARKS)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_between_reading_and_writing_counts_from_the_next_run(engine, submitted, tmp_path, change):
    do, status, score = CHANGES[change]
    path = submitted / place("changing")
    first = grade(Meddling(engine, changing=lambda: do(path)), submitted, tmp_path / "out")
    assert (first["changing"].score, first["changing"].source.sha256) == (FULL_MARKS, hashlib.sha256(WHOLE).hexdigest())
    assert_others_have_full_marks(first)
    again = grade(engine, submitted, tmp_path / "out")
    assert (again["changing"].status, again["changing"].score) == (status, score)
    assert status == "graded" or again["changing"].notes
    assert_others_have_full_marks(again)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_before_its_turn_counts_in_this_run(engine, submitted, tmp_path, change):
    do, status, score = CHANGES[change]
    path = submitted / place("changing")
    results = grade(Meddling(engine, aa=lambda: do(path)), submitted, tmp_path / "out")
    gone = change == "its folder removed"  # it was a student's folder when the run began
    assert (results["changing"].status, results["changing"].score) == ("unreadable" if gone else status, score)
    assert status == "graded" or results["changing"].notes[0].text.endswith(".")
    assert_others_have_full_marks(results)


@pytest.mark.parametrize("do", [change[0] for change in CHANGES.values()], ids=CHANGES)
def test_a_change_between_finding_and_reading_is_one_sentence_or_other_bytes(submitted, do):
    (file,) = walk(submitted / "changing")
    do(submitted / place("changing"))
    try:
        assert file.read() != WHOLE
    except FileTrouble as trouble:
        assert str(trouble).endswith(".") and str(trouble).startswith(f"{NAME}.ipynb ")


def test_a_file_beside_the_notebook_is_run_as_it_was_hashed(engine, submitted, tmp_path):
    put(submitted, place("changing"), USES_FILE)
    path = put(submitted, f"changing/{NAME}/mine.py", b"factor = 2")
    change = Meddling(engine, changing=lambda: path.write_bytes(b"factor = 3"))
    assert grade(change, submitted, tmp_path / "out")["changing"].score == FULL_MARKS
    again = grade(engine, submitted, tmp_path / "out")  # the notebook is the same, the file beside it is not
    assert again["changing"].score == FULL_MARKS - 2
    path.unlink()
    assert grade(engine, submitted, tmp_path / "out")["changing"].score == FULL_MARKS - 2
    assert_others_have_full_marks(again)


@pytest.mark.parametrize("do", [truncate, lambda path: path.unlink(), lambda path: path.write_bytes(b"PK no more")])
def test_an_archive_that_changes_while_it_is_open(submitted, do):
    path = put(submitted, "zipped/work.zip", zipped({f"{NAME}.ipynb": WHOLE}))
    (file,) = walk(submitted / "zipped")
    do(path)
    try:
        assert file.read() == WHOLE
    except FileTrouble as trouble:
        assert "work.zip" in str(trouble) or "archive" in str(trouble)


def test_a_class_that_is_handed_in_while_it_is_graded(engine, submitted, tmp_path):
    """One student's file is changed all the while, at random, in every way; then the grader runs once more."""
    path = submitted / place("changing")
    versions = {
        hashlib.sha256(data).hexdigest(): score for data, score in [(WHOLE, FULL_MARKS), (PART, 5.0), (blank(), 0.0)]
    }
    done, chance = threading.Event(), random.Random(5)

    def change():
        while not done.is_set():
            data = chance.choice([WHOLE, PART, blank(), WHOLE[: chance.randrange(len(WHOLE))], None])
            if data is None:
                path.unlink(missing_ok=True)
            elif chance.random() < 0.5:
                put(submitted, place("changing"), data)
            else:
                put(tmp_path, "next", data).replace(path)
            done.wait(chance.uniform(0, 0.01))

    for number in range(8):
        done.clear()
        writer = threading.Thread(target=change)
        writer.start()
        try:
            results = grade(engine, submitted, tmp_path / "out")
        finally:
            done.set()
            writer.join()
        assert_others_have_full_marks(results)
        mine = results["changing"]
        if mine.status == "graded":
            assert mine.score == versions[mine.source.sha256], number
        else:
            assert mine.score is None and mine.notes[0].text.endswith("."), number
    put(submitted, place("changing"), PART)
    assert grade(engine, submitted, tmp_path / "out")["changing"].score == FULL_MARKS - 2


def test_copies_of_files_beside_notebooks_do_not_pile_up(engine, submitted, tmp_path, monkeypatch):
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    for number in range(20):
        put(submitted, place(f"s{number:02}"), WHOLE)
        put(submitted, f"s{number:02}/{NAME}/data.csv", b"1,2")
    most = []

    def look():
        most.append(sum(path.is_file() for path in (tmp_path / "scratch").rglob("*")))

    for last in (WHOLE, PART):  # in the second run nobody but the last is graded again
        put(submitted, place("zz"), last)
        grade(Meddling(engine, zz=look), submitted, tmp_path / "out")
        assert not list((tmp_path / "scratch").iterdir())
    assert len(most) == 2 and max(most) < 10
