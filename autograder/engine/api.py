"""The door between grading and engine: what is asked of a run, and what comes back.

Grading writes a `Job`, an engine answers with a `Run`. Neither knows how the other works: an engine sees no expected
value and no point, and grading sees no process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol

Role = Literal["course", "answer", "student", "check"]
CellStatus = Literal["ran", "error", "timed-out", "died", "not-run"]
Json = Any  #: what `json.loads` returns


@dataclass(frozen=True)
class Cell:
    """One code cell of a job.

    Parameters
    ----------
    id : str
        Unique in its job.
    source : str
        Python as IPython reads it; for a check cell the program that `grammar.CheckCell.program` made of its visible part.
    role : {"course", "answer", "student", "check"}
        Names bound by course cells are put back before every later cell, names bound by answer cells where they were
        deleted. A check cell leaves no trace.
    exercise : str or None
        The exercise ("walk") that pays when this cell must be killed.
    hidden : str
        Check cells only: the program of the hidden part, "" where there is none. It goes on where the visible part
        ran, but enters the run only when every cell of the job has run: nothing that students see can hold a word of it.
    hidden_checks : int
        How many checks its hidden part has: so many observations come of it, unless time runs out or somebody meddles.
    copied : bool
        Check cells only: whether it runs in a copy of the run, so that no later cell finds a trace of it. A copy has none of
        the threads that the run has started; a check that waits for one must do without a copy, as the last cell of its job.
    limit : float
        Seconds before the cell is interrupted. A check cell's calls carry limits of their own; this is the most that may pass
        between two of its observations.
    """

    id: str
    source: str
    role: Role = "student"
    exercise: str | None = None
    limit: float = 30.0
    hidden: str = ""
    hidden_checks: int = 0
    copied: bool = True


@dataclass(frozen=True)
class Job:
    """One notebook to run.

    Parameters
    ----------
    key : str
        Names the run, for example "s01/01-graph".
    cells : tuple of Cell
        In the order in which they run.
    seed : int
        Every cell seeds torch, numpy and random from (seed, cell id), every check from (seed, exercise, label).
    files : tuple of (str, Path)
        Sibling files to copy into the work folder: the name there, and where the file lies now.
    deadline : float
        Seconds that the whole job may take, killed runs included.
    """

    key: str
    cells: tuple[Cell, ...]
    seed: int = 0
    files: tuple[tuple[str, Path], ...] = ()
    deadline: float = 120.0


@dataclass
class CellRun:
    """What became of one cell.

    Attributes
    ----------
    status : {"ran", "error", "timed-out", "died", "not-run"}
        "error" is an exception; "timed-out" was interrupted or had to be killed; "died" ended the process.
    outputs : list of dict
        nbformat 4 outputs in order, as Jupyter would give them. Empty for a check cell.
    observations : dict
        Label to observation (see `lab.observe`) of a check cell's visible part: the first per label, only those emitted
        during this cell.
    hidden : dict
        The same of its hidden part.
    killed : bool
        Whether it had to be killed; its exercise then earns nothing.
    threads : bool
        Check cells only: whether the run had other threads when it was copied. Whoever waits for one of them in the copy
        waits for ever.
    seconds : float
        Wall time.
    """

    id: str
    status: CellStatus = "not-run"
    outputs: list[dict[str, Json]] = field(default_factory=list)
    observations: dict[str, Json] = field(default_factory=dict)
    hidden: dict[str, Json] = field(default_factory=dict)
    killed: bool = False
    threads: bool = False
    seconds: float = 0.0

    @property
    def observed(self) -> dict[str, Json]:
        """The observations of both parts."""
        return self.hidden | self.observations

    @property
    def timed_out(self) -> bool:
        """Whether a check was stopped by its own limit; no later one of the cell ran."""
        return any(isinstance(value, dict) and "timeout" in value for value in self.observed.values())


@dataclass
class Run:
    """What became of a job: one `CellRun` per cell, in the job's order.

    Attributes
    ----------
    engine : str
        "warm" or "kernel".
    sandbox : str
        What shut the run in: "namespaces", "bubblewrap" or "none".
    seconds : float
        Wall time of the job.
    notes : list of str
        What a person should know, in sentences: output that was cut, an answer that was left out of the second run.
    """

    key: str
    cells: list[CellRun]
    engine: str
    sandbox: str
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)


class EngineUnavailable(Exception):
    """The engine or sandbox that was asked for cannot run here; the text says why and what to do."""


class Engine(Protocol):
    """Runs jobs. Use it as a context manager: leaving it leaves no process, file or mount behind."""

    name: str
    sandbox: str
    device: str  #: "cpu", or "cuda" where submitted code may use the GPU

    def describe(self) -> str:
        """One line: which engine, and what protects this machine from the code it runs."""

    def expect(self, modules: Iterable[str], jobs: int = 0) -> None:
        """Be told what is to come, so that it can be prepared while the caller does something else.

        Parameters
        ----------
        modules : iterable of str
            What the course's cells import; never what a submission imports.
        jobs : int
            How many jobs there may be; 0 where that is not known.
        """

    def run(self, jobs: Iterable[Job]) -> Iterator[Run]:
        """Run jobs, several at once, and yield one `Run` per job as they end, in any order. Reads `jobs` lazily."""

    def __enter__(self) -> Engine: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
