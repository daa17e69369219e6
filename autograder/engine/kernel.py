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
from autograder.engine.api import Cell, EngineUnavailable, Job, Run
from autograder.engine.environment import environment
from autograder.engine.files import read_files
from autograder.engine.inside.isolate import WORK
from autograder.engine.limits import Limits
from autograder.engine.passes import RUN_BYTES, Gone, Message, Part, Pass
from autograder.engine.schedule import Attempt, Lane, run_all, run_job
from autograder.engine.watch import Watch

START = 60.0  #: seconds that a kernel may take to start
LIBRARIES = 6 * 2**30  #: bytes of address space that a kernel maps for libraries after its start
OWN = 2**29  #: bytes that a kernel holds by itself
OBSERVATION = "autograder_observation"  #: type of the message that carries one observation
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

    def expect(self, modules: Iterable[str], jobs: int = 0) -> None:
        """Every kernel imports for itself."""

    def __enter__(self) -> KernelEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()

    def run(self, jobs: Iterable[Job]) -> Iterator[Run]:
        self.stopping.clear()
        return run_all(lambda job: run_job(self, job, self.lane), jobs, self.jobs, self.stopping.set)

    def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
        folder = tempfile.mkdtemp(prefix="autograder-")
        try:
            with _Kernel(self, folder) as kernel:
                return _Pass(job, skip, until, kernel, self).run()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


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


class _Pass(Pass):
    """One attempt at a job in one kernel."""

    def __init__(self, job: Job, skip: frozenset[str], until: float, kernel: _Kernel, engine: KernelEngine) -> None:
        watch = Watch(kernel.pid, engine.limits.memory, OWN)
        super().__init__(job, skip, until, engine.limits.grace, watch, engine.stopping)
        self.kernel, self.bwrap, self.client = kernel, engine.bwrap, kernel.client
        self.received, self.request = 0, ""

    def start(self) -> None:
        files = list(read_files(self.job, self.result.notes))
        if self.bwrap is None:
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

    def order(self, part: Part, cell: Cell, program: str) -> None:
        order = {"role": "hidden" if part == "hidden" else cell.role, "id": cell.id, "exercise": cell.exercise,
                 "seed": self.job.seed, "pause": bool(cell.hidden), "copied": cell.copied}  # fmt: skip
        content = {"code": program, "silent": False, "store_history": part == "cell", "user_expressions": {},
                   "allow_stdin": False, "stop_on_error": False}  # fmt: skip
        message = self.client.session.msg("execute_request", content, metadata={"autograder": order})
        self.request, self.cell = message["header"]["msg_id"], cell
        self.client.shell_channel.send(message)

    def interrupt(self) -> None:
        self.kernel.manager.interrupt_kernel()

    def receive(self, until: float) -> Message | None:
        self.check_on()
        try:
            message = self.client.get_iopub_msg(timeout=0.1)
        except queue.Empty:
            if self.kernel.pid() is None:
                raise Gone from None
            return None
        except Exception as error:  # not a message, or not signed by this kernel
            raise Gone from error
        kind, content = message["msg_type"], message["content"]
        self.received += len(str(content)) if kind in _KINDS else 0
        if self.received > RUN_BYTES:
            self.give_up("it sent too much.")
        if message["parent_header"].get("msg_id") != self.request:
            return None
        if kind == "status" and content["execution_state"] == "idle":
            return self._done_message()
        if kind == OBSERVATION:
            return {**content, "type": "observation"}
        if kind in _KINDS:
            display = (content.get("transient") or {}).get("display_id")
            return {**content, "type": kind, "display_id": display}
        return None

    def _done_message(self) -> Message:
        """What the reply to the last order says, as the warm engine's shell would."""
        until = time.monotonic() + 5.0
        while time.monotonic() < until:
            with contextlib.suppress(queue.Empty):
                message = self.client.get_shell_msg(timeout=0.2)
                if message["parent_header"].get("msg_id") == self.request:
                    content = message["content"]
                    status = "ran" if content.get("status") == "ok" else "error"
                    said = content.get("user_expressions") or {}
                    if self.cell.role == "check":
                        status = str(said.get("status"))
                    return {"type": "done", "id": self.cell.id, "status": status, "threads": said.get("threads")}
        raise Gone
