"""What a copy of the engine's parent costs: python -m benchmarks.bench_forks [--rounds N].

The parent as it is after its imports, with its heap gathered in huge pages, and with the code of torch gathered as well; in
turns, each in a process of its own. Writes benchmarks/results/forks.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.machine import provenance

RESULTS = Path(__file__).parent / "results"
STATES = ("small pages", "heap gathered", "heap and code gathered")
COPIES = 12
_CELL = "import torch\nx = torch.ones(3, requires_grad=True)"
_CHECK = """
check("gradient", lambda: torch.autograd.grad((x.exp() * x.sin()).sum(), x)[0])
check("names", lambda: [type(node).__name__ for node, _ in (x * 2).grad_fn.next_functions])
check("error", lambda: x.backward())
"""


def measure(state: str) -> dict[str, float]:
    """Costs in one state of the parent, in ms of CPU and page faults."""
    from autograder.engine.inside.births import memory, zygote
    from autograder.engine.inside.cells.rehearsal import rehearse
    from autograder.engine.inside.snapshot import Observer

    shell_of_all = zygote.prepare(tempfile.mkdtemp())
    zygote.import_ahead(())
    rehearse(shell_of_all)
    if state != STATES[0]:
        memory.gather_heap()
    if state == STATES[2]:
        memory.gather_code()
    found: dict[str, list[float]] = {}

    def copy(name: str, fork: Callable[[], int], run: Callable[[], object]) -> None:
        begun, clock = time.process_time(), time.perf_counter()
        pid = fork()
        if pid == 0:
            run()
            os._exit(0)
        forked = time.process_time() - begun
        usage = os.wait4(pid, 0)[2]
        found.setdefault(f"{name}: fork, ms", []).append(1000 * forked)
        found.setdefault(f"{name}: copy, ms", []).append(1000 * (usage.ru_utime + usage.ru_stime))
        found.setdefault(f"{name}: page faults", []).append(usage.ru_minflt)
        found.setdefault(f"{name}: until it is gone, ms", []).append(1000 * (time.perf_counter() - clock))

    def shell() -> None:
        """A copy as the shell of a notebook: it runs a cell, and is copied for a check cell."""
        space: dict[str, object] = {}
        exec(_CELL, space)
        order = {"id": "check-it", "exercise": "it", "seed": 0}
        for _ in range(COPIES):
            copy("for a check cell", memory.fork, lambda: Observer(order, space, json.dumps).run({"source": _CHECK}))

    for _ in range(COPIES):
        copy("empty", memory.fork, lambda: None)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        found.clear()
        shell()
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    found |= json.loads(os.read(reader, 1 << 20))
    return {name: statistics.median(values[2:]) for name, values in found.items()} | {
        "resident, MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    }


def main() -> None:
    """Measure all states in turns, print a table and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--state", choices=STATES, help="measure one state in this process and print JSON")
    options = parser.parse_args()
    if options.state:
        print(json.dumps(measure(options.state)))
        return
    rounds: dict[str, list[dict[str, float]]] = {state: [] for state in STATES}
    for _ in range(options.rounds):
        for state, results in rounds.items():
            command = [sys.executable, "-m", "benchmarks.bench_forks", "--state", state]
            results.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    medians = {
        state: {name: statistics.median(result[name] for result in results) for name in results[0]}
        for state, results in rounds.items()
    }
    print(f"{'':42}" + "".join(f"{state:>24}" for state in STATES))
    for name in medians[STATES[0]]:
        print(f"{name:42}" + "".join(f"{medians[state][name]:24,.1f}" for state in STATES))
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / "forks.json"
    file.write_text(json.dumps({**provenance(), "rounds": options.rounds, "medians": medians}, indent=1) + "\n")
    print(f"written to {file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}")


if __name__ == "__main__":
    main()
