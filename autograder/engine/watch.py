"""How much memory a run's processes hold together, looked at from outside: limits of the kernel hold for each of them only."""

from __future__ import annotations

import time
from collections.abc import Callable

from autograder.engine import processes

PAUSE = 0.1  #: seconds between two looks


class Watch:
    """Looks now and then how much memory a run holds in all its processes. Without /proc it sees nothing.

    Parameters
    ----------
    pid : callable
        Returns the pid of the run's first process, None where it has ended.
    most : int
        Bytes that the run may hold.
    base : int or None
        Bytes that its first process was born with; they do not count. None: what it holds when `begin` is called.

    Attributes
    ----------
    copies : int
        Copies of the run that wait for their hidden part: each shares what the first process was born with.
    """

    def __init__(self, pid: Callable[[], int | None], most: int, base: int | None) -> None:
        self.pid, self.most, self.base = pid, most, base or 0
        self.is_known = base is not None
        self.last, self.copies = time.monotonic(), 0

    def begin(self) -> None:
        """Take what the run holds now for what it was born with, where nobody could say before."""
        if not self.is_known:
            self.base = self.held()

    def held(self) -> int:
        """Bytes held beyond what the first process was born with."""
        pid = self.pid()
        if pid is None:
            return 0
        every = (pid, *processes.descendants(pid))
        quick = sum(map(processes.memory, every)) - self.base * (1 + self.copies)
        if quick <= self.most:
            return quick
        return min(quick, sum(map(processes.share, every)) - self.base)

    def too_much(self) -> bool:
        """Whether the run holds more than it may; looks at most every `PAUSE` seconds."""
        now = time.monotonic()
        if now - self.last < PAUSE:
            return False
        self.last = now
        return self.held() > self.most
