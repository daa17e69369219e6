"""What a forward pass keeps for backward: one entry per tensor that autograd packed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks


@dataclass(frozen=True)
class Entry:
    """One packing of one tensor.

    Attributes
    ----------
    shape : tuple of int
        As packed; a Linear packs the transposed view of its weight.
    dtype : torch.dtype
    nbytes : int
        Bytes of the tensor: elements times element size.
    storage : int
        Which storage holds it: 0, 1, ... in order of first packing. Views share one.
    storage_bytes : int
        Bytes of that whole storage.
    parameter : bool
        Whether that storage belongs to one of the parameters.
    node : str
        The graph node that keeps the tensor, "" when the graph could not be read afterwards.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    nbytes: int
    storage: int
    storage_bytes: int
    parameter: bool
    node: str = ""


@dataclass(frozen=True)
class Ledger:
    """All entries of one run, in order of packing. Sizes are in bytes."""

    entries: tuple[Entry, ...]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def storages(self) -> tuple[Entry, ...]:
        """The first entry of every distinct storage that is no parameter's: what activation memory consists of."""
        first = {entry.storage: entry for entry in reversed(self.entries) if not entry.parameter}
        return tuple(first[key] for key in sorted(first))

    @property
    def packed_bytes(self) -> int:
        """Every save, as often as it happened."""
        return sum(entry.nbytes for entry in self.entries)

    @property
    def activation_bytes(self) -> int:
        """Every save that is no parameter's."""
        return sum(entry.nbytes for entry in self.entries if not entry.parameter)

    @property
    def storage_bytes(self) -> int:
        """Every distinct storage once, parameters left out."""
        return sum(entry.storage_bytes for entry in self.storages)

    def __str__(self) -> str:
        lines = [f"{'saved by':<26}{'shape':<20}{'dtype':<10}{'bytes':>14}  storage"]
        for entry in self.entries:
            mark = " (parameter)" if entry.parameter else ""
            dtype = str(entry.dtype).removeprefix("torch.")
            lines.append(
                f"{entry.node or '?':<26}{entry.shape!s:<20}{dtype:<10}{entry.nbytes:>14,}  {entry.storage}{mark}"
            )
        return "\n".join(lines)


def saved_ledger(fn: Callable[..., Any], *args: Any, params: Iterable[Tensor] = ()) -> Ledger:
    """Run `fn(*args)` and list every tensor that autograd packed meanwhile.

    Parameters
    ----------
    fn : callable
        May run backward itself; tensors packed then are listed as well.
    params : iterable of Tensor
        Entries on the storages of these tensors are marked as parameters.

    Returns
    -------
    Ledger
        Storages are told apart by identity. All are held until the run is over, so that the address of a freed one is
        never taken for the address of a new one.
    """
    owned = [p.untyped_storage() for p in params]
    parameters = {storage._cdata for storage in owned}
    held: dict[int, tuple[int, torch.UntypedStorage]] = {}
    entries: list[Entry] = []
    read: list[int] = []

    def pack(tensor: Tensor) -> tuple[int, Tensor]:
        storage = tensor.untyped_storage()
        number, _ = held.setdefault(storage._cdata, (len(held), storage))
        nbytes = tensor.numel() * tensor.element_size()
        entries.append(
            Entry(tuple(tensor.shape), tensor.dtype, nbytes, number, storage.nbytes(), storage._cdata in parameters)
        )
        return len(entries) - 1, tensor.detach()  # an output holding itself would never be freed

    def unpack(ticket: tuple[int, Tensor]) -> Tensor:
        read.append(ticket[0])
        return ticket[1]

    with saved_tensors_hooks(pack, unpack):
        result = fn(*args)
    for number, node in _readers(result, read):
        entries[number] = replace(entries[number], node=node)
    return Ledger(tuple(entries))


def _readers(result: Any, read: list[int]) -> Iterator[tuple[int, str]]:
    """Read every saved attribute below `result`; unpacking tells which entry it was (through `read`)."""
    outputs = result if isinstance(result, (list, tuple)) else [result]
    todo = [out.grad_fn for out in outputs if isinstance(out, Tensor) and out.grad_fn is not None]
    seen = set(todo)
    while todo:
        node = todo.pop()
        for name in dir(node):
            if name.startswith("_saved_") or name == "saved_tensors":
                read.clear()
                try:
                    getattr(node, name)
                except RuntimeError:  # released by a backward that `fn` ran
                    continue
                for number in read:
                    yield number, type(node).__name__
        for parent, _ in node.next_functions:
            if parent is not None and parent not in seen:
                seen.add(parent)
                todo.append(parent)
