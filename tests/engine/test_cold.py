"""A session that is born cold keeps the same promises, more slowly."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.engine import bubblewrap
from autograder.engine.api import Cell, Job
from autograder.engine.cold import ColdEngine
from autograder.engine.processes import descendants
from tests.engine.helpers import DOUBLES, EARLY, GOOD, LIMITS, SETUP, attack_job, cells, text


@pytest.fixture(scope="module")
def kernel() -> Iterator[ColdEngine]:
    """An engine of fresh processes, shut in where bubblewrap works."""
    with ColdEngine(bubblewrap.find() if bubblewrap.refusal() is None else None, 2, LIMITS) as engine:
        yield engine


@pytest.fixture(scope="module")
def runs(kernel: ColdEngine) -> dict:
    loop = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    seeds = "import torch\nprint(torch.rand(1).item())"
    jobs = [
        attack_job("honest", "def bad():\n    return 5", limit=10.0),
        attack_job("exit", "import os\nos._exit(0)", limit=10.0),
        attack_job("loop", loop, limit=1.5),
        attack_job("check", "def bad():\n    import os\n    os._exit(0)", limit=10.0),
        Job("seeds", (Cell("a", seeds), Cell("b", seeds), SETUP, *GOOD), seed=3),
    ]
    return {run.key: run for run in kernel.run(jobs)}


@pytest.mark.parametrize("key", ["honest", "exit", "loop", "check"])
def test_honest_work_counts(runs: dict, key: str) -> None:
    got = cells(runs[key])
    assert got["check-early"].observed == EARLY
    assert got["check-good"].observed == DOUBLES, runs[key]


def test_a_dead_process_costs_one_exercise(runs: dict) -> None:
    for key in ("exit", "loop"):
        got = cells(runs[key])
        assert got["bad"].killed and got["check-bad"].status == "not-run"
        assert any("without exercise bad" in note for note in runs[key].notes)
    assert cells(runs["check"])["check-bad"].killed and not runs["check"].notes


def test_seeds_are_those_of_the_warm_engine(runs: dict, request: pytest.FixtureRequest) -> None:
    if sys.platform != "linux":
        pytest.skip("the warm engine needs Linux")
    warm = request.getfixturevalue("warm")
    seeds = "import torch\nprint(torch.rand(1).item())"
    (run,) = warm.run([Job("seeds", (Cell("a", seeds), Cell("b", seeds)), seed=3)])
    assert [text(cell) for cell in run.cells] == [text(cell) for cell in runs["seeds"].cells[:2]]


@pytest.mark.skipif(bubblewrap.refusal() is not None, reason=f"bubblewrap: {bubblewrap.refusal()}")
def test_bubblewrap_shuts_in(kernel: ColdEngine) -> None:
    look = (
        "import os, socket\n"
        f"print(os.path.exists({__file__!r}), os.access('/usr', os.W_OK), os.getuid(), os.getcwd(), os.environ.get('USER'))\n"
        "try:\n    socket.create_connection(('1.1.1.1', 53), 2)\nexcept OSError as e:\n    print('no network')\n"
        "try:\n    os.memfd_create('x')\nexcept OSError as e:\n    print('no memfd')\n"
    )
    (run,) = kernel.run(
        [
            Job(
                "look",
                (Cell("look", look), Cell("file", "print(open('sub/f.txt').read())")),
                files=(("sub/f.txt", _file()),),
            )
        ]
    )
    assert run.sandbox == "bubblewrap"
    assert text(run.cells[0]) == "False False 1000 /learner/work None\nno network\nno memfd\n"
    assert "import pytest" in text(run.cells[1])


def _file() -> Path:
    return Path(__file__)


def test_no_process_is_left(runs: dict) -> None:
    lines = (
        [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(os.getpid())]
        if sys.platform == "linux"
        else []
    )
    assert not [line for line in lines if b"inside.cold" in line]


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted on Linux")
def test_what_the_user_runs_already_takes_nothing_from_a_run() -> None:
    """The kernel counts all threads of a user: a desktop has hundreds, more than a run may have."""
    from autograder.engine.inside import memory
    from autograder.engine.inside.isolate import threads_of_user

    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(LIMITS.processes)]
    for thread in threads:
        thread.start()
    try:
        assert threads_of_user() >= memory.threads() > LIMITS.processes
        with ColdEngine(jobs=1, limits=LIMITS) as engine:
            (run,) = engine.run([Job("crowded", (SETUP, *GOOD), seed=3)])
    finally:
        stop.set()
    assert cells(run)["check-good"].observed == DOUBLES, run


@pytest.mark.skipif(bubblewrap.refusal() is not None, reason=f"bubblewrap: {bubblewrap.refusal()}")
def test_it_needs_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS: neither limits nor threads nor memory can be looked up, and honest work counts all the same."""
    real = bubblewrap.command

    def without_proc(*arguments: object, **options: object) -> list[str]:
        line = real(*arguments, **options)  # type: ignore[arg-type]
        line[line.index("--proc")] = "--tmpfs"
        return line

    monkeypatch.setattr(bubblewrap, "command", without_proc)
    look = Cell("look", "import os\nprint(os.listdir('/proc'))\nos.write(1, b'bare\\n')", "student")
    stuck = "import time\ndef bad():\n    time.sleep(60)"
    with ColdEngine(bubblewrap.find(), 1, LIMITS) as engine:
        (run,) = engine.run(
            [Job("blind", (look, *attack_job("x", stuck, "check('bad', lambda: bad(), limit=1)", 10.0).cells), 7)]
        )
    got = cells(run)
    assert text(got["look"]) == "[]\nbare\n"
    assert got["check-early"].observed == EARLY and got["check-good"].observed == DOUBLES, run
    assert got["check-bad"].timed_out
