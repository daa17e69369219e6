"""The warm engine: a child forked from a process that has imported everything already, one per notebook."""

from __future__ import annotations

import base64
import contextlib
import itertools
import marshal
import os
import select
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any

from autograder.engine import processes
from autograder.engine.api import Cell, EngineUnavailable, Job, Run
from autograder.engine.cgroups import Groups
from autograder.engine.files import read_files
from autograder.engine.inside.wire import Inbox, Wire, WireError
from autograder.engine.limits import Limits
from autograder.engine.parent import Parent
from autograder.engine.passes import RUN_BYTES, Gone, Message, Part, Pass
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
        self._groups: Groups | None = None
        with contextlib.suppress(OSError):
            self._groups = Groups(jobs, self.limits.memory)

    def describe(self) -> str:
        """One line: which engine, and what protects this machine."""
        wall = (
            f"namespaces, memory {'limited' if self._groups else 'watched'}"
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
        if self._groups:
            self._groups.close(ENDING)

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
            with channel:
                with self._limited(pidfd) as kills:
                    try:
                        watch = Watch(
                            partial(processes.of_pidfd, pidfd), self.limits.memory, self._parent.memory, kills
                        )
                        current = _Pass(job, skip, until, self.limits.grace, watch, self.stopping, channel, pidfd)
                        result = current.run()
                        if watch.was_limited():
                            current.note_memory()
                    finally:
                        self._end(pidfd)
                if result.stopped_at is not None:  # it may run once more: nothing of the first run is there then
                    self._await_ends(ENDING)
                return result
        finally:
            if work:
                shutil.rmtree(work, ignore_errors=True)

    @contextlib.contextmanager
    def _limited(self, pidfd: int) -> Iterator[Callable[[], int] | None]:
        """Have the kernel limit what the run holds, if it can; yields what says how many processes of it the kernel has ended."""
        pid = processes.of_pidfd(pidfd)
        if self._groups is None or pid is None:
            yield None
            return
        with self._groups.holding(pid) as group:
            yield group.kills

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
            if _readable(max(0.0, until - time.monotonic()), pidfd):
                os.close(pidfd)
            else:
                with self._lock:
                    self._ending.append(pidfd)


def _readable(seconds: float, *descriptors: int) -> set[int]:
    """Which of the descriptors can be read, or are closed at the other end; waits so long for the first."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(seconds * 1000)}


@lru_cache(maxsize=256)
def _compiled(program: str, id: str) -> str:
    """The code of a check cell's program: compiled here once for a class, for the same interpreter."""
    return base64.b64encode(marshal.dumps(compile(program, f"<{id}>", "exec", dont_inherit=True))).decode("ascii")


def send_signal(pidfd: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, number)


class _Pass(Pass):
    """One attempt at a job in one child."""

    def __init__(
        self, job: Job, skip: frozenset[str], until: float, grace: float, watch: Watch, stopping: threading.Event,
        channel: socket.socket, pidfd: int,
    ) -> None:  # fmt: skip
        super().__init__(job, skip, until, grace, watch, stopping)
        self.channel, self.pidfd = channel, pidfd
        self.channel.settimeout(5.0)  # a run that stops reading is broken
        self.wire, self.inbox = Wire(channel), Inbox()

    def start(self) -> None:
        until = time.monotonic() + CHILD_START
        while (self.receive(until) or {}).get("type") != "ready":
            if time.monotonic() >= until:
                raise Gone
        for name, data in read_files(self.job, self.result.notes):
            self._send({"type": "file", "name": name, "data": base64.b64encode(data).decode("ascii")})

    def order(self, part: Part, cell: Cell, program: str) -> None:
        order = {"type": part, "id": cell.id, "role": cell.role, "exercise": cell.exercise, "seed": self.job.seed}
        if part == "cell":
            self._send({**order, "source": program})
        else:  # the snapshot reads the program itself
            self._send({**order, "pause": bool(cell.hidden), "copied": cell.copied})
            self._send({"id": cell.id, "code": _compiled(program, cell.id)})

    def interrupt(self) -> None:
        send_signal(self.pidfd, signal.SIGINT)

    def receive(self, until: float) -> Message | None:
        try:
            message = self.inbox.next()
            if message is not None:
                return message
            self.check_on()
            wait = max(0.0, min(until - time.monotonic(), 0.1))
            ready = _readable(wait, self.channel.fileno(), self.pidfd)
            if self.channel.fileno() in ready:
                data = self.channel.recv(1 << 20)
                if not data:
                    raise Gone
                self.inbox.feed(data)
                if self.inbox.received > RUN_BYTES:
                    self.give_up("it sent too much.")
            elif self.pidfd in ready:
                raise Gone
        except WireError as error:
            self.give_up(f"it sent {error}.")
        except OSError as error:
            raise Gone from error
        return None

    def _send(self, message: Message) -> None:
        try:
            self.wire.send(message)
        except OSError as error:
            raise Gone from error
