"""Has a cell used up something that the cells after it need? Then it must go, or honest work would pay for it."""

from __future__ import annotations

import os
import resource
from pathlib import Path

SPARE = 16  #: processes and descriptors that a run's own steps may use beyond a cell's limit
_FULL = 0.9


def exhausted(work: str, disk: bool) -> str | None:
    """What this process has used up, in a word, or None.

    Parameters
    ----------
    work : str
        The work folder.
    disk : bool
        Whether its file system is the run's own.
    """
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit > 0 and limit - used < 256 << 20:
        return "memory"
    if len(os.listdir("/proc/self/fd")) > _FULL * resource.getrlimit(resource.RLIMIT_NOFILE)[0]:
        return "file descriptors"
    if len(os.listdir("/proc/self/task")) > _FULL * resource.getrlimit(resource.RLIMIT_NPROC)[0]:
        return "threads"
    if disk:
        room = os.statvfs(work)
        if room.f_bavail < (1 - _FULL) * room.f_blocks or room.f_favail < (1 - _FULL) * room.f_files:
            return "disk space"
    return None
