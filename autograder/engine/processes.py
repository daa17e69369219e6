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
    status = _status(pid)
    return sum(status.get(name, 0) * 1024 for name in ("RssAnon", "RssShmem")) + _in_descriptors(pid, status)


def _in_descriptors(pid: int, status: dict[str, int] | None = None) -> int:
    return max(0, (status or _status(pid)).get("FDSize", 0) - DESCRIPTORS) * BUFFER


def _status(pid: int) -> dict[str, int]:
    """The numbers in a process's status; empty where it has ended."""
    found = {}
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            with contextlib.suppress(ValueError, IndexError):
                found[name] = int(value.split()[0])
    return found


def share(pid: int) -> int:
    """The same with pages shared since a fork counted once in all; `memory` where this may not be known. Slower."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(("Pss_Anon:", "Pss_Shmem:")):
                total += int(line.split()[1]) * 1024
    except (OSError, ValueError):
        return memory(pid)
    return total + _in_descriptors(pid)


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
