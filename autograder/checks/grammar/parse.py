"""From the text of a check cell to a `CheckCell`, or to a sentence that says where it breaks the grammar."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from autograder.checks.grammar.cell import CheckCall, CheckCell, Kind
from autograder.checks.grammar.closed import GrammarError, closed_lambda
from autograder.checks.sealing import unseal
from autograder.checks.verdict import ErrorName

BEGIN_HIDDEN = "### BEGIN HIDDEN TESTS"
END_HIDDEN = "### END HIDDEN TESTS"
_OPTIONS = {
    "value": {"wrong", "hint", "rtol", "atol", "limit", "weight", "empty"},
    "that": {"wrong", "hint", "limit", "weight"},
    "raises": {"match", "wrong", "hint", "limit", "weight"},
}
_FORMS = {
    "value": "check(label, thunk, expected)",
    "that": "check.that(label, thunk, predicate)",
    "raises": "check.raises(label, thunk, error)",
}


def parse(source: str) -> CheckCell:
    """Parse a check cell.

    Parameters
    ----------
    source : str
        The cell, with or without its hidden part.

    Raises
    ------
    GrammarError
        One sentence and the line in the cell.
    """
    return _Parser(source).cell()


def visible(source: str) -> str:
    """The cell without its hidden part, as nbgrader's ClearHiddenTests leaves it."""
    kept, inside = [], False
    for line in source.split("\n"):
        if BEGIN_HIDDEN in line:
            inside = True
        elif END_HIDDEN in line:
            inside = False
        elif not inside:
            kept.append(line)
    return "\n".join(kept).rstrip()


class _Parser:
    def __init__(self, source: str) -> None:
        try:
            self.tree = ast.parse(source)
        except (SyntaxError, ValueError) as error:
            raise GrammarError(
                f"a check cell must be plain Python ({error.args[0]}).", getattr(error, "lineno", 0) or 0
            ) from None
        self.hidden_lines = set(_hidden_lines(source))
        self.labels: set[str] = set()
        self.header: tuple[str, float] | None = None

    def cell(self) -> CheckCell:
        body = self.tree.body
        if not body or not _is_call(body[-1], "check.report"):
            raise GrammarError("the last statement must be check.report().", body[-1].lineno if body else 0)
        statements: list[str | CheckCall] = []
        hidden_inputs: set[int] = set()
        for node in body[:-1]:
            item = self.statement(node)
            if item is None:
                continue
            if node.lineno not in self.hidden_lines:
                if hidden_inputs or any(isinstance(other, CheckCall) and other.hidden for other in statements):
                    raise GrammarError("the hidden part stands last, before check.report().", node.lineno)
            elif isinstance(item, str):
                hidden_inputs.add(len(statements))
            statements.append(item)
        if self.header is None:
            raise GrammarError("a check cell needs `check = Check(name, points=N)`.")
        if not self.labels:
            raise GrammarError("a check cell needs at least one check.")
        if body[-1].lineno in self.hidden_lines:
            raise GrammarError("check.report() must stand outside the hidden part.", body[-1].lineno)
        self.refuse_bare_expected(body)
        return CheckCell(*self.header, tuple(statements), frozenset(hidden_inputs))

    def statement(self, node: ast.stmt) -> str | CheckCall | None:
        if isinstance(node, ast.Assign) and _is_name_call(node.value, "Check"):
            self.read_header(node)
            return None
        for kind, function in (("value", "check"), ("that", "check.that"), ("raises", "check.raises")):
            if _is_call(node, function):
                if self.header is None:
                    raise GrammarError("`check = Check(name, points=N)` must come before the first check.", node.lineno)
                return self.read_call(kind, node.value, node.lineno)  # type: ignore[arg-type, attr-defined]
        if _is_call(node, "check.report"):
            raise GrammarError("check.report() stands once, last.", node.lineno)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id in ("check", "Check"):
                raise GrammarError("`check` may only be called at the top level of the cell.", inner.lineno)
        return ast.unparse(node)

    def read_header(self, node: ast.Assign) -> None:
        call = node.value
        assert isinstance(call, ast.Call)
        if self.header is not None:
            raise GrammarError("`check = Check(...)` stands once.", node.lineno)
        target = node.targets[0]
        if len(node.targets) != 1 or not isinstance(target, ast.Name) or target.id != "check":
            raise GrammarError("the Check must be called `check`.", node.lineno)
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        if len(call.args) != 1 or set(keywords) - {"of"} != {"points"}:
            raise GrammarError("write `check = Check(name, points=N)`.", node.lineno)
        name, points = _literal(call.args[0], "the name"), _literal(keywords["points"], "points")
        if not isinstance(name, str) or not isinstance(points, (int, float)) or points < 0:
            raise GrammarError("the name is a string, the points a number.", node.lineno)
        if node.lineno in self.hidden_lines:
            raise GrammarError("`check = Check(...)` must stand outside the hidden part.", node.lineno)
        self.header = (name, float(points))

    def read_call(self, kind: Kind, call: ast.Call, line: int) -> CheckCall:
        if len(call.args) != 3 or any(isinstance(arg, ast.Starred) for arg in call.args):
            raise GrammarError(f"write {_FORMS[kind]} and options by name.", line)
        options: dict[str, Any] = {}
        call.args[2] = _opened(call.args[2])
        for keyword in call.keywords:
            keyword.value = _opened(keyword.value)
            if keyword.arg not in _OPTIONS[kind]:
                raise GrammarError(f"{_FORMS[kind]} has no option {keyword.arg!r}.", line)
            options[keyword.arg] = (
                _wrong(keyword.value) if keyword.arg == "wrong" else _literal(keyword.value, keyword.arg)
            )
        label = _literal(call.args[0], "the label")
        if not isinstance(label, str) or not label.strip():
            raise GrammarError("the label is a string.", line)
        if label in self.labels:
            raise GrammarError(f"the label {label!r} stands twice.", line)
        self.labels.add(label)
        if options.get("weight", 1) <= 0 or options.get("limit", 1) <= 0:
            raise GrammarError("weight and limit are above 0.", line)
        if options.get("match") is not None:
            try:
                re.compile(options["match"])
            except re.error as error:
                raise GrammarError(f"match is no regular expression ({error}).", line) from None
        return CheckCall(
            kind=kind,
            label=label,
            thunk=_thunk(call.args[1]),
            expected=ast.unparse(call.args[2]) if kind == "value" else None,
            predicate=closed_lambda(call.args[2]) if kind == "that" else None,
            error=_error_names(call.args[2]) if kind == "raises" else (),
            hidden=line in self.hidden_lines,
            line=line,
            **options,
        )

    def refuse_bare_expected(self, body: list[ast.stmt]) -> None:
        """An expected value made by an input statement would travel into the run; it must stand in the check."""
        bound = {
            inner.id
            for node in body
            if not _is_call(node, "check")
            for inner in ast.walk(node)
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
        }
        for node in body:
            if _is_call(node, "check"):
                expected = node.value.args[2]  # type: ignore[attr-defined]
                if isinstance(expected, ast.Name) and expected.id in bound:
                    raise GrammarError(
                        f"the expected value is the bare name {expected.id!r}, bound in this cell: write the expression itself.",
                        node.lineno,
                    )


