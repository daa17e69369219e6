"""A check cell runs in a forked copy of the run, so that cells after it see nothing that it brought.

The copy runs the cell's visible part when its turn comes, and stops. It goes on with the hidden part when every cell of the
notebook has run: until then no process of the run has read a word of it.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from autograder.engine.inside.wire import Wire
from autograder.lab.probe import Probe

Emit = Callable[[dict[str, Any]], object]
_FINE, _FAILED, _BROKEN = 64, 65, 70  #: exit codes; 0 is what an answer that ends the process is likely to use


def raw_input(prompt: object = "") -> str:
    from IPython.core.error import StdinNotImplementedError

    raise StdinNotImplementedError("raw_input was called, but this frontend does not support input requests.")


class Observer:
    """Runs the programs of one check cell.

    Parameters
    ----------
    order : dict
        id, exercise and seed of the cell.
    space : dict
        The namespace, which the programs may change: it is a copy.
    emit : callable
        Takes a message per observation.
    """

    def __init__(self, order: dict[str, Any], space: dict[str, Any], emit: Emit) -> None:
        self.id, self.space, self.emit = order["id"], space, emit
        self.probe = Probe(order["exercise"] or order["id"], order["seed"], self._observed)

    def _observed(self, label: str, value: Any) -> None:
        self.emit({"type": "observation", "id": self.id, "label": label, "value": value})

    def run(self, source: str) -> bool:
        """Run input statements and calls of `check`; returns whether they went through."""
        self.space["check"] = self.probe
        try:
            exec(compile(source, f"<{self.id}>", "exec"), self.space)
        except BaseException as error:
            text = "".join(traceback.format_exception_only(error)).strip()
            self.emit({"type": "failed", "id": self.id, "text": text[:2000]})
            return False
        return True


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Nothing is read or shown in the block. Names of streams and descriptors stay as they are after it."""
    with open(os.devnull, "w") as nowhere, open(os.devnull) as nothing:
        sys.stdout = sys.stderr = nowhere
        sys.stdin = nothing
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        builtins.input = raw_input
        with contextlib.suppress(Exception):
            asyncio._set_running_loop(None)  # a check may start its own event loop
        yield


def observe(wire: Wire, order: dict[str, Any], space: dict[str, Any]) -> bool:
    """In the copy: read the visible part and run it; where `pause` is ordered, stop, and do the same with the hidden part.

    Neither has been in the process that was copied.
    """
    with silence():
        observer = Observer(order, space, wire.send)
        program = wire.receive()
        if program is None or not observer.run(program["source"]):
            return False
        if not order["pause"] or observer.probe.timed_out:
            return True
        os.kill(os.getpid(), signal.SIGSTOP)
        program = wire.receive()
        return program is not None and observer.run(program["source"])


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
    """Wait for the copy: "paused", "ran", "error", "died", or "killed" where SIGINT said that its time is over."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _, code = os.waitpid(pid, os.WUNTRACED)
    except KeyboardInterrupt:
        end(pid)
        return "killed"
    except ChildProcessError:
        return "died"
    return outcome(code)


def outcome(code: int) -> str:
    """What the status that `os.waitpid` gave for a copy means."""
    if os.WIFSTOPPED(code):
        return "paused"
    if os.WIFEXITED(code):
        return {_FINE: "ran", _FAILED: "error"}.get(os.WEXITSTATUS(code), "died")
    return "died"


def is_stopped(pid: int) -> bool:
    """Whether the process has stopped. Told by its state, which a signal changes at once; its end takes longer."""
    try:
        stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        try:
            return os.read(stat, 512).rpartition(b")")[2].split()[0] == b"T"
        finally:
            os.close(stat)
    except (OSError, IndexError):
        return False


def end(pid: int) -> None:
    """End a copy."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.waitpid(pid, 0)


@contextlib.contextmanager
def no_trace(work: str) -> Iterator[set[int]]:
    """End the processes and take away the files that come in the block, but for the processes that it adds to the set."""
    files, others = Files(work), descendants()
    try:
        yield others
    finally:
        for pid in descendants() - others:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        files.put_back()


def can_copy() -> bool:
    """Whether a fork of this process could go on: not where there is no fork, nor once it has begun to use CUDA."""
    torch = sys.modules.get("torch")
    return hasattr(os, "fork") and not (torch is not None and torch.cuda.is_initialized())


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
