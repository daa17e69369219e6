"""Processes of a run, as seen from outside: which there are, what they hold, and their end."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def of_pidfd(pidfd: int) -> int | None:
    """The pid behind a pidfd, None where it has ended."""
    for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines():
        if line.startswith("Pid:"):
            pid = int(line.split()[1])
            return pid if pid > 0 else None
    return None


def descendants(pid: int) -> list[int]:
    """The children of a process, their children, and so on; parents before children."""
    found: list[int] = []
    todo = [pid]
    while todo:
        parent = todo.pop()
        with contextlib.suppress(OSError, ValueError):
            for task in os.listdir(f"/proc/{parent}/task"):
                children = Path(f"/proc/{parent}/task/{task}/children").read_text().split()
                found += map(int, children)
                todo += map(int, children)
    return found


DESCRIPTORS = 64  #: open files of a process that count nothing
BUFFER = 2**18  #: bytes that each further one counts: what may lie in a socket or a pipe is no process's memory


def memory(pid: int) -> int:
    """Bytes of anonymous and shared memory that a process holds; pages shared since a fork count for each.

    Many open files count as well, for what may lie in them. Their number is that of the kernel's table, 64 or a power of two.
    """
    total = 0
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(("RssAnon:", "RssShmem:")):
                total += int(line.split()[1]) * 1024
            elif line.startswith("FDSize:"):
                total += max(0, int(line.split()[1]) - DESCRIPTORS) * BUFFER
    return total


def kill_tree(pid: int) -> None:
    """End a process and all its descendants, also those that come while it happens."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGSTOP)
    for _ in range(50):
        alive = descendants(pid)
        if not alive:
            break
        for child in alive:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        # A stopped process reaps nobody: wait until only the dead are left.
        if all(_is_dead(child) for child in alive):
            break
        time.sleep(0.005)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
