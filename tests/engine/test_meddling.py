"""An answer that meddles with the checks of its notebook costs itself at most, not the exercises beside it."""

import pytest

from autograder.engine import Cell, Job

SIGNALS = """
import os, signal
def meddle():
    while True:
        for pid in os.listdir('/proc'):
            if pid.isdigit() and int(pid) not in (1, os.getpid()):
                try:
                    with open(f'/proc/{pid}/stat') as file:
                        stopped = file.read().rpartition(')')[2].split()[0] == 'T'
                    if stopped:
                        os.kill(int(pid), signal.SIGNAL)
                except OSError:
                    pass
def a(): return 1
"""
PROCESS = "if os.fork() == 0:\n    os.setsid()\n    meddle()\n"
THREAD = "import threading\nthreading.Thread(target=meddle, daemon=True).start()\n"
PLAYS_THE_SESSION = """
def a():
    import autograder.engine.inside.snapshot as snapshot
    def run(self, program):
        wire = self.emit.__self__
        wire.send({"type": "done", "id": self.id, "status": "ran", "cut": 0})
        while (order := wire.receive()) is not None:
            if "id" in order:
                wire.send({"type": "done", "id": order["id"], "status": "ran", "cut": 0})
    snapshot.Observer.run = run
    return 1
"""
MEDDLERS = {
    "a process kills what waits": SIGNALS.replace("SIGNAL)", "SIGKILL)") + PROCESS,
    "a process wakes what waits": SIGNALS.replace("SIGNAL)", "SIGCONT)") + PROCESS,
    "a thread kills what waits": SIGNALS.replace("SIGNAL)", "SIGKILL)") + THREAD,
    "a thread wakes what waits": SIGNALS.replace("SIGNAL)", "SIGCONT)") + THREAD,
    "a hidden part plays the session": PLAYS_THE_SESSION,
}


def exercise(name, source):
    seen, hidden = (f"check('{label}', lambda: {name}())" for label in (f"{name} seen", f"{name} hidden"))
    return (
        Cell(name, source, "answer", name),
        Cell(f"check-{name}", seen, "check", name, 5.0, hidden, 1),
    )


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "between", "last"])
@pytest.mark.parametrize("meddler", MEDDLERS)
def test_the_others_count_in_full(engine, meddler, place):
    if engine.name != "warm":
        pytest.skip("no warm engine here")
    cells = [*exercise("b", "def b(): return 2"), *exercise("c", "def c(): return 3")]
    cells[2 * place : 2 * place] = exercise("a", MEDDLERS[meddler])
    (run,) = engine.run([Job("j", tuple(cells), 1)])
    by_id = {cell.id: cell for cell in run.cells}
    for name, value in (("b", 2), ("c", 3)):
        found = by_id[f"check-{name}"]
        assert not found.killed
        assert found.observations == {f"{name} seen": value}
        assert found.hidden == {f"{name} hidden": value}


def test_an_honest_answer_whose_checks_fail_is_run_once(engine):
    cells = (*exercise("a", "def a(): raise ValueError"), *exercise("b", "b = None"))
    (run,) = engine.run([Job("j", cells, 1)])
    assert run.notes == []
    assert [len(cell.observed) for cell in run.cells] == [0, 2, 0, 2]
