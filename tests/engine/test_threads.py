"""An answer may start threads in its cell and use them in its checks, though no copy of a run has any but the first."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from autograder.engine.api import Cell, Engine, Job
from autograder.engine.births.cold import ColdEngine
from tests.engine.helpers import DOUBLES, EARLY, LIMITS, attack_job, cells, text

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what a fork takes along is counted on Linux")

POOL = (
    "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(2)\npool.submit(int).result()\n"
    "def bad(): return pool.submit(lambda: 5).result()"
)
#: each waits for a thread that the cell has started
WAITERS = {
    "a pool": POOL,
    "a worker that is given a moment": (
        "import queue, threading\nasked, told = queue.Queue(), queue.Queue()\n"
        "def work():\n    while True:\n        told.put(asked.get() + 1)\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "def bad():\n    asked.put(4)\n    return told.get(timeout=0.5)"
    ),
    "torch's own": (
        "torch.set_num_threads(2)\nm = torch.ones(400, 400)\nm @ m\n"
        "def bad():\n    torch.set_num_threads(2)\n    return int((m @ m).exp().log().mean() > 0) * 5"
    ),
}
CHECK = "check('bad', lambda: bad(), limit=1)"


@pytest.mark.parametrize("name", WAITERS)
def test_a_check_finds_the_threads_of_its_run(warm: Engine, name: str) -> None:
    (run,) = warm.run([attack_job(name, WAITERS[name], CHECK, limit=3.0)])
    got = cells(run)
    assert got["check-bad"].observed == {"bad": 5, "bad again": 5}, run
    assert not got["check-bad"].killed
    assert got["check-early"].observed == EARLY and got["check-good"].observed == DOUBLES, run


def test_a_check_in_a_fresh_process_finds_them_too() -> None:
    job = attack_job("worker", WAITERS["a worker that is given a moment"], CHECK, limit=10.0)
    with ColdEngine(jobs=1, limits=LIMITS) as engine:
        (run,) = engine.run([replace(job, deadline=120.0)])  # a start counts
    got = cells(run)
    assert got["check-bad"].observed == {"bad": 5, "bad again": 5}, run
    assert not got["check-early"].threads, run
    assert got["check-early"].observed == EARLY and got["check-good"].observed == DOUBLES, run


def test_an_answer_with_threads_that_never_ends_costs_itself(warm: Engine) -> None:
    stubborn = POOL + (
        "\ndef bad():\n    pool.submit(int).result()\n    while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass"
    )
    (run,) = warm.run([attack_job("stubborn", stubborn, CHECK, limit=2.0)])
    got = cells(run)
    assert set(got["check-bad"].observed) <= {"bad"} and 5 not in got["check-bad"].observed.values(), run
    assert got["check-early"].observed == EARLY and got["check-good"].observed == DOUBLES, run
    assert run.seconds < 25


def test_a_run_of_its_own_leaves_no_trace_and_no_words(warm: Engine) -> None:
    """Neither a name nor a print of a check is in the cells that come after it, also where it ran in no copy."""
    job = attack_job(
        "words", POOL.replace("lambda: 5", "lambda: print('printed') or 5"), CHECK + "\nmark = 1", limit=3.0
    )
    after = Cell("after", "print('mark' in globals())", "student")
    (run,) = warm.run([Job("words", (*job.cells, after), 7, deadline=40.0)])
    got = cells(run)
    assert got["check-bad"].observed == {"bad": 5, "bad again": 5}, run
    assert text(got["after"]) == "False\n" and "printed" not in str([cell.outputs for cell in run.cells])
