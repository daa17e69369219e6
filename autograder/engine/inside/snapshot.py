"""A check cell runs in a forked copy of the run, so that cells after it see nothing that it brought."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from autograder.lab.probe import Probe

Emit = Callable[[dict[str, Any]], object]
_FINE, _FAILED, _BROKEN = 64, 65, 70  #: exit codes; 0 is what an answer that ends the process is likely to use


def raw_input(prompt: object = "") -> str:
    from IPython.core.error import StdinNotImplementedError

    raise StdinNotImplementedError("raw_input was called, but this frontend does not support input requests.")


def execute(source: str, order: dict[str, Any], space: dict[str, Any], emit: Emit) -> bool:
    """Run a check cell's program here; returns whether it went through.

    Parameters
    ----------
    source : str
        Input statements and calls of `check`.
    order : dict
        id, exercise and seed of the cell.
    space : dict
        The namespace, which the program may change: the caller is a snapshot.
    emit : callable
        Takes a message per observation.
    """
    with open(os.devnull, "w") as nowhere, open(os.devnull) as nothing:
        sys.stdout = sys.stderr = nowhere
        sys.stdin = nothing
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        builtins.input = raw_input
        with contextlib.suppress(Exception):
            asyncio._set_running_loop(None)  # a check may start its own event loop

        def observed(label: str, value: Any) -> None:
            emit({"type": "observation", "id": order["id"], "label": label, "value": value})

        space["check"] = Probe(order["exercise"] or order["id"], order["seed"], observed)
        try:
            exec(compile(source, f"<{order['id']}>", "exec"), space)
        except BaseException as error:
            text = "".join(traceback.format_exception_only(error)).strip()
            emit({"type": "failed", "id": order["id"], "text": text[:2000]})
            return False
    return True


def child(run: Callable[[], bool]) -> int:
    """Fork; the copy calls `run` and ends. Returns its pid."""
    pid = os.fork()
    if pid == 0:
        code = _BROKEN
        try:
            code = _FINE if run() else _FAILED
        finally:
            os._exit(code)
    return pid


def wait(pid: int) -> str:
    """Wait for the copy: "ran", "error", "died", or "killed" where SIGINT said that its time is over."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _, code = os.waitpid(pid, 0)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.waitpid(pid, 0)
        return "killed"
    except ChildProcessError:
        return "died"
    if os.WIFEXITED(code):
        return {_FINE: "ran", _FAILED: "error"}.get(os.WEXITSTATUS(code), "died")
    return "died"


@contextlib.contextmanager
def no_trace(work: str) -> Iterator[None]:
    """End the processes and take away the files that come in the block."""
    files, others = Files(work), descendants()
    try:
        yield
    finally:
        for pid in descendants() - others:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        files.put_back()


def observe_piped(program: str, order: dict[str, Any], space: dict[str, Any], emit: Emit, work: str) -> str:
    """For a process that must do the sending itself: the copy's messages come back through a pipe."""
    if not can_copy():
        return observe_here(program, order, space, emit, work)
    reader, writer = os.pipe()

    def run() -> bool:
        os.close(reader)
        with open(writer, "w") as out:

            def write(message: dict[str, Any]) -> None:
                out.write(json.dumps(message) + "\n")
                out.flush()

            return execute(program, order, space, write)

    with no_trace(work):
        pid = child(run)
        os.close(writer)
        status = ""
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with open(reader) as lines:
                for line in lines:
                    with contextlib.suppress(ValueError):
                        emit(json.loads(line))
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            status = "killed"
        return wait(pid) if not status else (wait(pid) and status)


def can_copy() -> bool:
    """Whether a fork of this process could go on: not where there is no fork, nor once it has begun to use CUDA."""
    torch = sys.modules.get("torch")
    return hasattr(os, "fork") and not (torch is not None and torch.cuda.is_initialized())


def observe_here(program: str, order: dict[str, Any], space: dict[str, Any], emit: Emit, work: str) -> str:
    """As `observe_piped`, in this process: names, streams and files are put back, other traces may stay."""
    streams, own_input = (sys.stdin, sys.stdout, sys.stderr), builtins.input
    descriptors, loop = [os.dup(number) for number in (1, 2)], asyncio._get_running_loop()
    with no_trace(work):
        try:
            return "ran" if execute(program, order, dict(space), emit) else "error"
        finally:
            (sys.stdin, sys.stdout, sys.stderr), builtins.input = streams, own_input
            asyncio._set_running_loop(loop)
            for number, descriptor in enumerate(descriptors, start=1):
                os.dup2(descriptor, number)
                os.close(descriptor)


def descendants() -> set[int]:
    """The processes that descend from this one, itself left out."""
    found: set[int] = set()
    todo = [os.getpid()]
    while todo:
        parent = todo.pop()
        with contextlib.suppress(OSError, ValueError):
            for task in os.listdir(f"/proc/{parent}/task"):
                for pid in map(int, Path(f"/proc/{parent}/task/{task}/children").read_text().split()):
                    if pid not in found:
                        found.add(pid)
                        todo.append(pid)
    return found


class Files:
    """The files of the work folder before a check cell. Small ones can be written back."""

    _LARGEST = 16 * 2**20

    def __init__(self, work: str) -> None:
        self.work = work
        self.stats = dict(self._walk())
        self.contents: dict[str, bytes] = {}
        room = self._LARGEST
        for path, (size, _) in self.stats.items():
            if size <= room:
                with contextlib.suppress(OSError):
                    self.contents[path] = Path(path).read_bytes()
                    room -= size

    def _walk(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for folder, _, names in os.walk(self.work):
            for name in names:
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):
                    stat = os.lstat(path)
                    yield path, (stat.st_size, stat.st_mtime_ns)

    def put_back(self) -> None:
        """Remove files that came, write files that changed or went as they were."""
        now = dict(self._walk())
        for path in now.keys() - self.stats.keys():
            with contextlib.suppress(OSError):
                os.unlink(path)
        for path, data in self.contents.items():
            if now.get(path) != self.stats[path]:
                with contextlib.suppress(OSError):
                    Path(path).parent.mkdir(parents=True, exist_ok=True)
                    Path(path).write_bytes(data)
