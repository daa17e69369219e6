"""The kernel engine: a real Jupyter kernel per notebook, under bubblewrap where that works. Slow, and at home anywhere."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from autograder.engine import bubblewrap, processes
from autograder.engine.api import Cell, CellRun, EngineUnavailable, Job, Run
from autograder.engine.environment import environment
from autograder.engine.files import read_files
from autograder.engine.inside.isolate import WORK
from autograder.engine.limits import Limits
from autograder.engine.outputs import Collector
from autograder.engine.schedule import Attempt, Lane, run_all, run_job

START = 60.0  #: seconds that a kernel may take to start
LIBRARIES = 6 * 2**30  #: bytes of address space that a kernel maps for libraries after its start
RUN_BYTES = 128 * 2**20  #: that one run may send in all
_KINDS = ("stream", "display_data", "execute_result", "update_display_data", "clear_output", "error")


class KernelEngine:
    """Runs jobs in Jupyter kernels. See `open_engine`.

    Parameters
    ----------
    bwrap : str or None
        The bubblewrap binary, None to run kernels as they are.
    device : {"cpu", "cuda"}
        With "cuda" notebooks run one after another, and each kernel's end gives back the GPU memory that it held.
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

    def __enter__(self) -> KernelEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()

    def run(self, jobs: Iterable[Job]) -> Iterator[Run]:
        self.stopping.clear()
        return run_all(lambda job: run_job(self, job, self.lane), jobs, self.jobs, self.stopping.set)

    def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
        result = Attempt([CellRun(cell.id) for cell in job.cells])
        folder = tempfile.mkdtemp(prefix="autograder-")
        try:
            with _Kernel(self, folder) as kernel:
                _Pass(job, skip, until, kernel, self, result).run()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return result


class _Kernel:
    """One kernel process and its client."""

    def __init__(self, engine: KernelEngine, folder: str) -> None:
        self.engine, self.folder = engine, folder

    def __enter__(self) -> _Kernel:
        from jupyter_client.kernelspec import KernelSpec
        from jupyter_client.manager import KernelManager

        inside = bool(self.engine.bwrap)
        self.work = os.path.join(self.folder, "work")
        connection = os.path.join(self.folder, "c")
        for path in (self.work, connection):
            os.mkdir(path)
        limits = self.engine.limits.as_dict()
        limits["memory"] += LIBRARIES
        device = self.engine.device
        limits["address_space"] = device == "cpu"  # CUDA maps far more than it uses: a limit would end every run
        line = [sys.executable, "-m", "autograder.engine.inside.kernel_app", json.dumps(limits)]
        line += ["-f", "{connection_file}", "--HistoryManager.enabled=False", "--IPKernelApp.capture_fd_output=True"]
        variables = environment(WORK if inside else self.work, device) | {"MPLCONFIGDIR": _fonts(connection)}
        self.filter = None
        if self.engine.bwrap:
            self.filter = bubblewrap.filter_file()
            line = (
                bubblewrap.command(
                    self.engine.bwrap, connection, variables, self.engine.limits.disk, self.filter, device
                )
                + line
            )
        self.manager = KernelManager(
            connection_file=os.path.join(connection, "k.json"), **({"transport": "ipc"} if os.name == "posix" else {})
        )
        # Under bubblewrap a signal would end bwrap; the kernel interrupts itself when it is told to.
        self.manager._kernel_spec = KernelSpec(argv=line, language="python", interrupt_mode="message", env={})
        self.client: Any = None
        try:
            options: dict[str, Any] = {"cwd": self.work, "env": variables}
            if self.filter is not None:
                options["pass_fds"] = [self.filter]
            with open(os.path.join(self.folder, "stderr"), "w+b") as errors:
                self.manager.start_kernel(**options, stdout=errors, stderr=errors)
                self.client = self.manager.blocking_client()
                self.client.start_channels()
                try:
                    self.client.wait_for_ready(timeout=START)
                except RuntimeError as error:
                    errors.seek(0)
                    last = errors.read().decode("utf-8", "replace").strip().splitlines()[-1:] or [str(error)]
                    raise EngineUnavailable(f"A Jupyter kernel did not start: {last[0]}") from error
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        pid = self.pid()
        if pid and sys.platform == "linux":
            processes.kill_tree(pid)
        with contextlib.suppress(Exception):
            if self.client is not None:
                self.client.stop_channels()
        with contextlib.suppress(Exception):
            self.manager.shutdown_kernel(now=True)
            self.manager.cleanup_resources()
        if self.filter is not None:
            os.close(self.filter)

    def pid(self) -> int | None:
        process = getattr(getattr(self.manager, "provisioner", None), "process", None)
        return process.pid if process is not None and process.poll() is None else None


def _fonts(folder: str) -> str:
    """A folder for matplotlib that holds the list of fonts, so that a kernel need not make one."""
    target = Path(folder, "matplotlib")
    target.mkdir()
    for path in Path(environment("")["MPLCONFIGDIR"]).glob("fontlist-*.json"):
        with contextlib.suppress(OSError):
            shutil.copy(path, target)
    return str(target)


class _Gone(Exception):
    """The kernel has ended, or had to be ended."""


