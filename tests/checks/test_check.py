import re
import time
import warnings
from types import SimpleNamespace

import nbformat
import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from nbgrader.utils import determine_grade

from autograder.checks.compare import NOT_ANSWERED
from autograder.checks.sealing import seal
from autograder.checks.table import CheckTable, Row
from autograder.checks.verdict import MISSING_RETURN
from autograder.lab import Check
from tests.contrast import contrast


def double(n):
    return n * 2


def forever():
    while True:
        pass


def test_points_follow_the_weights(capsys):
    check = Check("double", points=4)
    check("right", lambda: double(2), 4, weight=3)
    check("wrong", lambda: double(2), 5)
    assert check.report() == 3.0
    shown = capsys.readouterr()
    assert "double: 1 of 2 checks pass. Worth 4 points; grading may add hidden checks." in shown.out
    assert shown.err == ""


def test_a_known_mistake_gets_its_sentence(capsys):
    check = Check("double", points=1)
    wrong = {2: "Nothing was doubled.", ZeroDivisionError: "Zero has no inverse."}
    check("value", lambda: 2, 4, wrong=wrong, hint="Think.")
    check("error", lambda: 1 / 0, 4, wrong=wrong)
    check("other", lambda: 3, 4, wrong=wrong, hint="Think.")
    check("predicate", lambda: torch.zeros(2), torch.ones(2), wrong=[(lambda v: v == [0, 0], "All zero.")])
    check.report()
    out = capsys.readouterr().out
    for sentence in ("Nothing was doubled.", "Zero has no inverse.", "Think.", "All zero."):
        assert out.count(sentence) == 1


def test_a_sentence_for_an_exception_is_told_of_the_text_that_it_means(capsys):
    check = Check("f", points=1)
    wrong = {(TypeError, "unsupported operand"): "A text.", TypeError: "Something else."}
    check("meant", lambda: 1 + "a", 4, wrong=wrong)
    check("another", lambda: len(3), 4, wrong=wrong)
    check.report()
    said = capsys.readouterr().out
    assert said.count("A text.") == said.count("Something else.") == 1


@pytest.mark.parametrize(
    ("thunk", "passes"),
    [
        (lambda: (_ for _ in ()).throw(RuntimeError("second time")), True),
        (lambda: (_ for _ in ()).throw(RuntimeError("first")), False),
        (lambda: (_ for _ in ()).throw(RecursionError("second time")), False),
        (lambda: (_ for _ in ()).throw(NotImplementedError("second time")), False),
        (lambda: (_ for _ in ()).throw(type("Mine", (RuntimeError,), {})("second time")), True),
        (lambda: (_ for _ in ()).throw(ValueError("second time")), False),
        (lambda: 1, False),
    ],
)
def test_raises_wants_the_type_and_the_text(thunk, passes, capsys):
    check = Check("x", points=2)
    check("a value", lambda: 1, 1)
    check.raises("an error", thunk, RuntimeError, match="second")
    assert check.report() == (2.0 if passes else 1.0)


@pytest.mark.parametrize(
    ("error", "match", "sentence"),
    [
        (KeyError(), None, "It raised KeyError; expected RuntimeError."),
        (RuntimeError(), "second", "It raised RuntimeError, but its text is empty."),
        (RuntimeError("first"), "second", "It raised RuntimeError, but its text does not say what it should: first"),
        (KeyError(1), None, "It raised KeyError: 1; expected RuntimeError."),
    ],
)
def test_the_message_on_an_exception_is_whole_without_its_text(error, match, sentence, capsys):
    check = Check("x", points=1)
    check.raises("an error", lambda: (_ for _ in ()).throw(error), RuntimeError, match=match)
    check.report()
    assert " ".join(capsys.readouterr().out.split()).endswith(sentence)


def nothing(n):
    n * 2


def within(n):
    return len(nothing(n))


