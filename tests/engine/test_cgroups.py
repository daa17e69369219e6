"""Where the kernel lets us, it limits what all processes of a run hold together."""

import os
import subprocess
import sys

import pytest

from autograder.engine import Cell, Job, cgroups, open_engine
from autograder.engine.cgroups import Groups, own_group
from autograder.engine.limits import Limits
from autograder.engine.warm import WarmEngine

SMALL = Limits(memory=768 * 2**20)
HOARD = """
import subprocess, sys
hog = "x = bytearray(300_000_000); print(flush=True); input()"
hogs = [subprocess.Popen([sys.executable, "-c", hog], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(5)]
[hog.stdout.readline() for hog in hogs]
"""


@pytest.fixture(scope="module")
def own():
    try:
        Groups(1, 1 << 30).close(1.0)
    except OSError as error:
        pytest.skip(f"no memory group can be made here: {error}")
    return own_group()


def test_what_children_hold_together_is_limited_and_nothing_is_left(own):
    with WarmEngine(jobs=1, limits=SMALL) as engine:
        assert engine.describe().endswith("namespaces, memory limited.")
        assert len(list(own.glob(f"autograder-{os.getpid()}-*"))) >= 1
        cells = (Cell("a", "1"), Cell("b", HOARD, "answer", "b"), Cell("c", "2", "answer", "c"))
        (run,) = engine.run([Job("j", cells, 1)])
        assert run.cells[2].outputs[0]["data"]["text/plain"] == "2"
        assert any("768 MiB of memory" in note for note in run.notes), run.notes
        mine = engine._groups._made
    assert not any(folder.exists() for folder in mine)


def test_groups_of_a_killed_grader_are_taken_away_and_those_of_others_stay(own):
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    left, other = own / f"autograder-{dead.pid}-0e", own / f"autograder-{os.getppid()}-0f"
    for folder in (left, other):
        folder.mkdir()
    try:
        Groups(1, 1 << 30).close(1.0)
        assert not left.exists() and other.exists()
    finally:
        other.rmdir()


def test_a_group_that_somebody_took_away_costs_nothing(own):
    with WarmEngine(jobs=1) as engine:
        for folder in engine._groups._made:
            folder.rmdir()
        (run,) = engine.run([Job("j", (Cell("a", "1"),), 1)])
    assert (run.cells[0].status, run.notes) == ("ran", [])


def test_where_none_can_be_made_memory_is_watched(monkeypatch):
    def refuse():
        raise OSError("no memory controller")

    monkeypatch.setattr(cgroups, "own_group", refuse)
    with open_engine(jobs=1) as engine:
        if engine.name != "warm":
            pytest.skip("no warm engine here")
        assert engine.describe().endswith("memory watched.")
        (run,) = engine.run([Job("j", (Cell("a", "1"),), 1)])
    assert run.cells[0].status == "ran"
