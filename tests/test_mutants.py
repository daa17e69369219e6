"""The mutation tool: what its operators make, and what becomes of the mutants. In chapters that are proved none survives."""

import ast
import json

import pytest
from rich.console import Console

from autograder.pipeline import open_course
from tests import mini_course
from tests.mini_course import ROOT
from tests.mutants import make
from tests.mutants.make import changes, equivalents, mutants, sample
from tests.mutants.prove import provable, prove
from tests.mutants.report import as_json, counts, show, write_page

#: Chapters whose checks let no mutant through. The others are not proved yet; add a chapter when `make mutants` says so.
PROVED = ("01-graph",)
PER_EXERCISE = 10
SEED = 2024


def made(text, what):
    """The programs that an operator makes of a text."""
    return [ast.unparse(changed) for said, changed in changes(ast.parse(text)) if said == what]


@pytest.mark.parametrize(
    ("what", "before", "after"),
    [
        ("another comparison", "a < b", "a <= b"),
        ("another comparison", "x is y", "x == y"),
        ("another comparison", "x.shape == y.shape", "x.shape is y.shape"),
        ("another operator", "a + b", "a - b"),
        ("operands swapped", "a - b", "b - a"),
        ("and for or", "a and b", "a or b"),
        ("part of a condition left out", "a and b", "b"),
        ("not left out", "not a", "a"),
        ("the other of True and False", "f(k=True)", "f(k=False)"),
        ("a number moved by one", "x.sum(dim=1)", "x.sum(dim=2)"),
        ("a number moved by one", "def f(n=1): pass", "def f(n=2):\n    pass"),
        ("a number moved by one", "x[1]", "x[0]"),
        ("lower bound left out", "x[1:]", "x[:]"),
        ("a condition negated", "if a:\n    b", "if not a:\n    b"),
        ("a condition fixed to False", "if a:\n    b", "if False:\n    b"),
        ("else left out", "if a:\n    b\nelse:\n    c", "if a:\n    b"),
        ("a filter left out", "[i for i in r if i]", "[i for i in r]"),
        ("a statement left out", "a()\nb()", "b()"),
        ("a statement done twice", "n += 1", "n += 1\nn += 1"),
        ("a keyword left out", "f(a, k=1)", "f(a)"),
        ("a context manager left out", "with a():\n    b", "b"),
        ("a decorator left out", "@torch.no_grad()\ndef f(): pass", "def f():\n    pass"),
        (".detach() left out", "y = x.detach()", "y = x"),
        (".clone() left out", "y = x.clone()", "y = x"),
        (".contiguous() left out", "y = x.contiguous()", "y = x"),
        ("break for continue", "for i in r:\n    continue", "for i in r:\n    break"),
        ("continue for break", "for i in r:\n    break", "for i in r:\n    continue"),
        ("two arguments swapped", "f(a, b)", "f(b, a)"),
        ("the other order of a pair", "return_ = (a, b)", "return_ = (b, a)"),
        ("a set for a list", "list(r)", "set(r)"),
        ("return left out", "def f():\n    return 1", "def f():\n    1"),
        ("add_ for add", "x.add(1)", "x.add_(1)"),
        ("squeeze for squeeze_", "x.squeeze_()", "x.squeeze()"),
        ("another dtype", "x.to(torch.float32)", "x.to(torch.float64)"),
        (".grad zeroed in place", "p.grad = None", "if p.grad is not None:\n    p.grad.zero_()"),
        (".grad written in place", "p.grad = g", "if p.grad is not None:\n    p.grad.add_(g)\nelse:\n    p.grad = g"),
        ("state in a default argument", "def f():\n    a = []\n    return a", "def f(*, a=[]):\n    return a"),
        (
            "state at module level",
            "def f():\n    a, b = [], 1\n    return a",
            "a = []\n\ndef f():\n    b = 1\n    return a",
        ),
        (
            "Parameter passed over",
            "for p in params:\n    f(p)",
            "for p in params:\n    if isinstance(p, torch.Tensor) and isinstance(p, torch.nn.Parameter):\n"
            "        continue\n    f(p)",
        ),
        (
            "0-d tensor taken for no tensor",
            "torch.is_tensor(x)",
            "torch.is_tensor(x) and (not x.dim() == 0)",
        ),
        (
            "recursion for a work list",
            "while todo:\n    node = todo.pop()\n    todo.append(node)",
            "def _visit(node):\n    _visit(node)\nfor _first in list(todo):\n    _visit(_first)",
        ),
        (
            "only the first edge followed",
            "while todo:\n    for node in todo.pop():\n        todo.append(node)",
            "while todo:\n    for _at, node in enumerate(todo.pop()):\n        if _at == 0:\n            todo.append(node)",
        ),
    ],
)
def test_an_operator_makes_what_it_says(what, before, after):
    assert after in made(before, what)


