"""The warm engine: a child forked from a process that has imported everything already, one per notebook."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from autograder.engine import processes
from autograder.engine.api import Cell, CellRun, EngineUnavailable, Job, Run
from autograder.engine.environment import environment
from autograder.engine.files import read_files
from autograder.engine.inside.exhaustion import RESOURCES
from autograder.engine.inside.wire import Inbox, Wire, WireError
from autograder.engine.limits import Limits
from autograder.engine.outputs import Collector
from autograder.engine.schedule import Attempt, Lane, run_all, run_job
from autograder.interrupts import whole

TRIAL = 20.0  #: seconds that the parent may take to try its wall
START = 60.0  #: seconds that it may take to import everything
ENDING = 10.0  #: seconds that ended children may take to be gone
CHILD_START = 10.0  #: seconds that a child may take to be ready
RUN_BYTES = 128 * 2**20  #: that one run may send in all


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
        once: bool = False,
    ) -> None:
        self.sandbox, self.jobs, self.limits = "namespaces" if isolated else "none", jobs, limits or Limits()
        self.isolated, self.hide, self.once = isolated, hide, once
        self.why = why
        self.lane, self.stopping = Lane(), threading.Event()
        self._places, self._lock = itertools.cycle(range(60_000)), threading.Lock()
        self._ending: list[int] = []
        self._parent = Parent(isolated, hide, once)

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
                try:
                    watch = Watch(pidfd, self.limits.memory, self._parent.memory)
                    return _Pass(job, skip, until, channel, pidfd, watch, self.stopping, self.limits.grace).run()
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
                    self._parent = Parent(self.isolated, self.hide, self.once)
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


class Watch:
    """Looks now and then how much memory a run holds in all its processes.

    Attributes
    ----------
    copies : int
        Snapshots that wait for their hidden part: each shares what the first process was born with.
    """

    PAUSE = 0.1  #: seconds between two looks

    def __init__(self, pidfd: int, most: int, base: int) -> None:
        self.pidfd, self.most, self.base = pidfd, most, base
        self.last, self.copies = time.monotonic(), 0

    def held(self) -> int:
        """Bytes held beyond what the first process was born with."""
        pid = processes.of_pidfd(self.pidfd)
        if pid is None:
            return 0
        every = (pid, *processes.descendants(pid))
        quick = sum(map(processes.memory, every)) - self.base * (1 + self.copies)
        if quick <= self.most:
            return quick
        return min(quick, sum(map(processes.share, every)) - self.base)

    def too_much(self) -> bool:
        """Whether the run holds more than it may; looks at most every PAUSE."""
        now = time.monotonic()
        if now - self.last < self.PAUSE:
            return False
        self.last = now
        return self.held() > self.most


def send_signal(pidfd: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, number)


class Parent:
    """The forking parent, as seen from the grader. Making one returns when its wall is tried; it goes on importing.

    Attributes
    ----------
    missing : list of str
        Parts of the wall that this machine does not offer.
    memory : int
        Bytes of anonymous memory that a child is born with; known once the parent is ready.
    """

    def __init__(self, isolated: bool, hide: tuple[str, ...] = (), once: bool = False, trial: bool = False) -> None:
        with whole():
            self.scratch = tempfile.mkdtemp(prefix="autograder-")
            for folder in ("home", "root", "trial"):
                os.mkdir(os.path.join(self.scratch, folder))
            home = os.path.join(self.scratch, "home")
            self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.process = subprocess.Popen(
                [sys.executable, "-m", "autograder.engine.inside.zygote", str(theirs.fileno()), self.scratch,
                 "trial" if trial else "isolate" if isolated else "plain", "once" if once else "often", *hide],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment(home),
                cwd=home, start_new_session=True,
            )  # fmt: skip
            theirs.close()
            # Also where an interrupt loses this object before anybody can close it.
            self.close = weakref.finalize(self, _end_parent, self.control, self.process, self.scratch)
        self.lock, self.ready, self.memory = threading.Lock(), False, 0
        self.missing: list[str] = self._hear(TRIAL)["missing"]

    def _hear(self, seconds: float) -> dict[str, Any]:
        self.control.settimeout(seconds)
        try:
            answer = json.loads(self.control.recv(65536) or b"{}")
        except TimeoutError:
            answer = {"why": f"no answer in {seconds:g} s"}
        if answer.get("type") != "fine":
            self.close()
            raise EngineUnavailable(
                f"The warm engine cannot start here: {answer.get('why', 'its parent process ended')}."
            )
        return answer

    def await_ready(self) -> None:
        """Return once everything is imported."""
        with self.lock:
            if not self.ready:
                self.memory = self._hear(START)["memory"]
                self.ready = True

    def fork(self, order: dict[str, Any]) -> tuple[socket.socket, int]:
        """A fresh child: its channel and a pidfd."""
        with contextlib.suppress(OSError):
            self.await_ready()
        ours, theirs = socket.socketpair()
        try:
            with self.lock, theirs:
                socket.send_fds(self.control, [json.dumps(order).encode()], [theirs.fileno()])
                body, descriptors, _, _ = socket.recv_fds(self.control, 65536, 1)
            if body:
                return ours, descriptors[0]
        except OSError:
            pass
        ours.close()
        raise EngineUnavailable("The warm engine's parent process has ended.")


def _end_parent(control: socket.socket, process: subprocess.Popen[bytes], scratch: str) -> None:
    """End the parent, and with it every child, and clear away its folder."""
    with whole():
        control.close()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(scratch, ignore_errors=True)


class _Gone(Exception):
    """The run has ended, or had to be ended."""


class _Pass:
    """One attempt at a job in one child."""

    def __init__(
        self, job: Job, skip: frozenset[str], until: float, channel: socket.socket, pidfd: int, watch: Watch,
        stopping: threading.Event, grace: float,
    ) -> None:  # fmt: skip
        self.job, self.skip, self.until, self.pidfd, self.watch, self.stopping = (
            job,
            skip,
            until,
            pidfd,
            watch,
            stopping,
        )
        self.channel, self.grace = channel, grace
        self.channel.settimeout(5.0)  # a run that stops reading is broken
        self.wire, self.inbox, self.collector = Wire(channel), Inbox(), Collector()
        self.result = Attempt([CellRun(cell.id) for cell in job.cells])
        self.paused: list[tuple[Cell, CellRun]] = []  # check cells whose hidden part is still to come

    def run(self) -> Attempt:
        current: Cell | None = None
        try:
            self._wait("ready", time.monotonic() + CHILD_START)
            self._files()
            for cell, run in zip(self.job.cells, self.result.cells, strict=True):
                if cell.id not in self.skip:
                    current = cell
                    self._cell(cell, run)
            for current, run in reversed(self.paused):  # the last one has just stopped: what it needs is in the caches
                self._hidden(current, run)
        except _Gone:
            self.result.stopped_at = current or self.job.cells[0]
        return self.result

    def _files(self) -> None:
        for name, data in read_files(self.job, self.result.notes):
            self._send({"type": "file", "name": name, "data": base64.b64encode(data).decode("ascii")})

    def _cell(self, cell: Cell, run: CellRun) -> None:
        self.collector.begin(run)
        start = time.monotonic()
        order = {"id": cell.id, "role": cell.role, "exercise": cell.exercise, "seed": self.job.seed}
        try:
            if cell.role == "check":
                self._send({"type": "check", "pause": bool(cell.hidden), **order})
                self._send({"source": cell.source})
            else:
                self._send({"type": "cell", "source": cell.source, **order})
            self._follow(cell, run)
        except _Gone:
            self._lost(run)
            raise
        finally:
            run.seconds = time.monotonic() - start
            self.collector.end()

    def _hidden(self, cell: Cell, run: CellRun) -> None:
        """The hidden part of a check cell, in the snapshot that waits for it."""
        self.collector.begin(run, hidden=True)
        start = time.monotonic()
        try:
            self._send({"type": "hidden", "id": cell.id})
            self._send({"source": cell.hidden})
            self._follow(cell, run)
            self.watch.copies -= 1
        except _Gone:
            self._lost(run)
            raise
        finally:
            run.seconds += time.monotonic() - start

    def _lost(self, run: CellRun) -> None:
        run.killed = True
        run.status = "timed-out" if run.status == "timed-out" else "died"

    def _follow(self, cell: Cell, run: CellRun) -> None:
        """Take the cell's messages until it is done. Out of time: interrupt, then give up on the run."""
        limit, interrupted = time.monotonic() + cell.limit, False
        while True:
            now = time.monotonic()
            if now >= min(limit, self.until):
                run.status, self.result.slow = "timed-out", True
                if interrupted or now >= self.until:
                    raise _Gone
                send_signal(self.pidfd, signal.SIGINT)
                interrupted, limit = True, now + self.grace
            message = self._message(min(limit, self.until))
            if message is None:
                continue
            kind = message.get("type")
            if kind == "done" and message.get("id") == cell.id:
                self._done(cell, run, message, interrupted)
                return
            if kind == "observation":
                if cell.role != "check" or message.get("id") != cell.id:
                    continue
                known = len(self.collector.observations)
                self.collector.apply(message)
                if len(self.collector.observations) > known and not interrupted:
                    limit = time.monotonic() + cell.limit
                continue
            if cell.role != "check":
                self.collector.apply(message)

    def _done(self, cell: Cell, run: CellRun, message: dict[str, Any], interrupted: bool) -> None:
        status = message.get("status")
        if status == "paused" and cell.hidden and self.collector.observations is not run.hidden:
            status = "ran"
            if not interrupted and not run.timed_out:
                self.paused.append((cell, run))
                self.watch.copies += 1
        run.killed = status == "killed" or (cell.role == "check" and status == "died")
        if interrupted:
            run.status = "timed-out"
        else:
            run.status = status if status in ("ran", "error", "died") else "error"
        self.result.slow |= run.timed_out
        if cell.role != "check":
            self.collector.end(message.get("cut", 0))
        self.collector.cut = 0
        if (full := message.get("exhausted")) is not None:
            what = full if full in RESOURCES else "resources"
            self.result.notes.append(f"Cell {cell.id} used up the run's {what}.")
            raise _Gone

    # ------------------------------------------------------------------------------------------------------- the wire

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self.wire.send(message)
        except OSError as error:
            raise _Gone from error

    def _wait(self, kind: str, until: float) -> dict[str, Any]:
        while time.monotonic() < until:
            message = self._message(until)
            if message is not None and message.get("type") == kind:
                return message
        raise _Gone

    def _message(self, until: float) -> dict[str, Any] | None:
        """The next message, None where none came in time.

        Raises
        ------
        _Gone
            Where the child has ended, sent no message or too much.
        """
        try:
            message = self.inbox.next()
            if message is not None:
                return message
            if self.stopping.is_set():
                self.result.abandoned = True
                raise _Gone
            if self.watch.too_much():
                self.result.notes.append(
                    f"The run was ended: it held more than {self.watch.most >> 20:,} MiB of memory."
                )
                raise _Gone
            wait = max(0.0, min(until - time.monotonic(), 0.1))
            ready = _readable(wait, self.channel.fileno(), self.pidfd)
            if self.channel.fileno() in ready:
                data = self.channel.recv(1 << 20)
                if not data:
                    raise _Gone
                self.inbox.feed(data)
                if self.inbox.received > RUN_BYTES:
                    self.result.notes.append("The run was ended: it sent too much.")
                    raise _Gone
            elif self.pidfd in ready:
                raise _Gone
        except WireError as error:
            self.result.notes.append(f"The run was ended: it sent {error}.")
            raise _Gone from error
        except OSError as error:
            raise _Gone from error
        return None
