"""What goes wrong in a walk over a graph: a function that calls itself, a branch that is not followed."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import cast

from tests.mutants.edits import Mutants, Place


def recursion(place: Place) -> Mutants:
    """A work list becomes a function that calls itself: right on what is small."""
    node = place.node
    if not (isinstance(node, ast.While) and isinstance(node.test, ast.Name) and not node.orelse and node.body):
        return
    stack, first = node.test.id, node.body[0]
    taken = first.value if isinstance(first, ast.Assign) and isinstance(first.targets[0], ast.Name) else None
    if not (isinstance(taken, ast.Call) and ast.unparse(taken.func) in (f"{stack}.pop", f"{stack}.popleft")):
        return
    name = cast(ast.Name, cast(ast.Assign, first).targets[0]).id
    visit = ast.parse(f"def _visit({name}): pass\nfor _first in list({stack}): _visit(_first)").body
    inside = cast(ast.While, ast.parse(ast.unparse(node)).body[0]).body[1:]
    cast(ast.FunctionDef, visit[0]).body = [cast(ast.stmt, _Calls(stack).visit(item)) for item in inside] or [
        ast.Pass()
    ]
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
                loop = cast(ast.For, ast.parse("for _next in []: _visit(_next)").body[0])
                loop.iter = call.args[0]
                return loop
        return node


def spine(place: Place) -> Mutants:
    """Only the first edge of a node is followed further: what lies below a second branch is lost."""
    node = place.node
    if not isinstance(node, ast.For):
        return
    lists = {
        outer.test.id for outer in place.parents if isinstance(outer, ast.While) and isinstance(outer.test, ast.Name)
    }
    follows = [
        item
        for item in ast.walk(node)
        if isinstance(item, ast.Expr) and any(ast.unparse(item).startswith(f"{name}.append(") for name in lists)
    ]
    if len(follows) != 1:
        return

    class First(ast.NodeTransformer):
        def visit_Expr(self, item: ast.Expr) -> ast.AST:
            if ast.unparse(item) != ast.unparse(follows[0]):
                return item
            return ast.If(ast.parse("_at == 0", mode="eval").body, [item], [])

    def change(n: ast.AST) -> None:
        loop = cast(ast.For, First().visit(n))
        loop.target = ast.Tuple([ast.Name("_at", ast.Store()), loop.target], ast.Store())
        loop.iter = ast.Call(ast.Name("enumerate", ast.Load()), [loop.iter], [])

    yield "only the first edge followed", place.changed(change)


WALKS: tuple[Callable[[Place], Mutants], ...] = (recursion, spine)
