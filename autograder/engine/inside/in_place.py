"""A check cell that runs in the run itself, not in a copy of it: where CUDA is used, and where a check needs the run's threads.

Names, streams and files are put back after each part; other traces may stay.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

from autograder.engine.inside import snapshot
from autograder.engine.inside.wire import Wire


class InPlace:
    """One check cell, from its visible part to its hidden one.

    Parameters
    ----------
    wire : Wire
        Brings the programs and takes what they observe.
    order : dict
        The order for the visible part.
    space : dict
        The namespace of the cells.
    """

    def __init__(self, wire: Wire, order: dict[str, Any], space: dict[str, Any]) -> None:
        self.wire, self.pause, self.space = wire, order["pause"], space
        self.names = dict(space)
        self.observer = snapshot.Observer(order, space, wire.send)

    def run(self, hidden: bool) -> str:
        """Run the next part; returns "paused", "ran" or "error".

        A hidden part finds the names as they were when its visible part ended: functions look their globals up in the
        namespace itself, where later cells may have bound others.
        """
        with self._as_it_was():
            snapshot.silence()
            status, program = "error", self.wire.receive()
            with contextlib.suppress(KeyboardInterrupt):  # one that comes before or after the part itself
                signal.signal(signal.SIGINT, signal.default_int_handler)
                if program is not None and self.observer.run(program, hidden):
                    status = "paused" if self.pause and not hidden and not self.observer.probe.timed_out else "ran"
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return status

    @contextlib.contextmanager
    def _as_it_was(self) -> Iterator[None]:
        now, streams, own_input = dict(self.space), (sys.stdin, sys.stdout, sys.stderr), builtins.input
        descriptors = [os.dup(number) for number in (1, 2)]
        _replace(self.space, self.names)
        try:
            yield
        finally:
            self.names = dict(self.space)
            _replace(self.space, now)
            (sys.stdin, sys.stdout, sys.stderr), builtins.input = streams, own_input
            for number, descriptor in enumerate(descriptors, start=1):
                os.dup2(descriptor, number)
                os.close(descriptor)


def _replace(space: dict[str, Any], names: dict[str, Any]) -> None:
    space.clear()
    space.update(names)
