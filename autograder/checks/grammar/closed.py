"""Predicates: lambdas closed over builtins and `math`, which the judge evaluates on what a run has observed."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from typing import Any

from autograder.checks.observe import MAX_ELEMENTS

#: What a predicate may call. Nothing here reads files, imports or runs text.
_BUILTINS = [
    "abs",
    "all",
    "any",
    "bool",
    "complex",
    "dict",
    "divmod",
    "enumerate",
    "filter",
    "float",
    "frozenset",
    "int",
    "isinstance",
    "len",
    "list",
    "map",
    "max",
    "min",
    "reversed",
    "round",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
    "None",
    "True",
    "False",
]
_CLOSED = {name: getattr(builtins, name) for name in _BUILTINS if hasattr(builtins, name)}


def _short_range(*bounds: int) -> range:
    """`range` for predicates: an answer must not be able to make one count for ever."""
    numbers = range(*bounds)
    if len(numbers) > MAX_ELEMENTS:
        raise ValueError("too long")
    return numbers


_CLOSED["range"] = _short_range


class GrammarError(Exception):
    """A check cell that breaks the grammar: the sentence, and the line in the cell."""

    def __init__(self, sentence: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {sentence}" if line else sentence)
        self.line = line


def closed_lambda(node: ast.expr) -> Callable[[Any], Any]:
    """Compile a one-argument lambda over builtins and `math`; GrammarError where it names anything else."""
    if not isinstance(node, ast.Lambda) or len(node.args.args) != 1 or node.args.defaults:
        raise GrammarError("a predicate is a lambda of one argument.", node.lineno)
    bound = {arg.arg for inner in ast.walk(node) if isinstance(inner, ast.Lambda) for arg in inner.args.args}
    bound |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id not in bound and inner.id not in _CLOSED and inner.id != "math":
            raise GrammarError(f"a predicate may use builtins and math only, not {inner.id!r}.", inner.lineno)
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow) and not isinstance(inner.right, ast.Constant):
            raise GrammarError("a predicate may raise to constant powers only.", inner.lineno)
        if isinstance(inner, ast.Attribute) and inner.attr.startswith("_"):
            raise GrammarError(f"a predicate may not use {inner.attr!r}.", inner.lineno)
    code = compile(ast.Expression(node), "<predicate>", "eval")
    return eval(code, {"__builtins__": _CLOSED, "math": math})  # the course's own text
