"""Runs chapters as plain scripts, with their reference answers, and reads the tables that their checks print."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
STAND_IN = Path(__file__).with_name("stand_in")
HAS_GRAPHVIZ = importlib.util.find_spec("graphviz") is not None  # asked before anybody puts the stand-in on the path
_CHECK_CELL = re.compile(r'^# %%.*"grade_id": "check-([^"]+)"', re.MULTILINE)
_TABLE = re.compile(r"^(\S+): (\d+) of (\d+) checks pass\b", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """How a chapter went: seconds, exercises whose checks passed, and sentences about what did not."""

    chapter: str
    seconds: float
    passed: int
    faults: tuple[str, ...]


def names() -> list[str]:
    """All chapters, in order."""
    return sorted(path.stem for path in (ROOT / "source").glob("[0-9][0-9]-*.py"))


def run(chapter: str, log: Path, seconds: float, *, gpu: bool) -> Outcome:
    """Run one chapter in a process of its own.

    Parameters
    ----------
    chapter : str
    log : Path
        Receives what the chapter prints.
    seconds : float
        The most that it may take.
    gpu : bool
        Whether it sees the GPU.
    """
    path = ROOT / "source" / f"{chapter}.py"
    begin = time.monotonic()
    faults: list[str] = []
    with log.open("w", encoding="utf-8") as out:
        try:
            done = subprocess.run(
                [sys.executable, str(path)],
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                env=_environment(gpu),
            )
            if done.returncode:
                faults.append(f"{chapter} ended with exit code {done.returncode}; its last lines are in {log}.")
        except subprocess.TimeoutExpired:
            faults.append(f"{chapter} took more than {seconds:.0f} s and was ended.")
    exercises = _CHECK_CELL.findall(path.read_text(encoding="utf-8"))
    faults += read_tables(chapter, exercises, log.read_text(encoding="utf-8", errors="replace"))
    failed = {fault.split(": ")[0] for fault in faults}
    passed = sum(f"{chapter}, {exercise}" not in failed for exercise in exercises)
    return Outcome(chapter, time.monotonic() - begin, passed, tuple(faults))


def read_tables(chapter: str, exercises: list[str], text: str) -> list[str]:
    """Sentences about exercises whose table is missing or shows a failed check.

    Other tables are no exercises: chapter 00 shows a check that fails on purpose.
    """
    tables = {name: (int(good), int(total)) for name, good, total in _TABLE.findall(text)}
    faults = []
    for exercise in exercises:
        if exercise not in tables:
            faults.append(f"{chapter}, {exercise}: no table of checks was printed.")
        elif (counts := tables[exercise])[0] != counts[1]:
            faults.append(f"{chapter}, {exercise}: {counts[0]} of {counts[1]} checks passed.")
    return faults


def _environment(gpu: bool) -> dict[str, str]:
    paths = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    if not HAS_GRAPHVIZ:
        paths.append(str(STAND_IN))
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "MPLBACKEND": "Agg"}
    return variables if gpu else {**variables, "CUDA_VISIBLE_DEVICES": ""}
