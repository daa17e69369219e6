"""One notebook, run safely and fast. `open_engine` chooses how."""

from __future__ import annotations

from autograder.engine.api import Cell, CellRun, Engine, EngineUnavailable, Job, Run

__all__ = ["Cell", "CellRun", "Engine", "EngineUnavailable", "Job", "Run", "open_engine"]


def open_engine(engine: str = "auto", sandbox: str = "auto", jobs: int = 2) -> Engine:
    """Choose an engine and a sandbox by what was asked for and what this machine offers."""
    from autograder.engine.warm import WarmEngine

    return WarmEngine(isolated=sandbox != "off", jobs=jobs)
