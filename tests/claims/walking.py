"""A walk over a graph, and the order in which its nodes run: what the claims of chapter 01 look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([0.5, -1.0, 2.0], requires_grad=True)


def below(root: Any) -> list[Any]:
    """Every node of a graph once."""
    found, waiting = {root: None}, [root]
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in found:
                found[node] = None
                waiting.append(node)
    return list(found)


def watched(root: Any) -> list[Any]:
    """The nodes below `root`, in the order in which they will run: filled by the next backward."""
    ran: list[Any] = []
    for node in below(root):
        node.register_prehook(lambda _grads, node=node: ran.append(node))
    return ran


def values(node: Any) -> Iterator[Any]:
    return (getattr(node, name) for name in dir(node) if name.startswith("_saved_"))
