"""Live bytes, operation by operation, and their peak.

On a CPU nobody keeps memory statistics for us. So a dispatch mode watches every operation, and weak references tell us
when a storage dies. `torch.distributed._tools.mem_tracker.MemTracker` works alike, but it is private, loads
torch.distributed and rounds every storage up to 512 bytes. Here every byte is exact. Seen to work on torch 2.13.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


@dataclass(eq=False)
class Piece:
    """One storage that was allocated while tracing: who made it, how large, and whether autograd packed it."""

    op: str
    shape: tuple[int, ...]
    nbytes: int
    saved: bool = False


@dataclass(frozen=True)
class Moment:
    """Live bytes right after one operation, when its inputs and outputs exist together."""

    op: str
    phase: Literal["forward", "backward"]
    live: int


@dataclass
class Trace:
    """What a traced run allocated.

    Attributes
    ----------
    moments : list of Moment
        One per operation, in order.
    peak : int
        Most bytes alive at once, in storages that the run itself allocated.
    at_peak : list of Piece
        What was alive then, in order of allocation.
    pieces : list of Piece
        Every storage that the run allocated.
    device_peak : int or None
        The CUDA allocator's own figure for the same run; None when nothing was allocated on a GPU.
    """

    moments: list[Moment] = field(default_factory=list)
    peak: int = 0
    at_peak: list[Piece] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    device_peak: int | None = None


class Tracer(TorchDispatchMode):
    """Watches operations and keeps account of the storages that they allocate.

    Storages that were there before are not counted, nor is scratch memory inside a kernel, which no tensor ever owns.
    """

    def __init__(self) -> None:
        super().__init__()
        self.trace = Trace()
        self._on_gpu = False
        self._live = 0
        self._pieces: dict[int, Piece] = {}
        self._watch: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    def piece(self, tensor: Tensor) -> Piece | None:
        """The piece that holds `tensor`, None when its storage is older than the trace."""
        return self._pieces.get(tensor.untyped_storage()._cdata)

    def run(self, fn: Callable[..., Any], *args: Any) -> Trace:
        """Run `fn(*args)` under this tracer; on a GPU the allocator's own peak is read too."""
        gpu = torch.cuda.is_available()
        if gpu:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            start = torch.cuda.memory_allocated()
        with self:
            fn(*args)
        if gpu and self._on_gpu:
            torch.cuda.synchronize()
            self.trace.device_peak = torch.cuda.max_memory_allocated() - start
        return self.trace

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Run the operation, then book what it allocated."""
        kwargs = kwargs or {}
        before = {storage._cdata for _, storage in _storages((args, kwargs))}
        result = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        for tensor, storage in _storages(result):
            self._book(name, tensor, storage, before)
        # Outside backward there is no graph task; torch.utils.checkpoint asks in the same way.
        phase: Literal["forward", "backward"] = "forward" if torch._C._current_graph_task_id() == -1 else "backward"
        self.trace.moments.append(Moment(name, phase, self._live))
        if self._live > self.trace.peak:
            self.trace.peak, self.trace.at_peak = self._live, list(self._pieces.values())
        return result

    def _book(self, op: str, tensor: Tensor, storage: torch.UntypedStorage, before: set[int]) -> None:
        key = storage._cdata
        known = self._pieces.get(key)
        if known is not None:  # an out= argument may have been resized
            self._live += storage.nbytes() - known.nbytes
            known.nbytes = storage.nbytes()
        elif key not in before:
            piece = self._pieces[key] = Piece(op, tuple(tensor.shape), storage.nbytes())
            self.trace.pieces.append(piece)
            self._live += piece.nbytes
            self._on_gpu |= tensor.is_cuda
            self._watch[key] = weakref.ref(storage, lambda _: self._free(key))

    def _free(self, key: int) -> None:
        """Called as the storage dies, so before its address can be used again."""
        self._live -= self._pieces.pop(key).nbytes
        del self._watch[key]


def trace(fn: Callable[..., Any], *args: Any) -> Trace:
    """Run `fn(*args)`, which may include backward, and account for every storage that it allocates.

    Parameters
    ----------
    fn : callable
        Its result is dropped.

    Returns
    -------
    Trace
        Sizes in bytes. Tensors that torch makes without an operation (`torch.tensor` on a list) are not seen.
    """
    return Tracer().run(fn, *args)


def peak_bytes(fn: Callable[..., Any], *args: Any) -> int:
    """The most bytes that `fn(*args)` had allocated at one time, beyond what existed before.

    Returns
    -------
    int
        By the CUDA allocator's statistics when the run allocates on a GPU, else by `trace`: exact for what tensors own.
    """
    seen = trace(fn, *args)
    return seen.peak if seen.device_peak is None else seen.device_peak


def _storages(tree: Any) -> Iterator[tuple[Tensor, torch.UntypedStorage]]:
    for leaf in tree_leaves(tree):
        if isinstance(leaf, Tensor) and leaf.layout is torch.strided:
            yield leaf, leaf.untyped_storage()
