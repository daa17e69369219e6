"""What both engines share: jobs side by side, and one attempt at a job. How a child is born is theirs."""

from __future__ import annotations

import abc
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Self

from autograder.engine.api import Job, Run
from autograder.engine.births.child import Child
from autograder.engine.dialogue import Dialogue
from autograder.engine.limits import Limits
from autograder.engine.schedule import Attempt, SharedOrAlone, run_all, run_job


class BaseEngine(abc.ABC):
    """An engine but for its births.

    Parameters
    ----------
    sandbox : str
        What shuts its runs in: "namespaces", "bubblewrap" or "none".
    jobs : int
        How many run at once.
    limits : Limits or None
        What a run may use.
    """

    name: str
    device = "cpu"

    def __init__(self, sandbox: str, jobs: int, limits: Limits | None) -> None:
        self.sandbox, self.jobs, self.limits = sandbox, jobs, limits or Limits()
        self.turn, self.stopping = SharedOrAlone(), threading.Event()

    @abc.abstractmethod
    def describe(self) -> str:
        """See `api.Engine.describe`."""

    @abc.abstractmethod
    def born(self) -> AbstractContextManager[Child]:
        """A fresh child; leaving the block ends it and every process that it started."""

    def run(self, jobs: Iterable[Job]) -> Iterator[Run]:
        """See `api.Engine.run`."""
        self.stopping.clear()
        return run_all(self.run_one, jobs, self.jobs, self.stopping.set)

    def run_one(self, job: Job) -> Run:
        """Run one job to its end."""
        return run_job(self, job, self.turn)

    def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
        """See `schedule.Runner.attempt`."""
        with self.born() as child:
            return Dialogue(job, skip, until, child, self.limits, self.stopping).run()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
