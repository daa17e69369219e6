"""What `--verbose` shows: the log of this package, on standard error."""

from __future__ import annotations

import logging

from autograder.reporting.table import escape


class _OneLine(logging.Formatter):
    """Names of students and files are theirs: no sign of them reaches the terminal as anything but a sign."""

    def format(self, record: logging.LogRecord) -> str:
        return escape(super().format(record))


def show_log() -> None:
    """Show the log from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    log = logging.getLogger("autograder")
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    log.propagate = False
