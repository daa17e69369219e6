"""Control groups that limit what all processes of a run hold together, where this process may make any.

That is version 1 of Linux's control groups, below the grader's own group, so that whatever limits the grader limits its runs
as well. Version 2 forbids it: a group that holds processes, as the grader's does, has no limited groups below it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import token_hex

_LIMIT, _EVENTS, _PROCESSES = "memory.limit_in_bytes", "memory.oom_control", "cgroup.procs"
_NAME = re.compile(r"autograder-(\d+)-[0-9a-f]+$")


class Group:
    """One group; one run at a time is in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, pid: int) -> None:
        """Move a process in, with what it will fork. The kernel takes some 10 ms, in which others go on."""
        with contextlib.suppress(
            OSError
        ):  # it has ended, or somebody took the group away: then it is watched all the same
            (self.folder / _PROCESSES).write_text(str(pid))

    def kills(self) -> int:
        """How many processes the kernel has ended here for want of memory."""
        with contextlib.suppress(OSError):
            found = re.search(r"^oom_kill (\d+)", (self.folder / _EVENTS).read_text(), re.MULTILINE)
            return int(found[1]) if found else 0
        return 0


class Groups:
    """As many groups as there are runs at once.

    Parameters
    ----------
    count : int
    memory : int
        Bytes that each group may hold.

    Raises
    ------
    OSError
        Where no such group can be made.
    """

    def __init__(self, count: int, memory: int) -> None:
        own = own_group()
        _sweep(own)
        self._made: list[Path] = []
        self._free: queue.SimpleQueue[Group] = queue.SimpleQueue()
        self._movers = ThreadPoolExecutor(count, thread_name_prefix="cgroup")
        try:
            for _ in range(count):
                folder = own / f"autograder-{os.getpid()}-{token_hex(4)}"
                folder.mkdir()
                self._made.append(folder)
                (folder / _LIMIT).write_text(str(memory))
                self._free.put(Group(folder))
        except OSError:
            self.close(0.0)
            raise

    @contextlib.contextmanager
    def holding(self, pid: int) -> Iterator[Group]:
        """A free group that takes in a process, not necessarily at once."""
        group = self._free.get()
        try:
            self._movers.submit(group.take, pid)
            yield group
        finally:
            self._free.put(group)

    def close(self, seconds: float) -> None:
        """Take the groups away, waiting so long for processes that are just ending."""
        self._movers.shutdown()
        until = time.monotonic() + seconds
        for folder in self._made:
            while not _remove(folder) and time.monotonic() < until:
                time.sleep(0.01)


def own_group() -> Path:
    """The folder of the memory group that this process is in.

    Raises
    ------
    OSError
        Where there is none of version 1.
    """
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    paths = [path for _, controllers, path in lines if "memory" in controllers.split(",")]
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, system = line.partition(" - ")
        root, place = mount.split()[3:5]
        kind, _, options = system.split(" ", 2)
        if paths and kind == "cgroup" and "memory" in options.split(",") and paths[0].startswith(root):
            return Path(place, paths[0].removeprefix(root).lstrip("/"))
    raise OSError("there is no memory controller of version 1")


def _sweep(own: Path) -> None:
    """Take away the groups of graders that were killed."""
    for folder in own.glob("autograder-*"):
        found = _NAME.match(folder.name)
        if found and not Path("/proc", found[1]).exists():
            _remove(folder)


def _remove(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
