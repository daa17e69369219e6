"""The gradebook: nbgrader's own view of what we wrote, what people gave, what must not be lost, and what goes wrong."""

from __future__ import annotations

import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nbgrader.api import Gradebook
from traitlets.config import Config

from autograder.grading.book.autograded import autograded_notebook
from autograder.grading.book.gradebook import Book, BookError, Written
from autograder.grading.book.late import penalty_rule, read_config
from autograder.grading.course import chapter_of
from autograder.grading.results import Note, Source, SubmissionResult
from tests.reporting import sample_class as sample

CHAPTERS = sample.chapters()
GRAPH = CHAPTERS[0]


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder / 'gradebook.db'}"


def stock(folder: Path) -> Gradebook:
    """nbgrader's own gradebook over the same file."""
    return Gradebook(url_of(folder), "autograd")


@pytest.fixture
def book(tmp_path):
    with Book.open(url_of(tmp_path), "autograd", tmp_path / "autograded") as opened:
        for chapter in CHAPTERS:
            opened.register(chapter)
        yield opened


def written(student: str, chapter=GRAPH, sha256: str | None = None, **changes) -> Written:
    result = sample.result(student, chapter.name)
    if sha256 is not None:
        result.source = Source("x.ipynb", sha256)
    notebook = autograded_notebook(sample.submission_cells(student, chapter), chapter, result)
    return replace(Written(result, "print", None, frozenset(), notebook), **changes)


# ---------------------------------------------------------------- nbgrader's view


def test_a_chapter_is_entered_as_generate_assignment_would(tmp_path):
    from nbgrader.apps.nbgraderapp import NbGraderApp
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory

    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    ours.mkdir()
    source, _ = sample.notebooks("01-graph")
    path = theirs / "source/01-graph/01-graph.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(source))
    with Book.open(url_of(theirs), "autograd"):
        pass  # else nbgrader starts alembic, which takes a second
    config = Config()
    config.CourseDirectory.update(root=str(theirs), course_id="autograd", assignment_id="01-graph")
    app = NbGraderApp(config=config)
    app.log.setLevel(logging.ERROR)
    GenerateAssignment(coursedir=CourseDirectory(parent=app), parent=app).start()
    release = json.loads((theirs / "release/01-graph/01-graph.ipynb").read_text())
    with Book.open(url_of(ours), "autograd") as book:
        book.register(chapter_of("01-graph", source, release))
    assert _course_rows(ours) == _course_rows(theirs)


def _course_rows(folder: Path):
    queries = (
        "select name, course_id, duedate from assignment",
        "select name, json_extract(kernelspec, '$.name') from notebook",
        "select name, type from base_cell",
        "select name, max_score, cell_type from base_cell join grade_cells using (id)",
        "select name from base_cell join solution_cells using (id)",
        "select name, cell_type, locked, source, checksum from source_cell",
        "select version_num from alembic_version",
    )
    with sqlite3.connect(folder / "gradebook.db") as connection:
        return [sorted(connection.execute(query)) for query in queries]


def test_nbgrader_reads_the_scores(tmp_path, book):
    book.write([written(student, chapter) for chapter in CHAPTERS for student in sample.STUDENTS])
    with stock(tmp_path) as theirs:
        assert [s.id for s in theirs.students] and {s.id for s in theirs.students} == set(sample.STUDENTS)
        bea = theirs.find_submission("01-graph", "bea")
        assert (bea.score, bea.max_score, bea.code_score) == (9.25, 12.0, 9.25)
        assert bea.needs_manual_grade  # her free answer
        assert theirs.find_grade("check-walk", "01-graph", "01-graph", "bea").failed_tests
        assert theirs.find_grade("check-nodes", "01-graph", "01-graph", "bea").needs_manual_grade is False
        ilse = theirs.find_submission("01-graph", "ilse")
        assert ilse.score == 0
        assert all(grade.needs_manual_grade for grade in ilse.notebooks[0].grades)
        assert theirs.assignment_submissions("01-graph")
        assert "jomo" not in {s.student.id for s in theirs.assignment_submissions("01-graph")}


