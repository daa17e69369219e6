"""What the kernel lets each process of a run use."""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from autograder.engine.inside.births import memory
from autograder.engine.inside.exhaustion import SPARE


def threads_of_user() -> int:
    """How many threads this process's user runs, as far as they can be seen from here."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid():
                count += memory.threads(folder.name)
    return count


def apply_limits(limits: dict[str, int], beside: int = 0) -> None:
    """Set the limits that hold for each process.

    Parameters
    ----------
    limits : dict
        memory: bytes of address space beyond what is mapped now; cpu: seconds; file: bytes of one file; descriptors;
        processes (threads included); address_space: False to leave that limit out.
    beside : int
        Processes and threads that the user runs already: the kernel counts all of one user, outside a user namespace.
    """
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    wanted = {
        resource.RLIMIT_CPU: limits["cpu"],
        resource.RLIMIT_FSIZE: limits["file"],
        resource.RLIMIT_NOFILE: limits["descriptors"],
        resource.RLIMIT_NPROC: limits["processes"] + beside,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 256,
    }
    if limits.get("address_space", True):
        wanted[resource.RLIMIT_AS] = mapped + limits["memory"]
    for kind, value in wanted.items():
        # The run's own steps, a snapshot for one, may go a little further than a cell.
        most = value + SPARE if kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC) else value
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value, most = min(value, hard), min(most, hard)
        resource.setrlimit(kind, (value, most))


def close_all_but(keep: set[int]) -> None:
    """Close every descriptor above 2 that is not in `keep`."""
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number > 2 and number not in keep:
            with contextlib.suppress(OSError):
                os.close(number)
