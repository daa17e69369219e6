"""Make forks of this process cheap."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
from pathlib import Path

_HUGE = 1 << 21
_MADV_HUGEPAGE, _MADV_COLLAPSE = 14, 25  # the second since Linux 6.1
_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE, _ANONYMOUS, _MAYMOVE, _FIXED, _FAILED = 0x2, 0x20, 1, 2, -1


_libc = ctypes.PyDLL(None, use_errno=True) if os.name == "posix" else None
_held: list[object] = []  # what fills the gaps


def fork() -> int:
    """As os.fork, but without what Python and libraries do after a fork.

    That is for threads which the copy lacks. It writes to some hundred pages (each handler of `logging` gets a new lock), and
    each is copied. A process with more threads than one is copied by os.fork. Only matplotlib must be told where both
    processes go on, and it is told before (`forget_fonts`).
    """
    if threads() != 1 or _libc is None:
        return os.fork()
    pid = int(_libc.fork())
    if pid < 0:
        raise OSError(ctypes.get_errno(), "this process cannot be copied")
    return pid


def threads(process: str = "self") -> int:
    """How many threads a process has, Python's and others; 0 where nobody can say."""
    try:
        return os.stat(f"/proc/{process}/task").st_nlink - 2  # ".", "..", and one entry for each thread
    except OSError:
        return 0


def forget_fonts() -> None:
    """Let matplotlib open its fonts anew: two processes that read one open file move each other's place in it."""
    manager = sys.modules.get("matplotlib.font_manager")
    if manager is not None:
        manager._get_font.cache_clear()


def gather_heap() -> None:
    """Freeze the heap and gather it in huge pages.

    A fork copies one table entry per page, and a small page needs 512 times as many of them. Freezing keeps the garbage
    collector of a child from writing to every object, which would copy every page. Where the kernel cannot gather pages
    nothing is lost but time.
    """
    gc.collect()
    _fill_gaps()
    gc.freeze()
    for start, end in _mappings("rw-p", r"00:00 0\s*(\[heap\])?$"):
        _gather(start, end)


def _fill_gaps(rounds: int = 32, pool: int = 2**14) -> None:
    """Take what is free between Python's objects, so that a child's new ones lie side by side.

    Where one took the place of an old one, its page would be copied for it. A round takes a pool of each size that Python's
    allocator knows, 16 to 512 bytes, so that in the end the pools that have room lie side by side as well.
    """
    for _ in range(rounds):
        _held.extend(object() for _ in range(pool // 16))
        _held.extend(float(number) for number in range(pool // 32))
        _held.extend(bytes(size - 33) for size in range(48, 513, 16) for _ in range(pool // size))


def gather_code() -> None:
    """Put copies of the code of torch and Python, in huge pages, in its place.

    Pages of a file are not in a fork's tables: every child would meet each piece of libtorch by a page fault of its own.
    """
    for start, end in _mappings("r-xp", r"\S*/lib(torch\w*|c10|python[\w.]*)\.so[\w.]*$"):
        _move_code(start, end)


def _mappings(permissions: str, name: str) -> list[tuple[int, int]]:
    """The whole huge pages within each mapping of that kind."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        match = re.match(rf"([0-9a-f]+)-([0-9a-f]+) {permissions} .*{name}", line)
        if match is not None:
            start, end = (int(match[1], 16) + _HUGE - 1) & -_HUGE, int(match[2], 16) & -_HUGE
            if start < end:
                found.append((start, end))
    return found


def _gather(start: int, end: int) -> bool:
    """Ask for huge pages; returns whether they are there."""
    refused = [page for page in range(start, end, _HUGE) if _call("madvise", page, _HUGE, _MADV_COLLAPSE)]
    return not refused


def _move_code(start: int, end: int) -> None:
    size = end - start
    room = _call("mmap", None, size + _HUGE, _READ | _WRITE, _PRIVATE | _ANONYMOUS, -1, 0)
    if room == _FAILED:
        return
    copy = (room + _HUGE - 1) & -_HUGE
    _call("madvise", copy, size, _MADV_HUGEPAGE)
    ctypes.memmove(copy, start, size)
    # The copy can run before it takes the other's place: code is not missing for a moment.
    if _gather(copy, copy + size) and _call("mprotect", copy, size, _READ | _EXECUTE) == 0:
        _call("mremap", copy, size, size, _MAYMOVE | _FIXED, start)
    _call("munmap", room, size + _HUGE)  # all of it where something was refused, else what is left around the copy


def _call(name: str, *arguments: int | None) -> int:
    """A function of libc on addresses and sizes."""
    function = getattr(_libc, name)
    function.restype = ctypes.c_ssize_t
    function.argtypes = [ctypes.c_void_p if value is None else ctypes.c_ssize_t for value in arguments]
    return int(function(*arguments))


def anonymous() -> int:
    """Bytes of anonymous memory of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024
