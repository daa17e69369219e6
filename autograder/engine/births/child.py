"""The process of one run as the grader holds it, however it was born: `warm` forks it, `cold` starts it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Child:
    """A process that runs `inside.session`.

    Attributes
    ----------
    channel : socket.socket
        Our end of its wire.
    start : float
        Seconds that it may take to say that it is ready.
    pid : callable
        Returns its process id as seen from here, None where it has ended.
    interrupt : callable
        Sends it SIGINT.
    memory : int or None
        Bytes of memory that it was born with, which count for nobody; None to look when it is ready.
    copies : bool
        Whether it may fork. Not where it uses CUDA, which does not survive a fork: check cells run in the child itself there.
    started : bool
        Whether it has said that it is ready.
    """

    channel: socket.socket
    start: float
    pid: Callable[[], int | None]
    interrupt: Callable[[], object]
    memory: int | None = None
    copies: bool = True
    started: bool = False
