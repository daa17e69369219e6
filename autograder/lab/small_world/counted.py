"""Stand-ins for graph nodes, and a count of the work done on them: a search through a list gives itself away.

Time tells linear from quadratic only on a quiet machine. Counting tells it everywhere, and on a short chain. In the same
way a short stack tells on a short chain who calls himself once per node.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar, cast

import torch

_T = TypeVar("_T")


class _Counted:
    """A node as `nodes`, `leaves` and `draw` use one: hashed by identity, its operands in `next_functions`."""

    def __init__(self, below: _Counted | None, tally: list[int], width: int = 1) -> None:
        self.next_functions = ((below, 0),) * width if below is not None else ()
        self._tally = tally

    def __eq__(self, other: object) -> bool:
        self._tally[0] += 1
        return self is other

    __hash__ = object.__hash__

    def name(self) -> str:
        return type(self).__name__


class AddBackward0(_Counted):
    """Stands for an addition."""


class AccumulateGrad(_Counted):
    """Stands for a leaf's node, with a leaf."""

    def __init__(self, tally: list[int]) -> None:
        super().__init__(None, tally)
        self.variable = torch.zeros((), requires_grad=True)


torch.autograd.graph.Node.register(_Counted)


def counted_chain(length: int, width: int = 1) -> tuple[_Counted, list[int]]:
    """A chain of stand-ins for nodes, and the tally of comparisons between them.

    Parameters
    ----------
    length : int
        How many additions lie above the leaf's node.
    width : int
        How many edges lead from each addition to the next: 2 makes doublings, with 2 ** length paths.

    Returns
    -------
    (node, list of int)
        The root; and a list of one number, which grows by one with each ``==`` between two different nodes. Sets and
        dicts hardly ever compare: they go by hash.
    """
    tally = [0]
    root: _Counted = AccumulateGrad(tally)
    for _ in range(length):
        root = AddBackward0(root, tally, width)
    return root, tally


def steps_per_node(fn: Callable[[Any], object], length: int, width: int = 1) -> int:
    """How much work `fn` does for each node of a chain.

    Parameters
    ----------
    fn : callable
        Called once, with the root of a `counted_chain`. A plain function.
    length, width : int
        As for `counted_chain`. A walk along paths takes 2 ** length steps where `width` is 2, so let it be a dozen then.

    Returns
    -------
    int
        Instructions of Python in the file that defines `fn`, and comparisons of nodes or of their ids, divided by `length`
        and rounded down. Linear work gives the same figure for every length, some dozens; a search through a list gives
        at least half of `length`. Counting ends at 1,000 per node.
    """
    root, tally = counted_chain(length, width)
    home = fn.__code__.co_filename if hasattr(fn, "__code__") else None
    most = 1_000 * length

    def trace(frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_filename != home:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            tally[0] += 1
            if tally[0] > most:
                sys.settrace(None)
        return trace

    with _counted_ids(getattr(fn, "__globals__", {}), tally):
        before = sys.gettrace()
        sys._getframe().f_trace_opcodes = True  # Python 3.12 asks for it before settrace
        sys.settrace(trace)
        try:
            fn(root)
        finally:
            sys.settrace(before)
    return tally[0] // length


def short_stack(call: Callable[[], _T], calls: int = 100) -> _T:
    """Call where Python's stack has little room left.

    Parameters
    ----------
    call : callable
        Takes nothing.
    calls : int
        How many calls may lie inside each other.

    Returns
    -------
    object
        What `call` returned.

    Raises
    ------
    RecursionError
        Where `call` goes deeper, as it would with the usual room in a graph some ten times as deep.
    """
    depth, frame = 0, cast(FrameType | None, sys._getframe())
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + calls)
    try:
        return call()
    finally:
        sys.setrecursionlimit(usual)


@contextmanager
def _counted_ids(names: dict[str, Any], tally: list[int]) -> Iterator[None]:
    """While it lasts, `id` gives code with these globals numbers that count their comparisons."""

    class Id(int):
        def __eq__(self, other: object) -> bool:
            tally[0] += 1
            return int(self) == other

        __hash__ = int.__hash__

    missing = object()
    found = names.get("id", missing)
    names["id"] = lambda thing: Id(builtins.id(thing))
    try:
        yield
    finally:
        if found is missing:
            del names["id"]
        else:
            names["id"] = found
