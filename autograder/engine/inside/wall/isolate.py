"""The wall: namespaces and a root folder that holds the interpreter, the system's libraries and nothing else.

In two steps, because the first is dear and needed once. The parent enters namespaces of its own and builds the root
(`enter`, `root.build`). Each child then takes a copy of the mounts, fresh pid, network, ipc and uts namespaces, its own
/proc and a work folder in memory, and gives up every right (`shut_in`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import struct
from collections.abc import Iterable

from autograder.engine.inside.births import memory
from autograder.engine.inside.wall import root, seccomp
from autograder.engine.inside.wall import syscalls as sc
from autograder.engine.inside.wall.limits import apply_limits

_OUTSIDE = 200_000_000  #: where root grades: the first of the uids that children get outside, one each
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_EVERYTHING = sc.CLONE_NEWNS | sc.CLONE_NEWNET | sc.CLONE_NEWIPC | sc.CLONE_NEWUTS


# ------------------------------------------------------------------------------------------------ the parent, once


def enter(scratch: str) -> None:
    """Move to namespaces of one's own. Returns in a new process that is pid 1 there.

    The caller waits for it, takes the folder `scratch` away, in case the grader was killed, and ends.

    Raises
    ------
    OSError
        Where the kernel or its administrator refuses.
    """
    uid, gid = os.geteuid(), os.getegid()
    above = os.open(os.path.dirname(scratch), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    if uid == 0:
        sc.unshare(sc.CLONE_NEWPID | _EVERYTHING)
    else:
        sc.unshare(sc.CLONE_NEWUSER | sc.CLONE_NEWPID | _EVERYTHING)
        _map(uid, gid)
    sc.mount(None, "/", None, sc.MS_REC | sc.MS_SLAVE)
    child = os.fork()
    if child:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _, status = os.waitpid(child, 0)
        shutil.rmtree(os.path.basename(scratch), ignore_errors=True, dir_fd=above)
        os._exit(os.waitstatus_to_exitcode(status) & 0x7F)
    os.close(above)
    sc.prctl(sc.PR_SET_PDEATHSIG, signal.SIGKILL)


def _map(uid: int, gid: int) -> None:
    """Let one uid and gid of the namespace above be ours in this one."""
    with contextlib.suppress(OSError):
        _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{root.USER} {uid} 1")
    _write("/proc/self/gid_map", f"{root.USER} {gid} 1")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


# ------------------------------------------------------------------------------------------------ each child


def trial(scratch: str, package: str, hide: Iterable[str] = ()) -> list[str]:
    """Build the whole wall once, in a process that ends at once; returns what could not be had.

    Raises
    ------
    OSError
        Where it cannot be built.
    """
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        try:
            sc.unshare(sc.CLONE_NEWNS)
            root.build(scratch, package, hide)
            child = PidNamespaces().fork()
            if child == 0:
                small = {
                    "memory": 1 << 30,
                    "cpu": 10,
                    "file": 1 << 20,
                    "disk": 1 << 20,
                    "descriptors": 64,
                    "processes": 8,
                }
                os.write(writer, ("+" + "\n".join(shut_in(small, 65_000))).encode())
            else:
                os.waitpid(child, 0)
        except OSError as error:
            os.write(writer, f"-{error.strerror or error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        text = answer.read()
    os.waitpid(middle, 0)
    if not text.startswith("+"):
        raise OSError(text[1:] or "the wall could not be tried")
    return [line for line in text[1:].splitlines() if line]


class PidNamespaces:
    """Lets every child of this process be pid 1 of its own namespace, without a process in between.

    A process may enter a new pid namespace for its children only once; going back to one's own in between lifts that.
    """

    def __init__(self) -> None:
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def fork(self) -> int:
        """As os.fork, but the child is pid 1 of a new pid namespace."""
        sc.unshare(sc.CLONE_NEWPID)
        pid = memory.fork()
        if pid == 0:
            os.close(self._own)
        else:
            sc.setns(self._own, sc.CLONE_NEWPID)
        return pid


def shut_in(limits: dict[str, int], place: int) -> list[str]:
    """Isolate this process, for good; returns what could not be had.

    Parameters
    ----------
    limits : dict
        See `apply_limits`.
    place : int
        Tells apart children that run at once.

    Raises
    ------
    OSError
        Where the wall cannot be built. The caller must run nothing then.
    """
    missing = []
    sc.unshare(_EVERYTHING)
    with contextlib.suppress(OSError):
        _loopback()
    uid = gid = root.USER
    if os.geteuid() == 0:
        uid = gid = _OUTSIDE + place
    sc.mount(
        "tmpfs", root.ROOM, "tmpfs", sc.MS_NOSUID | sc.MS_NODEV, f"size={limits['disk']},nr_inodes=20000,mode=0755"
    )
    for name in ("work", "tmp", "shm"):
        os.mkdir(f"{root.ROOM}/{name}", 0o700)
        if os.geteuid() == 0:
            os.chown(f"{root.ROOM}/{name}", uid, gid)
    os.chmod(root.ROOM, 0o555)
    sc.mount("proc", "/proc", "proc", sc.MS_NOSUID | sc.MS_NODEV | sc.MS_NOEXEC)
    os.chdir(root.WORK)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        sc.prctl(sc.PR_SET_DUMPABLE, 1)  # or /proc/self would not be ours to write the maps
    try:
        sc.unshare(sc.CLONE_NEWUSER)
        _map(uid, gid)
        _write("/proc/sys/user/max_user_namespaces", "0")
    except OSError:
        missing.append("a user namespace for each child")
    sc.drop_capabilities()
    sc.prctl(sc.PR_SET_NO_NEW_PRIVS, 1)
    apply_limits(limits)
    sc.prctl(sc.PR_SET_DUMPABLE, 0)
    try:
        seccomp.shut()
    except OSError:
        missing.append("a filter on system calls")
    return missing


def _loopback() -> None:
    """127.0.0.1 is there, as on every machine; nothing else is in this network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
