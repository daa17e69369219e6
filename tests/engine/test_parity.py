"""The warm engine's outputs and observations equal a real Jupyter kernel's."""

from __future__ import annotations

import sys
from itertools import islice

import pytest

from autograder.engine.api import Cell, Job, Run
from autograder.engine.cold import ColdEngine
from autograder.engine.warm import WarmEngine
from autograder.pipeline import open_course
from tests.engine.helpers import cells
from tests.engine.parity import differences, normal, packed
from tests.engine.parity_cells import CELLS
from tests.mini_course import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the warm engine needs Linux")

#: checks on what the cells above left behind, and on what must not be left behind
CHECKS = {
    "values": "check('x', lambda: x)\ncheck('grad', lambda: x.grad)\ncheck('random', lambda: torch.randn(2))",
    "errors": "check('zero', lambda: 1 / 0)\ncheck('text', lambda: 'ü')\ncheck('opaque', lambda: object())",
    "inputs": "check('input', lambda: input())\ncheck('loop', lambda: asyncio.run(asyncio.sleep(0, 3)))",
    "brings a name": "brought = 1\nx = None\ncheck('brought', lambda: brought)",
    "sees no name": "check('brought', lambda: brought)\ncheck('x', lambda: x.shape)",
    "fails": "undefined()\ncheck('never', lambda: 1)",
}


@pytest.fixture(scope="module")
def both(warm: WarmEngine) -> tuple[Run, Run]:
    made = [Cell(name, source, "student", None, 30.0) for name, source in CELLS.items()]
    made += [Cell(name, source, "check", "e", 30.0) for name, source in CHECKS.items()]
    job = Job("parity", tuple(made), seed=11)
    with ColdEngine(jobs=1) as kernel:
        (slow,) = kernel.run([job])
    (fast,) = warm.run([job])
    return fast, slow


@pytest.mark.parametrize("name", CELLS)
def test_outputs_are_equal(both: tuple[Run, Run], name: str) -> None:
    fast, slow = (cells(run)[name] for run in both)
    assert normal(fast.outputs) == normal(slow.outputs)
    assert fast.status == slow.status


@pytest.mark.parametrize("name", CHECKS)
def test_observations_are_equal(both: tuple[Run, Run], name: str) -> None:
    fast, slow = (cells(run)[name] for run in both)
    assert fast.observations == slow.observations
    assert fast.status == slow.status
    assert bool(fast.observations) == (name != "fails")
    assert not fast.outputs and not slow.outputs


def test_real_content_runs_equally_in_both(warm: WarmEngine) -> None:
    """One chapter with its demo cells, and a few notebooks of bank answers. benchmarks/parity.py does all."""
    (chapter,) = open_course(ROOT, ["05-inference-mode"]).chapters.values()
    jobs = list(islice(packed(chapter, seed=11), 5))
    with ColdEngine(jobs=2) as kernel:
        slow = {run.key: run for run in kernel.run(jobs)}
    fast = {run.key: run for run in warm.run(jobs)}
    assert [line for job in jobs for line in differences(job, fast[job.key], slow[job.key])] == []
    seen = [(len(cell.outputs), len(cell.observed)) for run in fast.values() for cell in run.cells]
    assert sum(outputs for outputs, _ in seen) > 5 and sum(observations for _, observations in seen) > 300
