"""Feedback and class report: what they say, and that nothing a student wrote is more than text in them."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.checks.table import points
from autograder.grading.book.autograded import autograded_notebook, encode
from autograder.grading.book.gradebook import ByHand
from autograder.grading.course import chapter_of
from autograder.grading.results import CheckResult, ClassResult, ExerciseResult, Note, SubmissionResult
from autograder.reporting.class_report import class_report_page, write_class_report
from autograder.reporting.feedback import feedback_page, write_feedback
from autograder.reporting.pages import source_of
from autograder.reporting.summary import sentences_of, summarize
from tests.reporting import sample_class as sample


class _Page(HTMLParser):
    """The text of a page, the tags in it, and every address that it would load."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.handlers: list[str] = []
        self.loads: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.handlers.append(name)
            own = ("#", "data:", "feedback/") if tag == "a" else ("#", "data:")
            if name in {"src", "href", "xlink:href", "data", "srcset"} and not (value or "").startswith(own):
                self.loads.append(value)

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def assert_self_contained(html: str) -> _Page:
    """Nothing is loaded, and nothing runs but the report's own script, which the page's policy names by its hash."""
    script = source_of("class_report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    if f"<script>{script}</script>" in html:
        assert html.count(f"default-src 'none'; script-src 'sha256-{digest}'; style-src") == 1
        html = html.replace(f"<script>{script}</script>", "")
    else:
        assert "script-src" not in html
    page = _Page(html)
    assert not page.loads and not page.handlers
    assert not page.tags & {"script", "img", "link", "iframe", "object"}
    assert not re.search(r"url\((?!#)|@import", html)
    return page


def test_feedback_names_each_check_with_its_message():
    result = sample.result("cem", "01-graph")
    page = assert_self_contained(feedback_page(result))
    for exercise in result.exercises:
        for check in exercise.checks:
            assert check.label in page.text
            assert (check.message in page.text) == (not check.passed) or not check.message
    assert "6.58 of 10 points" in page.text
    assert "Not in this score yet: explain-01-graph (2 points). A person grades it." in page.text
    assert page.text.count("\N{BALLOT X} fail") == 3


def test_feedback_begins_with_what_failed_and_folds_what_passed():
    html = feedback_page(sample.result("dilnoza", "01-graph"))
    page = _Page(html)
    order = ["nodes", "a chain of 20,000 nodes", "2 checks pass", "every node once", "saved", "keys have no prefix"]
    order += ["walk", "\N{CHECK MARK} 4 checks", "the root comes first"]
    places = [page.text.index(words) for words in order]
    assert places == sorted(places)
    folded = re.sub(r"<details.*?</details>", "", html, flags=re.S)
    assert "pass</span>" not in folded and "a chain of 20,000 nodes" in folded


def test_feedback_says_at_the_top_what_hidden_means():
    page = _Page(feedback_page(sample.result("bea", "01-graph")))
    said = "A hidden check tries your answer on inputs that the notebook does not show."
    assert page.text.index(said) < page.text.index("walk")
    open_only = sample.result("bea", "01-graph")
    for exercise in open_only.exercises:
        exercise.checks = [check for check in exercise.checks if not check.hidden]
    assert said not in _Page(feedback_page(open_only)).text


def test_a_syntax_error_is_one_sentence():
    broken = sample.never_defined()
    page = assert_self_contained(feedback_page(broken, answers={"walk": "def walk(:"}))
    said = "Line 1 of the cell walk stopped with SyntaxError: invalid syntax. So walk was never defined"
    assert page.text.count(said) == page.text.count("SyntaxError") == 1
    assert "NameError" not in page.text and "quite another fault" not in page.text and "def walk(:" in page.text
    assert "quite another fault" not in class_report_page(ClassResult("autograd", 0, "", [broken]))
    broken.exercises[0].checks[1].message = "expected 3, got 4."  # so the name does exist
    assert _Page(feedback_page(broken)).text.count("NameError") == 3


def test_feedback_escapes_what_a_student_wrote():
    html = feedback_page(sample.result("goran", "01-graph"), answers={"walk": f"{sample.LIVE}\x1b[0m"})
    page = assert_self_contained(html)
    assert page.text.count(sample.LIVE) == 2
    assert "\x1b" not in html and "\\x1b[31m" in page.text


def test_feedback_counts_what_people_gave():
    by_hand = ByHand({"explain-01-graph": 1.5, "check-walk": 3.0}, {"check-walk": 0.25}, {"walk": "Read <b>again</b>."})
    late = sample.row("bea", late_submission_penalty=2.0, seconds_late=12_000.0)
    page = assert_self_contained(feedback_page(sample.result("bea", "01-graph"), by_hand, row=late))
    assert "9.75 of 12 points" in page.text  # 3.25 + 4 + 3 + 1.5 - 2
    assert "Handed in 3 h 20 min late: 2 points were taken off." in page.text
    assert "Read <b>again</b>." in page.text
    assert "Not in this score yet" not in page.text


def test_a_free_answer_left_blank_is_zero_points():
    blank = sample.row("cem", unanswered=frozenset({"explain-01-graph"}))
    answers = {"explain-01-graph": "YOUR ANSWER HERE"}
    page = assert_self_contained(feedback_page(sample.result("cem", "01-graph"), answers=answers, row=blank))
    assert "not answered: 0 of 2 points" in page.text and "6.58 of 12 points" in page.text
    for words in ("A person grades it", "graded by a person", "YOUR ANSWER HERE"):
        assert words not in page.text
    given = ByHand({"explain-01-graph": 1.0})
    page = assert_self_contained(feedback_page(sample.result("cem", "01-graph"), given, answers, blank))
    assert "7.58 of 12 points" in page.text and "not answered" not in page.text


def test_feedback_on_what_could_not_be_read():
    page = assert_self_contained(feedback_page(sample.result("ilse", "01-graph")))
    assert "unreadable" in page.text and sample.LIVE in page.text and "points" not in page.text


def test_a_penalty_never_makes_a_score_negative():
    late = sample.row("emre", late_submission_penalty=3.0, seconds_late=1.0)
    page = _Page(feedback_page(sample.result("emre", "01-graph"), row=late))
    assert "0 of 10 points" in page.text


def test_feedback_files_stand_in_nbgraders_shape(tmp_path):
    chapter = sample.chapters()[0]
    result = sample.result("ada", "01-graph")
    place = tmp_path / "autograded/ada/01-graph"
    place.mkdir(parents=True)
    notebook = autograded_notebook(sample.submission_cells("ada", chapter), chapter, result)
    (place / "01-graph.ipynb").write_bytes(encode(notebook))
    results = [result, sample.result("jomo", "01-graph"), sample.result("ilse", "01-graph")]
    paths = write_feedback(results, tmp_path / "feedback", autograded=tmp_path / "autograded")
    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        "feedback/ada/01-graph/01-graph.html",
        "feedback/ilse/01-graph/01-graph.html",
    ]
    assert "return x # ada" in _Page(paths[0].read_text("utf-8")).text
    assert sorted(path.name for path in paths[0].parent.iterdir()) == ["01-graph.html"]


