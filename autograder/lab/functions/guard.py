"""Sentinels around tensors: a kernel that writes where it should not is caught by the bytes it changed.

A raw kernel gets pointers. A missing mask makes it write past the end of its output, into whatever lies there, and
usually nothing happens until much later. Inside `sentinels()` every tensor that is allocated lies in the middle of a
larger buffer whose rest has known bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.lab.functions.dispatch import LightMode

PAD = 1 << 18  #: bytes before and after, a multiple of every alignment that a kernel may ask for

_EMPTY = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
_FILLED = {"zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full"}
_ALLOCATE = _EMPTY | _FILLED | {"clone", "_to_copy"}


@dataclass
class Guard:
    """The buffers that one `sentinels()` handed out.

    Attributes
    ----------
    buffers : list of (tensor, int)
        Each buffer as bytes, with the number of bytes in its middle that belong to the guarded tensor.
    """

    buffers: list[tuple[torch.Tensor, int]] = field(default_factory=list)
    placing: bool = False

    def place(self, tensor: torch.Tensor, *, unwritten: bool = False) -> torch.Tensor:
        """Copy `tensor`'s memory into a guarded buffer, strides kept.

        Parameters
        ----------
        tensor : tensor
            Any strided tensor, an expanded one too.
        unwritten : bool
            Fill the copy with bytes 0xFF, NaN in every floating type, so that an element nobody writes shows.
        """
        self.placing = True
        try:
            return self._place(tensor, unwritten)
        finally:
            self.placing = False

    def _place(self, tensor: torch.Tensor, unwritten: bool) -> torch.Tensor:
        last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
        reach = last + 1 if tensor.numel() else 0
        span = reach * tensor.element_size()
        buffer = torch.empty(span + 2 * PAD, dtype=torch.uint8, device=tensor.device).fill_(
            self._sentinel(len(self.buffers))
        )
        self.buffers.append((buffer, span))
        offset = PAD // tensor.element_size()
        # `set_` rather than a view, so that autograd sees an ordinary tensor and not a view of the buffer.
        placed = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        placed.set_(buffer.untyped_storage(), offset, tensor.shape, tensor.stride())
        if unwritten:
            buffer[PAD : PAD + span] = 0xFF
        elif reach:  # memory, not elements: of an expanded tensor several lie in one place
            memory = tensor.detach().as_strided((reach,), (1,), tensor.storage_offset())
            placed.as_strided((reach,), (1,), offset).copy_(memory)
        return placed

    def overwritten(self) -> list[tuple[int, int]]:
        """Sentinel bytes changed (before, after) each guarded tensor, in order of allocation."""
        changed = []
        for number, (buffer, span) in enumerate(self.buffers):
            sentinel = self._sentinel(number)
            before, after = buffer[:PAD] != sentinel, buffer[PAD + span :] != sentinel
            changed.append((int(before.sum()), int(after.sum())))
        return changed

    @staticmethod
    def _sentinel(number: int) -> int:
        """A byte per buffer, so that copying one buffer's rest over another's is seen."""
        return 0x21 + 29 * number % 0xBB


class _GuardMode(LightMode):
    def __init__(self, guarded: Guard) -> None:
        super().__init__()
        self.guarded = guarded

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::")
        if (
            self.guarded.placing
            or name not in _ALLOCATE
            or not isinstance(result, torch.Tensor)
            or result.layout != torch.strided
        ):
            return result
        if name in _EMPTY and not result.numel() and result.dim() == 1:
            return result  # a handle that somebody is about to point elsewhere, as Triton's interpreter does
        return self.guarded.place(result, unwritten=name in _EMPTY)


@contextmanager
def sentinels() -> Iterator[Guard]:
    """Surround every tensor allocated inside with sentinels.

    Examples
    --------
    >>> with sentinels() as guarded:
    ...     out = torch.empty(3)
    >>> _ = torch.as_strided(out, (5,), (1,)).fill_(1.0)  # two elements too many
    >>> guarded.overwritten()
    [(0, 8)]
    """
    guarded = Guard()
    with _GuardMode(guarded):
        yield guarded
