"""A clock that a check sets by hand, so that code that measures time can be checked to the nanosecond."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch

_CLOCKS = ("perf_counter", "monotonic", "time", "process_time", "thread_time")


class FakeClock:
    """Stands still unless `wait` moves it.

    Attributes
    ----------
    now : int
        Nanoseconds.
    waiting : int
        Nanoseconds of device work that nobody has waited for yet; a synchronization waits for it.
    """

    def __init__(self) -> None:
        self.now = 1_000_000_000
        self.waiting = 0

    def wait(self, nanoseconds: int) -> None:
        self.now += nanoseconds

    def launch(self, nanoseconds: int) -> None:
        """Work that a device does while the CPU goes on."""
        self.waiting += nanoseconds

    def synchronize(self, *_: Any, **__: Any) -> None:
        self.now, self.waiting = self.now + self.waiting, 0


@contextmanager
def fake_clock(function: Callable[..., Any], *, cuda: bool = False) -> Iterator[FakeClock]:
    """Make every clock that `function` may read a `FakeClock`: those of `time`, and those bound in its module.

    Parameters
    ----------
    function : callable
        The function under test.
    cuda : bool
        Also pretend that there is a CUDA device, whose `synchronize` waits for what was launched.
    """
    clock = FakeClock()
    fakes: dict[Any, Callable[[], float]] = {}
    for name in _CLOCKS:
        fakes[getattr(time, name)] = lambda: clock.now / 1e9
        if hasattr(time, f"{name}_ns"):
            fakes[getattr(time, f"{name}_ns")] = lambda: clock.now
    with ExitStack() as stack:
        bound = getattr(function, "__globals__", {})
        for space in (vars(time), vars(timeit), bound):
            changed = {key: fake for key, value in space.items() for real, fake in fakes.items() if value is real}
            stack.enter_context(mock.patch.dict(space, changed))
        if cuda:
            for name in ("is_available", "is_initialized"):
                stack.enter_context(mock.patch.object(torch.cuda, name, lambda: True))
            stack.enter_context(mock.patch.object(torch.cuda, "synchronize", clock.synchronize))
            if hasattr(torch, "accelerator"):
                stack.enter_context(mock.patch.object(torch.accelerator, "is_available", lambda *_: True))
                stack.enter_context(mock.patch.object(torch.accelerator, "synchronize", clock.synchronize))
        yield clock