def test_a_missing_return_is_named_where_none_came_back(capsys):
    check = Check("nothing", points=1)
    wrong = {TypeError: "You added a number to a text."}
    check("the value", lambda: nothing(2), 4, wrong=wrong, hint="Double it.")
    check("a part of it", lambda: len(nothing(2)), 4, wrong=wrong, hint="Double it.")
    check.that("what holds of it", lambda: nothing(2), lambda v: v > 2, hint="Double it.")
    check.report()
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count(f"{MISSING_RETURN} Double it.") == 3 and "You added" not in shown


def test_an_error_whose_text_cannot_be_had_fails_its_check_only(capsys):
    class Mute:
        def __str__(self):
            raise ValueError

    def fails():
        raise TypeError(Mute())

    check = Check("f", points=2)
    check("mute", lambda: fails(), 1)
    check("fine", lambda: 1, 1)
    assert check.report() == 1.0


def test_an_author_who_names_none_has_the_word(capsys):
    check = Check("nothing", points=1)
    check("the value", lambda: nothing(2), 4, wrong={None: "It is None on purpose."})
    check.report()
    shown = capsys.readouterr().out
    assert "It is None on purpose." in shown and MISSING_RETURN not in shown


def test_a_none_within_the_answer_or_instead_of_an_error_is_no_missing_return(capsys):
    check = Check("within", points=1)
    check("within", lambda: within(2), 4, wrong={TypeError: "None has no length."})
    check.raises("no error", lambda: nothing(2), ValueError, hint="Raise one.")
    check.report()
    shown = capsys.readouterr().out
    assert "None has no length." in shown and "Raise one." in shown and MISSING_RETURN not in shown


def test_an_error_alone_earns_nothing(capsys):
    check = Check("x", points=2)
    check("a value", lambda: 1 / 0, 1)
    check.raises("an error", lambda: 1 / 0, ZeroDivisionError)
    assert check.report() == 0.0


def test_a_time_out_stops_the_later_checks_only(capsys):
    check = Check("x", points=3)
    start = time.monotonic()
    check("before", lambda: 1, 1)
    check("loops", forever, 1, limit=0.2)
    check("after", lambda: 1, 1)
    assert check.report() == 1.0
    assert time.monotonic() - start < 5
    assert "Not run: an earlier check ran out of time." in capsys.readouterr().out


def test_an_exit_or_an_exception_fails_one_check(capsys):
    check = Check("x", points=3)
    check("exit", lambda: exit(), 1)
    check("stub", lambda: (_ for _ in ()).throw(NotImplementedError()), 1)
    check("fine", lambda: 1, 1)
    assert check.report() == 1.0
    assert "Not answered yet." in capsys.readouterr().out


def test_every_check_starts_from_its_own_seed(capsys):
    drawn = []
    for _ in range(2):
        check = Check("x", points=1)
        check("one", lambda: drawn.append(torch.rand(1).item()), None)
        torch.rand(7)
        check("two", lambda: drawn.append(torch.rand(1).item()), None)
        check.report()
    assert drawn[:2] == drawn[2:] and drawn[0] != drawn[1]


def test_stderr_of_a_check_is_captured(capfd):
    check = Check("x", points=1)
    check("warns", lambda: warnings.warn("noise", stacklevel=1), None)
    assert check.report() == 1.0
    assert capfd.readouterr().err == ""


def test_the_table_escapes_what_a_student_wrote():
    table = CheckTable("x", [Row("<b>", False, "\x1b[31m<script>alert(1)</script>")], 1)
    assert "<script>" not in table._repr_html_() and "\x1b" not in repr(table) and "\x1b" not in table._repr_html_()


def test_a_table_promises_no_points_unless_every_check_ran():
    rows = [Row("a", True), Row("b", False)]
    assert CheckTable("x", rows, 1).heading == "x: 1 of 2 checks pass. Worth 1 point; grading may add hidden checks."
    assert CheckTable("x", rows, 3, 1.0).heading == "x: 1 of 2 checks, 1 of 3 points"


