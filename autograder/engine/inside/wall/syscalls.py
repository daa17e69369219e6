"""The few system calls that Python's `os` does not have (or not before 3.12)."""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE, MS_SLAVE = 32, 4096, 16384, 1 << 18, 1 << 19
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_CAPBSET_DROP = 1, 4, 8, 24
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_CAP_AMBIENT, PR_SET_CHILD_SUBREAPER = 38, 22, 47, 36
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}

_libc = ctypes.CDLL(None, use_errno=True)


def _call(what: str, function: Any, *arguments: Any) -> int:
    result = function(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return int(result)


def _text(value: str | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def unshare(flags: int) -> None:
    _call("unshare", _libc.unshare, ctypes.c_int(flags))


def setns(descriptor: int, kind: int) -> None:
    _call("setns", _libc.setns, ctypes.c_int(descriptor), ctypes.c_int(kind))


def mount(source: str | None, target: str, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    arguments = _text(source), _text(target), _text(kind), ctypes.c_ulong(flags), _text(data)
    _call(f"mount {target}", _libc.mount, *arguments)


def unmount(target: str) -> None:
    _call(f"umount {target}", _libc.umount2, _text(target), ctypes.c_int(MNT_DETACH))


def pivot_root(new: str, old: str) -> None:
    number = _SYS_PIVOT_ROOT[os.uname().machine]
    _call("pivot_root", _libc.syscall, ctypes.c_long(number), _text(new), _text(old))


def prctl(option: int, first: int = 0, second: int = 0) -> None:
    zero = ctypes.c_ulong(0)
    _call(
        f"prctl {option}", _libc.prctl, ctypes.c_int(option), ctypes.c_ulong(first), ctypes.c_ulong(second), zero, zero
    )


def drop_capabilities() -> None:
    """Empty the bounding, ambient, inheritable, permitted and effective sets of this thread."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one, or the bounding set is not ours to change
    with contextlib.suppress(OSError):
        prctl(PR_CAP_AMBIENT, 4)  # PR_CAP_AMBIENT_CLEAR_ALL
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this thread
    none = (ctypes.c_uint32 * 6)()
    _call("capset", _libc.syscall, ctypes.c_long(_SYS_CAPSET[os.uname().machine]), head, none)
