"""The kernel engine: a fresh process per notebook, under bubblewrap where that works. Slower, and at home anywhere."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.engine import bubblewrap
from autograder.engine.api import EngineUnavailable, Job, Run
from autograder.engine.child import Started, readable
from autograder.engine.environment import environment
from autograder.engine.inside.isolate import WORK
from autograder.engine.limits import Limits
from autograder.engine.passes import Pass
from autograder.engine.schedule import Attempt, Lane, run_all, run_job
from autograder.engine.watch import Watch

START = 60.0  #: seconds that a fresh process may take to import everything


class ColdEngine:
    """Runs each job in a process of its own. See `open_engine`.

    Parameters
    ----------
    bwrap : str or None
        The bubblewrap binary, None to run processes as they are.
    device : {"cpu", "cuda"}
        With "cuda" notebooks run one after another, and each process's end gives back the GPU memory that it held.
    """

    name = "kernel"

    def __init__(
        self,
        bwrap: str | None = None,
        jobs: int = 2,
        limits: Limits | None = None,
        why: str = "",
        device: str = "cpu",
    ) -> None:
        self.bwrap, self.jobs, self.limits = bwrap, jobs if device == "cpu" else 1, limits or Limits()
        self.device = device
        self.sandbox = "bubblewrap" if bwrap else "none"
        self.why = why
        self.lane, self.stopping = Lane(), threading.Event()

    def describe(self) -> str:
        """One line: which engine, and what protects this machine."""
        wall = (
            "bubblewrap, memory watched"
            if self.bwrap
            else f"none ({self.why}); submitted code can do whatever you can do"
        )
        if self.device == "cuda":
            return f"Kernel engine, one at a time, on the GPU, which is not protected. Sandbox: {wall}."
        return f"Kernel engine, {self.jobs} at once. Sandbox: {wall}."

    def expect(self, modules: Iterable[str], jobs: int = 0) -> None:
        """Every process imports for itself."""

    def __enter__(self) -> ColdEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()

    def run(self, jobs: Iterable[Job]) -> Iterator[Run]:
        self.stopping.clear()
        return run_all(lambda job: run_job(self, job, self.lane), jobs, self.jobs, self.stopping.set)

    def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
        with self._started() as (child, errors):
            watch = Watch(child.pid, self.limits.memory, child.base)
            current = Pass(job, skip, until, self.limits.grace, watch, self.stopping, child, START)
            result = current.run()
            if not (current.ready or result.abandoned):
                said = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
                raise EngineUnavailable(f"A fresh process did not start: {said[0] if said else 'it said nothing'}")
            return result

    @contextlib.contextmanager
    def _started(self) -> Iterator[tuple[Started, Path]]:
        """A child, and the file that holds what it complained of before it was ready."""
        folder = tempfile.mkdtemp(prefix="autograder-")
        scratch, work, errors = (os.path.join(folder, name) for name in ("scratch", "work", "stderr"))
        os.mkdir(scratch)
        os.mkdir(work)
        ours, theirs = socket.socketpair()
        try:
            with open(errors, "wb") as complaints:
                process, inner = self._start(theirs, scratch, WORK if self.bwrap else work, work, complaints.fileno())
            theirs.close()
            child = Started(ours, process, inner)
            try:
                yield child, Path(errors)
            finally:
                child.end()
        finally:
            ours.close()
            shutil.rmtree(folder, ignore_errors=True)

    def _start(
        self, theirs: socket.socket, scratch: str, home: str, work: str, errors: int
    ) -> tuple[subprocess.Popen[bytes], int | None]:
        limits = json.dumps(
            {**self.limits.as_dict(), "address_space": self.device == "cpu"}
        )  # CUDA maps far more than it uses
        module = "autograder.engine.inside.cold"
        line = [sys.executable, "-m", module, str(theirs.fileno()), home, limits, self.device]
        variables = environment(home, self.device) | {"MPLCONFIGDIR": _fonts(scratch)}
        with contextlib.ExitStack() as opened:
            descriptors, told = [theirs.fileno()], None
            if self.bwrap:
                told, teller = os.pipe()
                opened.callback(os.close, told)
                filter_ = bubblewrap.filter_file()
                descriptors += [teller, *([] if filter_ is None else [filter_])]
                wall = bubblewrap.command(self.bwrap, scratch, variables, self.limits.disk, filter_, self.device)
                line = [*wall[:-1], "--as-pid-1", "--info-fd", str(teller), "--", *line]
            with contextlib.ExitStack() as passed:
                for descriptor in descriptors[1:]:
                    passed.callback(os.close, descriptor)
                process = subprocess.Popen(
                    line,
                    cwd=work,
                    env=variables,
                    pass_fds=descriptors,
                    stdin=subprocess.DEVNULL,
                    stdout=errors,
                    stderr=errors,
                    start_new_session=True,
                )
            return process, None if told is None else _inner(told)


def _inner(told: int) -> int | None:
    """The session's pid, as bubblewrap tells it; None where it does not."""
    said = b""
    while b"}" not in said and readable(START, told):
        part = os.read(told, 4096)
        if not part:
            return None
        said += part
    return int(json.loads(said)["child-pid"])


def _fonts(folder: str) -> str:
    """A folder for matplotlib that holds the list of fonts, so that a run need not make one."""
    target = Path(folder, "matplotlib")
    target.mkdir()
    for path in Path(environment("")["MPLCONFIGDIR"]).glob("fontlist-*.json"):
        with contextlib.suppress(OSError):
            shutil.copy(path, target)
    return str(target)
