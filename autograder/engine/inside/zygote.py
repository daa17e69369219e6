"""The parent that every notebook is forked from.

Started by exec with a clean command line and environment, before the grader opens a source, a submission or the gradebook:
a forked child can read its parent's memory, so nothing secret may ever have been in it. It imports what notebooks
import, builds the shell, starts no thread, runs no backward, freezes its heap, and forks.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from typing import Any

from autograder.engine.inside import shell as shells
from autograder.engine.inside.memory import settle
from autograder.engine.inside.putback import World
from autograder.engine.inside.session import Session
from autograder.engine.inside.wire import Wire


def import_everything() -> None:
    """What a notebook may import, so that a child finds it in memory."""
    import matplotlib

    matplotlib.use("module://matplotlib_inline.backend_inline")
    import matplotlib.pyplot
    import numpy
    import torch

    import autograder.lab.probe  # noqa: F401

    torch.set_num_threads(1)
    with contextlib.suppress(RuntimeError):
        torch.set_num_interop_threads(1)


class Zygote:
    """Answers the grader's requests for a fresh child.

    Parameters
    ----------
    control : socket.socket
        A sequenced-packet socket: a request carries the child's end of its channel, the answer a pidfd.
    """

    def __init__(self, control: socket.socket, shell: shells.Shell) -> None:
        self.control, self.shell = control, shell

    def serve(self) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
        self.control.send(json.dumps({"type": "ready", "pid": os.getpid()}).encode())
        while True:
            body, descriptors, _, _ = socket.recv_fds(self.control, 65536, 4)
            if not body:
                return
            order = json.loads(body)
            pid = os.fork()
            if pid == 0:
                self.control.close()
                self._child(order, socket.socket(fileno=descriptors[0]))
            pidfd = os.pidfd_open(pid)
            socket.send_fds(self.control, [json.dumps({"pid": pid}).encode()], [pidfd])
            os.close(pidfd)
            for descriptor in descriptors:
                os.close(descriptor)

    def _child(self, order: dict[str, Any], channel: socket.socket) -> None:
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            wire = Wire(channel)
            work = order["work"]
            os.chdir(work)
            os.environ["HOME"] = work
            Session(wire, self.shell, work).serve()
        finally:
            os._exit(71)


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    scratch = sys.argv[2]
    import_everything()
    shell = shells.build(scratch)
    shells.rehearse(shell)
    World(scratch).put_back()
    settle()
    Zygote(control, shell).serve()


if __name__ == "__main__":
    main()
