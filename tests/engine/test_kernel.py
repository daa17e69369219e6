"""A fresh process per notebook, called the kernel engine, keeps the same promises, more slowly."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.engine import processes
from autograder.engine.api import Cell, Job
from autograder.engine.births import bubblewrap, cold
from autograder.engine.births.cold import ColdEngine
from autograder.engine.births.environment import environment
from autograder.engine.processes import descendants
from tests.engine.helpers import DOUBLES, EARLY, GOOD, LIMITS, SETUP, attack_job, cells, code_job, error, text


@pytest.fixture(scope="module")
def kernel() -> Iterator[ColdEngine]:
    """A kernel engine, shut in where bubblewrap works."""
    with ColdEngine(
        bubblewrap.find() if bubblewrap.refusal() is None else None, 2, replace(LIMITS, grace=3.0)
    ) as engine:
        yield engine


CHILDREN = (
    "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        held = bytearray(b'x') * 300_000_000\n"
    "        time.sleep(60)\ntime.sleep(15)"
)


@pytest.fixture(scope="module")
def runs(kernel: ColdEngine) -> dict:
    loop = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    seeds = "import torch\nprint(torch.rand(1).item())"
    jobs = [
        attack_job("honest", "def bad():\n    return 5", limit=10.0),
        attack_job("exit", "import os\nos._exit(0)", limit=10.0),
        attack_job("loop", loop, limit=1.5),
        attack_job("slow", "import time\ntime.sleep(60)", limit=1.5),
        attack_job("check", "def bad():\n    import os\n    os._exit(0)", limit=10.0),
        attack_job("memory", "held = []\nwhile True:\n    held.append(bytearray(64_000_000))", limit=20.0),
        attack_job("children", CHILDREN, limit=20.0),
        Job("seeds", (Cell("a", seeds), Cell("b", seeds), SETUP, *GOOD), seed=3),
    ]
    return {run.key: run for run in kernel.run(replace(job, deadline=120.0) for job in jobs)}


@pytest.mark.parametrize("key", ["honest", "exit", "loop", "slow", "check", "memory", "children"])
def test_honest_work_counts(runs: dict, key: str) -> None:
    got = cells(runs[key])
    assert got["check-early"].observed == EARLY
    assert got["check-good"].observed == DOUBLES, runs[key]


def test_a_dead_kernel_costs_one_exercise(runs: dict) -> None:
    for key in ("exit", "loop", "memory", "children"):
        got = cells(runs[key])
        assert got["bad"].killed and got["check-bad"].status == "not-run"
        assert any("without exercise bad" in note for note in runs[key].notes)
    assert cells(runs["check"])["check-bad"].killed and not runs["check"].notes


def test_an_interrupt_reaches_it(runs: dict) -> None:
    slow = cells(runs["slow"])["bad"]
    assert slow.status == "timed-out" and not slow.killed and "KeyboardInterrupt" in error(slow)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is looked at in /proc")
def test_memory_of_children_is_watched(runs: dict) -> None:
    assert any("of memory" in note for note in runs["children"].notes), runs["children"].notes


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


def _file():  # type: ignore[no-untyped-def]
    from pathlib import Path

    return Path(__file__)


def test_no_kernel_is_left(runs: dict) -> None:
    import os
    from pathlib import Path

    lines = (
        [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(os.getpid())]
        if sys.platform == "linux"
        else []
    )
    assert not [line for line in lines if b"inside.births.cold" in line]


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted on Linux")
def test_what_the_user_runs_already_takes_nothing_from_a_run() -> None:
    """The kernel counts all threads of a user: a desktop has hundreds, more than a run may have."""
    from autograder.engine.inside.births import memory
    from autograder.engine.inside.wall.limits import threads_of_user

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


def test_it_needs_neither_proc_nor_a_pidfd_nor_a_file_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on macOS. The child is told by a `sitecustomize` of its own, the grader by patches here."""
    (tmp_path / "sitecustomize.py").write_text(_NO_PROC)
    monkeypatch.setattr(cold, "environment", lambda *a: {**environment(*a), "PYTHONPATH": str(tmp_path)})
    monkeypatch.setattr(cold.sys, "platform", "darwin")
    monkeypatch.setattr(processes, "descendants", lambda pid: [])
    monkeypatch.setattr(processes, "memory", lambda pid: 0)
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    jobs = [
        attack_job("exit", "import os\nos._exit(0)", limit=20.0),
        attack_job("slow", "print('before')\nimport time\ntime.sleep(60)", limit=1.5),
        code_job(
            "import os, sys\nos.write(1, b'straight ')\nprint(os.path.isdir('/proc/self'), sys.platform)", key="look"
        ),
    ]
    with ColdEngine(None, 1, replace(LIMITS, grace=3.0), why="a test") as engine:
        runs = {run.key: run for run in engine.run(jobs)}
    assert text(cells(runs["look"])["c0"]) == "straight False darwin\n"
    for key in ("exit", "slow"):
        got = cells(runs[key])
        assert got["check-early"].observed == EARLY and got["check-good"].observed == DOUBLES, runs[key]
    assert cells(runs["exit"])["bad"].killed
    assert text(cells(runs["slow"])["bad"]) == "before\n" and "KeyboardInterrupt" in error(cells(runs["slow"])["bad"])


_NO_PROC = """
import builtins, os, sys, torch
sys.platform = "darwin"
del os.memfd_create, os.pidfd_open

def hidden(path):
    return isinstance(path, (str, bytes, os.PathLike)) and os.fsdecode(path).startswith("/proc")

def without(name, plain):
    def function(path, *a, **k):
        if hidden(path):
            raise FileNotFoundError(path)
        return plain(path, *a, **k)
    return function

for owner, names in ((os, ("open", "stat", "listdir", "scandir")), (builtins, ("open",))):
    for name in names:
        setattr(owner, name, without(name, getattr(owner, name)))
import io
io.open = builtins.open
"""
