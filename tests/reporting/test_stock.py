"""Stock nbgrader over a gradebook that we wrote: export, feedback, upgrade, and formgrader through a real server."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import datetime
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.grading.book.autograded import autograded_notebook, unreadable_notebook
from autograder.grading.book.gradebook import Book, Written
from autograder.reporting.feedback import write_feedback
from tests.reporting import sample_class as sample

CONFIG = (
    "c = get_config()\nc.CourseDirectory.course_id = 'autograd'\nc.CourseDirectory.release_directory = 'notebooks'\n"
)
FREE_ANSWER = f"My answer. {sample.LIVE} <script>alert(1)</script>"


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("course")
    (root / "nbgrader_config.py").write_text(CONFIG)
    for name in sample.COURSE:
        place = root / "source" / name / f"{name}.ipynb"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(sample.notebooks(name)[0]))
    batch = []
    with Book.open(f"sqlite:///{root}/gradebook.db", "autograd", root / "autograded") as book:
        for chapter in sample.chapters():
            book.register(chapter)
            for student in sample.STUDENTS:
                result, notebook = sample.result(student, chapter.name), None
                if result.status == "unreadable":
                    notebook = unreadable_notebook(chapter, result)
                elif result.status != "missing":
                    cells = sample.submission_cells(student, chapter)
                    cells[-2]["source"] = FREE_ANSWER
                    notebook = autograded_notebook(cells, chapter, result)
                batch.append(Written(result, "x", datetime(2025, 1, 31), frozenset(), notebook))
        book.write(batch)
    return root


def run(course: Path, *words: str) -> str:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "nbgrader", *words]
    ran = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout + ran.stderr


def test_export(course):
    run(course, "export")
    with (course / "grades.csv").open() as file:
        scores = {(line["assignment"], line["student_id"]): line["score"] for line in csv.DictReader(file)}
    for student in sample.STUDENTS:
        for chapter in sample.COURSE:
            assert float(scores[chapter, student]) == pytest.approx(sample.result(student, chapter).score or 0.0)


def test_generate_feedback_shows_checks_and_no_secret(course):
    said = run(course, "generate_feedback", "01-graph")
    assert "ERROR" not in said
    pages = {path.parent.parent.name: path.read_text() for path in course.glob("feedback/*/01-graph/01-graph.html")}
    assert set(pages) == set(sample.STUDENTS) - {"jomo"}
    for page in pages.values():
        assert "secret_of" not in page and "HIDDEN TESTS" not in page and "return x  " not in page
        assert sample.LIVE not in page and "<script>alert" not in page
    assert "You visited the leaf once." in pages["bea"]
    assert "(Score: 9.25 / 12.0)" in pages["bea"]
    assert "The file is a web page" in pages["ilse"]


def test_generate_feedback_leaves_our_pages_unless_forced(course, tmp_path):
    shutil.copytree(course, tmp_path / "course", ignore=shutil.ignore_patterns("feedback"))
    (page,) = write_feedback([sample.result("bea", "01-graph")], tmp_path / "course/feedback")
    ours = page.read_text()
    run(tmp_path / "course", "generate_feedback", "01-graph", "--student", "bea")
    assert page.read_text() == ours
    run(tmp_path / "course", "generate_feedback", "01-graph", "--student", "bea", "--force")
    assert page.read_text() != ours and "(Score: 9.25 / 12.0)" in page.read_text()


def test_upgrade_leaves_what_was_graded(course, tmp_path):
    shutil.copytree(course, tmp_path / "course")
    run(tmp_path / "course", "db", "upgrade")
    with Book.open(f"sqlite:///{tmp_path}/course/gradebook.db", "autograd") as book:
        assert len(book.fingerprints()) == 22
        assert book.previous("bea", "01-graph") == sample.result("bea", "01-graph")


@pytest.fixture(scope="module")
def server(course):
    """A real Jupyter server in the course, with nbgrader's extensions: a function from path to (status, body)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--no-browser", "--allow-root", f"--port={port}", "--ServerApp.token=t", "--ServerApp.port_retries=0"]
    options += ["--ServerApp.disable_check_xsrf=True", f"--ServerApp.root_dir={course}"]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with (course / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyter", "server", *options], cwd=course, env=environment, stdout=log, stderr=log
        )
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def ask(path: str, data: dict | None = None) -> tuple[int, str]:
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, {"Authorization": "token t"})
        request.method = "GET" if data is None else "PUT"
        try:
            with opener.open(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    try:
        for _ in range(240):
            try:
                if ask("/api/status")[0] == 200:
                    break
            except OSError:
                time.sleep(0.25)
        else:
            pytest.fail((course / "server.log").read_text()[-3000:])
        yield ask
    finally:
        process.terminate()
        process.wait(20)


def test_formgrader_calls_every_chapter_draft(server):
    status, body = server("/formgrader/api/assignments")
    assert status == 200
    assert {item["name"]: item["status"] for item in json.loads(body)} == dict.fromkeys(sample.COURSE, "draft")


def test_formgrader_lists_the_class(server):
    status, body = server("/formgrader/api/submissions/01-graph")
    assert status == 200
    found = {item["student"]: item for item in json.loads(body)}
    assert found["bea"]["score"] == 9.25 and found["bea"]["autograded"] and found["bea"]["needs_manual_grade"]
    assert found["ilse"]["needs_manual_grade"]
    assert "jomo" not in found
    for page in ("/formgrader", "/formgrader/manage_submissions/01-graph", "/formgrader/gradebook/01-graph/01-graph"):
        assert server(page)[0] == 200, page


def test_formgrader_shows_a_submission_and_takes_a_score(server, course):
    _, body = server("/formgrader/api/submitted_notebooks/01-graph/01-graph")
    identity = next(item["id"] for item in json.loads(body) if item["student"] == "goran")
    status, page = server(f"/formgrader/submissions/{identity}")
    assert status == 200
    assert "# goran" in re.sub(r"<[^>]+>", "", page) and "walk: 3 of 4 checks" in page
    assert "secret_of" not in page and sample.LIVE not in page and "<script>alert" not in page

    _, body = server(f"/formgrader/api/grades?submission_id={identity}")
    grade = next(item for item in json.loads(body) if item["name"] == "explain-01-graph")
    status, _ = server(f"/formgrader/api/grade/{grade['id']}", {"manual_score": 1.5, "extra_credit": None})
    assert status == 200
    with Book.open(f"sqlite:///{course}/gradebook.db", "autograd") as book:
        assert book.by_hand()["goran", "01-graph"].scores == {"explain-01-graph": 1.5}
        book.write([Written(sample.result("goran", "01-graph"), "y", datetime(2025, 1, 31))])
    with Gradebook(f"sqlite:///{course}/gradebook.db", "autograd") as theirs:
        kept = theirs.find_grade("explain-01-graph", "01-graph", "01-graph", "goran")
        assert (kept.manual_score, kept.needs_manual_grade) == (1.5, False)
