"""A check cell that runs in the run itself, where a copy would lack something: threads that it waits for, or CUDA."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from autograder.engine.inside import snapshot


class Here:
    """Runs the parts of one check cell in this process, and puts back what can be: names, streams, files.

    A hidden part finds the names as they were when its visible part ended: functions look their globals up in this process's
    own namespace, and later cells may have bound them anew.

    Parameters
    ----------
    order, emit
        As `snapshot.Observer` gets them.
    space : dict
        The namespace of the cells.
    room : str
        The folder in which its files may be.
    """

    def __init__(self, order: dict[str, Any], space: dict[str, Any], emit: snapshot.Emit, room: str) -> None:
        self.space, self.room, self.names = space, room, dict(space)
        self.observer = snapshot.Observer(order, space, emit)

    def run(self, program: dict[str, Any], hidden: bool = False) -> bool:
        """Run a part; returns whether it went through."""
        with self._as_it_was(), snapshot.no_trace(self.room):
            snapshot.silence()
            fine = self.observer.run(program, hidden)
            self.names = dict(self.space)
            return fine

    @contextlib.contextmanager
    def _as_it_was(self) -> Iterator[None]:
        now, loop = dict(self.space), asyncio._get_running_loop()
        streams, own_input = (sys.stdin, sys.stdout, sys.stderr), builtins.input
        descriptors = [os.dup(number) for number in (1, 2)]
        _replace(self.space, self.names)
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