def test_the_class_report_says_how_the_class_did(tmp_path):
    path = write_class_report(sample.sample_class(), tmp_path / "deep/report.html")
    page = assert_self_contained(path.read_text("utf-8"))
    assert "12 students, 2 chapters" in page.text
    for words in ("20 graded as handed in", "1 repaired damaged cells were put back", "1 unreadable no grade"):
        assert words in page.text
    assert "2 missing nothing was handed in 85 % median score of the checks" in page.text
    assert "repaired: A check cell had been deleted; it was put back." in page.text
    assert page.text.index("Needs a person") < page.text.index("ilse") < page.text.index("Scores per chapter")
    assert "4 of 10" in page.text  # beside the bar of "one entry per path"
    assert "You visited the leaf once." in page.text and "bea, cem, emre, zoë müller" in page.text
    assert "10 submissions, median" in page.text and "5, 4, 1; mean" in page.text


def test_late_without_a_penalty_is_said():
    page = _Page(feedback_page(sample.result("ada", "01-graph"), row=sample.row("ada", seconds_late=60.0)))
    assert "Handed in 1 min late: nothing was taken off." in page.text
    assert "Handed in" not in _Page(feedback_page(sample.result("ada", "01-graph"), row=sample.row("ada"))).text


def test_the_class_report_says_who_is_late_and_who_is_missing():
    rows = [
        sample.row("ada", late_submission_penalty=1.5, seconds_late=2 * 86_400.0 + 3_600),
        sample.row("kim", status="missing", score=None),
    ]
    result = ClassResult("autograd", 0, "", [sample.result("ada", "01-graph")])
    page = assert_self_contained(class_report_page(result, rows=rows))
    assert "2 students, 1 chapter." in page.text and "1 graded as handed in" in page.text
    assert "1 missing nothing was handed in" in page.text
    assert "graded late 2 days 1 h, 1.5 points off" in page.text
    assert "kim \N{EN DASH} 0 of 10 missing Nothing was handed in." in page.text


def test_the_report_has_both_scores_and_leads_to_the_feedback(tmp_path):
    given = sample.row("ada", score=11.5, max_score=12.0)
    waits = sample.row("bea", score=9.25, max_score=12.0, waiting=frozenset({"explain-01-graph"}))
    result = ClassResult("autograd", 0, "", [sample.result(name, "01-graph") for name in ("ada", "bea")])
    write_feedback(result.submissions[:1], tmp_path / "feedback")
    path = write_class_report(result, tmp_path / "report.html", (), [given, waits], tmp_path / "feedback")
    html = path.read_text("utf-8")
    page = assert_self_contained(html)
    assert "01-graph final of 12 checks of 10" in page.text
    assert "ada 96 % 11.5 checks 10 bea 77 % 9.25 checks 9.25 waits" in page.text
    assert "10 of 10 11.5 of 12 graded" in page.text and "9.25 of 10 9.25 of 12 so far graded" in page.text
    assert set(re.findall(r'href="([^"]*)"', html)) == {"feedback/ada/01-graph/01-graph.html"}
    assert "Read explain-01-graph in formgrader, and give points." in page.text