class _Pass:
    """One attempt at a job in one kernel."""

    def __init__(
        self, job: Job, skip: frozenset[str], until: float, kernel: _Kernel, engine: KernelEngine, result: Attempt
    ) -> None:
        self.job, self.skip, self.until, self.kernel, self.engine, self.result = (
            job,
            skip,
            until,
            kernel,
            engine,
            result,
        )
        self.client, self.collector = kernel.client, Collector()
        self.received, self.looked = 0, time.monotonic()
        self.paused: list[tuple[Cell, CellRun]] = []  # check cells whose hidden part is still to come

    def run(self) -> None:
        current = self.job.cells[0] if self.job.cells else None
        try:
            self._files()
            for cell, run in zip(self.job.cells, self.result.cells, strict=True):
                if cell.id not in self.skip:
                    current = cell
                    self._cell(cell, run)
            for current, run in reversed(self.paused):  # the last one has just stopped: what it needs is in the caches
                self._hidden(current, run)
        except _Gone:
            self.result.stopped_at = current

    def _files(self) -> None:
        files = list(read_files(self.job, self.result.notes))
        if self.engine.bwrap is None:
            for name, data in files:
                target = Path(self.kernel.work, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            return
        for name, data in files:  # the work folder exists inside only
            self.client.execute_interactive(
                f"import pathlib as _p; _p.Path({name!r}).parent.mkdir(parents=True, exist_ok=True); "
                f"_p.Path({name!r}).write_bytes({data!r}); del _p",
                silent=True, store_history=False, timeout=30, output_hook=lambda _: None,
            )  # fmt: skip

    def _cell(self, cell: Cell, run: CellRun) -> None:
        self.collector.begin(run)
        start = time.monotonic()
        order = {"id": cell.id, "role": cell.role, "exercise": cell.exercise, "seed": self.job.seed}
        order["pause"] = bool(cell.hidden)
        try:
            self._execute(cell, run, cell.source, order)
        finally:
            run.seconds = time.monotonic() - start
            self.collector.end()

    def _hidden(self, cell: Cell, run: CellRun) -> None:
        """The hidden part of a check cell, in the copy that waits for it."""
        self.collector.begin(run, hidden=True)
        start = time.monotonic()
        order = {"id": cell.id, "role": "hidden", "exercise": cell.exercise, "seed": self.job.seed}
        try:
            self._execute(cell, run, cell.hidden, order)
        finally:
            run.seconds += time.monotonic() - start

    def _execute(self, cell: Cell, run: CellRun, program: str, order: dict[str, Any]) -> None:
        content = {"code": program, "silent": False, "store_history": cell.role != "check", "user_expressions": {},
                   "allow_stdin": False, "stop_on_error": False}  # fmt: skip
        message = self.client.session.msg("execute_request", content, metadata={"autograder": order})
        try:
            self.client.shell_channel.send(message)
            self._follow(cell, run, message["header"]["msg_id"])
        except _Gone:
            run.killed = True
            run.status = "timed-out" if run.status == "timed-out" else "died"
            raise

    def _follow(self, cell: Cell, run: CellRun, request: str) -> None:
        """Take the cell's messages until the kernel is idle. Out of time: interrupt, then give up on the kernel."""
        limit, interrupted = time.monotonic() + cell.limit, False
        while True:
            now = time.monotonic()
            if now >= min(limit, self.until):
                run.status, self.result.slow = "timed-out", True
                if interrupted or now >= self.until:
                    raise _Gone
                self.kernel.manager.interrupt_kernel()
                interrupted, limit = True, now + self.engine.limits.grace
            message = self._message()
            if message is None or message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind == "autograder_observation" and cell.role == "check":
                if content.get("id") != cell.id:
                    continue
                known = len(self.collector.observations)
                self.collector.apply(content)
                if len(self.collector.observations) > known and not interrupted:
                    limit = time.monotonic() + cell.limit
            elif kind in _KINDS and cell.role != "check":
                display = (content.get("transient") or {}).get("display_id")
                self.collector.apply({**content, "type": kind, "display_id": display})
        self._done(cell, run, request, interrupted)

    def _done(self, cell: Cell, run: CellRun, request: str, interrupted: bool) -> None:
        reply = self._reply(request)
        status = "ran" if reply.get("status") == "ok" else "error"
        if cell.role == "check":
            status = str((reply.get("user_expressions") or {}).get("status"))
            if status == "paused" and cell.hidden and self.collector.observations is not run.hidden:
                status = "ran"
                if not interrupted and not run.timed_out:
                    self.paused.append((cell, run))
            run.killed = status in ("killed", "died")
        if interrupted:
            run.status = "timed-out"
        else:
            run.status = status if status in ("ran", "error", "died") else "error"  # type: ignore[assignment]
        self.result.slow |= run.timed_out

    def _reply(self, request: str) -> dict[str, Any]:
        until = time.monotonic() + 5.0
        while time.monotonic() < until:
            with contextlib.suppress(queue.Empty):
                message = self.client.get_shell_msg(timeout=0.2)
                if message["parent_header"].get("msg_id") == request:
                    return dict(message["content"])
        raise _Gone

    def _message(self) -> dict[str, Any] | None:
        if self.engine.stopping.is_set():
            self.result.abandoned = True
            raise _Gone
        now = time.monotonic()
        if now - self.looked > 0.2:
            self.looked = now
            self._look()
        try:
            message = self.client.get_iopub_msg(timeout=0.1)
        except queue.Empty:
            if self.kernel.pid() is None:
                raise _Gone from None
            return None
        except Exception as error:  # not a message, or not signed by this kernel
            raise _Gone from error
        self.received += len(str(message["content"])) if message["msg_type"] in _KINDS else 0
        if self.received > RUN_BYTES:
            self.result.notes.append("The run was ended: it sent too much.")
            raise _Gone
        return dict(message)

    def _look(self) -> None:
        pid = self.kernel.pid()
        if pid is None or sys.platform != "linux":
            return
        held = sum(map(processes.memory, (pid, *processes.descendants(pid))))
        if held > self.engine.limits.memory + 2**29:  # a kernel's own half gibibyte is not counted
            mebibytes = self.engine.limits.memory >> 20
            self.result.notes.append(f"The run was ended: it held more than {mebibytes:,} MiB of memory.")
            raise _Gone
