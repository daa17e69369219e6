"""The few functions that chapter 06 asks of an array: a torch tensor, a plain number, or a tiny array without torch.

An engine written with `sizes`, `+`, `*`, `sum_over`, `reshape`, `ones_like` and `copy` runs over all three. The other
functions serve the world's own rules. Nothing here imports torch: a tensor brings its methods along, and `Array` has
methods of the same names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Shape = tuple[int, ...]


def sizes(a: Any) -> Shape:
    """The sizes of an array as a tuple of ints; () for a number."""
    return tuple(a.shape) if hasattr(a, "shape") else ()


def sum_over(a: Any, dim: Shape, keepdim: bool = False) -> Any:
    """Sum an array over the dimensions in `dim`. As in torch, an empty `dim` means every dimension."""
    return a.sum(dim=dim, keepdim=keepdim) if hasattr(a, "shape") else a


def reshape(a: Any, new_shape: Shape) -> Any:
    """The same elements in another shape; may share memory with `a`."""
    if hasattr(a, "shape"):
        return a.reshape(new_shape)
    return a if not new_shape else Array(a).reshape(new_shape)


def ones_like(a: Any) -> Any:
    """An array of ones with the shape and dtype of `a`."""
    return a.new_ones(a.shape) if hasattr(a, "shape") else 1.0


def copy(a: Any) -> Any:
    """An array of equal values that shares memory with nothing."""
    return a.clone() if hasattr(a, "shape") else a


def sum_to(a: Any, target: Shape) -> Any:
    """Sum `a` down to the shape that was broadcast to it; `a` itself when the shapes agree already."""
    return a if sizes(a) == tuple(target) else a.sum_to_size(tuple(target))


def broadcast_to(a: Any, target: Shape) -> Any:
    """Repeat `a` along new or size-one dimensions; in torch a view whose repeated dimensions have stride 0."""
    if hasattr(a, "shape"):
        return a.broadcast_to(tuple(target))
    return a if not target else Array(a).broadcast_to(tuple(target))


def exp(a: Any) -> Any:
    return a.exp() if hasattr(a, "shape") else math.exp(a)


def relu(a: Any) -> Any:
    return a.relu() if hasattr(a, "shape") else max(a, 0.0)


def sign(a: Any) -> Any:
    return a.sign() if hasattr(a, "shape") else float((a > 0) - (a < 0))


class Array:
    """A dense array in plain Python: a flat list in row-major order, and a shape.

    Only as much as the small world of chapter 06 needs, under the names torch uses. `reshape` shares the list with its
    source, as a view does, and `+=` writes into it: an engine that aliases buffers goes wrong here as over torch.

    Parameters
    ----------
    values : number or nested list of numbers
        Every list at one depth must have the same length, else ValueError.
    """

    __slots__ = ("flat", "shape")

    def __init__(self, values: Any) -> None:
        self.shape: Shape = _nested_shape(values)
        self.flat: list[float] = _flatten(values, self.shape)

    @classmethod
    def of(cls, flat: list[float], new_shape: Shape) -> Array:
        """Wrap a flat list without copying it."""
        made = cls.__new__(cls)
        made.flat, made.shape = flat, tuple(new_shape)
        return made

    def tolist(self) -> Any:
        """Nested lists; a number for a 0-d array."""

        def nest(start: int, sizes: Shape) -> Any:
            if not sizes:
                return self.flat[start]
            step = math.prod(sizes[1:])
            return [nest(start + i * step, sizes[1:]) for i in range(sizes[0])]

        return nest(0, self.shape)

    def __repr__(self) -> str:
        return f"Array({self.tolist()!r})"

    def clone(self) -> Array:
        return Array.of(list(self.flat), self.shape)

    def new_ones(self, new_shape: Shape) -> Array:
        return Array.of([1.0] * math.prod(new_shape), new_shape)

    def reshape(self, new_shape: Shape) -> Array:
        if math.prod(new_shape) != len(self.flat):
            raise ValueError(f"An array of shape {self.shape} cannot take the shape {tuple(new_shape)}.")
        return Array.of(self.flat, new_shape)

    def broadcast_to(self, target: Shape) -> Array:
        """Repeat along new or size-one dimensions; the result is a copy."""
        offsets = _offsets(target, _strides_in(self.shape, target))
        return Array.of([self.flat[i] for i in offsets], target)

    def sum_to_size(self, target: Shape) -> Array:
        """The reverse of broadcasting: every element is added where `broadcast_to` would have read it."""
        flat = [0.0] * math.prod(target)
        for value, slot in zip(self.flat, _offsets(self.shape, _strides_in(target, self.shape)), strict=True):
            flat[slot] += value
        return Array.of(flat, target)

    def sum(self, dim: int | Shape | None = None, keepdim: bool = False) -> Array:
        """Sum over `dim`; None and () mean every dimension, as in torch."""
        rank = len(self.shape)
        dims = (dim,) if isinstance(dim, int) else tuple(dim or range(rank))
        reduced = {d % rank for d in dims}
        kept = self.sum_to_size(tuple(1 if d in reduced else n for d, n in enumerate(self.shape)))
        return kept if keepdim else kept.reshape(tuple(n for d, n in enumerate(self.shape) if d not in reduced))

    def exp(self) -> Array:
        return self._map(math.exp)

    def relu(self) -> Array:
        return self._map(lambda v: max(v, 0.0))

    def sign(self) -> Array:
        return self._map(lambda v: float((v > 0) - (v < 0)))

    @property
    def mT(self) -> Array:
        """The transpose of a matrix."""
        rows, columns = self.shape
        return Array.of([self.flat[i] for i in _offsets((columns, rows), (1, columns))], (columns, rows))

    def __matmul__(self, other: Array) -> Array:
        (n, inner), (other_inner, m) = self.shape, other.shape
        if inner != other_inner:
            raise ValueError(f"Shapes {self.shape} and {other.shape} do not multiply.")
        rows = [self.flat[i * inner : (i + 1) * inner] for i in range(n)]
        columns = [other.flat[j::m] for j in range(m)]
        return Array.of([_dot(r, c) for r in rows for c in columns], (n, m))

    def __neg__(self) -> Array:
        return self._map(lambda v: -v)

    def __add__(self, other: Any) -> Array:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Array:
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other: Any) -> Array:
        return self._with(other, lambda a, b: a * b)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> Array:
        return -self + other

    def __iadd__(self, other: Any) -> Array:
        self.flat[:] = (self + other).flat
        return self

    def _map(self, f: Callable[[float], float]) -> Array:
        return Array.of([f(v) for v in self.flat], self.shape)

    def _with(self, other: Any, f: Callable[[float, float], float]) -> Array:
        other = other if isinstance(other, Array) else Array(other)
        common = _common_shape(self.shape, other.shape)
        left, right = self.broadcast_to(common).flat, other.broadcast_to(common).flat
        return Array.of([f(a, b) for a, b in zip(left, right, strict=True)], common)


def _dot(row: Sequence[float], column: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(row, column, strict=True))


def _nested_shape(values: Any) -> Shape:
    return (len(values), *(_nested_shape(values[0]) if values else ())) if isinstance(values, list) else ()


def _flatten(values: Any, sizes: Shape) -> list[float]:
    if isinstance(values, list) != bool(sizes) or (sizes and len(values) != sizes[0]):
        raise ValueError("The lists of an array must have one length at each depth.")
    return [v for part in values for v in _flatten(part, sizes[1:])] if sizes else [float(values)]


def _common_shape(a: Shape, b: Shape) -> Shape:
    """The shape two operands broadcast to: aligned at the right, a size of one gives way."""
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    chosen = [(n if m == 1 else m, n in (1, m) or m == 1) for n, m in pairs]
    if not all(fits for _, fits in chosen):
        raise ValueError(f"Shapes {a} and {b} do not broadcast.")
    return tuple(n for n, _ in chosen)


def _strides_in(small: Shape, large: Shape) -> Shape:
    """Row-major strides of `small` as seen from `large`: 0 where a dimension is new or has size one."""
    padded = (1,) * (len(large) - len(small)) + small
    if len(small) > len(large) or any(n not in (1, m) for n, m in zip(padded, large, strict=True)):
        raise ValueError(f"The shape {small} does not broadcast to {large}.")
    return tuple(0 if n == 1 else math.prod(padded[d + 1 :]) for d, n in enumerate(padded))


def _offsets(sizes: Shape, strides: Shape) -> list[int]:
    """The position in the flat list of each element, in row-major order of `sizes`."""
    found = [0]
    for size, stride in zip(sizes, strides, strict=True):
        found = [start + i * stride for start in found for i in range(size)]
    return found