def test_the_value_of_a_check_cell_is_a_number_to_nbgrader_and_the_table_to_people(monkeypatch, capsys):
    formatter = DisplayFormatter()
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(display_formatter=formatter))
    check = Check("x", points=3)
    check("right", lambda: 1, 1)
    check("wrong", lambda: 1, 2)
    data, _ = formatter.format(check.report())
    assert capsys.readouterr().out == ""  # one output, not two
    assert data["text/plain"] == "1.5" and "expected 2, got 1" in data["text/html"]
    cell = nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("execute_result", data)])
    cell.metadata.nbgrader = {"grade": True, "solution": False, "points": 3}
    assert determine_grade(cell) == (1.5, 3.0)
    formatter.active_types = ["text/plain"]  # as in a terminal
    check.report()
    assert "expected 2, got 1" in capsys.readouterr().out


def stub(*_):
    raise NotImplementedError()


def shown(check, capsys):
    check.report()
    return capsys.readouterr().out.splitlines()


def test_an_answer_that_is_still_the_stub_has_one_row_and_no_hint(capsys):
    check = Check("stub", points=2)
    check("value", lambda: stub(1), 4, hint="It is four.", wrong={2: "Nothing was doubled."})
    check.that("predicate", lambda: [stub(1)], lambda v: v == [4], hint="It is four.")
    check.raises("error", lambda: stub(None), TypeError, hint="Raise one.")
    assert shown(check, capsys)[1:] == ["  open  Not answered yet."]


def test_an_empty_prediction_is_compared_with_nothing(capsys):
    guess = {"a": "", "b": 0, "c": None}
    check = Check("guess", points=3)
    for key, expected in (("a", "x"), ("b", 7), ("c", False)):
        check(key, lambda key=key: guess[key], expected, empty=guess[key], hint="Seven, to be sure.")
    assert shown(check, capsys)[1:] == ["  open  Not answered yet."]
    guess |= {"b": 6, "c": False}
    check = Check("guess", points=3)
    check("a", lambda: guess["a"], "x", empty="")
    check("b", lambda: guess["b"], 7, empty=0)
    check("c", lambda: guess["c"], False, empty=None)
    assert shown(check, capsys)[1:] == [
        "  FAIL  a", "        Not answered yet.", "  FAIL  b", "        expected 7, got 6.", "  pass  c"
    ]  # fmt: skip


def test_an_error_that_names_its_reason_is_no_stub(capsys):
    def unknown():
        raise NotImplementedError("no kernel for this dtype")

    check = Check("x", points=1)
    check("value", unknown, 4, hint="Cast first.")
    check.raises("error", unknown, TypeError)
    lines = " ".join(shown(check, capsys))
    assert lines.count("no kernel for this dtype") == 2 and "Cast first." in lines and "Not answered" not in lines


def test_a_table_says_how_many_exercises_of_the_chapter_pass(monkeypatch, capsys):
    monkeypatch.setattr("autograder.checks.check._passed", {})

    def report(name, value):
        check = Check(name, points=1, of=3)
        check("four", lambda: value, 4)
        return shown(check, capsys)[-1]

    assert [report("a", 4), report("b", 3), report("b", 4), report("b", 4), report("a", 5)] == [
        f"{number} of 3 exercises pass." for number in (1, 1, 2, 2, 1)
    ]


def test_what_is_sealed_cannot_be_read_and_can_be_opened():
    text = """{'a': "The graph is left.", (lambda v: v > math.pi): "More."}"""
    sealed = seal(text, "q1")
    assert "graph" not in sealed and sealed != seal(text, "q2")
    first, second = Check.sealed(sealed).items()
    assert first == ("a", "The graph is left.") and second[0](4) and not second[0](3)
    with pytest.raises(ValueError):
        Check.sealed("'b'")


def test_every_mark_of_a_table_can_be_read_on_any_page():
    rows = [Row("a", True), Row("b", False, "expected 1, got 2")]
    tables = [CheckTable("x", rows, 1), CheckTable("x", [Row("a", False, NOT_ANSWERED)], 1, progress=(0, 2))]
    marks = re.findall(r"background:(#\w+);color:(#\w+)", "".join(table._repr_html_() for table in tables))
    assert len(marks) == 3 and all(contrast(*pair) >= 4.5 for pair in marks)
    bare = [re.sub(r"<span style=.*?</span>", "", table._repr_html_()) for table in tables]
    assert not any(re.search(r"color|background", html) for html in bare)  # the rest has the page's own colors
