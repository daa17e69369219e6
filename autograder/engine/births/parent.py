"""The warm engine's forking parent, as seen from the grader."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable
from typing import Any

from autograder.engine.api import EngineUnavailable
from autograder.engine.births.environment import environment
from autograder.interrupts import whole

TRIAL = 20.0  #: seconds that the parent may take to try its wall
START = 60.0  #: seconds that it may take to import everything


class Parent:
    """A process that forks one child per notebook. Making one returns when its wall is tried; it goes on importing.

    Attributes
    ----------
    missing : list of str
        Parts of the wall that this machine does not offer.
    memory : int
        Bytes of anonymous memory that the last child was born with.
    """

    def __init__(self, isolated: bool, hide: tuple[str, ...] = (), trial: bool = False) -> None:
        with whole():
            self.scratch = tempfile.mkdtemp(prefix="autograder-")
            for folder in ("home", "root", "trial"):
                os.mkdir(os.path.join(self.scratch, folder))
            home = os.path.join(self.scratch, "home")
            self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.process = subprocess.Popen(
                [sys.executable, "-m", "autograder.engine.inside.births.zygote", str(theirs.fileno()), self.scratch,
                 "trial" if trial else "isolate" if isolated else "plain", *hide],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment(home),
                cwd=home, start_new_session=True,
            )  # fmt: skip
            theirs.close()
            # Also where an interrupt loses this object before anybody can close it.
            self.close = weakref.finalize(self, _end_parent, self.control, self.process, self.scratch)
        self.lock, self.memory = threading.Lock(), 0
        self.awaited = 1  # answers to come: that it is ready, and one for each thing it was told to expect
        self.missing: list[str] = self._hear(TRIAL)["missing"]

    def _hear(self, seconds: float) -> dict[str, Any]:
        self.control.settimeout(seconds)
        try:
            answer = json.loads(self.control.recv(65536) or b"{}")
        except TimeoutError:
            answer = {"why": f"no answer in {seconds:g} s"}
        if answer.get("type") != "fine":
            self.close()
            raise EngineUnavailable(
                f"The warm engine cannot start here: {answer.get('why', 'its parent process ended')}."
            )
        return answer

    def expect(self, modules: Iterable[str], jobs: int = 0) -> None:
        """See `api.Engine.expect`. It does so before the next fork."""
        with self.lock, contextlib.suppress(OSError):
            self.control.send(json.dumps({"modules": sorted(modules), "jobs": jobs}).encode())
            self.awaited += 1

    def await_ready(self) -> None:
        """Return once everything is imported."""
        with self.lock:
            while self.awaited:
                self.memory = self._hear(START)["memory"]
                self.awaited -= 1

    def fork(self, order: dict[str, Any]) -> tuple[socket.socket, int]:
        """A fresh child: its channel and a pidfd."""
        with contextlib.suppress(OSError):
            self.await_ready()
        ours, theirs = socket.socketpair()
        try:
            with self.lock, theirs:
                socket.send_fds(self.control, [json.dumps(order).encode()], [theirs.fileno()])
                body, descriptors, _, _ = socket.recv_fds(self.control, 65536, 1)
                if descriptors:
                    self.memory = json.loads(body)["memory"]
                    return ours, descriptors[0]
        except OSError:
            pass
        ours.close()
        raise EngineUnavailable("The warm engine's parent process has ended.")


def _end_parent(control: socket.socket, process: subprocess.Popen[bytes], scratch: str) -> None:
    """End the parent, and with it every child, and clear away its folder."""
    with whole():
        control.close()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(scratch, ignore_errors=True)
