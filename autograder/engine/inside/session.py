"""The cells of one notebook, one after another, as the grader asks for them."""

from __future__ import annotations

import asyncio
import base64
import builtins
import contextlib
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from autograder.engine.inside import shell as shells
from autograder.engine.inside.putback import Names, World
from autograder.engine.inside.streams import Desk
from autograder.engine.inside.wire import Wire
from autograder.lab.probe import Probe
from autograder.lab.seeds import seed_everything


class Session:
    """Runs what arrives on the wire until the grader hangs up.

    Parameters
    ----------
    wire : Wire
        To the grader.
    shell : Shell
        Built before the fork.
    work : str
        The work folder; the current folder of every cell.
    captured : dict
        What `streams.capture_descriptors` returned.
    """

    def __init__(self, wire: Wire, shell: shells.Shell, work: str, captured: dict[str, int]) -> None:
        self.wire, self.shell, self.work = wire, shell, work
        self.desk = Desk(wire.send, captured)
        shells.attach(shell, self.desk)
        self.run = shells.runner(shell)
        self.names = Names(shell.user_ns)
        self.world = World(work)

    def serve(self) -> None:
        """Follow orders until there are no more."""
        while (order := self.wire.receive()) is not None:
            if order["type"] == "file":
                self._file(order["name"], order["data"])
            elif order["type"] == "cell":
                self._cell(order)
            elif order["type"] == "check":
                self._check(order)

    def _file(self, name: str, data: str) -> None:
        target = Path(self.work, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(base64.b64decode(data))

    def _prepare(self, order: dict[str, Any]) -> None:
        self.world.put_back()
        self.names.put_back()
        self.desk.begin()
        seed_everything(order["seed"], order["id"])

    def _cell(self, order: dict[str, Any]) -> None:
        status = "error"
        try:
            self._prepare(order)
            if self.run(order["source"]):
                status = "ran"
        except BaseException as error:  # an interrupt that came too late, or a shell that was tampered with
            with contextlib.suppress(BaseException):
                self.shell.publish(
                    {"type": "error", "ename": type(error).__name__, "evalue": str(error), "traceback": []}
                )
        self._finish(order, status)

    def _finish(self, order: dict[str, Any], status: str) -> None:
        while True:
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                sys.settrace(None)
                cut = self.desk.end()
                self.names.remember(order["role"])
                self.wire.send({"type": "done", "id": order["id"], "status": status, "cut": cut})
                return
            except KeyboardInterrupt:
                continue

    # ------------------------------------------------------------------------------------------------ check cells

    def _check(self, order: dict[str, Any]) -> None:
        """Run a check cell in a forked snapshot, which reads the program itself: it never enters this process."""
        try:
            self._prepare(order)
            files = _Files(self.work)
            others = _children()
            child = os.fork()
        except OSError as error:
            self.wire.send({"type": "done", "id": order["id"], "status": "error", "cut": 0, "why": str(error)})
            return
        if child == 0:
            self._snapshot(order)
        status = self._await(child)
        for pid in _children() - others:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        files.put_back()
        self.wire.send({"type": "done", "id": order["id"], "status": status, "cut": 0})

    def _snapshot(self, order: dict[str, Any]) -> None:
        code = 70
        try:
            program = self.wire.receive()
            if program is not None:
                code = 0 if _observe(program["source"], order, self.shell.user_ns, self.wire) else 65
        finally:
            os._exit(code)

    def _await(self, child: int) -> str:
        """Wait for the snapshot. The grader's SIGINT says that its time is over."""
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _, code = os.waitpid(child, 0)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(child, 0)
            return "killed"
        except ChildProcessError:
            return "died"
        if os.WIFEXITED(code):
            return {0: "ran", 65: "error"}.get(os.WEXITSTATUS(code), "died")
        return "died"


def _observe(source: str, order: dict[str, Any], space: dict[str, Any], wire: Wire) -> bool:
    """Execute a check cell's program; returns whether it went through."""

    def emit(label: str, observation: Any) -> None:
        wire.send({"type": "observation", "id": order["id"], "label": label, "value": observation})

    with open(os.devnull, "w") as nowhere, open(os.devnull) as nothing:
        sys.stdout = sys.stderr = nowhere
        sys.stdin = nothing
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        builtins.input = shells.raw_input
        asyncio.set_event_loop(None)
        space["check"] = Probe(order["exercise"] or order["id"], order["seed"], emit)
        try:
            exec(compile(source, f"<{order['id']}>", "exec"), space)
        except BaseException as error:
            text = "".join(traceback.format_exception_only(error)).strip()
            wire.send({"type": "failed", "id": order["id"], "text": text[:2000]})
            return False
    return True


def _children() -> set[int]:
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


class _Files:
    """The small files of the work folder before a check cell, so that it leaves none of its own behind."""

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

    def _walk(self) -> Any:
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


