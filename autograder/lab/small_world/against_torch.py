"""The small world of chapter 06 beside torch: the same expression in both, the gradients and the order torch uses.

An expression is a function of leaves that uses only what both kinds of tensor understand: `+ - * @`, `sum`, `exp`,
`relu`, `reshape`, `broadcast_to`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from autograder.lab.small_world.world import LAST, Node, Tensor

Shape = tuple[int, ...]

_SAME_NODE = {"Mm": "Matmul", "Expand": "Broadcast"} | dict.fromkeys(("View", "UnsafeView", "ReshapeAlias"), "Reshape")


def leaves_of(*data: torch.Tensor) -> list[Tensor]:
    """Small-world leaves that hold these arrays and require gradients."""
    return [Tensor(array, requires_grad=True) for array in data]


def torch_gradients(expression: Callable[..., Any], *data: torch.Tensor, grad: Any = None) -> list[torch.Tensor | None]:
    """The gradients torch computes for the same expression.

    Parameters
    ----------
    expression : callable
        Takes one tensor per array in `data`.
    *data : torch.Tensor
        Values of the leaves.
    grad : torch.Tensor, optional
        Gradient of the result; needed when the result has more than one element.

    Returns
    -------
    list
        One gradient per leaf, None where the result does not depend on it.
    """
    leaves = [array.detach().clone().requires_grad_() for array in data]
    expression(*leaves).backward(grad)
    return [leaf.grad for leaf in leaves]


def steps(nodes: Sequence[Node], leaves: Sequence[Tensor]) -> list[str]:
    """Small-world nodes in words that mean the same in torch.

    An operation is "2 Mul": the third operation by creation, of those in `nodes`, and what it is. An accumulator is
    "leaf 0", by the position of its leaf.
    """
    return _words([(n.name, n.sequence, _position(n.leaf, leaves)) for n in nodes])


def edge_counts(counts: Mapping[Node, int], leaves: Sequence[Tensor]) -> dict[str, int]:
    """What `dependencies` returned, in the words of `steps`."""
    return dict(zip(steps(list(counts), leaves), counts.values(), strict=True))


def torch_edge_counts(expression: Callable[..., Any], *data: torch.Tensor) -> dict[str, int]:
    """How many edges lead to each node of torch's graph for the same expression, in the words of `steps`."""
    leaves = [array.detach().clone().requires_grad_() for array in data]
    root = _not_a_clone(expression(*leaves).grad_fn)
    counts = {root: 0}
    waiting = [root]
    while waiting:
        for following, _ in waiting.pop().next_functions:
            if following is not None:
                node = _not_a_clone(following)
                if node not in counts:
                    counts[node] = 0
                    waiting.append(node)
                counts[node] += 1
    named = [(n.name(), n._sequence_nr(), _position(getattr(n, "variable", None), leaves)) for n in counts]
    return dict(zip(_words(named), counts.values(), strict=True))


def torch_steps(expression: Callable[..., Any], *data: torch.Tensor) -> list[str]:
    """The order in which torch's engine runs the nodes of the same expression, in the words of `steps`.

    Seen by a hook that torch calls before each node.
    """
    leaves = [array.detach().clone().requires_grad_() for array in data]
    result = expression(*leaves)
    ran: list[Any] = []
    handles = []
    seen = {result.grad_fn}
    waiting = [result.grad_fn]
    while waiting:
        node = waiting.pop()
        handles.append(node.register_prehook(lambda grads, node=node: ran.append(node)))
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    result.backward(torch.ones_like(result))
    for handle in handles:
        handle.remove()
    ran = [node for node in ran if _not_a_clone(node) is node]
    return _words([(n.name(), n._sequence_nr(), _position(getattr(n, "variable", None), leaves)) for n in ran])


def _not_a_clone(node: Any) -> Any:
    """Where reshape cannot give a view, torch copies first and records that as a node of its own: step over it."""
    while node.name().startswith("CloneBackward"):
        node = node.next_functions[0][0]
    return node


def _position(leaf: Any, leaves: Sequence[Any]) -> int | None:
    return next((i for i, known in enumerate(leaves) if known is leaf), None) if leaf is not None else None


def _words(nodes: list[tuple[str, int, int | None]]) -> list[str]:
    rank = {sequence: i for i, sequence in enumerate(sorted({s for _, s, _ in nodes if s != LAST}))}
    return [
        f"leaf {leaf}" if sequence == LAST else f"{rank[sequence]} {_operation(name)}" for name, sequence, leaf in nodes
    ]


