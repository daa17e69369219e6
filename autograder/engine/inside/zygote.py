"""The parent that every notebook is forked from.

Started by exec with a clean command line and environment, before the grader opens a source, a submission or the gradebook:
a forked child can read its parent's memory, so nothing secret may ever have been in it. It tries its wall, imports what
notebooks import, builds the shell, starts no thread, runs no backward, freezes its heap, and forks.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.engine.inside import isolate
from autograder.engine.inside.memory import anonymous, gather_code, gather_heap
from autograder.engine.inside.putback import World
from autograder.engine.inside.streams import capture_descriptors
from autograder.engine.inside.syscalls import PR_SET_CHILD_SUBREAPER, prctl
from autograder.engine.inside.wire import Wire

if TYPE_CHECKING:  # the shell imports IPython; the wall is tried before
    from autograder.engine.inside.shell import Shell


def prepare(ipython_dir: str, once: bool) -> Shell:
    """Import what children find in memory, and build the shell that they go on with.

    Parameters
    ----------
    ipython_dir : str
        An empty folder.
    once : bool
        Whether one notebook is all that will run. Then only what every notebook needs is imported here, and its cells
        import the rest, as in a kernel.
    """
    gc.disable()  # nothing that is imported goes away, so looking through it takes time only; put_back turns it on
    os.environ["TRITON_INTERPRET"] = "1"  # a child sees no GPU; torch._dynamo imports Triton, which reads this once
    import matplotlib.font_manager  # noqa: F401  # the list of fonts is read here, where it can be found
    import numpy.random  # noqa: F401  # the first seed imports it
    import torch

    import autograder.engine.inside.session  # noqa: F401
    from autograder.engine.inside import shell

    torch.set_num_threads(1)
    with contextlib.suppress(RuntimeError):
        torch.set_num_interop_threads(1)
    if not once:
        import_the_rest()
    built = shell.build(ipython_dir)
    gc.freeze()
    if not once:
        shell.rehearse(built)
    return built


def import_the_rest() -> None:
    """What some notebook or other imports."""
    import matplotlib.pyplot  # noqa: F401
    import matplotlib_inline.backend_inline  # noqa: F401
    import torch._dynamo  # a second or more: torch.utils.checkpoint and dispatch modes import it at their first call
    import torch.fx.experimental.symbolic_shapes  # sympy: backward with an explicit gradient imports it
    import torch.utils.serialization.config  # noqa: F401  # torch.save imports it

    with contextlib.suppress(ImportError):  # what the interpreter imports at its first launch
        import triton.compiler.code_generator
        import triton.experimental  # noqa: F401

    import autograder.lab

    for module in pkgutil.iter_modules(autograder.lab.__path__, "autograder.lab."):
        with contextlib.suppress(ImportError):  # one that needs what is not installed here
            importlib.import_module(module.name)


class Zygote:
    """Answers the grader's requests for a fresh child.

    Parameters
    ----------
    control : socket.socket
        A sequenced-packet socket: a request carries the child's end of its channel, the answer a pidfd.
    shell : Shell
        The shell that every child goes on with.
    isolated : bool
        Whether children shut themselves in.
    """

    def __init__(self, control: socket.socket, shell: Shell, isolated: bool) -> None:
        self.control, self.shell = control, shell
        self.births = isolate.Births() if isolated else None

    def serve(self) -> None:
        """Fork until the grader hangs up."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
        while True:
            body, descriptors, _, _ = socket.recv_fds(self.control, 65536, 4)
            if not body:
                return
            order = json.loads(body)
            pid = self.births.fork() if self.births else os.fork()
            if pid == 0:
                self._child(order, descriptors[0])
            pidfd = os.pidfd_open(pid)
            socket.send_fds(self.control, [b"{}"], [pidfd])
            for descriptor in (pidfd, *descriptors):
                os.close(descriptor)

    def _child(self, order: dict[str, Any], channel: int) -> None:
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            wire = Wire(socket.socket(fileno=channel))
            work = order.get("work") or isolate.WORK
            captured = capture_descriptors()
            isolate.close_all_but({channel, *captured.values()})
            missing: list[str] = []
            try:
                if self.births:
                    missing = isolate.shut_in(order["limits"], order["place"])
                else:
                    os.chdir(work)
                    prctl(PR_SET_CHILD_SUBREAPER, 1)  # children that detach stay ours to end
                    isolate.apply_limits(order["limits"])
            except OSError as error:
                wire.send({"type": "refused", "why": str(error)})
                return
            os.environ.update(HOME=work, IPYTHONDIR=work, MPLCONFIGDIR=work + "/.matplotlib", TMPDIR=_temporary(work))
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = work + "/.torchinductor"
            tempfile.tempdir = None
            self.shell.ipython_dir = work
            from autograder.engine.inside.session import Session

            wire.send({"type": "ready", "missing": missing})
            Session(wire, self.shell, work, captured, order["limits"]["memory"]).serve()
        finally:
            os._exit(71)


def _temporary(work: str) -> str:
    if work != isolate.WORK:
        return work
    return "/tmp" if os.access("/tmp", os.W_OK) else isolate.ROOM + "/tmp"


def main() -> None:
    """Start as `python -m autograder.engine.inside.zygote DESCRIPTOR SCRATCH isolate|plain|trial once|often [HIDDEN ...]`."""
    control = socket.socket(fileno=int(sys.argv[1]))
    scratch, wall, once, hidden = sys.argv[2], sys.argv[3], sys.argv[4] == "once", sys.argv[5:]
    package, isolated = str(Path(__file__).parents[2]), wall != "plain"
    sys.argv[:] = [""]
    try:
        missing: list[str] = []
        if isolated:
            isolate.enter(scratch)
            missing = isolate.trial(scratch + "/trial", package, hidden)
        _answer(control, type="fine", missing=missing)
        if wall == "trial":
            return
        shell = prepare(scratch + "/home", once)
        World(scratch).put_back()
        if isolated:
            isolate.build_root(scratch + "/root", package, hidden)
        sys.path[:] = ["", *(path for path in sys.path if not path.startswith(scratch))]
        if not once:
            gather_heap()
            gather_code()
        zygote = Zygote(control, shell, isolated)
        threads = len(os.listdir("/proc/self/task"))
        if threads > 1:
            raise OSError(f"a library started {threads - 1} threads")
    except OSError as error:
        _answer(control, type="refused", why=str(error))
        return
    _answer(control, type="fine", memory=anonymous())
    zygote.serve()
    os._exit(0)  # the grader has hung up; to take the interpreter down in order would keep it waiting


def _answer(control: socket.socket, **message: Any) -> None:
    control.send(json.dumps(message).encode())


if __name__ == "__main__":
    with contextlib.suppress(ConnectionError):  # the grader has changed its mind and is gone
        main()
