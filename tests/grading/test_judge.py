import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.grammar import EXPECTED_MARK, parse
from autograder.checks.observe import observe, observe_error
from autograder.checks.verdict import MISSING_RETURN
from autograder.engine.api import CellRun
from autograder.grading.course import CourseCell
from autograder.grading.jobs import checks_of
from autograder.grading.judge import NOT_RUN, broken_checks, judge

CELL = parse("""
check = Check("double", points=4)
check("two", lambda: double(2), 4, wrong={2: "Nothing was doubled."})
### BEGIN HIDDEN TESTS
check("random", lambda: double(x), 2 * x, hint="Double every element.")
check.that("rises", lambda: [double(1), double(2)], lambda v: v[0] < v[1])
check.raises("text", lambda: double(None), TypeError, match="unsupported")
### END HIDDEN TESTS
check.report()
""")
GOOD = {
    "two": observe(4),
    "random": observe([0.5, 3.0]),
    "rises": observe([2, 4]),
    "text": observe_error(TypeError("unsupported operand")),
}


def judged(observations, **more):
    hidden = {label: value for label, value in observations.items() if label != "two"}
    visible = {label: value for label, value in observations.items() if label == "two"}
    run = CellRun("check-double", **{"status": "ran", "observations": visible, "hidden": hidden, **more})
    return judge("check-double", CELL, run, GOOD, max_score=4.0)


def test_what_the_reference_observed_earns_everything():
    result = judged(GOOD)
    assert (result.score, result.max_score, result.status) == (4.0, 4.0, "ran")
    assert [check.hidden for check in result.checks] == [False, True, True, True]


def test_values_come_from_the_reference_not_from_the_text():
    assert judged({**GOOD, "random": observe([1.0, 3.0])}).score == 3.0


@pytest.mark.parametrize("missing", list(GOOD))
def test_a_missing_observation_earns_nothing(missing):
    result = judged({label: value for label, value in GOOD.items() if label != missing})
    assert result.score == 3.0
    assert [check.message for check in result.checks if not check.passed] == [NOT_RUN]


def test_a_cell_that_never_ran_or_was_killed_earns_nothing():
    assert judged({}, status="not-run").score == 0.0
    assert judged(GOOD, killed=True, status="timed-out").score == 0.0


def test_an_error_counts_only_beside_a_value():
    assert judged({"text": GOOD["text"]}).score == 0.0


def test_hidden_checks_show_the_authors_sentence_only():
    secret = {"error": {"type": "ValueError", "mro": ["ValueError"], "text": "SECRET"}}
    result = judged({**GOOD, "random": secret, "rises": observe(["SECRET"]), "two": observe(2)})
    messages = {check.label: check.message for check in result.checks}
    assert messages["random"] == "It raised ValueError. Double every element."
    assert "SECRET" not in " ".join(messages.values())
    assert "Nothing was doubled." in messages["two"] and "got 2" in messages["two"]


@pytest.mark.parametrize("name", ["SECRET", "int", "", None, 5, "__import__"])
def test_the_name_of_an_answers_own_exception_is_not_repeated(name):
    own = {"error": {"type": name, "mro": [name], "text": "SECRET"}}
    message = judged({**GOOD, "random": own}).checks[1].message
    assert message == "It raised an exception. Double every element."


@pytest.mark.parametrize("observed", [None, {"error": {**observe_error(TypeError("SECRET"))["error"], "none": True}}])
def test_a_hidden_check_that_got_none_back_speaks_of_a_missing_return(observed):
    message = judged({**GOOD, "random": observed}).checks[1].message
    assert message.endswith(f"{MISSING_RETURN} Double every element.") and "SECRET" not in message


def test_each_part_counts_for_its_own_checks_only():
    """A visible check's message quotes the run, so nothing counts there that came after the hidden part."""
    late = judge(
        "check-double", CELL, CellRun("check-double", "ran", hidden={**GOOD, "two": "SECRET"}), GOOD, max_score=4.0
    )
    assert late.score == 3.0 and late.checks[0].message == NOT_RUN
    early = judge("check-double", CELL, CellRun("check-double", "ran", observations=GOOD), GOOD, max_score=4.0)
    assert early.score == 1.0 and [check.passed for check in early.checks] == [True, False, False, False]


def test_unknown_labels_are_ignored():
    assert judged({**GOOD, "points": observe(1000), "two" + EXPECTED_MARK: observe(5)}).score == 4.0


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "list",
                    "tuple",
                    "dict",
                    "tensor",
                    "float",
                    "error",
                    "opaque",
                    "timeout",
                    "shape",
                    "data",
                    "dtype",
                    "type",
                ]
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(list(GOOD)), json_values))
def test_any_json_gets_a_grade_between_zero_and_the_maximum(observations):
    result = judged(observations)
    assert 0.0 <= result.score <= 4.0


def test_data_cannot_make_a_predicate_count_for_ever():
    cell = parse(
        'check = Check("a", points=1)\ncheck.that("l", lambda: f(), lambda v: sum(range(v)) > 0)\ncheck.report()'
    )
    start = time.monotonic()
    run = CellRun("a", "ran", observations={"l": 10**12})
    assert judge("a", cell, run, {"l": 1}, max_score=1.0).score == 0.0
    assert time.monotonic() - start < 10


def test_broken_checks_are_those_that_the_reference_fails():
    seen = {
        **GOOD,
        "two" + EXPECTED_MARK: observe(5),
        "random" + EXPECTED_MARK: observe([0.5, 3.0]),
        "rises": observe([2, 1]),
    }
    assert [call.label for call, _ in broken_checks(CELL, seen)] == ["two", "rises"]
    assert [why for _, why in broken_checks(CELL, {})] == [NOT_RUN] * 4


def test_an_empty_prediction_is_not_answered_and_shows_no_expected_value():
    source = (
        'check = Check("guess", points=2)\ncheck("q1", lambda: guess["q1"], "b", wrong={"a": "No."})\ncheck.report()'
    )
    released = source.replace("wrong={", "empty=None, wrong={")
    cell = CourseCell("check-guess", "code", source, released, "check", "guess", 2.0)
    for said, message in ((None, "Not answered yet."), ("a", "expected 'b', got 'a'. No.")):
        run = CellRun("check-guess", "ran", observations={"q1": said})
        (check,) = judge("check-guess", checks_of(cell), run, {"q1": "b"}, max_score=2.0).checks
        assert (check.passed, check.message) == (False, message)
