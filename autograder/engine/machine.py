"""What this machine offers to the engine, and why something is not there. For `autograder doctor`."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from autograder.engine.api import EngineUnavailable
from autograder.engine.births import bubblewrap


@dataclass(frozen=True)
class Feature:
    """One thing that the engine can use.

    Attributes
    ----------
    available : bool
        Whether it is there.
    detail : str
        What it is for, or why it is not there and what to do.
    """

    name: str
    available: bool
    detail: str


_KERNEL = Feature("kernel engine", True, "starts a fresh process per notebook: slower, and at home anywhere")


def describe_machine() -> list[Feature]:
    """Try every part of the engine once; takes about a second and leaves nothing behind."""
    return [*_warm(), _bubblewrap(), _KERNEL, _huge_pages(), _cores()]


def _warm() -> list[Feature]:
    if sys.platform != "linux":
        why = "Linux only; here each notebook runs in a fresh process"
        return [Feature("warm engine", False, why), Feature("namespaces", False, "Linux only")]
    from autograder.engine.births.parent import Parent

    try:
        parent = Parent(isolated=True, trial=True)
    except EngineUnavailable as error:
        text = str(error).partition(": ")[2].rstrip(".")
        hint = "containers and some distributions forbid them; see docs/engine.md"
        return [
            Feature("warm engine", True, "forks a copy of a process that has imported torch; without a sandbox here"),
            Feature("namespaces", False, f"{text}; {hint}"),
        ]
    parent.close()
    found = [
        Feature("warm engine", True, "forks a copy of a process that has imported torch"),
        Feature("namespaces", True, "every notebook is shut in: own root, processes, network, users"),
    ]
    for part in ("a user namespace for each child", "a filter on system calls"):
        missing = part in parent.missing
        found.append(Feature(part, not missing, "refused by this kernel" if missing else "the wall's second layer"))
    return found


def _bubblewrap() -> Feature:
    refusal = bubblewrap.refusal()
    return Feature("bubblewrap", refusal is None, refusal or f"shuts in the kernel engine ({bubblewrap.find()})")


def _huge_pages() -> Feature:
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    try:
        on = "[never]" not in path.read_text()
    except OSError:
        on = False
    return Feature("huge pages", on, "forks are cheaper" if on else "forks cost some milliseconds more without them")


def _cores() -> Feature:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Feature("processors", True, f"{count}: as many notebooks run at once")
