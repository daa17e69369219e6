"""One notebook, run safely and fast. `open_engine` chooses how.

Imports `checks` and `lab` by way of `inside`, and no room that knows grades. Begin with `api`, the door; then `schedule`, who runs
when and how often, and `dialogue`, what is asked of the process that runs a notebook. docs/engine.md explains the whole.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from autograder.engine.api import Cell, CellRun, Engine, EngineUnavailable, Job, Run

if TYPE_CHECKING:
    from autograder.engine.machine import Feature

__all__ = ["Cell", "CellRun", "Engine", "EngineUnavailable", "Job", "Run", "describe_machine", "open_engine"]


def describe_machine() -> list[Feature]:
    """What this machine offers to the engine, and why something is not there. For `autograder doctor`."""
    from autograder.engine.machine import describe_machine

    return describe_machine()


def open_engine(
    engine: str = "auto",
    sandbox: str = "auto",
    jobs: int = 2,
    *,
    device: str = "cpu",
    hide: Iterable[str] = (),
) -> Engine:
    """Choose an engine and a sandbox by what was asked for and what this machine offers.

    Parameters
    ----------
    engine : {"auto", "warm", "kernel"}
        "auto" takes the warm engine where it can be shut in, else a fresh process per notebook, which is called "kernel".
    sandbox : {"auto", "require", "off"}
        "auto" takes what there is, "require" refuses to go without.
    jobs : int
        Notebooks at once.
    device : {"cpu", "cuda"}
        What submitted code may use. "cuda" takes a fresh process per notebook, one after another.
    hide : iterable of str
        Absolute paths of folders that runs must not see, should they lie inside the interpreter's or the system's folders.

    Returns
    -------
    Engine
        A context manager. `describe()` says in one line what was chosen.

    Raises
    ------
    EngineUnavailable
        Where what was asked for cannot be had.
    ValueError
        For a choice that does not exist.
    """
    for name, value, choices in (
        ("engine", engine, ("auto", "warm", "kernel")),
        ("sandbox", sandbox, ("auto", "require", "off")),
        ("device", device, ("cpu", "cuda")),
    ):
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, not {jobs}.")
    if device == "cuda":
        if engine == "warm":
            raise EngineUnavailable("The warm engine forks, and a fork cannot use CUDA; use --engine kernel.")
        if (refusal := _no_cuda()) is not None:
            raise EngineUnavailable(refusal)
        return _kernel(sandbox, 1, [], device)
    why = []
    if engine != "kernel":
        if sys.platform != "linux":
            why.append("the warm engine needs Linux")
        else:
            try:
                return _warm(engine, sandbox, jobs, tuple(hide))
            except EngineUnavailable as error:
                if engine == "warm":
                    raise
                why.append(str(error).rstrip("."))
    if engine == "warm":
        raise EngineUnavailable("The warm engine needs Linux; use --engine kernel.")
    return _kernel(sandbox, jobs, why)


def _warm(engine: str, sandbox: str, jobs: int, hide: tuple[str, ...]) -> Engine:
    from autograder.engine.births.warm import WarmEngine

    if sandbox == "off":
        return WarmEngine(isolated=False, jobs=jobs, why="you asked for none")
    try:
        return WarmEngine(isolated=True, jobs=jobs, hide=hide)
    except EngineUnavailable as error:
        if engine == "auto" or sandbox == "require":
            raise
        return WarmEngine(isolated=False, jobs=jobs, why=str(error).rstrip("."))


def _no_cuda() -> str | None:
    """Why there is no CUDA here, None where there is. Asked in another process, so that the grader stays clear of it."""
    line = [sys.executable, "-c", "import torch; print(torch.cuda.is_available(), torch.version.cuda)"]
    answer = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False).stdout.split()
    if answer[:1] == ["True"]:
        return None
    if answer[1:] == ["None"]:
        return "This torch is built without CUDA; install a CUDA build, or grade with --device cpu."
    return "torch sees no CUDA device here; look at nvidia-smi, or grade with --device cpu."


def _kernel(sandbox: str, jobs: int, why: list[str], device: str = "cpu") -> Engine:
    from autograder.engine.births import bubblewrap
    from autograder.engine.births.cold import ColdEngine

    if sandbox == "off":
        return ColdEngine(None, jobs, why="you asked for none", device=device)
    refusal = bubblewrap.refusal()
    if refusal is None:
        return ColdEngine(bubblewrap.find(), jobs, device=device)
    why = [*why, refusal]
    if sandbox == "require":
        raise EngineUnavailable(f"No sandbox can be had here: {'; '.join(why)}. `autograder doctor` says more.")
    return ColdEngine(None, jobs, why="; ".join(why), device=device)
