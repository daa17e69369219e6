"""What people who write PyTorch get wrong: in-place twins, dtypes, `.grad`, tensors of one kind treated apart, recursion."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import cast

import torch

from tests.mutants.edits import Place
from tests.mutants.operators import Mutants

_DTYPES = {"float32": "float64", "float64": "float32", "float16": "float32", "bfloat16": "float32", "int8": "int32"}
_CASTS = {"float": "double", "double": "float", "half": "float"}
_APART = {
    "Parameter": "isinstance({0}, torch.nn.Parameter)",
    "view": "{0}._is_view()",
    "non-contiguous tensor": "not {0}.is_contiguous()",
    "empty tensor": "{0}.numel() == 0",
    "0-d tensor": "{0}.dim() == 0",
}
#: Names under which answers hold tensors. A graph's node or a folder treated apart would be no mutant at all.
_TENSOR = re.compile(
    r"[abgptwxyz]|arg|argument|element|gate|up|grad\w*|item|leaf|logp|old_logp|advantages|original|out|outputs?|packed|param|parameter|saved"
    r"|scale|tensor|value|weight"
)


def in_place(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        name = node.attr
        called = isinstance(place.parents[-1], ast.Call) and place.parents[-1].func is node
        if called and name.endswith("_") and not name.startswith("_") and hasattr(torch.Tensor, name[:-1]):
            yield f"{name[:-1]} for {name}", place.changed(lambda n: setattr(n, "attr", name[:-1]))
        elif (called and not isinstance(node.value, ast.Name | ast.Attribute) and _has_twin(name)) or (
            called and isinstance(node.value, ast.Name) and node.value.id != "torch" and _has_twin(name)
        ):
            yield f"{name}_ for {name}", place.changed(lambda n: setattr(n, "attr", f"{name}_"))
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.targets[0], ast.Name):
        left = node.value.left
        if isinstance(left, ast.Name) and left.id == node.targets[0].id:
            yield "+= for a new value", place.replaced(ast.AugAssign(node.targets[0], node.value.op, node.value.right))


def _has_twin(name: str) -> bool:
    return hasattr(torch.Tensor, name) and hasattr(torch.Tensor, f"{name}_") and name not in ("apply", "set", "copy")


def dtype(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, ast.Attribute) and node.attr in _DTYPES:
        yield "another dtype", place.changed(lambda n: setattr(n, "attr", _DTYPES[cast(ast.Attribute, n).attr]))
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and not node.args
        and node.func.attr in _CASTS
    ):
        other = ast.Attribute(node.func.value, _CASTS[node.func.attr], ast.Load())
        yield "another dtype", place.changed(lambda n: setattr(n, "func", other))


def grad(place: Place) -> Mutants:
    """`.grad` cleared in place rather than dropped, or added to rather than written."""
    node = place.node
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute) and node.targets[0].attr == "grad":
        target = ast.Attribute(node.targets[0].value, "grad", ast.Load())
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            zero = ast.Expr(ast.Call(ast.Attribute(target, "zero_", ast.Load()), [], []))
            yield ".grad zeroed in place", place.replaced(ast.If(target_is_there(target), [zero], []))
        else:
            added = ast.Expr(ast.Call(ast.Attribute(target, "add_", ast.Load()), [node.value], []))
            yield ".grad written in place", place.replaced(ast.If(target_is_there(target), [added], [node]))


def target_is_there(target: ast.expr) -> ast.expr:
    return ast.Compare(target, [ast.IsNot()], [ast.Constant(None)])


def treated_apart(place: Place) -> Mutants:
    """Tensors of one kind are passed over by a loop, or a function is done with them at once."""
    node = place.node
    if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and _TENSOR.fullmatch(node.target.id):
        for kind, test in _APART.items():
            guard = _guard(node.target.id, test, "continue")
            yield f"{kind} passed over", place.changed(lambda n, g=guard: cast(ast.For, n).body.insert(0, g))
    if isinstance(node, ast.FunctionDef):
        for arg in node.args.args:
            said = ast.unparse(arg.annotation) if arg.annotation is not None else ""
            if "Tensor" in said or (not said and _TENSOR.fullmatch(arg.arg)):
                for kind, test in _APART.items():
                    guard = _guard(arg.arg, test, "return None")
                    first = int(ast.get_docstring(node) is not None)
                    yield (
                        f"{kind} treated apart",
                        place.changed(lambda n, g=guard, at=first: cast(ast.FunctionDef, n).body.insert(at, g)),
                    )


def _guard(name: str, test: str, action: str) -> ast.stmt:
    line = f"if isinstance({name}, __import__('torch').Tensor) and {test.format(name)}: {action}"
    return ast.parse(line.replace("torch.nn", "__import__('torch').nn")).body[0]


def recursion(place: Place) -> Mutants:
    """A work list becomes a function that calls itself: right on what is small."""
    node = place.node
    if not (isinstance(node, ast.While) and isinstance(node.test, ast.Name) and not node.orelse and node.body):
        return
    stack, first = node.test.id, node.body[0]
    taken = first.value if isinstance(first, ast.Assign) and isinstance(first.targets[0], ast.Name) else None
    if not (
        isinstance(taken, ast.Call)
        and isinstance(taken.func, ast.Attribute)
        and ast.unparse(taken.func) in (f"{stack}.pop", f"{stack}.popleft")
    ):
        return
    name = cast(ast.Name, cast(ast.Assign, first).targets[0]).id
    visit = ast.parse(f"def _visit({name}): pass\nfor _first in list({stack}): _visit(_first)").body
    cast(ast.FunctionDef, visit[0]).body = [
        _Calls(stack).visit(item) for item in ast.parse(ast.unparse(node)).body[0].body[1:]
    ] or [ast.Pass()]  # type: ignore[attr-defined]
    yield "recursion for a work list", place.replaced(*visit)


class _Calls(ast.NodeTransformer):
    """Inside the body of a work list's loop: to put something on the list is to visit it, and to continue is to return."""

    def __init__(self, stack: str) -> None:
        self.stack, self.loops = stack, 0

    def visit_For(self, node: ast.For) -> ast.AST:
        self.loops += 1
        self.generic_visit(node)
        self.loops -= 1
        return node

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return node if self.loops else ast.Return(None)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
            if ast.unparse(call.func) in (f"{self.stack}.append", f"{self.stack}.appendleft"):
                return ast.Expr(ast.Call(ast.Name("_visit", ast.Load()), call.args, []))
            if ast.unparse(call.func) == f"{self.stack}.extend":
                loop = ast.parse("for _next in []: _visit(_next)").body[0]
                cast(ast.For, loop).iter = call.args[0]
                return loop
        return node


TENSORS: tuple[Callable[[Place], Mutants], ...] = (in_place, dtype, grad, treated_apart, recursion)