def test_a_link_is_only_an_address(tmp_path):
    name = "javascript:alert(1)//\"'><".replace("/", "")
    result = ClassResult("autograd", 0, "", [sample.result("ada", "01-graph")])
    result.submissions[0].student = name
    write_feedback(result.submissions, tmp_path / "feedback")
    path = write_class_report(result, tmp_path / "report.html", feedback=tmp_path / "feedback")
    (address,) = set(re.findall(r'href="([^"]*)"', path.read_text("utf-8")))
    assert (path.parent / unquote(address)).is_file() and address.startswith("feedback/javascript%3A")
    assert_self_contained(path.read_text("utf-8"))


def test_the_class_report_is_the_same_twice():
    assert class_report_page(sample.sample_class()) == class_report_page(sample.sample_class())


def test_an_empty_class_has_a_report():
    page = assert_self_contained(class_report_page(ClassResult("autograd", 0, "", [])))
    assert "0 students" in page.text
    missing = ClassResult("autograd", 0, "", [sample.result("jomo", "01-graph")])
    assert "Nothing handed in." in assert_self_contained(class_report_page(missing)).text


def test_the_summary_counts():
    summary = summarize(sample.sample_class())
    walk = next(item for item in summary.exercises if item.name == "walk")
    assert (walk.full, walk.some, walk.none, walk.count) == (5, 4, 1, 10)
    assert walk.mean == pytest.approx((5 * 3 + 4 * 2.25 + 0) / 30)
    worst = summary.checks[0]
    assert (worst.label, worst.failed, worst.count) == ("one entry per path", 4, 10)
    assert [(item.student, item.chapter) for item, _ in summary.needs_person] == [("ilse", "01-graph")]
    assert all(not item.known for item in summary.misconceptions)


def test_a_known_mistake_is_told_from_a_hint():
    """What a visible check got stands before the sentence: the sentence brings those together who made one mistake."""
    source, release = sample.notebooks("01-graph")
    for notebook in (source, release):
        for cell in notebook["cells"]:
            mark = cell["metadata"].get("nbgrader", {})
            if mark.get("grade_id", "").startswith("check-"):
                name = mark["grade_id"].removeprefix("check-")
                cell["source"] = f"check = Check('{name}', points={mark['points']})\n"
                cell["source"] += (
                    f"check('a', lambda: {name}(1), 3, wrong={{2: 'Off by one.'}}, hint='Count.')\ncheck.report()"
                )
    sentences = sentences_of([chapter_of("01-graph", source, release)])
    assert sentences["01-graph", "check-walk", "a"] == {"Off by one.": True, "Count.": False}

    def failed(student: str, message: str) -> SubmissionResult:
        check = CheckResult("a", False, False, message)
        exercise = ExerciseResult("check-walk", "ran", False, 0.0, 3.0, [check])
        return SubmissionResult(student, "01-graph", "graded", 0.0, 3.0, exercises=[exercise])

    result = ClassResult(
        "autograd",
        0,
        "",
        [failed("a", "Got 2. Off by one."), failed("b", "Got 2.0. Off by one."), failed("c", "Got 9. Count.")],
    )
    first, second = summarize(result, sentences).misconceptions
    assert (first.sentence, first.known, first.students) == ("Off by one.", True, ["a", "b"])
    assert (second.sentence, second.known, second.students) == ("Count.", False, ["c"])


TEXT = st.text(st.characters(), max_size=30) | st.sampled_from(
    [sample.LIVE, "]]></svg><script>", "$x$", "\\frac", "\ud800", "{{ 7*7 }}"]
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXT, TEXT, TEXT, TEXT)
def test_any_text_is_only_text(student, chapter, label, message):
    check = CheckResult(label, False, False, message)
    exercise = ExerciseResult(f"check-{label}", "ran", False, 1.0, 2.0, [check])
    result = SubmissionResult(
        student, chapter, "graded", 1.0, 2.0, notes=[Note("x", message, label, True)], exercises=[exercise]
    )
    assert_self_contained(feedback_page(result, ByHand(comments={label: message}), {label: message}))
    assert_self_contained(class_report_page(ClassResult(chapter, 0, message, [result])))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "\N{EN DASH}"),
        (0.0, "0"),
        (3.0, "3"),
        (2.25, "2.25"),
        (6.58333, "6.58"),
        (100.0, "100"),
        (0.001, "0"),
        (-0.001, "0"),
    ],
)
def test_points(value, shown):
    assert points(value) == shown
