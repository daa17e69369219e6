"""The cells of one notebook, one after another, as the grader asks for them."""

from __future__ import annotations

import base64
import contextlib
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.checks.seeds import seed_everything
from autograder.engine.inside import elsewhere, snapshot
from autograder.engine.inside.births.memory import threads
from autograder.engine.inside.cells import shell as shells
from autograder.engine.inside.cells.streams import Desk
from autograder.engine.inside.exhaustion import Gauge
from autograder.engine.inside.in_place import InPlace
from autograder.engine.inside.kept import Kept, course
from autograder.engine.inside.putback import Names, World
from autograder.engine.inside.wall.root import ROOM, WORK
from autograder.engine.inside.wire import Wire


class Session:
    """Runs what arrives on the wire until the grader hangs up.

    Parameters
    ----------
    wire : Wire
        To the grader.
    shell : Shell
        Built before this process was born, or started.
    work : str
        The work folder; the current folder of every cell.
    captured : dict
        What `streams.capture_descriptors` returned.
    memory : int
        Bytes that the run may hold.
    kept : tuple of Kept
        What `kept.of_run` remembered before any cell.
    """

    def __init__(
        self,
        wire: Wire,
        shell: shells.Shell,
        work: str,
        captured: dict[str, int],
        memory: int,
        kept: tuple[Kept, Kept],
    ) -> None:
        self.wire, self.shell, self.work = wire, shell, work
        self.desk = Desk(wire.send, captured)
        shells.attach(shell, self.desk)
        self.run = shells.runner(shell)
        self.pid, isolated = os.getpid(), work == WORK
        self.room = ROOM if isolated else work  #: where its files may be
        self.gauge = Gauge(memory, work, disk=isolated)
        self.names = Names(shell.user_ns)
        self.world, (self.machinery, self.course) = World(work, shell), kept
        self.is_expected = "autograder.lab" in self.course.modules  #: whether what the course imports is there already
        self.author: str | None = None  # the exercise of the last cell, None for an own cell
        self.waiting: dict[str, int] = {}  # check cell to the process in which its hidden part will go on
        self.paused: dict[int, snapshot.Files] = {}  # that process to the files that its visible part left
        self.in_place: dict[str, InPlace] = {}  # check cells whose hidden part will go on in this process

    def serve(self) -> None:
        """Follow orders until there are no more."""
        while (order := self.wire.receive()) is not None:
            if "type" not in order:
                continue  # the program of a snapshot that ended before it read it
            if order.get("exercise") is None or order["exercise"] != self.author:
                self.course.put_back()  # an answer's own check, which follows it, still finds what the answer replaced
            self.author = order.get("exercise")
            if order["type"] == "file":
                self._file(order["name"], order["data"])
            elif order["type"] == "cell":
                self._cell(order)
            elif order["type"] == "check":
                (self._check if order["copied"] else self._check_in_place)(order)
            elif order["type"] == "hidden":
                (self._hidden if order["copied"] else self._check_in_place)(order)

    def _file(self, name: str, data: str) -> None:
        target = Path(self.work, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(base64.b64decode(data))

    def _cell(self, order: dict[str, Any]) -> None:
        status = "error"
        try:
            self.desk.begin()
            seed_everything(order["seed"], order["id"])
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with elsewhere.around(self.shell, order["role"], self.names.course):
                if self.run(order["source"]):
                    status = "ran"
        except BaseException as error:  # an interrupt that came too late, or a shell that was tampered with
            with contextlib.suppress(BaseException):
                self.shell.publish(
                    {"type": "error", "ename": type(error).__name__, "evalue": str(error), "traceback": []}
                )
        self._finish(order, status)

    def _finish(self, order: dict[str, Any], status: str) -> None:
        """Put the world back now, not before the next cell: if that is a check cell, its copy would do it, in pages of its own."""
        self._put_back()
        cut = self.desk.end()
        self.names.after(order["role"])
        if order["role"] == "course" and not self.is_expected:
            self.course.add(course() - self.course.modules.keys())
        message = {"type": "done", "id": order["id"], "status": status, "cut": cut}
        if full := self.gauge.full() or ("waiting checks" if self._has_lost_a_snapshot() else None):
            message["exhausted"] = full
        self.wire.send(message)

    def _put_back(self) -> None:
        """Put the world back, whatever comes in between; from then on no interrupt does."""
        if os.getpid() != self.pid:
            os._exit(0)  # what ran has forked, and this is the copy
        while True:
            with contextlib.suppress(KeyboardInterrupt):
                self.world.put_back_builtins()
                self.machinery.put_back()
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                self.world.put_back()
                return

    def _check(self, order: dict[str, Any]) -> None:
        """The snapshot reads the programs from the wire itself: they never enter this process."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # with another handler nobody could wait for a snapshot
        among_threads = threads() > 1
        try:
            with _spare(), snapshot.no_trace(self.room, set(self.paused)) as kept:
                pid = snapshot.child(lambda: snapshot.observe(self.wire, order, self.shell.user_ns))
                status = snapshot.wait(pid, snapshot.VISIBLE)
                if status == "paused" and order["pause"]:
                    kept.add(pid)
                    self.paused[pid] = snapshot.Files(self.room)
                    self.waiting[order["id"]] = pid
        except OSError:
            status = "error"  # the run has used up its processes; the program stays unread and ends the run
        self._checked(order, status, among_threads)

    def _hidden(self, order: dict[str, Any]) -> None:
        """Let a snapshot go on, among the files that it left."""
        status, pid = "died", self.waiting.pop(order["id"], 0)
        files = self.paused.pop(pid, None)
        with contextlib.suppress(OSError), _spare(), snapshot.no_trace(self.room, set(self.paused)):
            if files is not None:
                files.put_back()
                os.kill(pid, signal.SIGCONT)
                status = snapshot.wait(pid, snapshot.HIDDEN)
                if status == "paused":
                    snapshot.end(pid)
                    status = "died"
        self._checked(order, status)

    def _check_in_place(self, order: dict[str, Any]) -> None:
        """Run the next part of a check cell in this process, among its threads and with its CUDA context."""
        hidden = order["type"] == "hidden"
        here = self.in_place.pop(order["id"], None) if hidden else InPlace(self.wire, order, self.shell.user_ns)
        if here is None:  # somebody said in its name that it waits
            self._checked(order, "died")
            return
        try:
            with snapshot.no_trace(self.room, set(self.paused)):
                status = here.run(hidden)
        finally:
            self._put_back()
        if status == "paused":
            self.in_place[order["id"]] = here
        self._checked(order, status)

    def _checked(self, order: dict[str, Any], status: str, among_threads: bool = False) -> None:
        message = {"type": "done", "id": order["id"], "status": status, "cut": 0, "threads": among_threads}
        if self._has_lost_a_snapshot():
            message["exhausted"] = "waiting checks"
        self.wire.send(message)

    def _has_lost_a_snapshot(self) -> bool:
        """Whether somebody has ended, or woken, a snapshot that waits for its hidden part."""
        return not all(map(snapshot.is_stopped, self.paused))


@contextlib.contextmanager
def _spare() -> Iterator[None]:
    """Lift the soft limits on processes and descriptors to the hard ones for a step of our own."""
    before = {kind: resource.getrlimit(kind) for kind in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE)}
    for kind, (_, hard) in before.items():
        resource.setrlimit(kind, (hard, hard))
    try:
        yield
    finally:
        for kind, limits in before.items():
            resource.setrlimit(kind, limits)