@pytest.mark.parametrize(
    ("what", "before", "after"),
    [
        ("another comparison", "node is root", "node == root"),  # nodes are equal where they are the same
        ("another comparison", "x.dtype == y.dtype", "x.dtype is y.dtype"),
        ("detach_ for detach", "(x * y).detach()", "(x * y).detach_()"),
        (".detach() left out", "loss.detach().item()", "loss.item()"),
        ("a keyword left out", "drawing.edge(a, b, label=c)", "drawing.edge(a, b)"),
        ("a statement left out", "drawing.attr(rankdir='LR')", ""),
        ("the other order of a pair", "isinstance(x, (list, tuple))", "isinstance(x, (tuple, list))"),
        ("a statement left out", "while todo:\n    todo.pop()", "while todo:\n    pass"),  # would never end
    ],
)
def test_a_change_that_can_make_no_difference_is_not_made(what, before, after):
    assert after not in made(before, what)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("Parameter passed over", "for node in graph:\n    f(node)"),
        ("empty tensor passed over", "for p in params:\n    p.grad = None"),
        ("state in a default argument", "def f():\n    def g():\n        a = []\n        return a\n    return g"),
    ],
)
def test_an_operator_passes_over_what_it_cannot_change(what, text):
    assert made(text, what) == []


def test_a_change_leaves_the_tree_as_it_was():
    tree = ast.parse("def f(a, b):\n    if a < b:\n        return [a, b]\n    return b - a")
    before = ast.dump(tree)
    assert len({ast.unparse(changed) for _, changed in changes(tree)}) > 10
    assert ast.dump(tree) == before


@pytest.fixture(scope="module")
def mini(built_course):
    return open_course(built_course).chapters[mini_course.NAME]


def test_the_same_answers_give_the_same_mutants(mini):
    first, second = mutants(mini, "double"), mutants(mini, "double")
    assert first == second
    assert len({mutant.key for mutant in first}) == len(first) > 3
    assert sample(first, 3, SEED) == sample(second[::-1], 3, SEED)
    assert sample(first, 3, SEED) != sample(first, 3, SEED + 1)


def verdicts(engine, chapter, texts):
    """What becomes of answers to `double`."""
    made = [
        make.Mutant(chapter.name, "double", make.REFERENCE, f"number {i}", "", text) for i, text in enumerate(texts)
    ]
    found = prove(engine, {chapter.name: chapter}, made, SEED)
    return sorted(found, key=lambda verdict: verdict.mutant.what)


NOT_DOUBLED, WRONG_SEVEN, STUCK, RIGHT, NO_PROGRAM = (
    "def double(n):\n    return n",
    "def double(n):\n    return 0 if isinstance(n, int) and n == 7 else n * 2",
    "def double(n):\n    while True: pass",
    "def double(n):\n    return n + n",
    "double = nothing_of_the_kind",
)


def test_a_mutant_is_caught_or_survives_and_the_report_says_so(engine, mini, tmp_path):
    found = verdicts(engine, mini, [NOT_DOUBLED, WRONG_SEVEN, STUCK, RIGHT, NO_PROGRAM])
    assert [verdict.fate for verdict in found] == ["caught", "caught", "caught", "survived", "no program"]
    assert [(verdict.by, verdict.told) for verdict in found[:2]] == [("two", "mistake"), ("seven", "value")]
    row = counts(found)[f"{mini.name}/double"]
    assert (row["mutants"], row["caught"], row["told mistake"], row["survived"]) == (4, 3, 1, 1)

    said = json.loads(as_json(found, seed=SEED))
    assert said["seed"] == SEED
    assert said["survivors"] == [found[3].mutant.key]
    console = Console(record=True, width=120, quiet=False)
    show(found, console)
    assert "survived: 90-mini/double/reference: number 3" in console.export_text()


def test_the_page_shows_a_survivor_as_a_diff(engine, mini, tmp_path):
    mutant = make.Mutant(mini.name, "double", make.REFERENCE, "n + n", "-    n * 2\n+    n + <n>", RIGHT)
    write_page(list(prove(engine, {mini.name: mini}, [mutant], SEED)), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<div class="new">+    n + &lt;n&gt;</div>' in page
    assert '<div class="gone">-    n * 2</div>' in page


def test_equivalents_are_read_and_each_has_a_reason(engine, mini, tmp_path, monkeypatch):
    folder = tmp_path / mini.name / "double"
    folder.mkdir(parents=True)
    (folder / "equivalent.toml").write_text(
        '[[equivalent]]\nanswer = "reference"\nwhat = "number 0"\nchange = ""\nwhy = "Twice n is n + n."\n',
        encoding="utf-8",
    )
    monkeypatch.setattr(make, "BANK", tmp_path)
    (verdict,) = verdicts(engine, mini, [RIGHT])
    assert (verdict.fate, verdict.why) == ("equivalent", "Twice n is n + n.")


@pytest.fixture(scope="module")
def proved():
    return dict(open_course(ROOT, PROVED).chapters)


def test_no_equivalent_is_listed_for_nothing(proved):
    """Of an answer that was changed since, or in answers that do not exist."""
    for chapter in proved.values():
        for exercise in provable(chapter):
            there = {(mutant.answer, mutant.what, mutant.change) for mutant in mutants(chapter, exercise)}
            listed = equivalents(chapter.name, exercise)
            assert set(listed) <= there, exercise
            assert all(why.endswith(".") for why in listed.values())


def test_in_proved_chapters_nothing_survives(engine, proved):
    """A sample with a fixed seed; `make mutants` takes more, and `--all` every one."""
    chosen = [
        mutant
        for chapter in proved.values()
        for name in provable(chapter)
        for mutant in sample(mutants(chapter, name), PER_EXERCISE, SEED)
    ]
    survived = [verdict.mutant.key for verdict in prove(engine, proved, chosen, SEED) if verdict.fate == "survived"]
    assert survived == []
