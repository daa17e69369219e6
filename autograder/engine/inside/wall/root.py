"""The root folder that runs see: the interpreter, the system's libraries, this package's inner part, and nothing else."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from autograder.engine.inside.wall import syscalls as sc

ROOM = "/learner"  #: the one place that can be written; a name that no machine uses for its own
WORK = ROOM + "/work"
USER = 1000  #: the uid and gid inside
ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "fonts", "localtime", "mime.types", "alternatives")
_DEVICES = ("null", "zero", "full", "random", "urandom")


def build(scratch: str, package: str, hide: Iterable[str] = ()) -> None:
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
