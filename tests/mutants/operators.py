"""Small changes of syntax. Each takes a place and yields what it is called and the changed tree.

The choice follows what Python's mutation testers change (comparison, arithmetic, boolean, constant, statement, keyword, loop control),
and adds what the answers of this course are made of: methods left out, containers, arguments swapped, state kept.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import cast

from tests.mutants.edits import Place

Mutants = Iterator[tuple[str, ast.Module]]

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
_OTHER_METHOD = {"append": "appendleft", "appendleft": "append", "pop": "popleft", "popleft": "pop"}


def comparison(place: Place) -> Mutants:
    if isinstance(place.node, ast.Compare):
        for number, operator in enumerate(place.node.ops):
            for other in _COMPARE.get(type(operator), ()):
                if other is ast.Eq and isinstance(place.node.comparators[number], ast.Constant):
                    continue  # `x == None` is `x is None` for everything that a course hands out
                if other is ast.NotEq and isinstance(place.node.comparators[number], ast.Constant):
                    continue

                def change(node: ast.AST, number: int = number, other: type[ast.cmpop] = other) -> None:
                    cast(ast.Compare, node).ops[number] = other()

                yield "another comparison", place.changed(change)


def arithmetic(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _ARITHMETIC:
        other = _ARITHMETIC[type(node.op)]
        yield "another operator", place.changed(lambda n: setattr(n, "op", other()))
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
        yield "and for or", place.changed(lambda n: setattr(n, "op", other()))
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
                yield f"{field} bound left out", place.changed(lambda n, field=field: setattr(n, field, None))
            elif field != "step":
                moved = ast.Constant(1) if field == "lower" else ast.UnaryOp(ast.USub(), ast.Constant(1))
                yield "a slice moved by one", place.changed(lambda n, f=field, m=moved: setattr(n, f, m))


def condition(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        negated = ast.UnaryOp(ast.Not(), node.test)
        yield "a condition negated", place.changed(lambda n: setattr(n, "test", negated))
        for fixed in (True, False):
            if not (isinstance(node, ast.While) and fixed):  # it would never end
                yield (
                    f"a condition fixed to {fixed}",
                    place.changed(lambda n, fixed=fixed: setattr(n, "test", ast.Constant(fixed))),
                )
    if isinstance(node, ast.comprehension):
        for number in range(len(node.ifs)):
            yield (
                "a filter left out",
                place.changed(lambda n, number=number: cast(ast.comprehension, n).ifs.pop(number)),
            )


def statement(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, ast.Return) and node.value is not None:
        yield "return left out", place.replaced(ast.Expr(node.value))
    elif isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Delete, ast.For, ast.Try)):
        yield "a statement left out", place.replaced()
    if isinstance(node, ast.With):
        yield "a context manager left out", place.replaced(*node.body)
    if isinstance(node, ast.Try) and node.finalbody:
        yield "try left out", place.replaced(*node.body, *node.finalbody)
    if isinstance(node, ast.Continue):
        yield "break for continue", place.replaced(ast.Break())
    if isinstance(node, ast.Break):
        yield "continue for break", place.replaced(ast.Continue())


def call(place: Place) -> Mutants:
    node = place.node
    if not isinstance(node, ast.Call):
        return
    for number in range(len(node.keywords)):
        yield "a keyword left out", place.changed(lambda n, number=number: cast(ast.Call, n).keywords.pop(number))
    if len(node.args) == 2 and not any(isinstance(arg, ast.Starred) for arg in node.args):
        yield "two arguments swapped", place.changed(lambda n: cast(ast.Call, n).args.reverse())
    if isinstance(node.func, ast.Attribute):
        if (not node.args and not node.keywords and not isinstance(node.func.value, ast.Call | ast.Name)) or (
            not node.args and isinstance(node.func.value, (ast.Call, ast.Name)) and node.func.attr not in _NOT_OF_VALUES
        ):
            yield f".{node.func.attr}() left out", place.replaced(node.func.value)
        if (other := _OTHER_METHOD.get(node.func.attr)) is not None:
            renamed = ast.Attribute(node.func.value, other, ast.Load())
            yield f"{other} for {node.func.attr}", place.changed(lambda n: setattr(n, "func", renamed))
    if (
        isinstance(node.func, ast.Name)
        and node.func.id in ("list", "reversed", "tuple", "sorted")
        and len(node.args) == 1
    ):
        yield f"{node.func.id}() left out", place.replaced(node.args[0])


_NOT_OF_VALUES = {"no_grad", "enable_grad", "inference_mode", "pop", "popleft", "values", "items", "keys", "super"}


def container(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, ast.ListComp):
        yield "a set for a list", place.replaced(ast.SetComp(node.elt, node.generators))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list":
        yield "a set for a list", place.changed(lambda n: setattr(n, "func", ast.Name("set", ast.Load())))
    if isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Load) and len(node.elts) == 2:
        yield "the other order of a pair", place.changed(lambda n: cast(ast.Tuple, n).elts.reverse())


def kept_state(place: Place) -> Mutants:
    """What a call makes anew is made once: as a default argument, or at module level."""
    node = place.node
    if not isinstance(node, ast.FunctionDef) or node.args.vararg or node.args.kwarg:
        return
    for number, item in enumerate(node.body):
        value = item.value if isinstance(item, (ast.Assign, ast.AnnAssign)) else None
        target = item.targets[0] if isinstance(item, ast.Assign) else getattr(item, "target", None)
        empty = isinstance(value, (ast.List, ast.Dict)) or (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Name)
            and value.func.id in ("set", "dict", "list")
        )
        if not (empty and isinstance(target, ast.Name)):
            continue
        assert value is not None

        def change(n: ast.AST, number: int = number, name: str = target.id, value: ast.expr = value) -> None:
            function = cast(ast.FunctionDef, n)
            del function.body[number]
            function.args.kwonlyargs.append(ast.arg(name))
            function.args.kw_defaults.append(value)
            function.body = function.body or [ast.Pass()]

        yield "state in a default argument", place.changed(change)


OPERATORS: tuple[Callable[[Place], Mutants], ...] = (
    comparison,
    arithmetic,
    boolean,
    constant,
    slicing,
    condition,
    statement,
    call,
    container,
    kept_state,
)
