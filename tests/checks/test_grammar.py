import math

import pytest

from autograder.checks.grammar import EXPECTED_MARK, GrammarError, parse, visible
from autograder.checks.sealing import seal
from autograder.checks.verdict import ErrorName

CELL = """
x = [1, 2]
check = Check("double", points=3)
check("two", lambda: double(2), 4, wrong={2: "Secret sentence."}, hint="Secret hint.")
check.that("rises", lambda: [double(i) for i in x], lambda v: v[0] < math.inf, weight=2)
### BEGIN HIDDEN TESTS
y = 7
check("hidden", lambda: double(y), 2 * y, limit=9)
check.raises("text", lambda: double(None), TypeError, match="secret match")
### END HIDDEN TESTS
check.report()
"""


def test_the_program_holds_nothing_to_compare_with():
    assert parse(CELL).program("visible") == (
        "x = [1, 2]\n"
        "check('two', lambda: double(2), limit=5.0)\n"
        "check('rises', lambda: [double(i) for i in x], limit=5.0)"
    )
    assert parse(CELL).program("hidden") == (
        "y = 7\ncheck('hidden', lambda: double(y), limit=9)\ncheck('text', lambda: double(None), limit=5.0)"
    )


def test_what_only_expected_values_need_is_not_in_the_program():
    text = """
def twice(n):
    return add(n, n)
def add(a, b):
    return a + b
n, unit = 3, 10
every = n * unit
drawn = random.random()
check = Check("double", points=1)
check("n", lambda: double(n), twice(n) + 0 * drawn)
### BEGIN HIDDEN TESTS
check("every", lambda: double(n * 10), 2 * every)
### END HIDDEN TESTS
check.report()
"""
    assert parse(text).program() == (
        "n, unit = (3, 10)\ndrawn = random.random()\ncheck('n', lambda: double(n), limit=5.0)"
    )
    whole = parse(text).program(expected=True)
    assert "def twice" in whole and "def add" in whole and "every = n * unit" in whole
    used = parse(text.replace("lambda: double(n * 10)", "lambda: double(twice(n))")).program()
    assert "def twice" in used and "def add" in used and "every" not in used


def test_the_visible_program_is_the_program_of_the_visible_cell():
    assert parse(CELL).program("visible") == parse(visible(CELL)).program("visible")
    assert parse(visible(CELL)).program("hidden") == ""


def test_expected_values_are_observed_on_request():
    assert f"check({'two' + EXPECTED_MARK!r}, lambda: (4), limit=5.0)" in parse(CELL).program(expected=True)


def test_the_cell_is_read():
    cell = parse(CELL)
    assert (cell.exercise, cell.points, cell.total_weight) == ("double", 3.0, 5.0)
    assert cell.hidden_share == 2 / 5
    two, rises, hidden, text = cell.calls
    assert two.wrong == ((2, "Secret sentence."),) and two.hint == "Secret hint." and not two.hidden
    assert rises.predicate([1]) and rises.weight == 2
    assert hidden.hidden and hidden.limit == 9
    assert text.error == ("TypeError",) and text.match == "secret match"


def test_an_exception_is_a_key_of_wrong():
    cell = parse(
        'check = Check("a", points=1)\ncheck("l", lambda: 1, 1, wrong={RecursionError: "deep"})\ncheck.report()'
    )
    assert cell.calls[0].wrong == ((ErrorName("RecursionError"), "deep"),)


def test_an_exception_s_key_may_say_what_its_text_contains():
    wrong = '{(TypeError, "NoneType"): "nothing", (torch.Wrong, "a"): "b", (1, 2): "pair"}'
    cell = parse(f'check = Check("a", points=1)\ncheck("l", lambda: 1, 1, wrong={wrong})\ncheck.report()')
    keys = [key for key, _ in cell.calls[0].wrong]
    assert keys == [ErrorName("TypeError", "NoneType"), ErrorName("Wrong", "a"), (1, 2)]


