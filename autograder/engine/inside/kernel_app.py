"""A Jupyter kernel that puts back, seeds and takes snapshots as the warm engine's shell does.

What a cell is comes in the metadata of its execute request; a request without any runs as in every kernel.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import Any

from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp

from autograder.checks.seeds import seed_everything
from autograder.engine.inside import elsewhere
from autograder.engine.inside.copies import Copies
from autograder.engine.inside.machinery import Machinery
from autograder.engine.inside.putback import Names, World

OBSERVATION = (
    "autograder_observation"  #: type of the message that carries one observation; `engine.kernel` knows it as well
)


class Kernel(IPythonKernel):
    """One notebook's kernel."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.names: Names | None = None
        self.copies: Copies

    def _start(self) -> None:
        """Import what has a seed before the first cell gets its own."""
        import numpy
        import torch

        numpy.random.seed(0)
        torch.set_num_threads(1)
        assert self.shell is not None
        self.names, self.world = Names(self.shell.user_ns), World(os.getcwd())
        self.machinery = Machinery()
        self.world.keep_streams = False  # this kernel's own streams come and go
        self.copies = Copies(self.shell.user_ns, os.getcwd(), self._emit)

    async def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, *,
                         cell_meta=None, cell_id=None):  # fmt: skip
        """Run a cell, or observe a check cell."""
        order = (cell_meta or {}).get("autograder")
        if order is None:
            return await super().do_execute(
                code, silent, store_history, user_expressions, allow_stdin, cell_meta=cell_meta, cell_id=cell_id
            )
        if self.names is None:
            self._start()
        assert self.names is not None
        self.world.put_back()
        self.machinery.put_back()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        seed_everything(order["seed"], order["id"])
        if order["role"] in ("check", "hidden"):
            sys.stdout.flush()
            sys.stderr.flush()
            said: dict[str, Any] = {"threads": self.copies.lack_threads()}
            said["status"] = (
                self.copies.check(code, order) if order["role"] == "check" else self.copies.hidden(code, order["id"])
            )
            return {"status": "ok", "execution_count": 0, "user_expressions": said, "payload": []}
        with elsewhere.around(self.shell, order["role"], self.names.course):
            reply = await super().do_execute(
                code, silent, store_history, user_expressions, allow_stdin, cell_id=cell_id
            )
        self.names.after(order["role"])
        return reply

    def _emit(self, message: dict[str, Any]) -> None:
        self.send_response(self.iopub_socket, OBSERVATION, message)


def main() -> None:
    """Start as `python -m autograder.engine.inside.kernel_app LIMITS -f CONNECTION_FILE`."""
    limits = json.loads(sys.argv.pop(1))
    if limits:
        with contextlib.suppress(ImportError, ValueError, OSError):
            from autograder.engine.inside.isolate import apply_limits, threads_of_user
            from autograder.engine.inside.syscalls import PR_SET_CHILD_SUBREAPER, prctl

            apply_limits(limits, beside=threads_of_user())
            prctl(PR_SET_CHILD_SUBREAPER, 1)  # children that detach stay ours to end
    sys.path[0] = ""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    IPKernelApp.launch_instance(kernel_class=Kernel)


if __name__ == "__main__":
    main()
