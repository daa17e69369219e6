"""Several jobs at once, and what happens to a job whose cell had to be killed. The same for every engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Set
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from autograder.engine.api import Cell, CellRun, Job, Run


@dataclass
class Attempt:
    """One pass over a job's cells.

    Attributes
    ----------
    cells : list of CellRun
        One per cell of the job, in order.
    stopped_at : Cell or None
        The cell during which the run ended, so that the cells after it did not run.
    slow : bool
        Whether some cell or check timed out, so that the job has to repeat alone.
    abandoned : bool
        Whether nobody wants the result any more.
    notes : list of str
        Sentences for a person.
    """

    cells: list[CellRun]
    stopped_at: Cell | None = None
    slow: bool = False
    abandoned: bool = False
    notes: list[str] = field(default_factory=list)


class Runner(Protocol):
    """What an engine brings: one attempt at a job."""

    name: str
    sandbox: str

    def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
        """Run the cells whose ids are not in `skip`, at most until that `time.monotonic()`."""


class SharedOrAlone:
    """A lock: many runs hold it side by side, or one holds it alone, so that no other run makes it slow."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._sharing = 0
        self._waiting = 0
        self._alone = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._alone and not self._waiting)
            self._sharing += 1
        try:
            yield
        finally:
            with self._condition:
                self._sharing -= 1
                self._condition.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._condition:
            self._waiting += 1
            self._condition.wait_for(lambda: not self._alone and not self._sharing)
            self._waiting -= 1
            self._alone = True
        try:
            yield
        finally:
            with self._condition:
                self._alone = False
                self._condition.notify_all()


def run_job(runner: Runner, job: Job, turn: SharedOrAlone) -> Run:
    """Run a job to its end: repeat alone what timed out, and run once more without a cell that had to be killed.

    Then exercises that said less than they had to may get a second chance. Time spent in waiting for the machine does not
    count towards the deadline.
    """
    attempts = _Attempts(runner, job, turn)
    attempts.as_it_is()
    attempts.second_chances()
    return Run(
        job.key, attempts.best, runner.name, runner.sandbox, seconds=job.deadline - attempts.left, notes=attempts.notes
    )


class _Attempts:
    """The attempts at one job, and the best that each cell came to."""

    def __init__(self, runner: Runner, job: Job, turn: SharedOrAlone) -> None:
        self.runner, self.job, self.turn = runner, job, turn
        self.left, self.alone, self.abandoned = job.deadline, False, False
        self.best = [CellRun(cell.id) for cell in job.cells]
        self.skip = frozenset[str]()  # cells of exercises that are lost
        self.doubtful: list[str] = []  # exercises that are lost perhaps by another one's fault
        self.notes: list[str] = []

    def attempt(self, skip: frozenset[str], job: Job | None = None) -> Attempt:
        with self.turn.alone() if self.alone else self.turn.shared():
            start = time.monotonic()
            result = self.runner.attempt(job or self.job, skip, start + self.left)
            self.left -= time.monotonic() - start
        self.abandoned |= result.abandoned
        return result

    def as_it_is(self) -> None:
        """Run all cells; where one must be killed, once more without its exercise."""
        job, last = self.job, self.job.cells[-1:]
        if (
            last and last[0].role == "check"
        ):  # nothing comes after it: as long as it need not be killed, it needs no copy
            job = replace(job, cells=(*job.cells[:-1], replace(last[0], copied=False)))
        while True:
            attempt = self.attempt(self.skip, job)
            if self.abandoned:
                return
            self.best = [_better(now, before) for now, before in zip(attempt.cells, self.best, strict=True)]
            if attempt.slow and not self.alone and self.left > 0:
                self.alone = True  # a time-out counts only when it repeats alone
                job = self.job
                continue
            if attempt.stopped_at and job is not self.job and attempt.stopped_at is job.cells[-1] and self.left > 0:
                job = self.job  # in a copy it takes nothing along
                continue
            self.notes += [note for note in attempt.notes if note not in self.notes]
            if attempt.stopped_at is None:
                return
            if self.left <= 0:
                self.notes.append(
                    f"The notebook's time of {self.job.deadline:g} s was over in cell {attempt.stopped_at.id}; "
                    "later cells did not run."
                )
                return
            self._leave_out(attempt.stopped_at)

    def _leave_out(self, cell: Cell) -> None:
        lost = {cell.id} | {other.id for other in self.job.cells if cell.exercise and other.exercise == cell.exercise}
        self.skip |= lost
        # An earlier attempt may have come to its check; it earns nothing now.
        checks = {other.id for other in self.job.cells if other.id in lost and other.role == "check"} - {cell.id}
        self.best = [CellRun(run.id) if run.id in checks else run for run in self.best]
        what = f"exercise {cell.exercise}" if cell.exercise else f"cell {cell.id}"
        self.notes.append(f"Cell {cell.id} ended the run; the notebook ran once more without {what}.")
        if cell.exercise and any(run.id == cell.id and run.killed for run in self.best):
            self.doubtful.append(cell.exercise)

    def second_chances(self) -> None:
        """One more run for each exercise that said less than it had to, perhaps for no fault of its own.

        It ends with the exercise's check, which runs in no copy and so finds all threads of the run. Where it was another
        answer that may have spoiled it, for example by a thread that ends the process later, other answers stay out.
        """
        for place, cell in enumerate(self.job.cells):
            if cell.role != "check" or self.left <= 0 or self.abandoned:
                continue
            if cell.id not in self.skip and _missed_threads(self.best[place]):
                self._alone(place, self.skip)
            elif _was_cut(cell, self.best[place]) or cell.exercise in self.doubtful:
                self._alone(
                    place, {other.id for other in self.job.cells if other.exercise not in (None, cell.exercise)}
                )

    def _alone(self, place: int, skip: Set[str]) -> None:
        """Run the check cell at `place` and what it needs, without the cells in `skip`; what comes of it counts where it is more."""
        *before, check = self.job.cells[: place + 1]
        cells = [cell for cell in before if cell.role != "check" and cell.id not in skip]
        self.alone = True
        attempt = self.attempt(frozenset(), replace(self.job, cells=(*cells, replace(check, copied=False))))
        now = {run.id: run for run, cell in zip(attempt.cells, (*cells, check), strict=True) if _same(cell, check)}
        without_others = bool(skip - self.skip)
        if attempt.stopped_at or (attempt.slow and without_others):
            return
        if not any(_came_further(now[run.id], run) for run in self.best if run.id in now):
            return
        self.best = [now.get(run.id, run) for run in self.best]
        self.notes += [note for note in attempt.notes if note not in self.notes]
        if without_others:
            self.notes.append(f"Without the other exercises {check.exercise} went through, so it counts.")


