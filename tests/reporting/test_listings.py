"""grades.csv, the terminal table and the comparison of two runs."""

from __future__ import annotations

import csv
from datetime import datetime
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from autograder.cli.terminal import print_summary
from autograder.grading.book.gradebook import Book, Written
from autograder.grading.results import CheckResult, ClassResult, Note
from autograder.reporting.class_report import class_report_page
from autograder.reporting.compare import CHECKS_SHOWN, compare, compare_table, summary
from autograder.reporting.export import COLUMNS, grades_csv, write_grades
from autograder.reporting.table import class_table, duration, escape, first_trouble
from tests.reporting import sample_class as sample


def shown(table) -> str:
    out = StringIO()
    Console(file=out, width=160, force_terminal=True, color_system="standard").print(table)
    return out.getvalue()


def shown_plain(table) -> str:
    out = StringIO()
    Console(file=out, width=160).print(table)
    return out.getvalue()


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


def test_grades_csv_has_nbgraders_columns(tmp_path):
    with Book.open(f"sqlite:///{tmp_path}/gradebook.db", "autograd") as book:
        for chapter in sample.chapters():
            book.register(chapter)
        book.write([Written(result, "x", datetime(2025, 1, 31, 12)) for result in sample.sample_class().submissions])
        text = write_grades(book.rows(), tmp_path / "out/grades.csv").read_text("utf-8")
    read = {(line["assignment"], line["student_id"]): line for line in lines(text)}
    assert len(read) == 24
    bea = read["01-graph", "bea"]
    assert (bea["score"], bea["max_score"], bea["timestamp"]) == ("9.25", "12", "2025-01-31 12:00:00")
    assert (bea["needs_manual_grade"], bea["status"]) == ("yes", "graded")
    assert read["01-graph", "jomo"]["score"] == "0" and read["01-graph", "jomo"]["status"] == "missing"
    assert read["01-graph", "ilse"]["status"] == "unreadable"
    assert ("01-graph", "'=cmd|calc") in read


def test_points_have_two_decimals_in_the_sheet_too():
    (line,) = lines(grades_csv([sample.row("ada", raw_score=16.915229, score=16.915229 - 1 / 3)]))
    assert (line["raw_score"], line["score"], line["max_score"]) == ("16.92", "16.58", "10")


@given(st.text(max_size=20), st.sampled_from(["", "=", "+", "-", "@", "\t=", "\r="]))
def test_no_cell_is_a_formula(text, start):
    name = start + text
    (line,) = lines(grades_csv([sample.row(name, first_name=name, email=name)]))
    for value in (line["student_id"], line["first_name"], line["email"]):
        assert value.strip()[:1] not in {"=", "+", "-", "@"}
        if name.isprintable():
            assert value.removeprefix("'") == name.removeprefix("'")
    assert tuple(line) == COLUMNS


def test_the_table_shows_what_matters():
    text = shown(class_table(sample.sample_class().submissions))
    assert "walk: one entry per path" in text
    assert "9.25 / 10" in text
    assert "Nothing handed in." in text
    assert "[red]" in shown(class_table([_named("[red]x[/red]")]))  # no markup


def test_the_table_says_who_was_late_where_anybody_was():
    submissions = sample.sample_class().submissions
    late = sample.row("ada", late_submission_penalty=1.0, seconds_late=5_400.0)
    assert "1 h 30 min, 1 point off" in shown(class_table(submissions, [sample.row("bea"), late]))
    assert "1 min, nothing off" in shown(class_table(submissions, [sample.row("ada", seconds_late=60.0)]))
    assert "late" not in shown(class_table(submissions, [sample.row("bea")]))


def test_what_waits_and_broken_timestamps_are_said():
    submissions = [sample.result("ada", "01-graph"), sample.result("bea", "01-graph")]
    submissions[0].notes.append(Note("timestamp-broken", "timestamp.txt could not be read."))
    rows = [sample.row(name, waiting=frozenset({"explain-01-graph"})) for name in ("ada", "bea", "elsewhere")]
    assert shown(class_table(submissions, rows)).count("timestamp.txt could not be read") == 1
    said = StringIO()
    print_summary(Console(file=said, width=160), ClassResult("autograd", 0, "", submissions), rows)
    assert "needs a person: 01-graph explain-01-graph: 2 free answers wait: ada, bea\n" in said.getvalue()
    assert "in formgrader: jupyter lab --LabApp.default_url=/formgrader\n" in said.getvalue()
    assert "timestamp.txt could not be read, so no late penalty: ada 01-graph.\n" in said.getvalue()
    assert said.getvalue().count("needs a person") == 1
    page = class_report_page(ClassResult("autograd", 0, "", submissions), rows=rows[:1])
    assert "Read <code>explain-01-graph</code> in formgrader" in page
    assert page.count("timestamp.txt could not be read") == 1
    assert "formgrader" not in class_report_page(ClassResult("autograd", 0, "", submissions))


