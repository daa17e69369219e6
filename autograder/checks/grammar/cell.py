"""A parsed check cell: its calls, and the programs that a run gets of it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from autograder.checks.probe import DEFAULT_LIMIT
from autograder.checks.verdict import NO_EMPTY_FORM

EXPECTED_MARK = "\x00expected"  #: suffix of the label under which `program(expected=True)` observes the expected value

Kind = Literal["value", "that", "raises"]


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
            needed = {name for node in (*map(ast.parse, sources), *others) for name in loaded(node)}
            found: set[int] = set()
            while used := {index for index in inputs.keys() - found if names[index] & needed}:
                found |= used
                needed |= {name for index in used for name in loaded(inputs[index])}
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


def loaded(node: ast.AST) -> set[str]:
    """The names that a piece of syntax reads."""
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
