"""What the names in an answer stand for: where a change cannot make a difference, no mutant is made."""

from __future__ import annotations

import ast
import re

#: Names under which answers hold tensors. To a graph's node, a folder or a type the mistakes of tensors cannot happen.
_TENSOR = re.compile(
    r"[abgptuvwxyz]|arg|argument|element|entry|part|gate|up|grad\w*|item|leaf|logp|old_logp|advantages|original|out|outputs?|packed"
    r"|param|parameter|saved|scale|tensor|value|variable|weight"
)

#: Keywords that say how a drawing looks; no answer of the course is asked for a look.
STYLE = {"color", "fillcolor", "style", "fontname", "shape", "rankdir", "rank", "format", "name"}
STYLE |= {"graph_attr", "node_attr", "edge_attr"}


def is_tensor_name(name: str) -> bool:
    return _TENSOR.fullmatch(name) is not None


def may_hold_tensor(node: ast.AST) -> bool:
    """Whether a name, or the attribute at the end of a path, is one under which answers hold tensors."""
    if isinstance(node, ast.Name):
        return is_tensor_name(node.id)
    return isinstance(node, ast.Attribute) and is_tensor_name(node.attr)


def is_unique(node: ast.AST) -> bool:
    """Whether there is one object of each value, so that `is` and `==` agree: constants, types, dtypes, small numbers."""
    if isinstance(node, ast.Call):
        return called(node) in ("type", "len", "dim")
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Attribute) and "dtype" in node.attr)


def called(node: ast.AST) -> str:
    """The last name of what a call calls, "" for everything else."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def draws(node: ast.AST) -> bool:
    """Whether a call makes, or styles, a part of a drawing."""
    return called(node) in ("Digraph", "subgraph", "node", "edge", "edges", "attr")


def is_text(node: ast.AST) -> bool:
    """Whether an expression is a string put together on the spot."""
    if isinstance(node, ast.BinOp):
        return is_text(node.left) or is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def names_in(node: ast.AST) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