def _same(cell: Cell, check: Cell) -> bool:
    """Whether a cell belongs to the exercise of this check cell."""
    return cell.id == check.id or (cell.exercise is not None and cell.exercise == check.exercise)


def _was_cut(cell: Cell, run: CellRun) -> bool:
    """Whether a check cell died, or its hidden part ended in order and yet did not say what it had to.

    Perhaps another answer ended it, or spoke for it.
    """
    if cell.role != "check" or run.timed_out:
        return False
    return run.status == "died" or (run.status in ("ran", "error") and len(run.hidden) < cell.hidden_checks)


_NO_THREAD = ("NotImplementedError", "NameError")  #: errors that no thread would have kept away


def _missed_threads(run: CellRun) -> bool:
    """Whether a check cell's copy lacked threads of the run, and a check of it stopped for a reason that may be theirs."""
    errors = [value["error"] for value in run.observed.values() if isinstance(value, dict) and "error" in value]
    others = [error for error in errors if not (isinstance(error, dict) and error.get("type") in _NO_THREAD)]
    return run.threads and (run.killed or run.timed_out or bool(others))


def _came_further(now: CellRun, before: CellRun) -> bool:
    """Whether a second chance was one: more checks observed a value, or the cell need not be killed any more."""
    return _values(now) > _values(before) or (before.killed and not now.killed)


def _values(run: CellRun) -> int:
    """How many checks observed a value, rather than an exception or the end of their time."""
    return sum(not (isinstance(value, dict) and value.keys() & {"error", "timeout"}) for value in run.observed.values())


def _better(now: CellRun, before: CellRun) -> CellRun:
    """Which of a cell's two runs counts: the later one, unless it ended earlier because the job's time was over."""
    if now.status == "not-run" or (now.status == before.status == "ran" and len(now.observed) < len(before.observed)):
        return before
    return now


def run_all(one: Callable[[Job], Run], jobs: Iterable[Job], workers: int, stop: Callable[[], None]) -> Iterator[Run]:
    """Call `one` for every job, several at once, and yield runs as they end.

    `jobs` is read in the caller's thread, and only a few ahead of what runs, so that memory stays flat.

    Parameters
    ----------
    stop : callable
        Ends what is still running, where the caller takes no more.
    """
    source = iter(jobs)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="engine")
    pending: set[Future[Run]] = set()
    try:
        while True:
            while len(pending) < 2 * workers and (job := next(source, None)) is not None:
                pending.add(pool.submit(one, job))
            if not pending:
                return
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        if pending:
            stop()
        pool.shutdown(cancel_futures=True)