def _operation(name: str) -> str:
    """MulBackward and MulBackward0 are both "Mul"."""
    short = name.rsplit("::", 1)[-1].split("Backward")[0]
    return _SAME_NODE.get(short, short)


@dataclass(frozen=True)
class Program:
    """A random expression: leaves of given shapes, and operations on them and on earlier results.

    Attributes
    ----------
    shapes : tuple of tuple of int
        Of the leaves.
    lines : tuple
        (operation, positions of its operands, argument), in order. Results follow the leaves in the numbering.
    """

    shapes: tuple[Shape, ...]
    lines: tuple[tuple[str, tuple[int, ...], Any], ...]

    def data(self) -> list[torch.Tensor]:
        """Values for the leaves in float64, from torch's generator."""
        return [torch.randn(s, dtype=torch.float64) for s in self.shapes]

    def __call__(self, *leaves: Any) -> Any:
        """The sum of the last result and of every value nothing else used, as one 0-d tensor."""
        values = list(leaves)
        used: set[int] = set()
        for name, operands, argument in self.lines:
            used.update(operands)
            values.append(_OPERATIONS[name](*(values[i] for i in operands), argument))
        total = values[-1].sum()
        for i in range(len(leaves), len(values) - 1):
            if i not in used:
                total = total + values[i].sum()
        return total


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, _: a + b,
    "sub": lambda a, b, _: a - b,
    "mul": lambda a, b, _: a * b,
    "matmul": lambda a, b, _: a @ b,
    "neg": lambda a, _: -a,
    "relu": lambda a, _: a.relu(),
    "exp": lambda a, _: (-(a.relu())).exp(),  # bounded, so that long programs stay finite
    "sum": lambda a, argument: a.sum(*argument),
    "reshape": lambda a, argument: a.reshape(argument),
    "broadcast": lambda a, argument: a.broadcast_to(argument),
}


def random_program(length: int, rng: Any = random) -> Program:
    """Draw an expression of `length` operations over two to four leaves, with broadcasting of every kind.

    Parameters
    ----------
    length : int
        How many operations, at least 1.
    rng : random.Random, optional
        Where the draws come from; the module `random` unless given.
    """
    base = tuple(rng.randint(1, 3) for _ in range(rng.randint(1, 3)))
    shapes: list[Shape] = [_sub_shape(base, rng) for _ in range(rng.randint(2, 4))]
    leaves = tuple(shapes)
    lines: list[tuple[str, tuple[int, ...], Any]] = []
    while len(lines) < length:
        drawn = _draw(rng.choice(tuple(_OPERATIONS)), shapes, rng)
        if drawn is not None and math.prod(drawn[1]) <= 64:
            lines.append(drawn[0])
            shapes.append(drawn[1])
    return Program(leaves, tuple(lines))


def _sub_shape(base: Shape, rng: Any) -> Shape:
    """A shape that broadcasts to `base`: some leading sizes dropped, some others one."""
    kept = base[rng.randint(0, len(base)) :]
    return tuple(1 if rng.random() < 0.3 else n for n in kept)


def _draw(name: str, shapes: list[Shape], rng: Any) -> tuple[tuple[str, tuple[int, ...], Any], Shape] | None:
    """One line and its result's shape; None when the drawn operands do not fit."""
    i, j = rng.randrange(len(shapes)), rng.randrange(len(shapes))
    a, b = shapes[i], shapes[j]
    if name in ("add", "sub", "mul"):
        try:
            return (name, (i, j), None), tuple(torch.broadcast_shapes(a, b))
        except RuntimeError:
            return None
    if name == "matmul":
        matrices = [k for k, s in enumerate(shapes) if len(s) == 2]
        fitting = [(k, m) for k in matrices for m in matrices if shapes[k][1] == shapes[m][0]]
        if not fitting:
            return None
        i, j = rng.choice(fitting)
        return (name, (i, j), None), (shapes[i][0], shapes[j][1])
    if name == "sum":
        if not a:
            return None
        dims = tuple(sorted(rng.sample(range(len(a)), rng.randint(1, len(a)))))
        keep = rng.random() < 0.5
        kept = tuple(1 if d in dims else n for d, n in enumerate(a))
        return (name, (i,), (dims, keep)), kept if keep else tuple(n for d, n in enumerate(a) if d not in dims)
    if name == "reshape":
        size = math.prod(a)
        rows = rng.choice([n for n in range(1, size + 1) if size % n == 0])
        return (name, (i,), (rows, size // rows)), (rows, size // rows)
    if name == "broadcast":
        target = (rng.randint(1, 3), *(rng.randint(1, 3) if n == 1 else n for n in a))
        return (name, (i,), target), target
    return (name, (i,), None), a
