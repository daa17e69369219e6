"""A clock that a check sets by hand, so that code that measures time can be checked to the nanosecond."""

from __future__ import annotations

import sys
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any
from unittest import mock

import torch

_CLOCKS = ("perf_counter", "monotonic", "time", "process_time", "thread_time", "clock_gettime")


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


_running: list[FakeClock] = []


def _stand_in(real: Callable[..., float], unit: int) -> Callable[..., float]:
    """Reads the fake clock that runs now, else the real one: whoever bound it while a clock was faked may keep it."""

    def read(*args: Any) -> float:
        if not _running:
            return real(*args)
        return _running[-1].now if unit == 1 else _running[-1].now / unit

    return read


#: By the identity of the real function.
_STAND_INS: dict[int, Any] = {
    id(real): _stand_in(real, unit)
    for name in _CLOCKS
    for suffix, unit in (("", 10**9), ("_ns", 1))
    if (real := getattr(time, name + suffix, None)) is not None
}


@contextmanager
def fake_clock(function: Callable[..., Any], *, cuda: bool = False) -> Iterator[FakeClock]:
    """Make every clock that `function` may read a `FakeClock`.

    That is the clocks of `time`, also where `timeit`, `torch.utils.benchmark` or the function's module have bound them, as
    a name or as a default argument.

    Parameters
    ----------
    function : callable
        The function under test.
    cuda : bool
        Also pretend that there is a CUDA device, whose `synchronize` waits for what was launched.
    """
    clock = FakeClock()
    spaces = [vars(time), vars(timeit), *_bound(function)]
    spaces += [vars(module) for name, module in list(sys.modules.items()) if name.startswith("torch.utils.benchmark.")]
    with ExitStack() as stack:
        _running.append(clock)
        stack.callback(_running.remove, clock)
        fakes = dict(_STAND_INS)
        if cuda:
            fakes |= _fake_device(stack, clock)
        for owner in [function, *(f for space in spaces[1:] for f in _functions(space))]:
            _replace_defaults(stack, owner, fakes)
        for space in spaces:
            for key, value in list(space.items()):
                if id(value) in fakes:
                    space[key] = fakes[id(value)]
                    stack.callback(space.__setitem__, key, value)
        yield clock


def _bound(function: Any) -> Iterator[dict[str, Any]]:
    """The global names of a function, below its decorators too; of an object that can be called, those of its class."""
    while function is not None:
        body = function if hasattr(function, "__globals__") else type(function).__call__
        yield getattr(body, "__globals__", {})
        function = getattr(function, "__wrapped__", None)


def _fake_device(stack: ExitStack, clock: FakeClock) -> dict[int, Any]:
    """Pretend that there is one CUDA device. Returns what stands in for the real functions, by their identity."""
    stream = SimpleNamespace(synchronize=clock.synchronize)
    cuda = torch.device("cuda")
    names: dict[str, dict[str, Callable[..., Any]]] = {
        "cuda": {"is_available": lambda: True, "is_initialized": lambda: True, "device_count": lambda: 1,
                 "synchronize": clock.synchronize, "current_stream": lambda *_: stream, "default_stream": lambda *_: stream},
        "accelerator": {"is_available": lambda *_: True, "device_count": lambda: 1, "synchronize": clock.synchronize,
                        "current_accelerator": lambda *_, **__: cuda},
    }  # fmt: skip
    fakes: dict[int, Any] = {}
    for module, functions in names.items():
        for name, fake in functions.items():
            if (real := getattr(getattr(torch, module, None), name, None)) is not None:
                fakes[id(real)] = fake
                stack.enter_context(mock.patch.object(getattr(torch, module), name, fake))
    return fakes


def _functions(space: dict[str, Any]) -> Iterator[FunctionType]:
    """The Python functions of a namespace, and the methods of the classes that it defines."""
    for value in list(space.values()):
        if isinstance(value, FunctionType):
            yield value
        elif isinstance(value, type) and value.__module__ == space.get("__name__"):
            yield from (method for method in vars(value).values() if isinstance(method, FunctionType))


def _replace_defaults(stack: ExitStack, function: Any, fakes: dict[int, Any]) -> None:
    """Default arguments were bound when the function was defined: exchange those that are clocks."""
    positional, named = getattr(function, "__defaults__", None) or (), getattr(function, "__kwdefaults__", None) or {}
    if any(id(value) in fakes for value in positional):
        stack.callback(setattr, function, "__defaults__", positional)
        function.__defaults__ = tuple(fakes.get(id(value), value) for value in positional)
    if any(id(value) in fakes for value in named.values()):
        stack.callback(setattr, function, "__kwdefaults__", named)
        function.__kwdefaults__ = {key: fakes.get(id(value), value) for key, value in named.items()}
