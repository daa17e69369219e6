"""The small world of chapter 06: tensors that record a graph while they compute, and no engine to run it backward.

A `Tensor` wraps an array: a torch tensor without autograd, a plain number, or `arrays.Array`. An operation computes its
result at once and, when an operand needs a gradient, leaves a `Node` behind. The reader writes the engine.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from autograder.lab.small_world import arrays
from autograder.lab.small_world.arrays import broadcast_to, reshape, sizes, sum_to

LAST = 2**64 - 1  #: the sequence of every AccumulateGrad, as in torch

_created = count()
_listeners: list[list[Node]] = []


class Node:
    """One step of the backward pass.

    Attributes
    ----------
    name : str
        "AddBackward", "MulBackward", ..., or "AccumulateGrad".
    next : tuple of Node or None
        One entry per tensor operand of the forward operation, in order; None where no gradient is needed.
    sequence : int
        Rises with creation. `LAST` for an AccumulateGrad.
    leaf : Tensor or None
        The leaf whose `grad` an AccumulateGrad stands for; None for an operation.
    saved : tuple or None
        What the rule needs from the forward pass. None once released. () when nothing is needed.
    rule : callable or None
        `rule(grad)` turns the gradient of the operation's result into a tuple of gradients, one per entry of `next`,
        each of its operand's shape, None where `next` is None. It changes nothing, and it may hand back the same array
        twice, a view, or `grad` itself. None for an AccumulateGrad: there the engine writes `leaf.grad`.
    """

    def __init__(
        self,
        name: str,
        next: tuple[Node | None, ...] = (),
        local: tuple[Callable[..., Any], ...] = (),
        saved: tuple[Any, ...] = (),
        leaf: Tensor | None = None,
    ) -> None:
        self.name, self.next, self.saved, self.leaf = name, next, saved, leaf
        self.sequence = next_sequence() if leaf is None else LAST
        self._local = local

    @property
    def rule(self) -> Callable[[Any], tuple[Any, ...]] | None:
        return None if self.leaf is not None else self._apply

    def _apply(self, grad: Any) -> tuple[Any, ...]:
        for runs in _listeners:
            runs.append(self)
        saved = self.saved
        if saved is None:
            raise RuntimeError(f"{self.name} was released: its rule has nothing left to work with.")
        edges = zip(self.next, self._local, strict=True)
        return tuple([None if node is None else local(grad, *saved) for node, local in edges])

    def __repr__(self) -> str:
        return f"<{self.name}>" if self.leaf is not None else f"<{self.name} {self.sequence}>"


class Tensor:
    """An array that remembers how it was made.

    Parameters
    ----------
    data : array
        A torch tensor that does not require grad, a number, or an `Array`.
    requires_grad : bool
        Makes it a leaf with an AccumulateGrad of its own, which it keeps for life.

    Attributes
    ----------
    grad : array or None
        Written by the engine, for leaves only.
    node : Node or None
        The node that hands on this tensor's gradient; None when none is needed.
    """

    def __init__(self, data: Any, requires_grad: bool = False) -> None:
        if getattr(data, "requires_grad", False):
            raise TypeError("A small-world Tensor holds plain arrays. Pass data.detach().")
        self.data = data
        self.requires_grad = requires_grad
        self.grad: Any = None
        self.node = Node("AccumulateGrad", leaf=self) if requires_grad else None

    @property
    def shape(self) -> tuple[int, ...]:
        return sizes(self.data)

    def __add__(self, other: Any) -> Tensor:
        a, b = self, tensor(other)
        first, second = a.shape, b.shape  # the rule keeps shapes, never the operands
        local = (lambda g: sum_to(g, first), lambda g: sum_to(g, second))
        return _result("AddBackward", a.data + b.data, (a, b), local)

    def __sub__(self, other: Any) -> Tensor:
        a, b = self, tensor(other)
        first, second = a.shape, b.shape
        local = (lambda g: sum_to(g, first), lambda g: sum_to(-g, second))
        return _result("SubBackward", a.data - b.data, (a, b), local)

    def __mul__(self, other: Any) -> Tensor:
        a, b = self, tensor(other)
        local = (lambda g, x, y: sum_to(g * y, sizes(x)), lambda g, x, y: sum_to(g * x, sizes(y)))
        return _result("MulBackward", a.data * b.data, (a, b), local, (a.data, b.data))

    def __neg__(self) -> Tensor:
        return _result("NegBackward", -self.data, (self,), (lambda g: -g,))

    def __matmul__(self, other: Tensor) -> Tensor:
        """Product of two matrices."""
        local = (lambda g, x, y: g @ y.mT, lambda g, x, y: x.mT @ g)
        return _result("MatmulBackward", self.data @ other.data, (self, other), local, (self.data, other.data))

    def sum(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
        """Sum over `dim`, or over every dimension."""
        full = self.shape
        dims = tuple(range(len(full))) if dim is None else (dim,) if isinstance(dim, int) else dim
        summed = {d % len(full) for d in dims}
        kept = tuple(1 if d in summed else n for d, n in enumerate(full))
        data = arrays.sum_over(self.data, dims, keepdim)
        return _result("SumBackward", data, (self,), (lambda g: broadcast_to(reshape(g, kept), full),))

    def exp(self) -> Tensor:
        data = arrays.exp(self.data)
        return _result("ExpBackward", data, (self,), (lambda g, y: g * y,), (data,))

    def relu(self) -> Tensor:
        data = arrays.relu(self.data)
        return _result("ReluBackward", data, (self,), (lambda g, y: g * arrays.sign(y),), (data,))

    def reshape(self, new_shape: tuple[int, ...]) -> Tensor:
        old = self.shape
        return _result("ReshapeBackward", reshape(self.data, new_shape), (self,), (lambda g: reshape(g, old),))

    def broadcast_to(self, new_shape: tuple[int, ...]) -> Tensor:
        old = self.shape
        return _result("BroadcastBackward", broadcast_to(self.data, new_shape), (self,), (lambda g: sum_to(g, old),))

    def __radd__(self, other: Any) -> Tensor:
        return tensor(other) + self

    def __rsub__(self, other: Any) -> Tensor:
        return tensor(other) - self

    def __rmul__(self, other: Any) -> Tensor:
        return tensor(other) * self

    def __repr__(self) -> str:
        return f"Tensor({self.data!r}, node={self.node!r})"


def tensor(value: Any) -> Tensor:
    """The value itself when it is a Tensor, else a Tensor that needs no gradient."""
    return value if isinstance(value, Tensor) else Tensor(value)


def chain(leaf: Tensor, length: int, kind: type[Node] = Node) -> Tensor:
    """A tensor with `length` nodes between it and `leaf`, each handing its gradient on as it is.

    For trying an engine on a deep graph: only the nodes are made, of the given kind, and no array is computed.
    """
    node = leaf.node
    local = (_as_it_is,)
    with _without_collections():
        for _ in range(length):
            node = kind("AddBackward", (node,), local)
    end = Tensor(leaf.data)
    end.requires_grad, end.node = True, node
    return end


@contextmanager
def _without_collections() -> Iterator[None]:
    """Keep the garbage collector out: thousands of objects that all stay make it search in vain, for half of the time."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _as_it_is(grad: Any) -> Any:
    return grad


def next_sequence() -> int:
    """One more than the time before."""
    return next(_created)


@contextmanager
def record_runs() -> Iterator[list[Node]]:
    """Note each node whose rule is called in the block, in order, once per call."""
    runs: list[Node] = []
    _listeners.append(runs)
    try:
        yield runs
    finally:
        # By identity: two lists that hold the same nodes are equal.
        _listeners[:] = [kept for kept in _listeners if kept is not runs]


def _result(
    name: str,
    data: Any,
    operands: tuple[Tensor, ...],
    local: tuple[Callable[..., Any], ...],
    saved: tuple[Any, ...] = (),
) -> Tensor:
    """The result of an operation, with a node when an operand needs a gradient."""
    made = Tensor(data)
    edges = tuple(operand.node for operand in operands)
    if any(edge is not None for edge in edges):
        made.requires_grad = True
        made.node = Node(name, edges, local, saved)
    return made
