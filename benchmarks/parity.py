"""Do runs that are born warm and cold give the same, over the whole course? python -m benchmarks.parity [CHAPTER ...].

Every chapter with its demo cells, and all answers of the bank packed one per exercise into notebooks, run in forks of one
parent and in fresh processes. Statuses, outputs and observations must be equal. Exit 1 where they are not. That outputs are
a stock kernel's as well is tests/engine/test_parity.py's business.
"""

from __future__ import annotations

import sys
import time

from autograder.authoring.source import source_names
from autograder.cli.terminal import cores
from autograder.engine.births import bubblewrap
from autograder.engine.births.cold import ColdEngine
from autograder.engine.births.warm import WarmEngine
from autograder.grading.loading import load_course
from tests.engine.parity import differences, packed
from tests.mini_course import ROOT

SEED = 11


def main(names: list[str]) -> int:
    """Compare the two births over chapters; returns the exit code."""
    unequal = 0
    fenced = bubblewrap.find() if bubblewrap.refusal() is None else None
    with WarmEngine(jobs=cores()) as warm, ColdEngine(fenced, jobs=cores()) as cold:
        for name in names:
            (chapter,) = load_course(ROOT, [name]).chapters.values()
            jobs = list(packed(chapter, SEED))
            start = time.monotonic()
            fast = {run.key: run for run in warm.run(jobs)}
            middle = time.monotonic()
            slow = {run.key: run for run in cold.run(jobs)}
            end = time.monotonic()
            found = [line for job in jobs for line in differences(job, fast[job.key], slow[job.key])]
            observed = sum(len(cell.observed) for run in fast.values() for cell in run.cells)
            shown = sum(len(cell.outputs) for run in fast.values() for cell in run.cells)
            print(
                f"{name}: {len(jobs)} notebooks, {observed:,} observations, {shown} outputs; "
                f"{len(found)} differ; "
                f"warm {middle - start:.0f} s, cold {end - middle:.0f} s",
                flush=True,
            )
            unequal += len(found)
            for line in found:
                print("   ", line[:2000])
    return bool(unequal)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:] or source_names(ROOT)))
