"""The command line as people use it: a real course, real submissions, a real gradebook."""

import json
import shutil
import subprocess
import sys
from datetime import datetime

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

import autograder as autograder_package
from autograder.cli.main import main
from autograder.grading.book.gradebook import Book
from autograder.pipeline import Watcher
from tests import mini_course
from tests.mini_course import NAME, RIGHT, filled, hand_in


def autograder(root, *words):
    """A process of its own, as people start it. Most tests take `autograder_here`, which is quicker."""
    line = [sys.executable, "-m", "autograder", *words]
    return subprocess.run(line, cwd=root, capture_output=True, text=True, timeout=120)


def tree(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


@pytest.fixture
def handed_in(course):
    hand_in(course, "ada", filled(course, RIGHT))
    hand_in(course, "bob", filled(course, {"double": "def double(n):\n    return n\n"}))
    hand_in(course, "cut", json.dumps(filled(course, RIGHT))[:300])
    return course


def test_grade_writes_gradebook_json_and_notebooks(handed_in):
    done = autograder(handed_in, "grade", "--submitted", "submitted", "--json", "out.json")
    assert done.returncode == 1, done.stderr  # `cut` needs a person
    assert "needs a person: cut" in done.stdout
    result = json.loads((handed_in / "out.json").read_text())
    got = {s["student"]: (s["status"], s["score"], s["max_score"]) for s in result["submissions"]}
    assert got == {"ada": ("graded", 5.0, 5.0), "bob": ("graded", 0.0, 5.0), "cut": ("unreadable", None, 5.0)}
    assert result["course"] == "autograd" and result["torch"]
    bob = next(s for s in result["submissions"] if s["student"] == "bob")
    exercise = bob["exercises"][0]
    assert (exercise["id"], exercise["status"], exercise["manual"]) == ("check-double", "ran", False)
    assert exercise["checks"][0] == {
        "label": "two", "passed": False, "hidden": False, "message": "expected 4, got 2. Nothing was doubled.",
    }  # fmt: skip
    assert exercise["checks"][2]["hidden"] and exercise["checks"][2]["message"] == "Double every element."
    assert bob["exercises"][2] == {
        "id": f"explain-{NAME}", "status": "ran", "manual": True, "score": None, "max_score": 2.0, "checks": [],
    }  # fmt: skip
    shown = (handed_in / "autograded" / "bob" / NAME / f"{NAME}.ipynb").read_text()
    for secret in ("secret_way", "hidden_input", "model answer"):
        assert secret not in shown
    with Book.open(f"sqlite:///{handed_in / 'gradebook.db'}", "autograd") as book:
        assert {(row.student, row.raw_score) for row in book.rows()} == {("ada", 5.0), ("bob", 0.0), ("cut", 0.0)}


def test_a_second_run_grades_only_what_changed(handed_in, autograder_here):
    autograder_here(handed_in, "grade", "--submitted", "submitted", "--json", "one.json")
    hand_in(handed_in, "bob", filled(handed_in, RIGHT))
    autograder_here(handed_in, "grade", "--submitted", "submitted", "--json", "two.json")
    one, two = (json.loads((handed_in / f"{name}.json").read_text()) for name in ("one", "two"))
    assert one["seed"] == two["seed"]
    by_student = [{s["student"]: s for s in run["submissions"]} for run in (one, two)]
    assert by_student[0]["ada"] == by_student[1]["ada"]  # the time it took included: it was not run again
    assert by_student[1]["bob"]["score"] == 5.0
    assert "bob" in autograder_here(handed_in, "compare", "one.json", "two.json").stdout


def test_a_timestamp_that_comes_later_is_noticed(handed_in, autograder_here):
    autograder_here(handed_in, "grade", "--submitted", "submitted")
    with Gradebook(f"sqlite:///{handed_in / 'gradebook.db'}", "autograd") as book:
        book.update_or_create_assignment(NAME, duedate=datetime(2026, 1, 1))
    (handed_in / "submitted" / "ada" / NAME / "timestamp.txt").write_text("2026-01-02 12:00:00 UTC")
    assert "1 day" in autograder_here(handed_in, "grade", "--submitted", "submitted").stdout
    with Gradebook(f"sqlite:///{handed_in / 'gradebook.db'}", "autograd") as book:
        assert book.find_submission(NAME, "ada").timestamp == datetime(2026, 1, 2, 12)


def test_points_given_by_hand_after_the_penalty_are_taken_off_in_the_next_listing(handed_in, autograder_here):
    with (handed_in / "nbgrader_config.py").open("a") as config:
        config.write('\nget_config().LateSubmissionPlugin.penalty_method = "zero"\n')
    (handed_in / "submitted" / "ada" / NAME / "timestamp.txt").write_text("2026-01-02 12:00:00 UTC")
    autograder_here(handed_in, "grade", "--submitted", "submitted")
    with Gradebook(f"sqlite:///{handed_in / 'gradebook.db'}", "autograd") as book:
        book.update_or_create_assignment(NAME, duedate=datetime(2026, 1, 1))
        book.find_grade(f"explain-{NAME}", NAME, NAME, "ada").manual_score = 1.5
        book.db.commit()
    autograder_here(handed_in, "export")
    with Book.open(f"sqlite:///{handed_in / 'gradebook.db'}", "autograd") as book:
        (ada,) = [row for row in book.rows() if row.student == "ada"]
    assert (ada.raw_score, ada.late_submission_penalty, ada.score) == (6.5, 6.5, 0.0)


def test_feedback_report_and_export_read_the_gradebook(handed_in, autograder_here):
    autograder_here(handed_in, "grade", "--submitted", "submitted")
    for words in (["feedback"], ["report"], ["export"]):
        done = autograder_here(handed_in, *words)
        assert done.returncode == 0, done.stderr
    page = (handed_in / "feedback" / "bob" / NAME / f"{NAME}.html").read_text()
    assert "Nothing was doubled." in page and "Double every element." in page and "hidden_input" not in page
    report = (handed_in / "report.html").read_text()
    assert "Nothing was doubled." in report and f'href="feedback/bob/{NAME}/{NAME}.html"' in report
    assert "bob" in (handed_in / "grades.csv").read_text()


def test_folders_that_begin_with_a_dot_are_named(handed_in, autograder_here):
    for name in (".anna", ".ipynb_checkpoints"):
        (handed_in / "submitted" / name / NAME).mkdir(parents=True)
    said = autograder_here(handed_in, "grade", "--submitted", "submitted").stdout
    assert (
        "not graded, as their names begin with a dot: .anna, .ipynb_checkpoints; rename those that are students'."
        in said
    )


def test_collect_then_grade(course, autograder_here):
    flat = course / "flat"
    flat.mkdir()
    (flat / "ada.ipynb").write_text(json.dumps(filled(course, RIGHT)))
    done = autograder_here(course, "collect", "flat", "--submitted", "submitted")
    assert done.returncode == 0, done.stdout + done.stderr
    autograder_here(course, "grade", "--submitted", "submitted", "--json", "out.json")
    (only,) = json.loads((course / "out.json").read_text())["submissions"]
    assert (only["student"], only["score"]) == ("ada", 5.0)


def test_the_beginning_of_a_chapters_name_is_enough(handed_in, autograder_here):
    done = autograder_here(handed_in, "grade", "90", "--submitted", "submitted", "--json", "out.json")
    assert done.returncode == 1, done.stderr  # `cut` needs a person
    assert {s["chapter"] for s in json.loads((handed_in / "out.json").read_text())["submissions"]} == {NAME}
    assert autograder_here(handed_in, "build", "90", "--no-verify").returncode == 0
    assert f"of {NAME} pass" in autograder_here(handed_in, "check", "90").stdout
    shutil.copytree(handed_in / "notebooks" / NAME, handed_in / "notebooks" / "91-other")
    (handed_in / "source" / "91-other.py").write_text(mini_course.TEXT)
    several = autograder_here(handed_in, "grade", "9", "--submitted", "submitted")
    assert several.returncode == 2 and f"There is no chapter '9'; the chapters are: {NAME}, 91-other." in several.stderr


BROKEN = mini_course.TEXT.replace("secret_way = n * 2", "secret_way = n / 0")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["grade", "77-none", "--submitted", "submitted"], f"There is no chapter '77-none'; the chapters are: {NAME}."),
        (["grade"], "Missing option '--submitted'"),
        (["grade", "--submitted", "nowhere"], "There is no folder nowhere"),
        (["grade", "--submitted", "submitted", "--root", "submitted"], "is no course"),
        (["grade", "--submitted", "submitted", "--gradebook", "sqlite:///missing/gradebook.db"], "does not exist"),
        (["build", "77-none"], "There is no chapter '77-none'"),
        (["report"], "There is no gradebook"),
        (["feedback", "--autograded", "nope"], "There is no folder nope"),
        (["compare", "a.json", "b.json"], "There is no file a.json"),
        (["check", "nowhere.ipynb"], "nowhere.ipynb cannot be read"),
        (["check", "77"], f"There is no chapter '77'; the chapters are: {NAME}."),
        (["collect", "nowhere", "--submitted", "here"], "nowhere"),
    ],
)
def test_a_wrong_call_gets_one_sentence_and_writes_nothing(course, words, says, autograder_here):
    hand_in(course, "ada", filled(course, RIGHT))
    before = tree(course)
    done = autograder_here(course, *words)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr
    assert tree(course) == before