def test_both_scores_stand_in_the_table():
    submissions = [
        sample.result("ada", "01-graph"),
        sample.result("bea", "01-graph"),
        sample.result("jomo", "01-graph"),
    ]
    rows = [
        sample.row("ada", score=11.5, max_score=12.0),
        sample.row("bea", score=9.25, max_score=12.0, waiting=frozenset({"explain-01-graph"})),
        sample.row("jomo", score=None, max_score=12.0, status="missing"),
    ]
    table = [line.split() for line in shown_plain(class_table(submissions, rows)).splitlines()]
    assert table[0][2:4] == ["checks", "final"]
    assert " ".join(table[1]) == "ada 01-graph 10 / 10 11.5 / 12 graded"
    assert " ".join(table[2]).startswith("bea 01-graph 9.25 / 10 9.25 / 12 so far graded")
    assert " ".join(table[3]).startswith("jomo 01-graph \N{EN DASH} / 10 0 / 12 missing")


def test_an_answer_that_was_never_defined_is_named_once():
    assert first_trouble(sample.never_defined()) == "Line 1 of the cell walk stopped with SyntaxError: invalid syntax"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 min"), (3_599, "1 h"), (3_660, "1 h 1 min"), (86_400, "1 day"), (200_000, "2 days 7 h")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def _named(student: str):
    result = sample.result("ada", "01-graph")
    result.student = student
    return result


@given(st.text(st.characters(), max_size=40))
def test_nothing_reaches_the_terminal_but_text(text):
    clean = escape(text)
    assert clean.isprintable() or clean == ""
    result = _named("x" + text)
    result.exercises[0].checks[0] = CheckResult(text, False)
    out = StringIO()
    Console(file=out, width=400).print(class_table([result]))
    assert all(c.isprintable() for line in out.getvalue().split("\n") for c in line)


@pytest.mark.parametrize("text", ["\x1b[2J", "\x9b31m", "\u202egnp.exe", "a\u200bb", "\x07", "\x00"])
def test_terminal_tricks_are_written_out(text):
    assert "\\" in escape(text)


def test_the_first_trouble():
    assert first_trouble(sample.result("ada", "01-graph")) == ""
    assert first_trouble(sample.result("dilnoza", "01-graph")) == "nodes: a chain of 20,000 nodes"


def test_compare_names_whose_grade_changed_and_by_which_check():
    before, after = sample.sample_class(), sample.sample_class()
    assert compare(before, after) == []
    walk = next(s for s in after.submissions if (s.student, s.chapter) == ("bea", "01-graph")).exercises[0]
    walk.checks[1].passed = True
    walk.checks[3] = CheckResult("a new check", False, True, "No.")
    walk.score = 2.0
    after.submissions = [s for s in after.submissions if s.student != "ada"]
    ilse = next(s for s in after.submissions if (s.student, s.chapter) == ("ilse", "01-graph"))
    ilse.status, ilse.score = "graded", 4.0
    changes = compare(before, after)
    assert [(c.student, c.chapter) for c in changes] == [
        ("ada", "01-graph"),
        ("ada", "02-saved-tensors"),
        ("bea", "01-graph"),
        ("ilse", "01-graph"),
    ]
    assert (changes[0].status_before, changes[0].status_after) == ("graded", "absent")
    assert [str(check) for check in changes[2].checks] == [
        "walk: one entry per path: failed, now passed",
        "walk: depth counts from the root: passed, now absent",
        "walk: a new check: absent, now failed",
    ]
    assert changes[3].checks == []  # there was nothing to compare with
    text = shown(compare_table(changes))
    assert "walk: one entry per path: failed, now passed" in text and "unreadable" in text and "4 / 10" in text
    assert " ada " not in text
    assert summary(before, after, changes) == [
        "Changed: 2 of the 22 grades that both runs have.",
        "Only in the first run: 01-graph (1), 02-saved-tensors (1).",
    ]


def test_compare_of_different_chapters_is_a_few_lines():
    runs = [sample.sample_class(), sample.sample_class()]
    for run, chapter in zip(runs, sample.COURSE, strict=True):
        run.submissions = [s for s in run.submissions if s.chapter == chapter]
    runs[1].seed = 8
    changes = compare(*runs)
    assert summary(*runs, changes) == [
        "The two runs have no submission in common.",
        "Only in the first run: 01-graph (12).",
        "Only in the second run: 02-saved-tensors (12).",
        "seed was 7, now 8.",
    ]
    assert compare_table(changes).row_count == 0
    assert summary(runs[0], runs[0], []) == ["No grade changed."]


def test_compare_names_a_few_checks_of_a_grade():
    before, after = sample.sample_class(), sample.sample_class()
    for item in after.submissions[0].exercises:
        item.score = 0.0
        for check in item.checks:
            check.passed = False
    text = shown(compare_table(compare(before, after)))
    assert text.count("passed, now failed") == CHECKS_SHOWN and "and 4 more" in text


def test_compare_reads_what_grade_wrote(tmp_path):
    sample.sample_class().write(tmp_path / "a.json")
    assert compare(ClassResult.read(tmp_path / "a.json"), sample.sample_class()) == []
