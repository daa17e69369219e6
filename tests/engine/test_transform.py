"""The shell's shortcut past IPython's look at every token changes no cell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from autograder.engine.inside.cells.shell import Transformer
from tests.bank_lib import entries

OURS, THEIRS = Transformer(), TransformerManager()
PIECES = st.sampled_from(
    ["x", "=", " = ", "%", "%time", "!", "!=", "?", "??", ",", ";", "/", "\n", "\\\n", "    ", "(", ")", "\n\n", "'", '"""', "#",
     "def f():", ">>> ", "... ", "In [1]: ", "\r", "\x0c", "\x85", "\u2028", "\t", "%%html\n", "a if b else c", "1", " "]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
def test_any_text_comes_out_the_same(text):
    assert outcome(OURS, text) == outcome(THEIRS, text)


@pytest.mark.parametrize(
    "text",
    [
        "%time x",
        "x = %pwd",
        "x = \\\n%pwd",
        "y = !ls",
        "f?",
        "  !ls",
        "if x:\n    %pwd",
        ",f a b",
        "\x85!ls",
        "a = 1\n;f a",
    ],
)
def test_what_ipython_changes_is_changed(text):
    assert outcome(OURS, text) == outcome(THEIRS, text) != text + "\n"


def test_answers_come_out_the_same():
    for entry in entries():
        assert outcome(OURS, entry.source) == outcome(THEIRS, entry.source), entry.path


def outcome(manager, text):
    try:
        return manager.transform_cell(text)
    except SyntaxError as error:
        return repr(error)
