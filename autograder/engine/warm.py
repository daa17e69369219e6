"""The warm engine: a child forked from a process that has imported everything already, one per notebook."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from autograder.engine import processes
from autograder.engine.api import EngineUnavailable, Job, Run
from autograder.engine.child import Forked, readable
from autograder.engine.limits import Limits
from autograder.engine.parent import Parent
from autograder.engine.passes import Pass
from autograder.engine.schedule import Attempt, Lane, run_all, run_job
from autograder.engine.watch import Watch

ENDING = 10.0  #: seconds that ended children may take to be gone
CHILD_START = 10.0  #: seconds that a child may take to be ready


class WarmEngine:
    """Runs jobs in forked children. See `open_engine`.

    The parent starts at once and imports in the background; the first run waits for it.

    Raises
    ------
    EngineUnavailable
        Where this machine refuses what the engine needs.
    """

    name = "warm"
    device = "cpu"

    def __init__(
        self,
        isolated: bool = True,
        jobs: int = 2,
        limits: Limits | None = None,
        hide: tuple[str, ...] = (),
        why: str = "",
    ) -> None:
        self.sandbox, self.jobs, self.limits = "namespaces" if isolated else "none", jobs, limits or Limits()
        self.isolated, self.hide, self.why = isolated, hide, why
        self.expected: set[str] | None = None  # modules; None where a notebook or two are to come
        self.lane, self.stopping = Lane(), threading.Event()
        self._places, self._lock = itertools.cycle(range(60_000)), threading.Lock()
        self._ending: list[int] = []
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

    def __enter__(self) -> WarmEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._await_ends(ENDING)
        self._parent.close()

    def expect(self, modules: Iterable[str], jobs: int = 0) -> None:
        new = set(modules) - (self.expected or set())
        if new or jobs or self.expected is None:
            self.expected = (self.expected or set()) | new
            self._parent.expect(new, jobs)

    def run(self, jobs: Iterable[Job]) -> Iterator[Run]:
        self.stopping.clear()
        return run_all(self._one, jobs, self.jobs, self.stopping.set)

    def _one(self, job: Job) -> Run:
        with contextlib.suppress(EngineUnavailable, OSError):  # the run itself meets it, and may start another parent
            self._parent.await_ready()  # imports are nobody's time
        return run_job(self, job, self.lane)

    def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
        order: dict[str, Any] = {"limits": self.limits.as_dict(), "place": next(self._places)}
        work = "" if self.isolated else tempfile.mkdtemp(prefix="work-", dir=self._parent.scratch)
        try:
            channel, pidfd = self._fork({**order, "work": work})
            child = Forked(channel, pidfd, self._parent.memory)
            with channel:
                watch = Watch(child.pid, self.limits.memory, child.base)
                try:
                    result = Pass(job, skip, until, self.limits.grace, watch, self.stopping, child, CHILD_START).run()
                finally:
                    self._end(child)
                if result.stopped_at is not None:  # it may run once more: nothing of the first run is there then
                    self._await_ends(ENDING)
                return result
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

    def _end(self, child: Forked) -> None:
        """End the child. With its pid namespace the kernel ends every process in it."""
        if not self.isolated and (pid := child.pid()):
            processes.kill_tree(pid)
        child.kill()
        with self._lock:
            self._ending.append(child.pidfd)
        # The kernel takes some milliseconds to clear a namespace away; nobody has to wait for that.
        self._await_ends(0.0 if self.isolated else ENDING)

    def _await_ends(self, seconds: float) -> None:
        """Close the descriptors of children that have ended, waiting so long for those that have not."""
        with self._lock:
            ending, self._ending = self._ending, []
        until = time.monotonic() + seconds
        for pidfd in ending:
            if readable(max(0.0, until - time.monotonic()), pidfd):
                os.close(pidfd)
            else:
                with self._lock:
                    self._ending.append(pidfd)
