"""The wall: namespaces and a root folder that holds the interpreter, the system's libraries and nothing else.

In two steps, because the first is dear and needed once. The parent enters namespaces of its own and builds the root
(`enter`, `build_root`). Each child then takes a copy of the mounts, fresh pid, network, ipc and uts namespaces, its own
/proc and a work folder in memory, and gives up every right (`shut_in`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import shutil
import signal
import site
import socket
import struct
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from autograder.engine.inside.births import memory
from autograder.engine.inside.exhaustion import SPARE
from autograder.engine.inside.wall import seccomp
from autograder.engine.inside.wall import syscalls as sc

ROOM = "/learner"  #: the one place that can be written; a name that no machine uses for its own
WORK = ROOM + "/work"
USER = 1000  #: the uid and gid inside
_OUTSIDE = 200_000_000  #: where root grades: the first of the uids that children get outside, one each
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_EVERYTHING = sc.CLONE_NEWNS | sc.CLONE_NEWNET | sc.CLONE_NEWIPC | sc.CLONE_NEWUTS
ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "fonts", "localtime", "mime.types", "alternatives")
_DEVICES = ("null", "zero", "full", "random", "urandom")


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
    _write("/proc/self/uid_map", f"{USER} {uid} 1")
    _write("/proc/self/gid_map", f"{USER} {gid} 1")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def build_root(scratch: str, package: str, hide: Iterable[str] = ()) -> None:
    """Make the new root below `scratch` and move into it.

    Parameters
    ----------
    scratch : str
        An empty folder.
    package : str
        The folder of this package, of which only `checks`, `lab` and `engine/inside` are let in.
    hide : iterable of str
        Folders that must not be seen, should they lie inside something that is let in.
    """
    sc.mount("tmpfs", scratch, "tmpfs", sc.MS_NOSUID | sc.MS_NODEV, "size=4m,mode=0755")
    for name in ("proc", ROOM[1:], "dev", "etc", "old"):
        os.mkdir(scratch + "/" + name)
    steps = plan(package, hide, scratch)
    if not any(_within(path, "/tmp") for _, path in steps):  # an environment may lie there; then only TMPDIR leads on
        os.symlink(ROOM + "/tmp", scratch + "/tmp")
    os.symlink(ROOM + "/shm", scratch + "/dev/shm")
    os.symlink("/proc/self/fd", scratch + "/dev/fd")
    for name in _DEVICES:
        _bind("/dev/" + name, scratch, device=True)
    for name in ETC:
        _bind("/etc/" + name, scratch)
    for name, text in _own_etc().items():
        Path(scratch, "etc", name).write_text(text)
    for step, path in sorted(steps, key=lambda item: (item[1].count("/"), item[0])):
        if step == "hide":
            _cover(path, scratch)
        else:
            _bind(path, scratch)
    sc.mount("proc", scratch + "/proc", "proc", sc.MS_NOSUID | sc.MS_NODEV | sc.MS_NOEXEC)
    os.chdir(scratch)
    sc.pivot_root(scratch, scratch + "/old")
    os.chdir("/")
    sc.unmount("/old")
    os.rmdir("/old")
    sc.mount(None, "/", None, sc.MS_REMOUNT | sc.MS_BIND | sc.MS_RDONLY | sc.MS_NOSUID | sc.MS_NODEV)
    sc.mount(
        "tmpfs", ROOM, "tmpfs", sc.MS_NOSUID | sc.MS_NODEV, "size=4m,mode=0755"
    )  # each child covers it with its own


def plan(package: str, hide: Iterable[str], scratch: str) -> list[tuple[str, str]]:
    """What is let in and what is covered, each as (step, path)."""
    root = str(Path(package).parent)
    wanted = {"/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/nix/store"}
    wanted |= {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, os.path.realpath(sys.executable)}
    wanted |= {
        path for path in (*site.getsitepackages(), sysconfig.get_path("stdlib"), *sys.path) if os.path.isdir(path)
    }
    own = {os.path.realpath(path) for path in (root, os.getcwd(), "/")}
    wanted = {path for path in wanted if path and os.path.realpath(path) not in own}
    wanted |= {os.path.realpath(path) for path in wanted}  # an environment may be a link
    ours = os.path.dirname(scratch)
    inside = [path for path in wanted if os.path.exists(path) and not _within(path, ours)]
    tops = [path for path in inside if not any(_within(path, other) for other in inside if other != path)]
    steps = [("let in", path) for path in tops]
    for path in hide:
        if any(_within(path, top) for top in tops):
            steps.append(("hide", path))
            steps += [("let in", other) for other in inside if _within(other, path)]
    if not any(_within(package, top) for top in tops):
        steps += [
            ("let in", f"{package}/{part}")
            for part in ("__init__.py", "checks", "lab", "engine/__init__.py", "engine/api.py", "engine/inside")
        ]
    return steps


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _bind(path: str, root: str, device: bool = False) -> None:
    """Show `path` at the same place below `root`, read-only; a link as a link; what is missing is left out."""
    target = root + path
    if os.path.lexists(target) and os.path.islink(target):
        return
    if os.path.islink(path):
        _parents(target, root)
        if not os.path.lexists(target):
            os.symlink(os.path.realpath(path), target)
        return
    if not os.path.exists(path):
        return
    _parents(target, root)
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        Path(target).touch()
    sc.mount(path, target, None, sc.MS_BIND | sc.MS_REC)
    flags = sc.MS_NOSUID | (0 if device else sc.MS_RDONLY | sc.MS_NODEV)
    sc.mount(None, target, None, sc.MS_REMOUNT | sc.MS_BIND | flags | _locked(path))


def _locked(path: str) -> int:
    """Mount flags that a remount in a user namespace may not take away."""
    have = os.statvfs(path).f_flag
    flags = 0
    for bit, flag in (
        (os.ST_NODEV, sc.MS_NODEV),
        (os.ST_NOEXEC, sc.MS_NOEXEC),
        (os.ST_NOATIME, 1024),
        (os.ST_NODIRATIME, 2048),
    ):
        if have & bit:
            flags |= flag
    return flags | (1 << 21 if have & os.ST_RELATIME else 0)


def _parents(target: str, root: str) -> None:
    os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)


def _cover(path: str, root: str) -> None:
    if os.path.isdir(root + path):
        sc.mount("tmpfs", root + path, "tmpfs", sc.MS_NOSUID | sc.MS_NODEV, "size=1m,mode=0755")


def _own_etc() -> dict[str, str]:
    return {
        "passwd": f"learner:x:{USER}:{USER}::{WORK}:/bin/sh\n",
        "group": f"learner:x:{USER}:\n",
        "hosts": "127.0.0.1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }


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
            build_root(scratch, package, hide)
            child = Births().fork()
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


class Births:
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
    uid = gid = USER
    if os.geteuid() == 0:
        uid = gid = _OUTSIDE + place
    sc.mount("tmpfs", ROOM, "tmpfs", sc.MS_NOSUID | sc.MS_NODEV, f"size={limits['disk']},nr_inodes=20000,mode=0755")
    for name in ("work", "tmp", "shm"):
        os.mkdir(f"{ROOM}/{name}", 0o700)
        if os.geteuid() == 0:
            os.chown(f"{ROOM}/{name}", uid, gid)
    os.chmod(ROOM, 0o555)
    sc.mount("proc", "/proc", "proc", sc.MS_NOSUID | sc.MS_NODEV | sc.MS_NOEXEC)
    os.chdir(WORK)
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
