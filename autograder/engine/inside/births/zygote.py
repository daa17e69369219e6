"""The parent that every notebook is forked from.

Started by exec with a clean command line and environment, before the grader opens a source, a submission or the gradebook:
a forked child can read its parent's memory, so nothing secret may ever have been in it. It tries its wall, imports what
notebooks import, builds the shell, starts no thread, runs no backward, freezes its heap, and forks.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.engine.inside import kept
from autograder.engine.inside.births.memory import anonymous, forget_fonts, gather_code, gather_heap
from autograder.engine.inside.births.prepare import import_ahead, live_in, prepare
from autograder.engine.inside.cells.streams import capture_descriptors
from autograder.engine.inside.putback import World
from autograder.engine.inside.wall import isolate, limits, root
from autograder.engine.inside.wall.syscalls import PR_SET_CHILD_SUBREAPER, prctl
from autograder.engine.inside.wire import Wire

if TYPE_CHECKING:  # the shell imports IPython; the wall is tried before
    from autograder.engine.inside.cells.shell import Shell

MANY = 16  #: children after which it pays to make forks cheap: that takes as long as it then saves in so many


class Zygote:
    """Answers the grader's requests: to import ahead, and for a fresh child.

    Parameters
    ----------
    control : socket.socket
        A sequenced-packet socket: a request for a child carries that one's end of its channel, the answer a pidfd.
    shell : Shell
        The shell that every child goes on with.
    place : str
        The folder that this process works in until it moves to the root that children see.
    shut : callable or None
        Moves this process to the root folder that children see, before the first of them. None where children are not
        shut in.
    """

    def __init__(self, control: socket.socket, shell: Shell, place: str, shut: Callable[[], None] | None) -> None:
        self.control, self.shell, self.place, self.shut = control, shell, place, shut
        self.births = isolate.PidNamespaces() if shut else None
        self.modules: list[str] = []  # what the course's cells import
        self.forks, self.rehearsed, self.gathered = 0, False, False
        self.memory = 0  #: bytes of anonymous memory that a child is born with

    def serve(self) -> None:
        """Obey until the grader hangs up."""
        from autograder.engine.inside.cells.rehearsal import rehearse

        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
        self.settle()
        while True:
            body, descriptors, _, _ = socket.recv_fds(self.control, 65536, 4)
            if not body:
                return
            order = json.loads(body)
            if "modules" in order:
                self.modules += order["modules"]
                import_ahead(order["modules"])
                if not self.rehearsed:
                    self.rehearsed = True
                    rehearse(self.shell)
                if order["jobs"] >= MANY:
                    self.gather()
                self.settle()
            else:
                self._fork(order, descriptors)

    def settle(self) -> None:
        """Undo what imports and rehearsals have changed, remember the rest as `kept` does, and tell the grader that forks may begin.

        Raises
        ------
        OSError
            Where it has threads.
        """
        World(self.place).put_back()
        forget_fonts()
        threads = len(os.listdir("/proc/self/task"))
        if threads > 1:
            raise OSError(f"a library started {threads - 1} threads")
        self.kept = kept.of_run(self.shell, self.modules)
        self.memory = anonymous()
        _answer(self.control, type="fine", memory=self.memory)

    def gather(self) -> None:
        """Make forks cheap."""
        if not self.gathered:
            self.gathered = True
            gather_heap()
            gather_code()
            self.memory = anonymous()

    def _fork(self, order: dict[str, Any], descriptors: list[int]) -> None:
        if not self.forks and self.shut:
            self.shut()
            self.place, self.rehearsed = root.ROOM, True
            live_in(root.ROOM, root.ROOM)  # what is imported from now on may want to write
        self.forks += 1
        if self.forks == MANY:
            self.gather()
        pid = self.births.fork() if self.births else os.fork()
        if pid == 0:
            self._child(order, descriptors[0])
        pidfd = os.pidfd_open(pid)
        socket.send_fds(self.control, [json.dumps({"memory": self.memory}).encode()], [pidfd])
        for descriptor in (pidfd, *descriptors):
            os.close(descriptor)

    def _child(self, order: dict[str, Any], channel: int) -> None:
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            wire = Wire(socket.socket(fileno=channel))
            work = order.get("work") or root.WORK
            captured = capture_descriptors()
            limits.close_all_but({channel, *captured.values()})
            missing: list[str] = []
            try:
                if self.births:
                    missing = isolate.shut_in(order["limits"], order["place"])
                else:
                    os.chdir(work)
                    prctl(PR_SET_CHILD_SUBREAPER, 1)  # children that detach stay ours to end
                    limits.apply_limits(order["limits"], beside=limits.threads_of_user())
            except OSError as error:
                wire.send({"type": "refused", "why": str(error)})
                return
            live_in(work, _temporary(work))
            self.shell.ipython_dir = work
            from autograder.engine.inside.session import Session

            wire.send({"type": "ready", "missing": missing})
            Session(wire, self.shell, work, captured, order["limits"]["memory"], self.kept).serve()
        finally:
            os._exit(71)


def _temporary(work: str) -> str:
    if work != root.WORK:
        return work
    return "/tmp" if os.access("/tmp", os.W_OK) else root.ROOM + "/tmp"


def main() -> None:
    """Start as `python -m autograder.engine.inside.births.zygote DESCRIPTOR SCRATCH isolate|plain|trial [HIDDEN ...]`."""
    control = socket.socket(fileno=int(sys.argv[1]))
    scratch, wall, hidden = sys.argv[2], sys.argv[3], sys.argv[4:]
    package, isolated = str(Path(__file__).parents[3]), wall != "plain"
    sys.argv[:] = [""]
    try:
        missing: list[str] = []
        if isolated:
            isolate.enter(scratch)
            missing = isolate.trial(scratch + "/trial", package, hidden)
        _answer(control, type="fine", missing=missing)
        if wall == "trial":
            return
        shell = prepare(scratch + "/home")
        sys.path[:] = ["", *(path for path in sys.path if not path.startswith(scratch))]
        shut = partial(root.build, scratch + "/root", package, hidden) if isolated else None
        Zygote(control, shell, scratch, shut).serve()
    except OSError as error:
        _answer(control, type="refused", why=str(error))
        return
    os._exit(0)  # the grader has hung up; to take the interpreter down in order would keep it waiting


def _answer(control: socket.socket, **message: Any) -> None:
    control.send(json.dumps(message).encode())


if __name__ == "__main__":
    with contextlib.suppress(ConnectionError):  # the grader has changed its mind and is gone
        main()
