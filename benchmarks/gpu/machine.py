"""The device that is measured, its room, its clock and its allocator; on a CPU, small stand-ins for all of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple, TypeVar

import torch

from autograder.lab.memory.peak import trace

BLOCK = 512  #: bytes; the CUDA allocator hands out multiples of it
Size = TypeVar("Size")


class Held(NamedTuple):
    """Bytes more than before: as they were asked for, and in the allocator's blocks."""

    requested: int
    blocks: int


@dataclass(frozen=True)
class Machine:
    """Where and how large to measure.

    Attributes
    ----------
    device : torch.device
    room : int
        Bytes that one measurement may fill.
    half : torch.dtype
        The half type that the hardware computes in: float16 before compute capability 8.0 (a T4 has 7.5).
    dry : bool
        Whether this only tries the code: smallest sizes, and no figure is kept.
    """

    device: torch.device
    room: int
    half: torch.dtype
    dry: bool

    @classmethod
    def here(cls, dry: bool) -> Machine:
        """The current CUDA device, or the CPU for a dry run."""
        if dry:
            return cls(torch.device("cpu"), 2**24, torch.float16, True)
        free, _ = torch.cuda.mem_get_info()
        half = torch.bfloat16 if torch.cuda.get_device_capability() >= (8, 0) else torch.float16
        return cls(torch.device("cuda"), int(0.6 * free), half, False)

    def largest(self, sizes: Sequence[Size], need: Callable[[Size], int]) -> Size:
        """The first of `sizes` (largest first) whose need in bytes fits; the last one where none does, and in a dry run."""
        fitting = (size for size in sizes[:-1] if not self.dry and need(size) <= self.room)
        return next(fitting, sizes[-1])

    def clear(self) -> None:
        """Give back what nobody holds, so that measurements do not see each other."""
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.empty_cache()

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def milliseconds(self, fn: Callable[[], Any], repeats: int = 30) -> float:
        """Median time of `fn()` on the device, by its own events; on a CPU by the wall clock."""
        for _ in range(1 if self.dry else 3):
            fn()
        if self.device.type != "cuda":
            begin = time.perf_counter()
            fn()
            return (time.perf_counter() - begin) * 1e3
        pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
        for begin_event, end_event in pairs:
            begin_event.record()
            fn()
            end_event.record()
        self.wait()
        return median(begin_event.elapsed_time(end_event) for begin_event, end_event in pairs)

    def held(self, forward: Callable[[], Any]) -> Held:
        """What is alive after `forward()` and was not before, with its result held.

        The first of two calls is not counted: it allocates workspaces that stay.
        """
        if self.device.type != "cuda":
            live = trace(lambda: (forward(), torch.empty(0))).moments[-1].live  # temporaries are gone by the last one
            return Held(live, live)
        forward()
        self.clear()
        before = _held()
        result = forward()
        self.wait()
        after = _held()
        del result
        return Held(after.requested - before.requested, after.blocks - before.blocks)

    def peak(self, fn: Callable[[], Any]) -> int:
        """Most bytes alive at once during `fn()` beyond what was there before; by the allocator on a GPU."""
        if self.device.type != "cuda":
            return trace(fn).peak
        self.clear()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        fn()
        self.wait()
        return torch.cuda.max_memory_allocated() - before


def in_blocks(nbytes: int) -> int:
    """`nbytes` rounded up as the allocator does."""
    return max(1, -(-nbytes // BLOCK)) * BLOCK


def _held() -> Held:
    stats = torch.cuda.memory_stats()
    return Held(stats["requested_bytes.all.current"], stats["allocated_bytes.all.current"])