def test_a_broken_reference_grades_nobody(course, autograder_here):
    hand_in(course, "ada", filled(course, RIGHT))
    mini_course.make(course, BROKEN)
    before = tree(course)
    done = autograder_here(course, "grade", "--submitted", "submitted")
    assert done.returncode == 2 and "fails its own check 'two'" in done.stderr and "Nobody was graded" in done.stderr
    assert tree(course) == before


def test_a_gradebook_of_another_course_is_refused(course, autograder_here):
    hand_in(course, "ada", filled(course, RIGHT))
    with Book.open(f"sqlite:///{course / 'other.db'}", "biology"):
        pass
    before = (course / "other.db").read_bytes()
    done = autograder_here(
        course, "grade", "--submitted", "submitted", "--gradebook", f"sqlite:///{course / 'other.db'}"
    )
    assert done.returncode == 2 and "biology" in done.stderr
    assert (course / "other.db").read_bytes() == before


def test_verbose_says_what_is_done_on_standard_error(handed_in):
    hand_in(handed_in, "eve\x1b[31m", filled(handed_in, RIGHT))
    done = autograder(handed_in, "--verbose", "grade", "--submitted", "submitted")
    quiet = autograder(handed_in, "grade", "--submitted", "submitted")
    assert "autograder.grading.references: the reference answers of 90-mini ran in" in done.stderr
    assert "ada/90-mini: graded, " in done.stderr and "cut/90-mini: [unreadable]" in done.stderr
    assert "\x1b" not in done.stderr and "eve" in done.stderr
    assert quiet.stderr == ""


