"""The copies in which a Jupyter kernel runs check cells. Only the kernel can send, so it passes on what a copy says."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import os
import select
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autograder.engine.api import is_copied
from autograder.engine.inside import snapshot
from autograder.engine.inside.memory import threads
from autograder.engine.inside.snapshot import Emit, Observer
from autograder.engine.inside.wire import Inbox, Wire, WireError

LOOK = 0.02  #: seconds between two looks whether a copy has ended or stopped


@dataclass
class Copy:
    """A copy that waits for its hidden part: a process, the kernel's end of its channel, the files that it left."""

    id: str
    pid: int
    channel: socket.socket
    files: snapshot.Files | None = None


@dataclass
class Here:
    """The same where the kernel itself runs it: what the names were, and who goes on with them."""

    names: dict[str, Any]
    observer: Observer


class Copies:
    """Runs check cells for a kernel.

    Parameters
    ----------
    space : dict
        The kernel's namespace.
    work : str
        The work folder.
    emit : callable
        Sends a message to the grader.
    """

    def __init__(self, space: dict[str, Any], work: str, emit: Emit) -> None:
        self.space, self.work, self.emit = space, work, emit
        self.threads = threads()
        self.waiting: dict[str, Copy | Here] = {}

    def lack_threads(self) -> bool:
        """Whether cells have started threads, which a copy would not have. CUDA has threads of its own, and is never copied."""
        return snapshot.can_copy() and threads() > self.threads

    def check(self, program: str, order: dict[str, Any]) -> str:
        """Run a visible part; returns what became of it, as `snapshot.wait` does."""
        if not (is_copied(order["copied"], self.lack_threads()) and snapshot.can_copy()):
            here = Here(dict(self.space), Observer(order, self.space, self.emit))
            return self._run_here(here, program, order["id"] if order["pause"] else None)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # with another handler nobody could wait for a copy
        ours, theirs = socket.socketpair()
        with snapshot.no_trace(self.work) as kept:
            pid = snapshot.child(lambda: snapshot.observe(Wire(theirs), order, self.space))
            theirs.close()
            status = self._follow(Copy(order["id"], pid, ours), program, snapshot.VISIBLE)
            if status == "paused" and order["pause"]:
                kept.add(pid)
                self.waiting[order["id"]] = Copy(order["id"], pid, ours, snapshot.Files(self.work))
                return status
        ours.close()
        return "died" if status == "paused" else status

    def hidden(self, program: str, id: str) -> str:
        """Go on with a hidden part."""
        waiting = self.waiting.pop(id, None)
        if waiting is None:
            return "died"
        if isinstance(waiting, Here):
            return self._run_here(waiting, program, None, hidden=True)
        with snapshot.no_trace(self.work), waiting.channel:
            if waiting.files is not None:
                waiting.files.put_back()
            with contextlib.suppress(OSError):
                os.kill(waiting.pid, signal.SIGCONT)
            status = self._follow(waiting, program, snapshot.HIDDEN)
            if status == "paused":
                snapshot.end(waiting.pid)
                return "died"
            return status

    def _follow(self, copy: Copy, program: str, events: int) -> str:
        """Send the program and pass on what comes, until the copy has ended or stopped."""
        inbox, open_still = Inbox(), True
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with contextlib.suppress(OSError):
                Wire(copy.channel).send({"id": copy.id, "source": program})
            while True:
                if open_still and select.select([copy.channel], [], [], LOOK)[0]:
                    open_still = self._pass_on(copy.channel, inbox)
                    continue
                pid, code = os.waitpid(copy.pid, events | (os.WNOHANG if open_still else 0))
                if pid:
                    while open_still and select.select([copy.channel], [], [], 0)[0]:
                        open_still = self._pass_on(copy.channel, inbox)
                    return snapshot.outcome(copy.pid, code)
        except KeyboardInterrupt:
            snapshot.end(copy.pid)
            return "killed"
        except ChildProcessError:
            return "died"

    def _pass_on(self, channel: socket.socket, inbox: Inbox) -> bool:
        try:
            data = channel.recv(1 << 20)
            inbox.feed(data)
            while (message := inbox.next()) is not None:
                self.emit(message)
        except (OSError, WireError):
            return False
        return bool(data)

    def _run_here(self, here: Here, program: str, id: str | None, hidden: bool = False) -> str:
        """Run in this process: names, streams and files are put back, other traces may stay.

        A hidden part finds the names as they were when its visible part began, since functions look their globals up in
        this process's own namespace.
        """
        with self._as_it_was(here.names), snapshot.no_trace(self.work):
            snapshot.silence()
            fine = here.observer.run({"source": program}, hidden)
            here.names = dict(self.space)
        if fine and id is not None and not here.observer.probe.timed_out:
            self.waiting[id] = here
            return "paused"
        return "ran" if fine else "error"

    @contextlib.contextmanager
    def _as_it_was(self, names: dict[str, Any]) -> Iterator[None]:
        now, loop = dict(self.space), asyncio._get_running_loop()
        streams, own_input = (sys.stdin, sys.stdout, sys.stderr), builtins.input
        descriptors = [os.dup(number) for number in (1, 2)]
        _replace(self.space, names)
        try:
            yield
        finally:
            _replace(self.space, now)
            (sys.stdin, sys.stdout, sys.stderr), builtins.input = streams, own_input
            asyncio._set_running_loop(loop)
            for number, descriptor in enumerate(descriptors, start=1):
                os.dup2(descriptor, number)
                os.close(descriptor)


def _replace(space: dict[str, Any], names: dict[str, Any]) -> None:
    space.clear()
    space.update(names)
