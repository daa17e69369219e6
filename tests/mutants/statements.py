"""Changes of what an answer does: something left out, done twice or with other arguments, another container, state that is kept."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import cast

from tests.mutants.edits import Mutants, Place
from tests.mutants.names import STYLE, called, draws, is_text

_OTHER_METHOD = {"append": "appendleft", "appendleft": "append", "pop": "popleft", "popleft": "pop"}
_NO_VALUE_WITHOUT = {"pop", "popleft", "values", "items", "keys", "super", "no_grad", "enable_grad", "inference_mode"}
#: To call these a second time changes nothing, or nothing but a look.
_ONCE_IS_ENOUGH = {"add", "update", "discard", "clear", "close", "node", "attr", "zero_grad", "mkdir", "setdefault"}
_ONCE_IS_ENOUGH |= {
    "zero_",
    "copy_",
    "fill_",
    "detach_",
    "requires_grad_",
    "save_for_backward",
    "set_materialize_grads",
}
_ONCE_IS_ENOUGH |= {"mark_non_differentiable", "mark_dirty", "synchronize", "collect", "seed", "manual_seed", "clear_"}
_STATEMENTS = (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Delete, ast.For, ast.Try)
#: The other order of these arguments ends at once, in every answer alike.
_ONE_ORDER = {"isinstance", "issubclass", "getattr", "hasattr", "setattr"}


def statement(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, ast.Expr) and called(node.value) == "attr" and draws(node.value):
        return  # a look
    if isinstance(node, ast.Return) and node.value is not None:
        yield "return left out", place.replaced(ast.Expr(node.value))
    elif isinstance(node, _STATEMENTS) and not place.feeds_a_loop:
        yield "a statement left out", place.replaced()
    counts = isinstance(node, ast.AugAssign) and not is_text(node.value)
    acts = isinstance(node, ast.Expr) and called(node.value) not in {"", *_ONCE_IS_ENOUGH}
    if (counts or acts) and not place.feeds_a_loop:
        yield "a statement done twice", place.replaced(node, node)
    if isinstance(node, ast.If) and node.orelse:
        yield "else left out", place.changed(setattr, "orelse", [])
    if isinstance(node, ast.With):
        if len(node.items) == 1:
            yield "a context manager left out", place.replaced(*node.body)
        else:
            for number in range(len(node.items)):
                yield "a context manager left out", place.changed(lambda n, at: n.items.pop(at), number)
    if isinstance(node, ast.Try) and node.finalbody:
        yield "try left out", place.replaced(*node.body, *node.finalbody)
    if isinstance(node, ast.Continue):
        yield "break for continue", place.replaced(ast.Break())
    if isinstance(node, ast.Break):
        yield "continue for break", place.replaced(ast.Continue())
    if isinstance(node, ast.FunctionDef):
        for number, decorator in enumerate(node.decorator_list):
            if ast.unparse(decorator) != "staticmethod":  # what is called on its class needs none
                yield (
                    "a decorator left out",
                    place.changed(lambda n, at: n.decorator_list.pop(at), number),
                )


def call(place: Place) -> Mutants:
    node = place.node
    if not isinstance(node, ast.Call):
        return
    for number, keyword in enumerate(node.keywords):
        look = draws(node) and (keyword.arg in STYLE or called(node) in ("edge", "attr"))
        if not look:
            yield "a keyword left out", place.changed(lambda n, at: n.keywords.pop(at), number)
    two = len(node.args) == 2 and not any(isinstance(arg, ast.Starred) for arg in node.args)
    if two and called(node) not in _ONE_ORDER:
        yield "two arguments swapped", place.changed(lambda n: n.args.reverse())
    if isinstance(node.func, ast.Attribute):
        name = node.func.attr
        bare = not node.args and not (node.keywords and not isinstance(node.func.value, ast.Call | ast.Name))
        if bare and name not in _NO_VALUE_WITHOUT and not draws(node) and not _reads_numbers(place):
            yield f".{name}() left out", place.replaced(node.func.value)
        if (other := _OTHER_METHOD.get(name)) is not None:
            renamed = ast.Attribute(node.func.value, other, ast.Load())
            yield f"{other} for {name}", place.changed(setattr, "func", renamed)
    elif called(node) in ("list", "reversed", "tuple", "sorted") and len(node.args) == 1 and not node.keywords:
        yield f"{called(node)}() left out", place.replaced(node.args[0])


def _reads_numbers(place: Place) -> bool:
    """Whether what is detached is only read: `loss.detach().item()` is `loss.item()`."""
    reads = isinstance(place.parent, ast.Attribute) and place.parent.attr in ("item", "tolist")
    return called(place.node) == "detach" and reads


def container(place: Place) -> Mutants:
    node = place.node
    if isinstance(node, ast.ListComp):
        yield "a set for a list", place.replaced(ast.SetComp(node.elt, node.generators))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list":
        yield "a set for a list", place.changed(setattr, "func", ast.Name("set", ast.Load()))
    pair = isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Load) and len(node.elts) == 2
    if pair and not _any_order(place):
        yield "the other order of a pair", place.changed(lambda n: n.elts.reverse())


def _any_order(place: Place) -> bool:
    """Whether the order of a pair means nothing: alternatives of a type, of a membership, of an exception."""
    parent = place.parent
    if isinstance(parent, ast.Compare):
        return isinstance(parent.ops[0], (ast.In, ast.NotIn))
    return called(parent) in ("isinstance", "issubclass", "startswith", "endswith") or isinstance(
        parent, ast.ExceptHandler
    )


def kept_state(place: Place) -> Mutants:
    """What each call makes anew is made once: as a default argument, or at module level."""
    node = place.node
    if not isinstance(node, ast.FunctionDef) or not isinstance(place.parent, (ast.Module, ast.ClassDef)):
        return  # a function inside a function is made anew by each call, and its defaults with it
    for number, item in enumerate(node.body):
        for name, value, rest in _made_empty(item):

            def as_default(
                n: ast.AST, number: int = number, name: str = name, value: ast.expr = value, rest: list[ast.stmt] = rest
            ) -> None:
                function = cast(ast.FunctionDef, n)
                function.body[number : number + 1] = rest
                function.args.kwonlyargs.append(ast.arg(name))
                function.args.kw_defaults.append(value)
                function.body = function.body or [ast.Pass()]

            if not node.args.kwarg:
                yield "state in a default argument", place.changed(as_default)
            if isinstance(place.parent, ast.Module):
                body = [*node.body[:number], *rest, *node.body[number + 1 :]] or [ast.Pass()]
                function = ast.FunctionDef(
                    name=node.name, args=node.args, body=body, decorator_list=node.decorator_list, returns=node.returns
                )
                yield (
                    "state at module level",
                    place.replaced(ast.Assign([ast.Name(name, ast.Store())], value), function),
                )


def _made_empty(item: ast.stmt) -> list[tuple[str, ast.expr, list[ast.stmt]]]:
    """The names that a statement binds to new containers: name, container, and what the statement does besides."""
    if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.value is not None:
        return [(item.target.id, item.value, [])] if _is_empty(item.value) else []
    if not isinstance(item, ast.Assign):
        return []
    target = item.targets[0]
    if isinstance(target, ast.Name):
        return [(target.id, item.value, [])] if _is_empty(item.value) else []
    if not (isinstance(target, ast.Tuple) and isinstance(item.value, ast.Tuple)):
        return []
    pairs = list(zip(target.elts, item.value.elts, strict=False))
    return [
        (name.id, value, [ast.Assign([other], its) for other, its in pairs if other is not name])
        for name, value in pairs
        if isinstance(name, ast.Name) and _is_empty(value)
    ]


def _is_empty(value: ast.expr) -> bool:
    if isinstance(value, ast.List):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.keys
    return (
        called(value) in ("set", "dict", "list", "Counter", "deque", "defaultdict")
        and isinstance(value, ast.Call)
        and (not value.args or called(value) == "defaultdict")
    )


STATEMENTS: tuple[Callable[[Place], Mutants], ...] = (statement, call, container, kept_state)