def test_a_program_grades_a_class_as_the_command_does(handed_in):
    seen = []

    class Told(Watcher):
        def protected(self, sentence):
            seen.append(sentence)

        def begin(self, total):
            seen.append(total)

        def graded(self, result):
            seen.append(result.student)

    graded = autograder_package.grade(handed_in / "submitted", root=handed_in, seed=3, watcher=Told())
    scores = {submission.student: submission.score for submission in graded.result.submissions}
    assert scores == {"ada": 5.0, "bob": 0.0, "cut": None} and graded.result.seed == 3
    assert {row.student for row in graded.rows} == set(scores)
    assert "Sandbox" in seen[0] and seen[1] == 3 and set(seen[2:]) == set(scores)
    again = autograder_package.grade(handed_in / "submitted", ["90"], root=handed_in)
    assert again.result.submissions == graded.result.submissions and again.result.seed == 3


def test_check_judges_a_notebook_and_a_file_of_answers(course, autograder_here):
    (course / "mine.ipynb").write_text(json.dumps(filled(course, RIGHT)))
    (course / "mine.py").write_text("\n".join(RIGHT.values()))
    (course / "half.py").write_text(RIGHT["double"])
    assert autograder_here(course, "check", "mine.ipynb").returncode == 0
    assert autograder_here(course, "check", "mine.py").returncode == 0
    half = autograder_here(course, "check", "half.py")
    assert (
        half.returncode == 1
        and "1 of 2 exercises of 90-mini pass every visible check" in half.stdout
        and "guess: not in this file" in half.stdout
    )
    stub = autograder_here(course, "check", NAME)
    assert stub.returncode == 1 and "Not answered yet." in stub.stdout


