"""One attempt at a job, cell by cell, in one child: warm or cold, it speaks the same words."""

from __future__ import annotations

import base64
import marshal
import threading
import time
from functools import lru_cache
from typing import Any, Literal

from autograder.engine.api import Cell, CellRun, Job
from autograder.engine.child import Child
from autograder.engine.files import read_files
from autograder.engine.inside.exhaustion import RESOURCES
from autograder.engine.inside.wire import Inbox, Wire, WireError
from autograder.engine.outputs import Collector
from autograder.engine.schedule import Attempt
from autograder.engine.watch import Watch

RUN_BYTES = 128 * 2**20  #: that one run may send in all
KEPT = 20.0  #: seconds of a job's time, at most a quarter, that are kept for hidden parts

Part = Literal["cell", "check", "hidden"]
Message = dict[str, Any]


class Gone(Exception):
    """The run has ended, or had to be ended."""


class Pass:
    """Runs a job's cells in order, then the hidden parts of its check cells.

    Parameters
    ----------
    job, skip, until
        As `schedule.Runner.attempt` gets them.
    grace : float
        Seconds between asking a cell to stop and ending its run.
    watch : Watch
        Of the run's memory.
    stopping : threading.Event
        Set where nobody wants the result any more.
    child : Child
        Where the cells run.
    start : float
        Seconds that it may take to be ready.
    """

    def __init__(
        self,
        job: Job,
        skip: frozenset[str],
        until: float,
        grace: float,
        watch: Watch,
        stopping: threading.Event,
        child: Child,
        start: float,
    ) -> None:
        self.job, self.skip, self.until, self.grace, self.patience = job, skip, until, grace, start
        self.watch, self.stopping, self.collector = watch, stopping, Collector()
        self.result = Attempt([CellRun(cell.id) for cell in job.cells])
        self.paused: list[tuple[Cell, CellRun]] = []  # check cells whose hidden part is still to come
        self.child, self.ready = child, False
        child.channel.settimeout(5.0)  # a run that stops reading is broken
        self.wire, self.inbox = Wire(child.channel), Inbox()

    def start(self) -> None:
        """Return when the child can take cells and has its files."""
        until = time.monotonic() + self.patience
        while (self.receive(until) or {}).get("type") != "ready":
            if time.monotonic() >= until:
                raise Gone
        self.ready = True
        for name, data in read_files(self.job, self.result.notes):
            self._send({"type": "file", "name": name, "data": base64.b64encode(data).decode("ascii")})

    def order(self, part: Part, cell: Cell, program: str) -> None:
        """Ask for a cell, the visible part of a check cell, or its hidden part."""
        order = {"type": part, "id": cell.id, "role": cell.role, "exercise": cell.exercise, "seed": self.job.seed}
        if part == "cell":
            self._send({**order, "source": program})
        else:  # a copy reads the program itself
            self._send({**order, "pause": bool(cell.hidden), "copied": cell.copied})
            self._send({"id": cell.id, "code": _compiled(program, cell.id)})

    def receive(self, until: float) -> Message | None:
        """The next message of the last order, as `inside.session` sends them; None where none came in time."""
        try:
            message = self.inbox.next()
            if message is not None:
                return message
            self.check_on()
            if self.child.has_news(max(0.0, min(until - time.monotonic(), 0.1))):
                data = self.child.channel.recv(1 << 20)
                if not data:
                    raise Gone
                self.inbox.feed(data)
                if self.inbox.received > RUN_BYTES:
                    self.give_up("it sent too much.")
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

    def run(self) -> Attempt:
        """Run everything. A part of the time is kept for hidden parts: a slow cell is not to cost those of earlier ones."""
        current: Cell | None = None
        kept = min(KEPT, max(0.0, self.until - time.monotonic()) / 4)
        self.until -= kept
        try:
            self.start()
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
                self.watch.copies -= current.copied
        except Gone:
            self.result.stopped_at = current or self.job.cells[0]
        return self.result

    def check_on(self) -> None:
        """End the run where nobody waits for it, or where it holds too much memory."""
        if self.stopping.is_set():
            self.result.abandoned = True
            raise Gone
        if self.watch.too_much():
            self.note_memory()
            raise Gone

    def note_memory(self) -> None:
        """Note that the run held more memory than it may."""
        note = f"The run held more than {self.watch.most >> 20:,} MiB of memory; what went beyond was ended."
        if note not in self.result.notes:
            self.result.notes.append(note)

    def give_up(self, why: str) -> None:
        """End the run, with a note."""
        self.result.notes.append(f"The run was ended: {why}")
        raise Gone

    def _follow(self, part: Part, cell: Cell, run: CellRun, program: str) -> None:
        """Order one part and take what comes of it."""
        begun = time.monotonic()
        self.collector.begin(run, hidden=part == "hidden")
        try:
            self.order(part, cell, program)
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
            message = self.receive(end)
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
                self.watch.copies += cell.copied
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


@lru_cache(maxsize=256)
def _compiled(program: str, id: str) -> str:
    """The code of a check cell's program: compiled here once for a class, for the same interpreter."""
    return base64.b64encode(marshal.dumps(compile(program, f"<{id}>", "exec", dont_inherit=True))).decode("ascii")
