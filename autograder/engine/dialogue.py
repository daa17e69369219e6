"""One attempt at a job: the grader's half of the talk with one child, cell by cell."""

from __future__ import annotations

import base64
import marshal
import select
import threading
import time
from functools import lru_cache
from typing import Any, Literal

from autograder.engine.api import Cell, CellRun, Job
from autograder.engine.births.child import Child
from autograder.engine.files import read_files
from autograder.engine.inside.exhaustion import RESOURCES
from autograder.engine.inside.wire import Inbox, Wire, WireError
from autograder.engine.limits import Limits
from autograder.engine.outputs import Collector
from autograder.engine.schedule import Attempt
from autograder.engine.watch import Watch

RUN_BYTES = 128 * 2**20  #: that one run may send in all
KEPT = 20.0  #: seconds of a job's time, at most a quarter, that are kept for hidden parts
PATIENCE = 5.0  #: seconds that a child may leave a message unread

Part = Literal["cell", "check", "hidden"]
Message = dict[str, Any]


class Gone(Exception):
    """The child has ended, or had to be ended."""


@lru_cache(maxsize=256)
def _compiled(program: str, id: str) -> str:
    """The code of a check cell's program: compiled here once for a class, for the same interpreter."""
    return base64.b64encode(marshal.dumps(compile(program, f"<{id}>", "exec", dont_inherit=True))).decode("ascii")


