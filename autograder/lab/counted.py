"""Stand-ins for graph nodes that count how often they are compared: a search through a list gives itself away."""

from __future__ import annotations

import torch


class _Counted:
    """A node as `nodes` and `leaves` use one: hashed by identity, its operands in `next_functions`."""

    def __init__(self, below: _Counted | None, tally: list[int]) -> None:
        self.next_functions = ((below, 0),) if below is not None else ()
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


def counted_chain(length: int) -> tuple[_Counted, list[int]]:
    """A chain of stand-ins for nodes, and the tally of comparisons between them.

    Parameters
    ----------
    length : int
        How many additions lie above the leaf's node.

    Returns
    -------
    (node, list of int)
        The root; and a list of one number, which grows by one with each ``==`` between two different nodes. Sets and
        dicts hardly ever compare: they go by hash.
    """
    tally = [0]
    root: _Counted = AccumulateGrad(tally)
    for _ in range(length):
        root = AddBackward0(root, tally)
    return root, tally
