"""A filter on system calls: what no notebook needs is refused with EPERM.

The namespaces are the wall; this is the second one. It closes what namespaces leave open: memory that no limit counts
(memfd, System V segments, large socket buffers), sockets that no network namespace holds (vsock), tracing, young parts of the
kernel, and what one run could tell another through the files that all of them see: locks, leases, watches.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from autograder.engine.inside.wall.syscalls import PR_SET_SECCOMP, _call, _libc

_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

#: name -> number on x86_64, on aarch64 (None where there is none)
_REFUSED: dict[str, tuple[int, int | None]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "kcmp": (312, 272), "pidfd_getfd": (438, 438), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "msgget": (68, 186), "semget": (64, 190),
    "mq_open": (240, 180), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "unshare": (272, 97), "setns": (308, 268), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "kexec_load": (246, 104), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "swapon": (167, 224), "swapoff": (168, 225),
    "reboot": (169, 142), "quotactl": (179, 60), "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "adjtimex": (159, 171), "syslog": (103, 116), "personality": (135, 92), "iopl": (172, None), "ioperm": (173, None),
    "modify_ldt": (154, None), "vhangup": (153, 58), "open_tree_attr": (467, 467), "quotactl_fd": (443, 443),
    "kexec_file_load": (320, 294), "fanotify_init": (300, 262), "inotify_add_watch": (254, 27),
}  # fmt: skip
_CLONE, _CLONE3, _SOCKET, _SETSOCKOPT, _IOCTL = (56, 220), (435, 435), (41, 198), (54, 208), (16, 29)
_FLOCK, _FCNTL = (73, 32), (72, 25)
_LOCKS, _LEASES = (6, 7, 37, 38), (1024, 1026)  # F_SETLK, F_SETLKW and their OFD twins; F_SETLEASE, F_NOTIFY
_NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW* flag
_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink: the network namespace holds these
_SOL_SOCKET, _BUFFERS = 1, (7, 8, 32, 33)  # SO_SNDBUF, SO_RCVBUF, and the same by force
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def program(machine: str) -> bytes:
    """The filter in the kernel's classic BPF, for "x86_64" or "aarch64"."""
    column = 0 if machine == "x86_64" else 1
    refuse, allow = _step(_RETURN, _ERROR | errno.EPERM), _step(_RETURN, _ALLOW)
    steps = [_step(_LOAD, 4), _step(_EQUAL, _ARCH[machine], 1, 0), refuse, _step(_LOAD, 0)]
    if machine == "x86_64":
        steps += [_step(_AT_LEAST, 0x40000000, 0, 1), refuse]  # the x32 numbers
    for numbers in _REFUSED.values():
        if numbers[column] is not None:
            steps += [_step(_EQUAL, numbers[column] or 0, 0, 1), refuse]
    # clone3 hides its flags behind a pointer; ENOSYS makes the C library use clone.
    steps += [_step(_EQUAL, _CLONE3[column], 0, 1), _step(_RETURN, _ERROR | errno.ENOSYS)]
    steps += [
        _step(_EQUAL, _CLONE[column], 0, 4),
        _step(_LOAD, 16),
        _step(_ANY_BIT, _NEW_NAMESPACES, 0, 1),
        refuse,
        allow,
    ]
    steps += [_step(_EQUAL, _SOCKET[column], 0, 3 + len(_FAMILIES)), _step(_LOAD, 16)]
    steps += [_step(_EQUAL, family, len(_FAMILIES) - place, 0) for place, family in enumerate(_FAMILIES)]
    steps += [refuse, allow]
    # What lies in a socket is no process's memory: its buffer stays as small as it is born.
    steps += [_step(_EQUAL, _SETSOCKOPT[column], 0, 5 + len(_BUFFERS)), _step(_LOAD, 24)]
    steps += [_step(_EQUAL, _SOL_SOCKET, 0, 1 + len(_BUFFERS)), _step(_LOAD, 32)]
    steps += [_step(_EQUAL, option, len(_BUFFERS) - place, 0) for place, option in enumerate(_BUFFERS)]
    steps += [allow, refuse]
    # A lock is granted and not taken: a run is alone with its files, and others must not see that it locks shared ones.
    granted = _step(_RETURN, _ERROR)
    steps += [_step(_EQUAL, _FLOCK[column], 0, 1), granted]
    steps += [_step(_EQUAL, _FCNTL[column], 0, 4 + len(_LOCKS) + len(_LEASES)), _step(_LOAD, 24)]
    steps += [_step(_EQUAL, lock, len(_LOCKS) + len(_LEASES) - place, 0) for place, lock in enumerate(_LOCKS)]
    steps += [_step(_EQUAL, lease, len(_LEASES) + 1 - place, 0) for place, lease in enumerate(_LEASES)]
    steps += [allow, granted, refuse]
    steps += [_step(_EQUAL, _IOCTL[column], 0, 4), _step(_LOAD, 24), _step(_EQUAL, _TIOCSTI, 1, 0)]
    steps += [_step(_EQUAL, _TIOCLINUX, 0, 1), refuse]
    return b"".join([*steps, allow])


def known(machine: str) -> bool:
    """Whether the system call numbers of a machine are known here."""
    return machine in _ARCH


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


def shut() -> None:
    """Install the filter on this thread for good. Needs no_new_privs.

    Raises
    ------
    OSError
        Where the kernel has no filters, or on a machine whose numbers are not known here.
    """
    machine = os.uname().machine
    if machine not in _ARCH:
        raise OSError(errno.ENOSYS, f"no system call numbers for {machine}")
    code = program(machine)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    zero = ctypes.c_ulong(0)
    _call("seccomp", _libc.prctl, PR_SET_SECCOMP, ctypes.c_ulong(2), ctypes.byref(filter_), zero, zero)
