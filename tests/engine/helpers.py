"""Short notebooks for the engine's tests."""

from __future__ import annotations

import dataclasses

from autograder.engine.api import Cell, CellRun, Job, Run
from autograder.engine.limits import Limits

#: short, so that a run which must be killed costs the suite little
LIMITS = Limits(memory=2**30, disk=64 * 2**20, file=32 * 2**20, descriptors=128, processes=32, cpu=60, grace=0.5)
LIMIT = 1.0  #: seconds that a cell may take
SETUP = Cell("setup", "import torch\nx = torch.tensor([1.0, 2.0])", "course")
GOOD = (
    Cell("good", "def good(v):\n    return (v * 2).tolist()", "answer", "good", 10.0),
    Cell("check-good", "check('doubles', lambda: good(x), limit=5)", "check", "good", 10.0,
         "y = x + 1\ncheck('doubles others', lambda: good(y), limit=5)"),
)  # fmt: skip
DOUBLES = {"doubles": {"list": [2.0, 4.0]}, "doubles others": {"list": [4.0, 6.0]}}
BEFORE = (
    Cell("early", "def early(n=1):\n    return 'early' * n", "answer", "early", 10.0),
    Cell("check-early", "check('early', lambda: early(), limit=5)", "check", "early", 10.0,
         "check('twice', lambda: early(2), limit=5)"),
)  # fmt: skip
EARLY = {"early": "early", "twice": "earlyearly"}


def attack_job(key: str, attack: str, check: str = "check('bad', lambda: bad())", limit: float = LIMIT) -> Job:
    """An honest exercise before the attack, the attack as the answer of exercise "bad", an honest exercise after it."""
    hidden = check.replace("'bad'", "'bad again'")
    bad = (Cell("bad", attack, "answer", "bad", limit), Cell("check-bad", check, "check", "bad", limit, hidden))
    return Job(key, (SETUP, *BEFORE, *bad, *GOOD), seed=7, deadline=40.0)


def cells(run: Run) -> dict[str, CellRun]:
    """The run's cells by id."""
    return {cell.id: cell for cell in run.cells}


def text(cell: CellRun) -> str:
    """What a cell wrote to its streams."""
    return "".join(output["text"] for output in cell.outputs if output["output_type"] == "stream")


def error(cell: CellRun) -> str:
    """Name and message of the exception that a cell ended with."""
    return "".join(f"{o['ename']}: {o['evalue']}" for o in cell.outputs if o["output_type"] == "error")


def code_job(*sources: str, key: str = "job", limit: float = 10.0, role: str = "student", **options: object) -> Job:
    """One cell per source, named c0, c1, ..."""
    made = (Cell(f"c{number}", source, role, None, limit) for number, source in enumerate(sources))  # type: ignore[arg-type]
    return dataclasses.replace(Job(key, tuple(made), seed=7), **options)  # type: ignore[arg-type]