class Dialogue:
    """Has a child run a job's cells in order, then the hidden parts of its check cells.

    Parameters
    ----------
    job, skip, until
        As `schedule.Runner.attempt` gets them.
    child : Child
        Fresh from its birth.
    limits : Limits
        What it may use, and how long it may take to stop.
    stopping : threading.Event
        Set where nobody wants the result any more.
    """

    def __init__(
        self, job: Job, skip: frozenset[str], until: float, child: Child, limits: Limits, stopping: threading.Event
    ) -> None:
        self.job, self.skip, self.until, self.grace = job, skip, until, limits.grace
        self.child, self.wire, self.inbox = child, Wire(child.channel), Inbox()
        child.channel.settimeout(PATIENCE)
        self.watch = Watch(child.pid, limits.memory, child.memory)
        self.stopping, self.collector = stopping, Collector()
        self.result = Attempt([CellRun(cell.id) for cell in job.cells])
        self.paused: list[tuple[Cell, CellRun]] = []  # check cells whose hidden part is still to come

    def run(self) -> Attempt:
        """Run everything. A part of the time is kept for hidden parts: a slow cell is not to cost those of earlier ones."""
        current: Cell | None = None
        kept = min(KEPT, max(0.0, self.until - time.monotonic()) / 4)
        self.until -= kept
        try:
            self._start()
            for cell, run in zip(self.job.cells, self.result.cells, strict=True):
                if cell.id in self.skip:
                    continue
                current = cell
                if time.monotonic() >= self.until:
                    self.result.notes.append(
                        f"The notebook's time was over before cell {cell.id}; later cells did not run."
                    )
                    break
                self._follow("check" if cell.role == "check" else "cell", cell, run, cell.source)
            self.until += kept
            for current, run in reversed(self.paused):  # the last one has just stopped: what it needs is in the caches
                self._follow("hidden", current, run, current.hidden)
                self.watch.copies -= self._is_copied(current)
        except Gone:
            self.result.stopped_at = current or (self.job.cells[0] if self.job.cells else None)
        return self.result

    # ------------------------------------------------------------------------------------------------ messages

    def _start(self) -> None:
        """Return when the child can take cells, and has its files."""
        until = time.monotonic() + self.child.start
        while (message := self._receive(until)) is None or message.get("type") != "ready":
            if time.monotonic() >= until:
                raise Gone
        self.child.started = True
        self.watch.begin()
        for name, data in read_files(self.job, self.result.notes):
            self._send({"type": "file", "name": name, "data": base64.b64encode(data).decode("ascii")})

    def _order(self, part: Part, cell: Cell, program: str) -> None:
        """Ask for a cell, the visible part of a check cell, or its hidden part."""
        order = {"type": part, "id": cell.id, "role": cell.role, "exercise": cell.exercise, "seed": self.job.seed}
        if part == "cell":
            self._send({**order, "source": program})
        else:  # the copy that runs it reads the program itself
            self._send({**order, "pause": bool(cell.hidden), "copied": self._is_copied(cell)})
            self._send({"id": cell.id, "code": _compiled(program, cell.id)})

    def _is_copied(self, cell: Cell) -> bool:
        """Whether this check cell runs in a copy of the child."""
        return cell.copied and self.child.copies

    def _send(self, message: Message) -> None:
        try:
            self.wire.send(message)
        except OSError as error:
            raise Gone from error

    def _receive(self, until: float) -> Message | None:
        """The child's next message; None where none came until then, or within a moment."""
        try:
            message = self.inbox.next()
            if message is not None:
                return message
            self._check_on()
            poll = select.poll()
            poll.register(self.child.channel, select.POLLIN)
            if poll.poll(1000 * max(0.0, min(until - time.monotonic(), 0.1))):
                data = self.child.channel.recv(1 << 20)
                if not data:
                    raise Gone
                self.inbox.feed(data)
                if self.inbox.received > RUN_BYTES:
                    self._give_up("it sent too much.")
            elif self.child.pid() is None:  # what it started may hold its end of the channel
                raise Gone
        except WireError as error:
            self._give_up(f"it sent {error}.")
        except OSError as error:
            raise Gone from error
        return None

    def _check_on(self) -> None:
        """End the run where nobody waits for it, or where it holds too much memory."""
        if self.stopping.is_set():
            self.result.abandoned = True
            raise Gone
        if self.watch.too_much():
            self._give_up(f"it held more than {self.watch.most >> 20:,} MiB of memory.")

    def _give_up(self, why: str) -> None:
        """End the run, with a note."""
        self.result.notes.append(f"The run was ended: {why}")
        raise Gone

    # ------------------------------------------------------------------------------------------------ one cell

    def _follow(self, part: Part, cell: Cell, run: CellRun, program: str) -> None:
        """Order one part and take what comes of it."""
        begun = time.monotonic()
        self.collector.begin(run, hidden=part == "hidden")
        try:
            self._order(part, cell, program)
            message, interrupted = self._until_done(cell, run)
            self._done(part, cell, run, message, interrupted)
        except Gone:
            run.killed = True
            run.status = "timed-out" if run.status == "timed-out" else "died"
            raise
        finally:
            run.seconds += time.monotonic() - begun
            self.collector.end()

    def _until_done(self, cell: Cell, run: CellRun) -> tuple[Message, bool]:
        """Take messages until the part is done. Out of time: interrupt, then give up on the run."""
        limit, interrupted = time.monotonic() + cell.limit, False
        while True:
            now, end = time.monotonic(), limit if interrupted else min(limit, self.until)
            if now >= end:
                run.status, self.result.slow = "timed-out", True
                if interrupted:
                    raise Gone
                self.child.interrupt()
                interrupted, limit = True, now + self.grace
                end = limit
            message = self._receive(end)
            if message is None:
                continue
            kind = message.get("type")
            if kind == "done" and message.get("id") == cell.id:
                return message, interrupted
            if kind != "observation":
                if cell.role != "check":
                    self.collector.apply(message)
            elif cell.role == "check" and message.get("id") == cell.id:
                known = len(self.collector.observations)
                self.collector.apply(message)
                if len(self.collector.observations) > known and not interrupted:
                    limit = time.monotonic() + cell.limit

    def _done(self, part: Part, cell: Cell, run: CellRun, message: Message, interrupted: bool) -> None:
        status = message.get("status")
        run.threads |= part == "check" and message.get("threads") is True
        if status == "paused" and part == "check" and cell.hidden:
            status = "ran"
            if not interrupted and not run.timed_out:
                self.paused.append((cell, run))
                self.watch.copies += self._is_copied(cell)
        run.killed = status == "killed" or (part != "cell" and status == "died")
        if interrupted:
            run.status = "timed-out"
        else:
            run.status = status if status in ("ran", "error", "died") else "error"
        self.result.slow |= run.timed_out
        if part == "cell":
            self.collector.count_cut(message.get("cut", 0))
        if (full := message.get("exhausted")) is not None:
            what = full if full in RESOURCES else "resources"
            self.result.notes.append(f"Cell {cell.id} used up the run's {what}.")
            raise Gone
