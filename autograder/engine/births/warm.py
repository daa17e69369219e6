"""The warm engine: a child is forked, one per notebook, from a process that has imported everything already."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from autograder.engine import processes
from autograder.engine.api import EngineUnavailable, Job, Run
from autograder.engine.births.child import Child
from autograder.engine.births.engine import BaseEngine
from autograder.engine.births.parent import Parent
from autograder.engine.limits import Limits
from autograder.engine.schedule import Attempt

ENDING = 10.0  #: seconds that ended children may take to be gone
START = 10.0  #: seconds that a child may take to be ready


class WarmEngine(BaseEngine):
    """Runs jobs in forked children. See `open_engine`.

    The parent starts at once and imports in the background; the first run waits for it.

    Raises
    ------
    EngineUnavailable
        Where this machine refuses what the engine needs.
    """

    name = "warm"

    def __init__(
        self,
        isolated: bool = True,
        jobs: int = 2,
        limits: Limits | None = None,
        hide: tuple[str, ...] = (),
        why: str = "",
    ) -> None:
        super().__init__("namespaces" if isolated else "none", jobs, limits)
        self.isolated, self.hide, self.why = isolated, hide, why
        self.expected: set[str] | None = None  # modules; None where a notebook or two are to come
        self._places, self._lock = itertools.cycle(range(60_000)), threading.Lock()
        self._ending: list[int] = []  # pidfds of children that were killed and are not gone yet
        self._parent = Parent(isolated, hide)

    def describe(self) -> str:
        """One line: which engine, and what protects this machine."""
        wall = (
            "namespaces, memory watched"
            if self.isolated
            else f"none ({self.why}); submitted code can do whatever you can do"
        )
        lacking = "".join(f", without {what}" for what in self._parent.missing)
        return f"Warm engine, {self.jobs} at once. Sandbox: {wall}{lacking}."

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._await_ends(ENDING)
        self._parent.close()

    def expect(self, modules: Iterable[str], jobs: int = 0) -> None:
        """See `api.Engine.expect`."""
        new = set(modules) - (self.expected or set())
        if new or jobs or self.expected is None:
            self.expected = (self.expected or set()) | new
            self._parent.expect(new, jobs)

    def run_one(self, job: Job) -> Run:
        """Run one job to its end. What the parent imports before the first one is nobody's time."""
        with contextlib.suppress(EngineUnavailable, OSError):  # the run itself meets it, and may start another parent
            self._parent.await_ready()
        return super().run_one(job)

    def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
        """See `schedule.Runner.attempt`. Where the child had to be ended, nothing of it is there when the job runs once more."""
        result = super().attempt(job, skip, until)
        if result.stopped_at is not None:
            self._await_ends(ENDING)
        return result

    @contextlib.contextmanager
    def born(self) -> Iterator[Child]:
        """A fork of the parent."""
        order: dict[str, Any] = {"limits": self.limits.as_dict(), "place": next(self._places)}
        work = "" if self.isolated else tempfile.mkdtemp(prefix="work-", dir=self._parent.scratch)
        try:
            channel, pidfd = self._fork({**order, "work": work})
            with channel:
                try:
                    pid, interrupt = partial(processes.of_pidfd, pidfd), partial(send_signal, pidfd, signal.SIGINT)
                    yield Child(channel, START, pid, interrupt, self._parent.memory)
                finally:
                    self._end(pidfd)
        finally:
            if work:
                shutil.rmtree(work, ignore_errors=True)

    def _fork(self, order: dict[str, Any]) -> tuple[socket.socket, int]:
        try:
            return self._parent.fork(order)
        except EngineUnavailable:
            with self._lock:
                if self.stopping.is_set():
                    raise
                if self._parent.process.poll() is not None:  # ended by somebody: once more
                    self._parent.close()
                    self._parent = Parent(self.isolated, self.hide)
                    if self.expected is not None:
                        self._parent.expect(self.expected)
            return self._parent.fork(order)

    def _end(self, pidfd: int) -> None:
        """End the child. With its pid namespace the kernel ends every process in it."""
        if not self.isolated and (pid := processes.of_pidfd(pidfd)):
            processes.kill_tree(pid)
        send_signal(pidfd, signal.SIGKILL)
        with self._lock:
            self._ending.append(pidfd)
        # The kernel takes some milliseconds to clear a namespace away; nobody has to wait for that.
        self._await_ends(0.0 if self.isolated else ENDING)

    def _await_ends(self, seconds: float) -> None:
        """Close the descriptors of children that have ended, waiting so long for those that have not."""
        with self._lock:
            ending, self._ending = self._ending, []
        until = time.monotonic() + seconds
        for pidfd in ending:
            poll = select.poll()
            poll.register(pidfd, select.POLLIN)
            if poll.poll(1000 * max(0.0, until - time.monotonic())):
                os.close(pidfd)
            else:
                with self._lock:
                    self._ending.append(pidfd)


def send_signal(pidfd: int, number: int) -> None:
    """Send a signal to the process behind a pidfd, should it be there."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, number)
