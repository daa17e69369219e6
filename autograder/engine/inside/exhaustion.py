"""Has a cell used up something that the cells after it need, such as memory? Then the run ends, and goes on without that cell.

Otherwise the next cell would fail for want of it, and the exercise that pays would be an honest one.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

from autograder.engine.inside.births.memory import threads

SPARE = 16  #: processes and descriptors that a run's own steps may use beyond a cell's limit
RESOURCES = ("memory", "file descriptors", "threads", "disk space", "waiting checks")  #: what `Gauge.full` answers
_FULL = 0.9


def held() -> int:
    """Bytes of anonymous and shared memory that this process holds."""
    status = Path("/proc/self/status").read_text()
    return sum(int(status.partition(name)[2].split()[0]) << 10 for name in ("RssAnon:", "RssShmem:"))


def mapped() -> tuple[int, int]:
    """Bytes of address space, and of memory of all kinds behind it. Quicker told than `held`."""
    size, resident = Path("/proc/self/statm").read_text().split()[:2]
    page = os.sysconf("SC_PAGE_SIZE")
    return int(size) * page, int(resident) * page


class Gauge:
    """Looks what this process has used up since it was made.

    Parameters
    ----------
    memory : int
        Bytes that the run may hold in all its processes. A run that goes on with more than half of it is told to end: a
        snapshot counts like a second process.
    work : str
        The work folder.
    disk : bool
        Whether its file system is the run's own.
    """

    def __init__(self, memory: int, work: str, disk: bool) -> None:
        self.memory, self.work, self.disk = memory, work, disk
        self.visible = os.path.isdir("/proc/self")  # elsewhere than on Linux nobody can say
        if self.visible:
            self.born, self.resident = held(), mapped()[1]

    def full(self) -> str | None:
        """What is used up, in a word or two, or None."""
        if not self.visible:
            return None
        used, resident = mapped()
        if resident - self.resident > self.memory // 2 and held() - self.born > self.memory // 2:
            return "memory"
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit > 0 and limit - used < self.memory // 4:
            return "memory"
        # The folder's size is their number since Linux 6.2.
        files = os.stat("/proc/self/fd").st_size or len(os.listdir("/proc/self/fd"))
        if files > _FULL * resource.getrlimit(resource.RLIMIT_NOFILE)[0]:
            return "file descriptors"
        if threads() > _FULL * resource.getrlimit(resource.RLIMIT_NPROC)[0]:
            return "threads"
        if self.disk:
            room = os.statvfs(self.work)
            if room.f_bavail < (1 - _FULL) * room.f_blocks or room.f_favail < (1 - _FULL) * room.f_files:
                return "disk space"
        return None
