"""The grammar of check cells: what may stand in one, what a graded run gets of it, and what the judge keeps.

A check cell is input statements and top-level calls of `check`, nothing else; docs/design.md has the list. The run gets the
input statements and the thunks. Expected values, predicates, `wrong`, `hint` and `match` never leave the judge.

`parse` reads a cell, `cell` is what it reads, `closed` compiles the predicates that the judge evaluates.
"""

from autograder.checks.grammar.cell import EXPECTED_MARK, CheckCall, CheckCell
from autograder.checks.grammar.closed import GrammarError, closed_lambda
from autograder.checks.grammar.parse import BEGIN_HIDDEN, END_HIDDEN, parse, visible

__all__ = [
    "BEGIN_HIDDEN",
    "END_HIDDEN",
    "EXPECTED_MARK",
    "CheckCall",
    "CheckCell",
    "GrammarError",
    "closed_lambda",
    "parse",
    "visible",
]
