"""A place in a syntax tree, and a tree with something else in that place."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Path = tuple[tuple[str, int | None], ...]  #: from the root: a field, and an index where the field is a list


@dataclass(frozen=True)
class Place:
    """A node of a tree, and how to get there."""

    tree: ast.Module
    path: Path
    node: ast.AST
    parents: tuple[ast.AST, ...]

    def replaced(self, *by: ast.AST) -> ast.Module:
        """A copy of the tree with `by` in place of the node; a list of statements that would be empty gets a `pass`."""
        tree = copy.deepcopy(self.tree)
        parent: ast.AST = tree
        for field, index in self.path[:-1]:
            value = getattr(parent, field)
            parent = value if index is None else value[index]
        field, index = self.path[-1]
        new = [copy.deepcopy(node) for node in by]
        if index is None:
            setattr(parent, field, new[0])
        else:
            items = getattr(parent, field)
            items[index : index + 1] = new
            if not items and field in ("body", "orelse") and (field == "body"):
                items.append(ast.Pass())
        return ast.fix_missing_locations(tree)

    def changed(self, change: Callable[[ast.AST], None]) -> ast.Module:
        """A copy of the tree in which the node was changed in place."""
        node = copy.deepcopy(self.node)
        change(node)
        return self.replaced(node)


def places(tree: ast.Module) -> Iterator[Place]:
    """Every node below the root, annotations and docstrings left out: what they say changes nothing."""

    def below(node: ast.AST, path: Path, parents: tuple[ast.AST, ...]) -> Iterator[Place]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "ctx", "type_params"):
                continue
            items = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            for index, child in items:
                if not isinstance(child, ast.AST) or _is_docstring(node, field, index, child):
                    continue
                here = (*path, (field, index))
                yield Place(tree, here, child, (*parents, node))
                yield from below(child, here, (*parents, node))

    yield from below(tree, (), ())


def _is_docstring(parent: ast.AST, field: str, index: int | None, child: ast.AST) -> bool:
    holds = isinstance(parent, (ast.Module, ast.FunctionDef, ast.ClassDef)) and field == "body" and index == 0
    return holds and isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
