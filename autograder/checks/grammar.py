"""The grammar of check cells: what may stand in one, what a graded run gets of it, and what the judge keeps.

A check cell is input statements and top-level calls of `check`, nothing else; docs/design.md has the list. The run gets the
input statements and the thunks. Expected values, predicates, `wrong`, `hint` and `match` never leave the judge.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from autograder.checks.observe import MAX_ELEMENTS
from autograder.checks.probe import DEFAULT_LIMIT
from autograder.checks.sealing import unseal
from autograder.checks.verdict import NO_EMPTY_FORM, ErrorName

BEGIN_HIDDEN = "### BEGIN HIDDEN TESTS"
END_HIDDEN = "### END HIDDEN TESTS"
EXPECTED_MARK = "\x00expected"  #: suffix of the label under which `program(expected=True)` observes the expected value

Kind = Literal["value", "that", "raises"]
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


@dataclass(frozen=True)
class CheckCall:
    """One check of a cell.

    Attributes
    ----------
    expected : str or None
        Source of the expected argument ("value").
    predicate : callable or None
        The closed lambda ("that").
    error : tuple of str
        Exception names ("raises").
    wrong : tuple of (key, sentence)
        Keys as `checks.verdict.explanation` reads them.
    empty : object
        What the thunk gives before anything was predicted ("value").
    hidden : bool
        Whether the call stands between the hidden-test marks.
    """

    kind: Kind
    label: str
    thunk: str
    expected: str | None = None
    predicate: Callable[[Any], Any] | None = None
    error: tuple[str, ...] = ()
    match: str | None = None
    wrong: tuple[tuple[Any, str], ...] = ()
    hint: str = ""
    rtol: float | None = None
    atol: float | None = None
    limit: float = DEFAULT_LIMIT
    weight: float = 1.0
    empty: Any = NO_EMPTY_FORM
    hidden: bool = False
    line: int = 0


@dataclass(frozen=True)
class CheckCell:
    """A parsed check cell.

    Attributes
    ----------
    exercise : str
        The name given to `Check`.
    points : float
        The points given to `Check`.
    statements : tuple of str or CheckCall
        In order; a str is the source of an input statement.
    hidden_inputs : frozenset of int
        Indices of the input statements that stand between the hidden-test marks.
    """

    exercise: str
    points: float
    statements: tuple[str | CheckCall, ...]
    hidden_inputs: frozenset[int] = frozenset()

    @property
    def calls(self) -> tuple[CheckCall, ...]:
        return tuple(item for item in self.statements if isinstance(item, CheckCall))

    @property
    def total_weight(self) -> float:
        return sum(call.weight for call in self.calls)

    @property
    def hidden_share(self) -> float:
        """The part of the points that rests on hidden checks, 0 to 1."""
        return sum(call.weight for call in self.calls if call.hidden) / self.total_weight

    @cached_property
    def for_expected_only(self) -> frozenset[int]:
        """Indices of input statements that define what expected arguments need and no thunk, also by way of others.

        Definitions without decorators, and assignments that call nothing: to leave them out changes nothing else.
        """
        inputs = {index: ast.parse(item).body[0] for index, item in enumerate(self.statements) if isinstance(item, str)}
        names = {index: _defines(node) for index, node in inputs.items()}

        def reached(sources: list[str], *others: ast.AST) -> set[int]:
            needed = {name for node in (*map(ast.parse, sources), *others) for name in _loaded(node)}
            found: set[int] = set()
            while used := {index for index in inputs.keys() - found if names[index] & needed}:
                found |= used
                needed |= {name for index in used for name in _loaded(inputs[index])}
            return found

        by_run = reached([call.thunk for call in self.calls], *(inputs[i] for i in inputs if not names[i]))
        return frozenset(reached([call.expected for call in self.calls if call.expected is not None]) - by_run)

    def program(self, part: Literal["visible", "hidden"] = "visible", *, expected: bool = False) -> str:
        """What a run gets of one part: input statements, and `check(label, thunk, limit=...)` per check.

        Parameters
        ----------
        part : {"visible", "hidden"}
            The hidden part goes on where the visible one has ended. Empty where the cell has none.
        expected : bool
            Also observe every expected argument, under the label + `EXPECTED_MARK`. For trusted runs only: the build, and
            a learner's own check. Other runs do not get what only expected arguments need.
        """
        lines = []
        for index, item in enumerate(self.statements):
            if not expected and index in self.for_expected_only:
                continue
            is_hidden = index in self.hidden_inputs if isinstance(item, str) else item.hidden
            if is_hidden != (part == "hidden"):
                continue
            if isinstance(item, str):
                lines.append(item)
            else:
                lines.append(f"check({item.label!r}, {item.thunk}, limit={item.limit!r})")
                if expected and item.expected is not None:
                    lines.append(
                        f"check({item.label + EXPECTED_MARK!r}, lambda: ({item.expected}), limit={item.limit!r})"
                    )
        return "\n".join(lines)


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


def _loaded(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)}


def _defines(node: ast.stmt) -> set[str]:
    """The names that a statement binds, where it does nothing else."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.decorator_list:
        return {node.name}
    if isinstance(node, ast.Assign) and not any(isinstance(inner, ast.Call) for inner in ast.walk(node)):
        targets = [inner for target in node.targets for inner in ast.walk(target)]
        if all(isinstance(inner, (ast.Name, ast.Tuple, ast.Store)) for inner in targets):
            return {inner.id for inner in targets if isinstance(inner, ast.Name)}
    return set()


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
