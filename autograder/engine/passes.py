"""One attempt at a job, cell by cell: what every engine does alike."""

from __future__ import annotations

import abc
import threading
import time
from typing import Any, Literal

from autograder.engine.api import Cell, CellRun, Job, is_copied
from autograder.engine.inside.exhaustion import RESOURCES
from autograder.engine.outputs import Collector
from autograder.engine.schedule import Attempt
from autograder.engine.watch import Watch

RUN_BYTES = 128 * 2**20  #: that one run may send in all
KEPT = 20.0  #: seconds of a job's time, at most a quarter, that are kept for hidden parts

Part = Literal["cell", "check", "hidden"]
Message = dict[str, Any]


class Gone(Exception):
    """The run has ended, or had to be ended."""


class Pass(abc.ABC):
    """Runs a job's cells in order, then the hidden parts of its check cells.

    An engine brings `start`, `order`, `receive` and `interrupt`. Each raises Gone where the run has ended.

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
    """

    def __init__(
        self, job: Job, skip: frozenset[str], until: float, grace: float, watch: Watch, stopping: threading.Event
    ) -> None:
        self.job, self.skip, self.until, self.grace = job, skip, until, grace
        self.watch, self.stopping, self.collector = watch, stopping, Collector()
        self.result = Attempt([CellRun(cell.id) for cell in job.cells])
        self.paused: list[tuple[Cell, CellRun]] = []  # check cells whose hidden part is still to come

    @abc.abstractmethod
    def start(self) -> None:
        """Return when the run can take cells and has its files."""

    @abc.abstractmethod
    def order(self, part: Part, cell: Cell, program: str) -> None:
        """Ask for a cell, the visible part of a check cell, or its hidden part."""

    @abc.abstractmethod
    def receive(self, until: float) -> Message | None:
        """The next message of the last order, as `inside.session` sends them; None where none came in time."""

    @abc.abstractmethod
    def interrupt(self) -> None:
        """Ask what runs to stop."""

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
                self.watch.copies -= is_copied(current.copied, run.threads)
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
                self.interrupt()
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
                self.watch.copies += is_copied(cell.copied, run.threads)
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
