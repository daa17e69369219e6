"""Small changes of an expression. Each operator takes a place and yields what it did and the changed tree.

The choice follows what Python's mutation testers change: comparisons, arithmetic, conditions, constants, slices.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import cast

from tests.mutants.edits import Mutants, Place
from tests.mutants.names import is_unique, may_hold_tensor

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq, ast.Is),
    ast.NotEq: (ast.Eq, ast.IsNot),
    ast.Is: (ast.IsNot, ast.Eq),
    ast.IsNot: (ast.Is, ast.NotEq),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_IDENTITY = ({ast.Is, ast.Eq}, {ast.IsNot, ast.NotEq})


def comparison(place: Place) -> Mutants:
    if isinstance(place.node, ast.Compare):
        for number, operator in enumerate(place.node.ops):
            for other in _COMPARE.get(type(operator), ()):
                sides = ([place.node.left, *place.node.comparators])[number : number + 2]
                if {type(operator), other} in _IDENTITY and not _can_be_equal_twins(sides):
                    continue

                def change(node: ast.AST, number: int = number, other: type[ast.cmpop] = other) -> None:
                    cast(ast.Compare, node).ops[number] = other()

                yield "another comparison", place.changed(change)


def _can_be_equal_twins(sides: list[ast.expr]) -> bool:
    """Whether two objects may be equal and not the same, so that `is` and `==` differ."""
    nodes = any(isinstance(side, ast.Name) and not may_hold_tensor(side) for side in sides)
    return not nodes and not any(map(is_unique, sides))


def arithmetic(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, ast.AugAssign) and place.feeds_a_loop:
        return
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _ARITHMETIC:
        other = _ARITHMETIC[type(node.op)]
        yield "another operator", place.changed(setattr, "op", other())
    if isinstance(node, ast.AugAssign):
        yield "= for +=", place.replaced(ast.Assign([node.target], node.value))
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.MatMult, ast.Mod)):
        yield "operands swapped", place.replaced(ast.BinOp(node.right, node.op, node.left))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield "sign left out", place.replaced(node.operand)


def boolean(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield "and for or", place.changed(setattr, "op", other())
        for kept in node.values:
            yield (
                "part of a condition left out",
                place.replaced(
                    kept if len(node.values) == 2 else ast.BoolOp(node.op, [v for v in node.values if v is not kept])
                ),
            )
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not left out", place.replaced(node.operand)


def constant(place: Place) -> Mutants:
    node = place.node
    if not isinstance(node, ast.Constant) or isinstance(place.parents[-1], (ast.JoinedStr, ast.FormattedValue)):
        return
    value = node.value
    if isinstance(value, bool):
        yield "the other of True and False", place.replaced(ast.Constant(not value))
    elif isinstance(value, int):
        for other in (value + 1, value - 1):
            yield "a number moved by one", place.replaced(ast.Constant(other))
    elif isinstance(value, float):
        yield "another number", place.replaced(ast.Constant(value * 2 if value else 1.0))


def slicing(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, ast.Slice):
        for field in ("lower", "upper", "step"):
            if getattr(node, field) is not None:
                yield f"{field} bound left out", place.changed(setattr, field, None)
            elif field != "step":
                moved = ast.Constant(1) if field == "lower" else ast.UnaryOp(ast.USub(), ast.Constant(1))
                yield "a slice moved by one", place.changed(setattr, field, moved)


def condition(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        negated = ast.UnaryOp(ast.Not(), node.test)
        yield "a condition negated", place.changed(setattr, "test", negated)
        for fixed in (True, False):
            if not (isinstance(node, ast.While) and fixed):  # it would never end
                yield (
                    f"a condition fixed to {fixed}",
                    place.changed(setattr, "test", ast.Constant(fixed)),
                )
    if isinstance(node, ast.comprehension):
        for number in range(len(node.ifs)):
            yield (
                "a filter left out",
                place.changed(lambda n, at: n.ifs.pop(at), number),
            )

            def negate(n: ast.AST, number: int = number) -> None:
                tests = cast(ast.comprehension, n).ifs
                tests[number] = ast.UnaryOp(ast.Not(), tests[number])

            yield "a filter negated", place.changed(negate)


VALUES: tuple[Callable[[Place], Mutants], ...] = (comparison, arithmetic, boolean, constant, slicing, condition)