@pytest.mark.parametrize(
    "command", ["", *["build", "grade", "check", "collect", "feedback", "report", "export", "compare", "doctor"]]
)
def test_every_command_has_help_with_an_example(tmp_path, command):
    done = autograder(tmp_path, *command.split(), "--help")
    assert done.returncode == 0 and (not command or f"autograder {command}" in done.stdout)


def test_doctor_gives_advice_and_says_what_is_needed(course, autograder_here):
    done = autograder_here(course, "doctor")
    assert done.returncode == 0, done.stdout
    assert "advice  repository: still YOUR-NAME/YOUR-REPOSITORY" in done.stdout and "ok      torch" in done.stdout
    (course / "notebooks" / NAME / f"{NAME}.ipynb").unlink()
    done = autograder_here(course, "doctor")
    assert done.returncode == 1 and f"needed  release: not built: {NAME}" in done.stdout


def test_check_goes_on_after_a_file_that_cannot_be_read(course, autograder_here):
    (course / "empty.ipynb").write_text("")
    (course / "mine.py").write_bytes(b"\xef\xbb\xbf" + "\n".join(RIGHT.values()).encode())  # as some editors save it
    done = autograder_here(course, "check", "empty.ipynb", "mine.py")
    assert done.returncode == 2 and done.stderr.startswith("autograder: empty.ipynb: The file is empty")
    assert "mine.py: 2 of 2 exercises" in done.stdout


def test_what_lies_beside_does_not_bring_other_chapters(course, autograder_here):
    hand_in(course, "ada", filled(course, RIGHT))
    (course / "submitted" / "ada" / "onlinetext.html").write_text("<p>here it is</p>")
    (course / "submitted" / "ada" / "README.txt").write_text("here it is")
    shutil.copytree(course / "notebooks" / NAME, course / "notebooks" / "91-other")
    (course / "source" / "91-other.py").write_text(mini_course.TEXT)
    done = autograder_here(course, "grade", "--submitted", "submitted", "--json", "out.json")
    assert done.returncode == 0, done.stderr
    assert [s["chapter"] for s in json.loads((course / "out.json").read_text())["submissions"]] == [NAME]


def test_check_finds_the_course_from_below_and_from_the_file(course, tmp_path_factory, autograder_here):
    (course / "my").mkdir()
    (course / "my" / "mine.py").write_text("\n".join(RIGHT.values()))
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for start in (autograder, autograder_here):
        done = start(course / "my", "check", "mine.py")
        assert done.returncode == 0, done.stderr
    assert autograder_here(elsewhere, "check", str(course / "my" / "mine.py")).returncode == 0
    (elsewhere / "mine.py").write_text(RIGHT["double"])
    lost = autograder_here(elsewhere, "check", "mine.py")
    assert lost.returncode == 2 and "run this inside the course's folder, or name that with --root" in lost.stderr
    named = autograder_here(elsewhere, "check", str(course / "my" / "mine.py"), "--root", ".")
    assert named.returncode == 2


def test_the_summaries_in_the_help_are_whole_sentences():
    shown = CliRunner().invoke(main, ["--help"], terminal_width=80).output
    lines = shown.partition("Commands:\n")[2].splitlines()
    assert len(lines) == 9 and all(line.endswith(".") and not line.endswith("...") for line in lines)