def _hidden_lines(source: str) -> Iterator[int]:
    begin = None
    for number, line in enumerate(source.split("\n"), 1):
        if BEGIN_HIDDEN in line:
            if begin is not None:
                raise GrammarError("the hidden part begins twice.", number)
            begin = number
        elif END_HIDDEN in line:
            if begin is None:
                raise GrammarError("the hidden part ends before it begins.", number)
            yield from range(begin, number + 1)
            begin = None
    if begin is not None:
        raise GrammarError(f"the hidden part has no end: add `{END_HIDDEN}`.", begin)


def _is_call(node: ast.stmt, function: str) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == function


def _opened(node: ast.expr) -> ast.expr:
    """What `Check.sealed(...)` holds; any other expression as it is."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "Check.sealed":
        return node
    try:
        opened = ast.parse(unseal(_literal(node.args[0], "what is sealed")), mode="eval").body
    except (SyntaxError, ValueError, TypeError, IndexError):
        raise GrammarError("what is sealed here was not sealed by the builder.", node.lineno) from None
    for inner in ast.walk(opened):
        if isinstance(inner, ast.expr | ast.arg | ast.keyword):
            inner.lineno = inner.end_lineno = node.lineno
    return opened


def _is_name_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _literal(node: ast.expr, what: str | None) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise GrammarError(f"{what} must be a literal.", node.lineno) from None


def _thunk(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Lambda) and len(node.args.args) == len(node.args.defaults):
        return ast.unparse(node)
    raise GrammarError("the thunk is a lambda without arguments, or the name of a function.", node.lineno)


def _error_names(node: ast.expr) -> tuple[str, ...]:
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    names = tuple(ast.unparse(item).rpartition(".")[2] for item in nodes if isinstance(item, (ast.Name, ast.Attribute)))
    if not names or len(names) != len(nodes):
        raise GrammarError("the error is the name of an exception, or a tuple of names.", node.lineno)
    return names


def _wrong(node: ast.expr) -> tuple[tuple[Any, str], ...]:
    if isinstance(node, ast.Dict):
        pairs = list(zip(node.keys, node.values, strict=True))
    elif isinstance(node, (ast.List, ast.Tuple)) and all(
        isinstance(item, ast.Tuple) and len(item.elts) == 2 for item in node.elts
    ):
        pairs = [(item.elts[0], item.elts[1]) for item in node.elts]  # type: ignore[attr-defined]
    else:
        raise GrammarError("wrong is a dict or a list of pairs.", node.lineno)
    result = []
    for key, sentence in pairs:
        if key is None:
            raise GrammarError("wrong is a dict without `**`.", node.lineno)
        result.append((_wrong_key(key), _literal(sentence, "the sentence of `wrong`")))
    return tuple(result)


def _wrong_key(node: ast.expr) -> Any:
    if isinstance(node, ast.Lambda):
        return closed_lambda(node)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return ErrorName(ast.unparse(node).rpartition(".")[2])
    if isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[0], (ast.Name, ast.Attribute)):
        text = _literal(node.elts[1], "what the exception's text contains")
        if not isinstance(text, str) or not text:
            raise GrammarError("write (ERROR, TEXT): what the exception's text contains is a string.", node.lineno)
        return ErrorName(ast.unparse(node.elts[0]).rpartition(".")[2], text)
    return _literal(node, "a key of `wrong`")
