"""A place in a syntax tree, and a tree with something else in that place."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from tests.mutants.names import names_in

Path = tuple[tuple[str, int | None], ...]  #: from the root: a field, and an index where the field is a list
Mutants = Iterator[tuple[str, ast.Module]]  #: what was done, and the changed tree


@dataclass(frozen=True)
class Place:
    """A node of a tree, and how to get there."""

    tree: ast.Module
    path: Path
    node: ast.AST
    parents: tuple[ast.AST, ...]

    @property
    def parent(self) -> ast.AST:
        return self.parents[-1]

    def replaced(self, *by: ast.AST) -> ast.Module:
        """The tree with `by` in place of the node; a body that would be empty gets a `pass`.

        Only what lies on the way to the place is new: the trees of an answer's mutants share the rest.
        """
        new = [ast.fix_missing_locations(copy.deepcopy(node)) for node in by]
        for parent, (field, index) in zip(reversed(self.parents), reversed(self.path), strict=True):
            above = copy.copy(parent)
            if index is None:
                setattr(above, field, new[0])
            else:
                items = list(getattr(parent, field))
                items[index : index + 1] = new
                setattr(above, field, items or ([ast.Pass()] if field == "body" else []))
            new = [above]
        return cast(ast.Module, new[0])

    def changed(self, change: Callable[..., Any], *args: Any) -> ast.Module:
        """The tree in which the node was changed: `change` gets a copy of it, and `args`."""
        node = copy.deepcopy(self.node)
        change(node, *args)
        return self.replaced(node)

    @property
    def feeds_a_loop(self) -> bool:
        """Whether a `while` around the node looks at what the node changes: without that it would never end."""
        names = names_in(self.node)
        return any(isinstance(outer, ast.While) and names & names_in(outer.test) for outer in self.parents)


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