def test_what_this_machine_cannot_grade_waits_for_a_person(course, autograder_here):
    text = mini_course.TEXT.replace(
        '# %% nbgrader={"grade": true, "grade_id": "check-double"',
        '# %% tags=["needs-nosuchpackage"] nbgrader={"grade": true, "grade_id": "check-double"',
    )
    assert text != mini_course.TEXT
    mini_course.make(course, text)
    hand_in(course, "ada", filled(course, RIGHT))
    assert autograder_here(course, "grade", "--submitted", "submitted", "--json", "out.json").returncode == 0
    (only,) = json.loads((course / "out.json").read_text())["submissions"]
    assert (only["score"], only["max_score"]) == (1.0, 1.0)
    assert only["exercises"][0]["manual"] and only["exercises"][0]["score"] is None
    with Book.open(f"sqlite:///{course / 'gradebook.db'}", "autograd") as book:
        assert all(row.needs_manual_grade for row in book.rows())


def test_a_refused_build_leaves_the_release_as_it_was(course, autograder_here):
    path = course / "notebooks" / NAME / f"{NAME}.ipynb"
    before = path.read_bytes()
    mini_course.write_text(course, mini_course.TEXT.replace("double(2), 4", "double(2), 5"))
    done = autograder_here(course, "build")
    assert done.returncode == 2 and "expected 5, got 4" in done.stderr
    assert path.read_bytes() == before


def test_a_build_does_not_write_over_answers(course, autograder_here):
    path = course / "notebooks" / NAME / f"{NAME}.ipynb"
    path.write_text(json.dumps(filled(course, RIGHT)))
    before = path.read_bytes()
    done = autograder_here(course, "build", "--no-verify")
    assert done.returncode == 2 and "holds somebody's work" in done.stderr
    assert path.read_bytes() == before
    assert autograder_here(course, "build", "--no-verify", "--force").returncode == 0
    assert path.read_bytes() != before


def test_an_answer_that_does_not_run_is_named_with_its_error(course, autograder_here):
    hand_in(course, "ada", filled(course, {**RIGHT, "double": "def double(n:\n    return n"}))
    assert autograder_here(course, "grade", "--submitted", "submitted", "--json", "out.json").returncode == 0
    (only,) = json.loads((course / "out.json").read_text())["submissions"]
    assert only["score"] == 1.0
    (note,) = [note for note in only["notes"] if note["code"] == "answer-stopped"]
    assert note["text"] == "Line 1 of the cell double stopped with SyntaxError: '(' was never closed"
    assert note["cell"] == "double" and not note["needs_person"]
    (course / "mine.py").write_text("\n\nimport torch\ndef double(n):\n    return n * two\nx = double(1)\n")
    said = autograder_here(course, "check", "mine.py", "--chapter", NAME).stdout
    assert "note: Line 6 of mine.py stopped with NameError: name 'two' is not defined" in said


def test_sheet_report_table_and_feedback_agree_after_a_free_answer_was_graded(handed_in, autograder_here):
    essay = filled(handed_in, {**RIGHT, f"explain-{NAME}": "Doubling adds a number to itself."})
    hand_in(handed_in, "ada", essay)
    first = autograder_here(handed_in, "grade", "--submitted", "submitted").stdout
    assert (
        "5 / 5  5 / 7 so far" in first and f"needs a person: {NAME} explain-{NAME}: 1 free answer waits: ada" in first
    )
    with Gradebook(f"sqlite:///{handed_in / 'gradebook.db'}", "autograd") as book:
        grade = book.find_grade(f"explain-{NAME}", NAME, NAME, "ada")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        book.db.commit()
    again = autograder_here(handed_in, "grade", "--submitted", "submitted").stdout
    assert "5 / 5  6.5 / 7 " in again and "free answer" not in again
    for command in ("feedback", "report", "export"):
        autograder_here(handed_in, command)
    page = (handed_in / "feedback" / "ada" / NAME / f"{NAME}.html").read_text()
    assert "6.5 <small>of 7 points</small>" in page
    report = (handed_in / "report.html").read_text()
    assert f'<b><a href="feedback/ada/{NAME}/{NAME}.html">6.5</a></b><div class="soft small">checks 5</div>' in report
    (line,) = [line for line in (handed_in / "grades.csv").read_text().splitlines() if ",ada," in line]
    assert ",6.5,0,6.5,7,no,graded" in line
