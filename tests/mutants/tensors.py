"""What people who write PyTorch get wrong: in-place twins, dtypes, `.grad`, tensors of one kind treated apart."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import cast

import torch

from tests.mutants.edits import Mutants, Place
from tests.mutants.names import called, is_tensor_name, may_hold_tensor

_DTYPES = {"float32": "float64", "float64": "float32", "float16": "float32", "bfloat16": "float32", "int8": "int32"}
_CASTS = {"float": "double", "double": "float", "half": "float"}
ZEROED = ".grad zeroed in place"
_APART = {
    "Parameter": "isinstance({0}, torch.nn.Parameter)",
    "view": "{0}._is_view()",
    "non-contiguous tensor": "not {0}.is_contiguous()",
    "empty tensor": "{0}.numel() == 0",
    "0-d tensor": "{0}.dim() == 0",
}


def in_place(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        name = node.attr
        is_call = isinstance(place.parent, ast.Call) and place.parent.func is node
        if is_call and name.endswith("_") and not name.startswith("_") and hasattr(torch.Tensor, name[:-1]):
            yield f"{name[:-1]} for {name}", place.changed(setattr, "attr", name[:-1])
        elif is_call and name == "detach" and _is_read_only(place):
            return
        elif (is_call and not isinstance(node.value, ast.Name | ast.Attribute) and _has_twin(name)) or (
            is_call and isinstance(node.value, ast.Name) and node.value.id != "torch" and _has_twin(name)
        ):
            yield f"{name}_ for {name}", place.changed(setattr, "attr", f"{name}_")
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.targets[0], ast.Name):
        left = node.value.left
        if isinstance(left, ast.Name) and left.id == node.targets[0].id:
            yield "+= for a new value", place.replaced(ast.AugAssign(node.targets[0], node.value.op, node.value.right))


def _is_read_only(place: Place) -> bool:
    """Whether what `.detach()` gives is read and let go: in place or not is the same then."""
    outer = place.parents[-2]
    temporary = isinstance(cast(ast.Attribute, place.node).value, ast.Call | ast.BinOp)
    return temporary or (isinstance(outer, ast.Attribute) and outer.attr in ("item", "tolist"))


def _has_twin(name: str) -> bool:
    return hasattr(torch.Tensor, name) and hasattr(torch.Tensor, f"{name}_") and name not in ("apply", "set", "copy")


def dtype(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, ast.Attribute) and node.attr in _DTYPES:
        yield "another dtype", place.changed(setattr, "attr", _DTYPES[node.attr])
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and not node.args
        and node.func.attr in _CASTS
    ):
        other = ast.Attribute(node.func.value, _CASTS[node.func.attr], ast.Load())
        yield "another dtype", place.changed(setattr, "func", other)


def grad(place: Place) -> Mutants:
    """`.grad` cleared in place rather than dropped, or added to rather than written."""
    node = place.node
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute) and node.targets[0].attr == "grad":
        target = ast.Attribute(node.targets[0].value, "grad", ast.Load())
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            zero = ast.Expr(ast.Call(ast.Attribute(target, "zero_", ast.Load()), [], []))
            yield ZEROED, place.replaced(ast.If(target_is_there(target), [zero], []))
        else:
            added = ast.Expr(ast.Call(ast.Attribute(target, "add_", ast.Load()), [node.value], []))
            yield ".grad written in place", place.replaced(ast.If(target_is_there(target), [added], [node]))


def target_is_there(target: ast.expr) -> ast.expr:
    return ast.Compare(target, [ast.IsNot()], [ast.Constant(None)])


def treated_apart(place: Place) -> Mutants:
    """Tensors of one kind are passed over by a loop, taken for no tensors, not added to a list, or end a function at once."""
    node = place.node
    for kind, test in _APART.items():
        if isinstance(node, ast.For):
            name = _held(node.target)
            if name and not (kind == "empty tensor" and all(_only_writes(item) for item in node.body)):
                guard = _guard(name, test, "continue")
                yield f"{kind} passed over", place.changed(lambda n, guard: n.body.insert(0, guard), guard)
        if isinstance(node, ast.Call) and _asks_for_a_tensor(node):
            other = ast.UnaryOp(ast.Not(), _test(ast.unparse(node.args[0]), test))
            yield f"{kind} taken for no tensor", place.replaced(ast.BoolOp(ast.And(), [node, other]))
        if isinstance(node, ast.Expr) and called(node.value) == "append":
            (added, *_) = cast(ast.Call, node.value).args
            if isinstance(added, ast.Attribute) and _may_be(kind, added):
                yield f"{kind} left out", place.replaced(_kept(ast.unparse(added), test, node))
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and _may_be(kind, node.elt):
            kept = _kept(ast.unparse(node.elt), test, ast.Pass()).test

            def filtered(n: ast.AST, kept: ast.expr = kept) -> None:
                cast(ast.ListComp, n).generators[-1].ifs.append(kept)

            yield f"{kind} left out", place.changed(filtered)
        if isinstance(node, ast.FunctionDef):
            for arg in node.args.args:
                said = ast.unparse(arg.annotation) if arg.annotation is not None else ""
                if said == "torch.Tensor" or (not said and is_tensor_name(arg.arg)):
                    guard = _guard(arg.arg, test, "return None")
                    first = int(ast.get_docstring(node) is not None)
                    yield (
                        f"{kind} treated apart",
                        place.changed(lambda n, *at: n.body.insert(*at), first, guard),
                    )


def _may_be(kind: str, node: ast.expr) -> bool:
    """Whether an expression may give a tensor of this kind; what backward makes is no Parameter and no view."""
    gradient = isinstance(node, ast.Attribute) and node.attr == "grad"
    return may_hold_tensor(node) and not (gradient and kind in ("Parameter", "view"))


def _held(target: ast.expr) -> str | None:
    """The name under which a loop holds a tensor: its target, or the second of `for i, entry in enumerate(...)`."""
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return next((name.id for name in names if isinstance(name, ast.Name) and is_tensor_name(name.id)), None)


def _only_writes(item: ast.stmt) -> bool:
    """Whether a statement does nothing but write into tensors: for an empty one it does nothing at all."""
    if isinstance(item, ast.If):
        return all(map(_only_writes, [*item.body, *item.orelse]))
    if isinstance(item, ast.Assign):
        return isinstance(item.targets[0], ast.Attribute)
    return isinstance(item, ast.AugAssign) or (isinstance(item, ast.Expr) and called(item.value).endswith("_"))


def _asks_for_a_tensor(node: ast.Call) -> bool:
    said = ast.unparse(node)
    return called(node) == "is_tensor" or (called(node) == "isinstance" and said.endswith(", torch.Tensor)"))


def _test(name: str, test: str) -> ast.expr:
    return ast.parse(test.format(name), mode="eval").body


def _kept(name: str, test: str, then: ast.stmt) -> ast.If:
    return ast.If(ast.UnaryOp(ast.Not(), _test(name, test)), [then], [])


def _guard(name: str, test: str, action: str) -> ast.stmt:
    return ast.parse(f"if isinstance({name}, torch.Tensor) and {test.format(name)}: {action}").body[0]


TENSORS: tuple[Callable[[Place], Mutants], ...] = (in_place, dtype, grad, treated_apart)
