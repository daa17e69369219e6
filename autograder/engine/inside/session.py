"""The cells of one notebook, one after another, as the grader asks for them."""

from __future__ import annotations

import base64
import contextlib
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.engine.inside import shell as shells
from autograder.engine.inside import snapshot
from autograder.engine.inside.exhaustion import Gauge
from autograder.engine.inside.isolate import ROOM, WORK
from autograder.engine.inside.putback import Names, World
from autograder.engine.inside.streams import Desk
from autograder.engine.inside.wire import Wire
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
    memory : int
        Bytes that the run may hold.
    """

    def __init__(self, wire: Wire, shell: shells.Shell, work: str, captured: dict[str, int], memory: int) -> None:
        self.wire, self.shell, self.work = wire, shell, work
        self.desk = Desk(wire.send, captured)
        shells.attach(shell, self.desk)
        self.run = shells.runner(shell)
        self.pid, self.isolated = os.getpid(), work == WORK
        self.gauge = Gauge(memory, work, disk=self.isolated)
        self.names = Names(shell.user_ns)
        self.world = World(work, shell)

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
        if os.getpid() != self.pid:
            os._exit(0)  # the cell forked, and this is the copy
        while True:
            try:
                self.world.put_back_builtins()
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                sys.settrace(None)
                cut = self.desk.end()
                self.names.remember(order["role"])
                message = {"type": "done", "id": order["id"], "status": status, "cut": cut}
                if full := self.gauge.full():
                    message["exhausted"] = full
                self.wire.send(message)
                return
            except KeyboardInterrupt:
                continue

    def _check(self, order: dict[str, Any]) -> None:
        """The snapshot reads the program from the wire itself: it never enters this process."""
        try:
            self._prepare(order)
            with _spare(), snapshot.no_trace(ROOM if self.isolated else self.work):
                status = snapshot.wait(snapshot.child(lambda: self._observe(order)))
        except OSError:
            status = "error"  # the run has used up its processes; the program stays unread and ends the run
        self.wire.send({"type": "done", "id": order["id"], "status": status, "cut": 0})

    def _observe(self, order: dict[str, Any]) -> bool:
        program = self.wire.receive()
        return program is not None and snapshot.execute(program["source"], order, self.shell.user_ns, self.wire.send)


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
