"""The warm engine's outputs and observations equal a real Jupyter kernel's."""

from __future__ import annotations

import re
import sys

import pytest

from autograder.engine.api import Cell, Job, Run
from autograder.engine.kernel import KernelEngine
from autograder.engine.warm import WarmEngine
from tests.engine.helpers import cells
from tests.engine.parity_cells import CELLS

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
    with KernelEngine(jobs=1) as kernel:
        (slow,) = kernel.run([job])
    (fast,) = warm.run([job])
    return fast, slow


def normal(outputs: list[dict]) -> list[object]:
    """Outputs without addresses, the kernel's own file names, and library frames of a traceback.

    A kernel sends its two streams by turns of some milliseconds, so their order between two other outputs is chance.
    """
    made: list[object] = []
    streams: dict[str, str] = {}
    for output in [*outputs, {"output_type": "end"}]:
        if output["output_type"] == "stream":
            streams[output["name"]] = streams.get(output["name"], "") + output["text"].replace("\r\n", "\n")
            continue
        if streams:
            made.append(_clean(dict(sorted(streams.items()))))
            streams = {}
        if output["output_type"] == "error":
            output = {**output, "traceback": _frames("\n".join(output["traceback"]))}
        made.append(_clean(output))
    return made


def _clean(value: object) -> object:
    if isinstance(value, str):
        value = re.sub(r"0x[0-9a-f]{6,}", "0xADDRESS", value)
        return re.sub(r"(/tmp/ipykernel_\d+/)?\b\d{6,}\.py", "CELL", value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return value


def _frames(text: str) -> str:
    """The traceback without frames of library files, whose inner lines differ."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    blocks = re.split(r"\n(?=File |Cell )", plain)
    return str(_clean("\n".join(block for block in blocks if not block.startswith("File "))))


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