def test_comments_say_what_was_not_answered_and_what_was_noticed(tmp_path, book):
    item = written("ada", unanswered=frozenset({"walk", "explain-01-graph"}))
    item.result.notes = [Note("x", "Renamed <b>.", "check-saved")]
    book.write([item])
    with stock(tmp_path) as theirs:
        comments = {c.name: c.comment for c in theirs.find_submission("01-graph", "ada").notebooks[0].comments}
        free = theirs.find_grade("explain-01-graph", "01-graph", "01-graph", "ada")
        assert (free.auto_score, free.needs_manual_grade) == (0.0, False)
    assert comments["walk"] == comments["explain-01-graph"] == "No response."
    assert comments["nodes"] is None
    assert "<b>" not in comments["saved"] and comments["saved"].startswith("Renamed <")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ada", "bea", "cem"]),
            st.sampled_from(["check-walk", "check-nodes", "explain-01-graph"]),
            st.sampled_from(["auto", "manual", "extra"]),
            st.integers(0, 12).map(lambda quarters: quarters / 4),
        ),
        max_size=12,
    )
)
def test_our_rows_are_nbgraders_sums(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("sums")
    with Book.open(url_of(folder), "autograd") as book:
        book.register(GRAPH)
        given_by_hand: dict[tuple[str, str, str], float] = {}
        for number, (student, cell, kind, value) in enumerate(steps):
            if kind == "auto":
                item = written(student, sha256=str(number), notebook=None)
                next(e for e in item.result.exercises if e.id == cell).score = value
                book.write([item])
            elif (student, GRAPH.name) in book.fingerprints():
                _give(folder, student, cell, **{"manual_score" if kind == "manual" else "extra_credit": value})
                given_by_hand[student, cell, kind] = value
        for (student, cell, kind), value in given_by_hand.items():
            by_hand = book.by_hand()[student, GRAPH.name]
            assert (by_hand.scores if kind == "manual" else by_hand.extra_credit).get(cell, 0.0) == value
        rows = {row.student: row for row in book.rows()}
        with stock(folder) as theirs:
            for submission in theirs.assignment_submissions("01-graph"):
                row = rows.pop(submission.student.id)
                assert row.raw_score == pytest.approx(submission.score)
                assert row.max_score == submission.max_score
                assert row.needs_manual_grade == submission.needs_manual_grade
        assert all(row.score is None for row in rows.values())


def test_stock_autograde_runs_over_our_gradebook(tmp_path, book):
    """nbgrader re-grades what we entered, in place, and finds the checks with their hidden part."""
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.course_id = 'autograd'\n")
    for chapter in sample.COURSE:
        folder = tmp_path / "source" / chapter
        folder.mkdir(parents=True)
        (folder / f"{chapter}.ipynb").write_text(json.dumps(sample.notebooks(chapter)[0]))
    book.write([written("emre")])
    book.close()
    place = tmp_path / "submitted/emre/01-graph"
    place.mkdir(parents=True)
    notebook = sample.notebooks("01-graph")[1] | {"cells": sample.submission_cells("emre", GRAPH)}
    (place / "01-graph.ipynb").write_text(json.dumps(notebook))
    nbgrader(tmp_path, "autograde", "01-graph", "--force")
    with stock(tmp_path) as theirs:
        assert theirs.find_submission("01-graph", "emre").score == 10.0  # the sample's checks want identity
    assert (
        "secret_of_walk" in (tmp_path / "autograded/emre/01-graph/01-graph.ipynb").read_text()
    )  # stock puts them back


def nbgrader(folder: Path, *words: str) -> str:
    """Run stock nbgrader in a course."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "nbgrader", *words]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout + ran.stderr


# ---------------------------------------------------------------- what people gave


def _give(folder: Path, student: str, cell: str, **values) -> None:
    """What formgrader does when a person types a score."""
    with stock(folder) as theirs:
        grade = theirs.find_grade(cell, "01-graph", "01-graph", student)
        for name, value in values.items():
            setattr(grade, name, value)
        grade.needs_manual_grade = False
        theirs.db.commit()


def _grade(folder: Path, student: str, cell: str) -> tuple:
    with stock(folder) as theirs:
        grade = theirs.find_grade(cell, "01-graph", "01-graph", student)
        return grade.auto_score, grade.manual_score, grade.extra_credit, grade.needs_manual_grade


def test_scores_given_by_hand_survive(tmp_path, book):
    book.write([written("bea", sha256="1")])
    _give(tmp_path, "bea", "explain-01-graph", manual_score=1.5)
    _give(tmp_path, "bea", "check-walk", manual_score=3.0, extra_credit=0.5)
    with stock(tmp_path) as theirs:
        theirs.find_comment("walk", "01-graph", "01-graph", "bea").manual_comment = "Nice."
        theirs.db.commit()

    book.write([written("bea", sha256="1")])  # nothing new: nothing to look at again
    assert _grade(tmp_path, "bea", "explain-01-graph") == (None, 1.5, None, False)
    assert _grade(tmp_path, "bea", "check-walk") == (2.25, 3.0, 0.5, False)

    changed = written("bea", sha256="1")  # the check changed: this cell only
    changed.result.exercises[0].score = 0.75
    book.write([changed])
    assert _grade(tmp_path, "bea", "check-walk") == (0.75, 3.0, 0.5, True)
    assert _grade(tmp_path, "bea", "explain-01-graph") == (None, 1.5, None, False)

    book.write([written("bea", sha256="2")])  # another submission: a person looks again, at what was given before
    assert _grade(tmp_path, "bea", "explain-01-graph") == (None, 1.5, None, True)
    given = book.by_hand()["bea", "01-graph"]
    assert given.scores == {"explain-01-graph": 1.5, "check-walk": 3.0}
    assert (given.extra_credit, given.comments) == ({"check-walk": 0.5}, {"walk": "Nice."})

    unreadable = replace(written("bea", sha256="3"), notebook=None)
    unreadable.result = SubmissionResult("bea", "01-graph", "unreadable", None, 10.0)
    book.write([unreadable])
    assert _grade(tmp_path, "bea", "check-walk") == (None, 3.0, 0.5, True)


def test_free_answers_that_wait_and_those_left_blank(tmp_path, book):
    blank = written("bea", unanswered=frozenset({"explain-01-graph"}))
    unreadable = written("cid")
    unreadable.result = SubmissionResult("cid", "01-graph", "unreadable", None, 10.0)
    book.write([written("ada"), blank, unreadable])

    def free():
        rows = [row for row in book.rows() if row.chapter == "01-graph"]
        return {row.student: (set(row.waiting), set(row.unanswered)) for row in rows}

    explain = {"explain-01-graph"}
    assert free() == {"ada": (explain, set()), "bea": (set(), explain), "cid": (set(), set())}
    for student in ("ada", "bea"):
        _give(tmp_path, student, "explain-01-graph", manual_score=1.0, needs_manual_grade=False)
    assert free() == dict.fromkeys(("ada", "bea", "cid"), (set(), set()))


def test_what_was_unreadable_and_is_missing_now_is_taken_back(tmp_path, book):
    for student in ("ada", "bea", "cid"):
        unreadable = written(student)
        unreadable.result = SubmissionResult(student, "01-graph", "unreadable", None, 10.0)
        book.write([unreadable, written(student, CHAPTERS[1])] if student == "ada" else [unreadable])
    _give(tmp_path, "bea", "check-walk", manual_score=3.0)
    gone = [SubmissionResult(s, "01-graph", "missing", None, 10.0) for s in ("ada", "bea")]
    book.write([Written(result, "none") for result in gone])
    standing = {row.student: (row.status, row.raw_score) for row in book.rows() if row.chapter == "01-graph"}
    assert standing == {"ada": ("missing", None), "bea": ("missing", 3.0), "cid": ("unreadable", 0.0)}
    found = {(result.student, result.chapter): result.status for result in book.results()}
    assert found[("bea", "01-graph")] == "missing" and found[("cid", "01-graph")] == "unreadable"
    assert ("ada", "01-graph") not in found and found[("ada", CHAPTERS[1].name)] == sample.result(
        "ada", CHAPTERS[1].name
    ).status
    assert not (tmp_path / "autograded" / "ada" / "01-graph" / "01-graph.ipynb").exists()
    assert (tmp_path / "autograded" / "bea" / "01-graph" / "01-graph.ipynb").exists()
    with stock(tmp_path) as theirs:
        assert {s.student.id for s in theirs.assignment_submissions("01-graph")} == {"bea", "cid"}
    again = written("ada", fingerprint="new")
    book.write([again])
    assert book.previous("ada", "01-graph") == again.result


def test_a_changed_chapter_keeps_grades(tmp_path, book):
    book.write([written("ada"), written("bea")])
    _give(tmp_path, "ada", "check-walk", manual_score=2.0)
    source, release = sample.notebooks("01-graph")
    for notebook in (source, release):
        for cell in notebook["cells"]:
            mark = cell["metadata"].get("nbgrader", {})
            if mark.get("grade_id") == "check-nodes":
                mark["points"] = 6.0
                cell["source"] += "\n"
            elif "saved" in mark.get("grade_id", ""):
                mark["grade_id"] = mark["grade_id"].replace("saved", "kept")
    book.register(chapter_of("01-graph", source, release))
    with stock(tmp_path) as theirs:
        for student in ("ada", "bea"):
            names = {grade.name: grade for grade in theirs.find_submission("01-graph", student).notebooks[0].grades}
            assert set(names) == {"check-walk", "check-nodes", "check-kept", "explain-01-graph"}
            assert names["check-kept"].needs_manual_grade and names["check-nodes"].max_score == 6.0
    assert _grade(tmp_path, "ada", "check-walk") == (3.0, 2.0, None, False)

    for notebook in (source, release):
        notebook["cells"] = [
            c for c in notebook["cells"] if "walk" not in c["metadata"].get("nbgrader", {}).get("grade_id", "")
        ]
    before = (tmp_path / "gradebook.db").read_bytes()
    with pytest.raises(BookError, match="given by hand for 'check-walk'"):
        book.register(chapter_of("01-graph", source, release))
    assert (tmp_path / "gradebook.db").read_bytes() == before


def test_an_equal_chapter_changes_nothing(tmp_path, book):
    before = (tmp_path / "gradebook.db").read_bytes()
    for chapter in CHAPTERS:
        book.register(chapter)
    assert (tmp_path / "gradebook.db").read_bytes() == before


# ---------------------------------------------------------------- what was graded before


def test_fingerprints_and_results_are_remembered(tmp_path, book):
    items = [written("ada", fingerprint="f1"), written("bea"), written("jomo", notebook=None)]
    book.write(items)
    assert book.fingerprints() == {("ada", "01-graph"): "f1", ("bea", "01-graph"): "print"}
    assert book.previous("ada", "01-graph") == items[0].result
    assert book.previous("ada", "02-saved-tensors") is None
    assert [r.student for r in book.results()] == ["ada", "bea"]
    assert book.students() == ["ada", "bea", "jomo"]
    book.write([written("ada", fingerprint="f2")])
    assert book.fingerprints()["ada", "01-graph"] == "f2"
    (tmp_path / "autograded/ada/01-graph/01-graph.ipynb").unlink()
    with stock(tmp_path) as theirs:
        theirs.remove_student("bea")
    assert book.fingerprints() == {}
    assert [r.student for r in book.results()] == ["ada"]


def test_settings_are_kept(book):
    assert book.setting("seed") is None
    book.keep("seed", "7")
    book.keep("seed", "8")
    assert book.setting("seed") == "8"


# ---------------------------------------------------------------- late submissions


def _due(folder: Path, moment: datetime | None, extension: timedelta | None = None) -> None:
    with stock(folder) as theirs:
        theirs.update_or_create_assignment("01-graph", duedate=moment)
        if extension:
            theirs.find_submission("01-graph", "ada").extension = extension
            theirs.db.commit()


def _penalty(folder: Path) -> float | None:
    with stock(folder) as theirs:
        return theirs.find_submission_notebook("01-graph", "01-graph", "ada").late_submission_penalty


def test_late_is_measured_against_the_due_date_as_it_stands_now(tmp_path):
    config = Config()
    config.LateSubmissionPlugin.penalty_method = "zero"
    berlin = timezone(timedelta(hours=1))
    with Book.open(url_of(tmp_path), "autograd", config=config) as book:
        book.register(GRAPH)
        _due(tmp_path, datetime(2025, 1, 31, 23, tzinfo=UTC))
        book.write([written("ada", timestamp=datetime(2025, 1, 31, 23, 59, tzinfo=berlin))])  # 22:59 UTC
        assert _penalty(tmp_path) is None
        book.write([written("ada", timestamp=datetime(2025, 1, 31, 23, 1, tzinfo=UTC))])
        assert _penalty(tmp_path) == 10.0
        row = next(row for row in book.rows() if row.student == "ada")
        assert (row.raw_score, row.late_submission_penalty, row.score) == (10.0, 10.0, 0.0)
        _due(tmp_path, datetime(2025, 2, 1, tzinfo=UTC))
        book.settle(["01-graph"])
        assert _penalty(tmp_path) is None
        _due(tmp_path, datetime(2025, 1, 30, tzinfo=UTC))
        book.settle(["01-graph"])
        assert _penalty(tmp_path) == 10.0
        _due(tmp_path, datetime(2025, 1, 30, tzinfo=UTC), extension=timedelta(days=3))
        book.settle(["01-graph"])
        assert _penalty(tmp_path) is None
        _due(tmp_path, None)  # an extension of nothing
        book.settle(["01-graph"])
        assert _penalty(tmp_path) is None
        book.write([written("ada", timestamp=None)])
        _due(tmp_path, datetime(2025, 1, 1, tzinfo=UTC), extension=timedelta())
        book.settle(["01-graph"])
        assert _penalty(tmp_path) is None


def test_the_penalty_is_the_plugins_within_bounds(tmp_path):
    (tmp_path / "nbgrader_config.py").write_text(
        "from nbgrader.plugins import BasePlugin\n"
        "class Hourly(BasePlugin):\n"
        "    def late_submission_penalty(self, student, score, late):\n"
        "        return late / 3600 if student != 'odd' else -1\n"
        "c = get_config()\n"
        "c.AssignLatePenalties.plugin_class = Hourly\n"
    )
    rule = penalty_rule(read_config(tmp_path))
    assert rule("ada", 10.0, 0.0) is None
    assert rule("ada", 10.0, 7200.0) == 2.0
    assert rule("ada", 10.0, 360000.0) == 10.0
    assert rule("odd", 10.0, 5.0) == 0.0
    assert penalty_rule()("ada", 10.0, 5.0) is None
    assert read_config(tmp_path / "nowhere") == Config()


# ---------------------------------------------------------------- what goes wrong


def test_another_courses_gradebook_is_refused(tmp_path):
    with Book.open(url_of(tmp_path), "physics") as book:
        book.register(GRAPH)
    before = (tmp_path / "gradebook.db").read_bytes()
    with pytest.raises(BookError, match="belongs to the course 'physics', not to 'autograd'"):
        Book.open(url_of(tmp_path), "autograd")
    assert (tmp_path / "gradebook.db").read_bytes() == before


def test_a_gradebook_that_nbgrader_made_is_taken(tmp_path):
    with Book.open(url_of(tmp_path), "autograd"):
        pass
    with Gradebook(url_of(tmp_path)):  # as its preprocessors do: this adds "default_course"
        pass
    with Book.open(url_of(tmp_path), "autograd") as book:
        book.register(GRAPH)
    with Book.open(url_of(tmp_path), "autograd") as book:
        assert book.students() == []


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("nonsense", "not a gradebook URL"),
        ("oracle+nodriver://x", "not a gradebook URL"),
        ("sqlite:///{folder}/no/such/folder/g.db", "does not exist: create it"),
        ("sqlite:///{folder}", "cannot be opened"),
        ("sqlite:///{folder}/text.db", "is not a gradebook"),
        ("sqlite:///{folder}/other.db", "is a database, but no gradebook"),
        ("sqlite:///{folder}/old.db", "run `nbgrader db upgrade`"),
        ("sqlite:///file:{folder}/empty.db?mode=ro&uri=true", "read-only"),
    ],
)
def test_what_is_no_gradebook_is_refused_in_a_sentence(tmp_path, url, sentence):
    (tmp_path / "text.db").write_text("This is a letter, not a database. " * 100)
    (tmp_path / "empty.db").touch()
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("create table recipes (name text)")
    with Book.open(f"sqlite:///{tmp_path}/old.db", "autograd"):
        pass
    with sqlite3.connect(tmp_path / "old.db") as connection:
        connection.execute("update alembic_version set version_num = '000'")
    with pytest.raises(BookError, match=sentence) as caught:
        Book.open(url.format(folder=tmp_path), "autograd")
    assert "\n" not in str(caught.value)


def test_a_read_only_gradebook_can_be_read(tmp_path, book):
    book.write([written("ada")])
    with Book.open(f"sqlite:///file:{tmp_path}/gradebook.db?mode=ro&uri=true", "autograd") as reader:
        assert reader.students() == ["ada"]
        with pytest.raises(BookError, match="read-only"):
            reader.write([written("bea")])


def test_a_locked_gradebook_is_waited_for_and_then_said(tmp_path, book):
    impatient = Book.open(url_of(tmp_path), "autograd", wait=0.1)
    lock = sqlite3.connect(tmp_path / "gradebook.db", isolation_level=None, check_same_thread=False)
    lock.execute("begin exclusive")
    with pytest.raises(BookError, match="Another program is writing"):
        impatient.write([written("ada")])
    impatient.close()
    threading.Timer(0.3, lambda: lock.execute("rollback")).start()
    book.write([written("ada")])  # waits
    assert book.students() == ["ada"]
    lock.close()


def test_nothing_of_a_batch_is_left_when_one_file_cannot_be_written(tmp_path, book):
    book.write([written("ada", sha256="old", fingerprint="old")])
    place = tmp_path / "autograded/ada/01-graph/01-graph.ipynb"
    before = place.read_bytes()
    (tmp_path / "autograded/bea").write_text("in the way")
    with pytest.raises(BookError, match=r"bea.* cannot be written"):
        book.write([written("ada", sha256="new"), written("bea")])
    assert book.fingerprints() == {("ada", "01-graph"): "old"}
    assert book.students() == ["ada"]
    assert place.read_bytes() == before
    assert [p.name for p in place.parent.iterdir()] == ["01-graph.ipynb"]


def test_files_are_taken_back_when_the_gradebook_refuses(tmp_path, book):
    book.write([written("ada", fingerprint="old")])
    place = tmp_path / "autograded/ada/01-graph/01-graph.ipynb"
    before = place.read_bytes()
    unknown = written("bea")
    unknown.result.exercises[0].id = "check-nothing"
    other = written("ada", fingerprint="new")
    other.notebook["cells"].pop()
    with pytest.raises(BookError, match="knows no cell 'check-nothing' in 01-graph"):
        book.write([other, unknown])
    assert place.read_bytes() == before
    assert not (tmp_path / "autograded/bea/01-graph/01-graph.ipynb").exists()
    assert book.fingerprints() == {("ada", "01-graph"): "old"}


def test_a_full_disk_loses_nothing(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        for autograded in (None, disk / "autograded"):
            entered = []
            with Book.open(url_of(disk), "autograd", autograded) as book:
                book.register(GRAPH)
                with pytest.raises(BookError, match=r"full|No space left"):
                    for number in range(400):
                        item = written("ada", fingerprint=str(number))
                        item.result.student = f"s{number}"
                        book.write([item])
                        entered.append(item.result.student)
                assert entered and {student for student, _ in book.fingerprints()} == set(entered)
            with closing(sqlite3.connect(disk / "gradebook.db")) as connection:
                assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
            subprocess.run(["rm", "-rf", str(disk / "gradebook.db"), str(disk / "autograded")], check=True)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_two_graders_at_once(tmp_path, book):
    troubles = []

    def grade(fingerprint: str) -> None:
        try:
            with Book.open(url_of(tmp_path), "autograd", tmp_path / "autograded") as mine:
                mine.register(GRAPH)
                for student in sample.FAILS:
                    mine.write([written(student, fingerprint=fingerprint)])
        except BookError as error:
            troubles.append(error)

    graders = [threading.Thread(target=grade, args=(name,)) for name in ("one", "two")]
    for grader in graders:
        grader.start()
    for grader in graders:
        grader.join()
    assert not troubles
    assert {student for student, _ in book.fingerprints()} == set(sample.FAILS)
    with stock(tmp_path) as theirs:
        assert theirs.find_submission("01-graph", "bea").score == 9.25


def test_a_fresh_gradebook_may_be_opened_by_several_at_once(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    together = threading.Barrier(4)

    def students(url: str) -> list[str]:
        together.wait()
        with Book.open(url, "autograd") as book:
            return book.students()

    with ThreadPoolExecutor(4) as pool:
        for number in range(15):
            url = f"sqlite:///{tmp_path / f'{number}.db'}"
            assert list(pool.map(students, [url] * 4)) == [[]] * 4


def test_a_killed_grader_leaves_whole_submissions(tmp_path):
    program = """
import sys
from pathlib import Path
from tests.grading.book.test_gradebook import *
folder = Path(sys.argv[1])
with Book.open(url_of(folder), "autograd", folder / "autograded") as book:
    book.register(GRAPH)
    for number in range(10_000):
        batch = [written("ada"), written("bea")]
        for item in batch:
            item.result.student += str(number)
        book.write(batch)
        if number == 5:
            print("going", flush=True)
"""
    grader = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert grader.stdout.readline() == "going\n"
    time.sleep(0.05)
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    grader.stdout.close()
    with Book.open(url_of(tmp_path), "autograd", tmp_path / "autograded") as book:
        students = {student for student, _ in book.fingerprints()}
        assert len(students) >= 12 and len(students) % 2 == 0
        assert students == set(book.students())
        for result in book.results():
            json.loads((tmp_path / f"autograded/{result.student}/01-graph/01-graph.ipynb").read_text())


@pytest.mark.parametrize("name", ["..", "a/b", "a\0b", ""])
def test_a_name_that_leads_elsewhere_is_refused(book, name):
    item = written("ada")
    item.result.student = name
    with pytest.raises(BookError, match="cannot be the name of a folder"):
        book.write([item])
    assert book.students() == []


def test_a_name_that_is_no_text_stops_nobody(book):
    item = written("ada")
    item.result.student = "odd\udce9"
    item.result.exercises[0].checks[0].message = "\ud800"
    item.result.notes = [Note("x", "renamed from \udce9\0", "walk")]
    book.write([item, written("bea")])
    assert book.students() == ["bea", "odd\\udce9"]
    assert book.previous("odd\udce9", "01-graph").exercises[0].checks[0].message == "\ud800"


def test_a_chapter_must_be_entered_first(tmp_path):
    with Book.open(url_of(tmp_path), "autograd") as book:
        with pytest.raises(BookError, match="has no chapter '01-graph'"):
            book.write([written("ada")])
        assert book.students() == []


def test_what_a_killed_grader_left_goes_with_the_next_grading(tmp_path, book):
    folder = tmp_path / "autograded" / "ada" / "01-graph"
    folder.mkdir(parents=True)
    (folder / ".01-graph.ipynb.new").write_bytes(b"half a note")
    book.write([written("ada")])
    assert [path.name for path in folder.iterdir()] == ["01-graph.ipynb"]
