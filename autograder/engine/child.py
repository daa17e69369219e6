"""A process in which a notebook runs, as seen from the grader: where it is reached, stopped, and ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from typing import Protocol

from autograder.engine import processes


class Child(Protocol):
    """One run's first process.

    Attributes
    ----------
    channel : socket.socket
        To the session inside.
    base : int
        Bytes of memory that it was born with; they do not count as the run's.
    """

    channel: socket.socket
    base: int

    def pid(self) -> int | None:
        """Its pid here, None where it has ended."""

    def has_news(self, seconds: float) -> bool:
        """Whether the channel can be read; waits so long for that.

        Raises
        ------
        ProcessLookupError
            The process has ended, and there is nothing more to read.
        """

    def interrupt(self) -> None:
        """Send it SIGINT."""


class Forked:
    """A child of the warm engine's parent, known by its pidfd."""

    def __init__(self, channel: socket.socket, pidfd: int, base: int) -> None:
        self.channel, self.pidfd, self.base = channel, pidfd, base

    def pid(self) -> int | None:
        return processes.of_pidfd(self.pidfd)

    def has_news(self, seconds: float) -> bool:
        ready = readable(seconds, self.channel.fileno(), self.pidfd)
        if self.channel.fileno() in ready:
            return True
        if self.pidfd in ready:
            raise ProcessLookupError
        return False

    def interrupt(self) -> None:
        self._send(signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL."""
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, number)


class Started:
    """A fresh process, perhaps behind bubblewrap, which then stands in front of it.

    Parameters
    ----------
    inner : int or None
        The pid of the session where bubblewrap has told it; None where `process` is the session.
    """

    base = 2**29  #: what torch and IPython take

    def __init__(self, channel: socket.socket, process: subprocess.Popen[bytes], inner: int | None) -> None:
        self.channel, self.process, self.inner = channel, process, inner

    def pid(self) -> int | None:
        return self.process.pid if self.process.poll() is None else None

    def has_news(self, seconds: float) -> bool:
        if readable(seconds, self.channel.fileno()):
            return True
        if self.process.poll() is not None:
            raise ProcessLookupError
        return False

    def interrupt(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.inner or self.process.pid, signal.SIGINT)

    def end(self) -> None:
        """End it and all that it has started."""
        if self.process.poll() is None:
            if sys.platform == "linux":
                processes.kill_tree(self.process.pid)
            self.process.kill()
        self.process.wait()
        self.channel.close()


def readable(seconds: float, *descriptors: int) -> set[int]:
    """Which of the descriptors can be read, or are closed at the other end; waits so long for the first."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(seconds * 1000)}
