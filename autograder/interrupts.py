"""Ctrl-C: obeyed once, at a moment when nothing is half done, and answered by one sentence.

Python's own handler may stop a program anywhere: between a commit and the files that belong to it, in a clean-up, or
while a module is imported, with a traceback. Here a command says when it has something to lose (`working`), and what
must be done whole (`whole`). Nothing changes for a program that never calls `listen`.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager

TYPE_CHECKING = False  # the module `typing` takes its time
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Literal

STOPPED = "Stopped. What was graded is in the gradebook; run the same command again to go on."
CODE = 130  #: the exit code, as a shell has it
PATIENCE = 5.0  #: seconds in which a further Ctrl-C does not disturb the clean-up after the first

_phase: Literal["starting", "working", "ending"] = "starting"
_whole = 0  #: how many `whole` blocks we are in
_asked = False  #: whether Ctrl-C came inside one
_raised = float("-inf")  #: when KeyboardInterrupt was raised last, by time.monotonic()


def listen() -> None:
    """Take Ctrl-C in hand, and with it SIGTERM and a terminal that closes; first thing in a program.

    One that was told to ignore any of them (`nohup`, `&`) goes on to.
    """
    for number in _signals():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_interrupt)


def _signals() -> list[signal.Signals]:
    return [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def working() -> Iterator[None]:
    """Inside, Ctrl-C raises KeyboardInterrupt. Before, the program ends at once; after, it is ending anyway."""
    global _phase
    _phase = "working"
    try:
        yield
    finally:
        _phase = "ending"
        for number in _signals():  # Python's own end would put the default back, which kills
            if signal.getsignal(number) is _on_interrupt:
                signal.signal(number, signal.SIG_IGN)


@contextmanager
def whole() -> Iterator[None]:
    """Inside, Ctrl-C waits until the end of the block. For what is short. Other threads are never interrupted."""
    global _whole
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _whole += 1
    try:
        yield
    finally:
        _whole -= 1
        if _asked and not _whole and _phase == "working":
            _interrupt()


def _on_interrupt(_number: int, _frame: FrameType | None) -> None:
    global _asked
    if _phase == "starting":  # nothing is open yet
        os.write(2, f"{STOPPED}\n".encode())
        os._exit(CODE)
    if _phase == "working" and time.monotonic() - _raised > PATIENCE:
        _asked = True
        if not _whole:
            _interrupt()


def _interrupt() -> None:
    global _asked, _raised
    _asked, _raised = False, time.monotonic()
    raise KeyboardInterrupt