HEAD = 'check = Check("a", points=1)\n'
ONE = 'check("l", lambda: f(), 1)\n'
END = "check.report()"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (HEAD + ONE, "last statement"),
        (HEAD + END, "at least one check"),
        (ONE + HEAD + END, "before the first check"),
        (HEAD + ONE + ONE + END, "stands twice"),
        (HEAD + HEAD + ONE + END, "stands once"),
        (HEAD + "for i in range(3):\n    " + ONE + END, "top level"),
        (HEAD + ONE + "z = check\n" + END, "top level"),
        (HEAD + "want = 3\ncheck('l', lambda: f(), want)\n" + END, "bare name"),
        (HEAD + "check(f'l', lambda: f(), 1)\n" + END, "label must be a literal"),
        (HEAD + "check('l', f(), 1)\n" + END, "thunk is a lambda"),
        (HEAD + "check('l', lambda n: n, 1)\n" + END, "thunk is a lambda"),
        (HEAD + "check('l', lambda: f())\n" + END, "check(label, thunk, expected)"),
        (HEAD + "check('l', lambda: f(), 1, points=2)\n" + END, "no option"),
        (HEAD + "check('l', lambda: f(), 1, weight=0)\n" + END, "above 0"),
        (HEAD + "check('l', lambda: f(), 1, wrong={2: name})\n" + END, "literal"),
        (HEAD + "check('l', lambda: f(), 1, wrong={(TypeError, 3): 'x'})\n" + END, "(ERROR, TEXT)"),
        (HEAD + "check.that('l', lambda: f(), lambda v: v == torch.ones(1))\n" + END, "builtins and math"),
        (HEAD + "check.that('l', lambda: f(), lambda v: open('x'))\n" + END, "builtins and math"),
        (HEAD + "check.that('l', lambda: f(), lambda v: v.__class__)\n" + END, "may not use"),
        (HEAD + "check.that('l', lambda: f(), is_fine)\n" + END, "lambda of one argument"),
        (HEAD + "check.raises('l', lambda: f(), make())\n" + END, "name of an exception"),
        (HEAD + "check.raises('l', lambda: f(), ValueError, match='(')\n" + END, "regular expression"),
        (HEAD + "%timeit f()\n" + ONE + END, "plain Python"),
        (HEAD + "### BEGIN HIDDEN TESTS\n" + ONE + END, "no end"),
        (HEAD + ONE + "### END HIDDEN TESTS\n" + END, "before it begins"),
        (HEAD + ONE + "### BEGIN HIDDEN TESTS\n" + END + "\n### END HIDDEN TESTS", "outside the hidden part"),
        (
            HEAD + "### BEGIN HIDDEN TESTS\n" + ONE + "### END HIDDEN TESTS\n" + "check('m', lambda: f(), 1)\n" + END,
            "stands last",
        ),
        ("check = Check('a')\n" + ONE + END, "points=N"),
        ("c = Check('a', points=1)\n" + ONE + END, "called `check`"),
        ("", "last statement"),
    ],
)
def test_what_breaks_the_grammar_is_refused_with_a_sentence(source, says):
    with pytest.raises(GrammarError) as caught:
        parse(source)
    assert says in str(caught.value)


def test_a_predicate_may_comprehend_and_nest():
    cell = parse(
        HEAD
        + "check.that('l', lambda: f(), lambda v: all(math.isclose(a, b) for a, b in zip(v, sorted(v, key=lambda t: t))))\n"
        + END
    )
    assert cell.calls[0].predicate([1, 2]) and not cell.calls[0].predicate([2, 1])
    assert math.isclose(1, 1)


def test_what_the_builder_sealed_is_what_was_written():
    plain = 'check("two", lambda: double(2), 4, wrong={2: "Secret sentence."}, hint="Secret hint.")'
    expected, wrong, hint = (
        f"Check.sealed({seal(text, 'two')!r})" for text in ("4", "{2: 'Secret sentence.'}", "'Secret hint.'")
    )
    sealed = f'check("two", lambda: double(2), {expected}, wrong={wrong}, hint={hint}, empty=0)'
    assert plain in CELL
    one, two = parse(CELL), parse(CELL.replace(plain, sealed).replace("points=3)", "points=3, of=7)"))
    assert two.calls[0].empty == 0
    assert [(c.label, c.expected, c.wrong, c.hint, c.line) for c in one.calls] == [
        (c.label, c.expected, c.wrong, c.hint, c.line) for c in two.calls
    ]
    assert one.program(expected=True) == two.program(expected=True)


@pytest.mark.parametrize("inside", ['"no seal"', "7", ""])
def test_a_broken_seal_is_one_sentence(inside):
    with pytest.raises(GrammarError, match="seal"):
        parse(f'check = Check("x", points=1)\ncheck("a", lambda: 1, Check.sealed({inside}))\ncheck.report()')
