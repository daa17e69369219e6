"""The kernel engine: a child is started afresh, one per notebook, under bubblewrap where that works. Slow, and at home anywhere."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

from autograder.engine import processes
from autograder.engine.api import EngineUnavailable
from autograder.engine.births import bubblewrap
from autograder.engine.births.child import Child
from autograder.engine.births.engine import BaseEngine
from autograder.engine.births.environment import environment
from autograder.engine.inside.wall.root import WORK
from autograder.engine.limits import Limits
from autograder.interrupts import whole

START = 60.0  #: seconds that a child may take to import everything


class ColdEngine(BaseEngine):
    """Runs jobs in children that are started by exec. See `open_engine`.

    Parameters
    ----------
    bwrap : str or None
        The bubblewrap binary, None to run children as they are.
    device : {"cpu", "cuda"}
        With "cuda" notebooks run one after another, and each child's end gives back the GPU memory that it held.
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
        super().__init__("bubblewrap" if bwrap else "none", jobs if device == "cpu" else 1, limits)
        self.bwrap, self.device, self.why = bwrap, device, why
        self.modules: set[str] = set()

    def describe(self) -> str:
        """One line: which engine, and what protects this machine."""
        wall = (
            f"bubblewrap{', memory watched' if sys.platform == 'linux' else ''}"
            if self.bwrap
            else f"none ({self.why}); submitted code can do whatever you can do"
        )
        if self.device == "cuda":
            return f"Kernel engine, one at a time, on the GPU, which is not protected. Sandbox: {wall}."
        return f"Kernel engine, {self.jobs} at once. Sandbox: {wall}."

    def expect(self, modules: Iterable[str], jobs: int = 0) -> None:
        """Every child imports for itself, before its first cell."""
        self.modules |= set(modules)

    @contextlib.contextmanager
    def born(self) -> Iterator[Child]:
        """A process of its own.

        Raises
        ------
        EngineUnavailable
            When the block ends, where the child never came to be ready. The text is the last line that it wrote.
        """
        with tempfile.TemporaryDirectory(prefix="autograder-", ignore_cleanup_errors=True) as folder:
            ours, theirs = socket.socketpair()
            with ours, open(os.path.join(folder, "stderr"), "w+b") as errors:
                with theirs:
                    process, pid = self._start(folder, theirs, errors)
                child = Child(
                    ours,
                    START,
                    lambda: pid if process.poll() is None else None,
                    lambda: None if process.poll() is not None else _signal(pid, signal.SIGINT),
                    copies=self.device == "cpu",
                )
                try:
                    yield child
                finally:
                    _end(process)
                if not child.started and not self.stopping.is_set():
                    errors.seek(0)
                    last = errors.read().decode("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
                    raise EngineUnavailable(f"A fresh process did not start: {last[0]}.")

    def _start(self, folder: str, channel: socket.socket, errors: IO[bytes]) -> tuple[subprocess.Popen[bytes], int]:
        """Start a child; returns the process that we wait for, and the pid of the child itself."""
        work = os.path.join(folder, "work")
        os.mkdir(work)
        settings = {"work": "" if self.bwrap else work, "device": self.device, "limits": self.limits.as_dict()}
        settings["modules"] = sorted(self.modules)
        line = [
            sys.executable,
            "-m",
            "autograder.engine.inside.births.cold",
            str(channel.fileno()),
            json.dumps(settings),
        ]
        variables = environment(WORK if self.bwrap else work, self.device)
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": errors, "stderr": errors, "cwd": work}
        options |= {"env": variables, "start_new_session": True}
        if self.bwrap is None:
            with whole():
                process = subprocess.Popen(line, pass_fds=[channel.fileno()], **options)
            return process, process.pid
        reader, writer = os.pipe()
        with open(reader, "rb") as said, bubblewrap.filter_file() as filter_:
            line = [*bubblewrap.command(self.bwrap, variables, self.limits.disk, filter_, writer, self.device), *line]
            passed = [channel.fileno(), writer, *([filter_.fileno()] if filter_ else [])]
            with whole():
                process = subprocess.Popen(line, pass_fds=passed, **options)
            os.close(writer)
            try:
                return process, int(json.loads(said.read())["child-pid"])
            except (ValueError, KeyError):  # it did not come so far
                return process, process.pid


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a child and all that it has started; with bubblewrap its pid namespace ends."""
    with whole():
        if process.poll() is None and sys.platform == "linux":
            processes.kill_tree(process.pid)
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
