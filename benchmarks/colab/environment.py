"""An environment as near to Colab's as registries allow, and what is installed in it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
WANTED = Path(__file__).with_name("constraints.txt")
VENV = ROOT / ".colab-venv"
PYTHON = VENV / "bin" / "python"
TRITON = VENV / "triton"  #: apart from the rest: a runtime with a GPU has Triton, one without has not


@dataclass(frozen=True)
class Runtime:
    """A kind of Colab runtime: whether it has a `dot` program, and Triton."""

    name: str
    dot: bool = True
    triton: bool = True

    def variables(self, scratch: Path) -> dict[str, str]:
        """The environment of its kernels. A `dot` is put below `scratch` where the system has none."""
        path = [str(VENV / "bin"), *([str(_dot(scratch))] if self.dot else [])]
        path += [folder for folder in ("/usr/bin", "/bin") if self.dot or not Path(folder, "dot").exists()]
        kept = {
            k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_", "HTTP", "HTTPS_", "NO_PROXY", "HOME"))
        }
        kept |= {"PATH": os.pathsep.join(path), "LANG": "C.UTF-8"}
        return kept | ({"PYTHONPATH": str(TRITON)} if self.triton else {})


def install() -> None:
    """Make the environment, or make it anew when the list of versions or the Python has changed."""
    mark = VENV / "made-from"
    wanted = hashlib.sha256(WANTED.read_bytes() + sys.version.encode()).hexdigest()
    if mark.exists() and mark.read_text() == wanted:
        uninstall()
        return
    print(f"Making {VENV.name} ...", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    lines = WANTED.read_text().splitlines()
    triton = [line for line in lines if line.startswith("triton")]
    rest = [line for line in lines if line and not line.startswith(("#", "triton"))]
    pip = [PYTHON, "-m", "pip", "install", "-q"]
    subprocess.run([*pip, *rest], check=True)
    subprocess.run([*pip, "--no-deps", "--target", TRITON, *triton], check=True)
    mark.write_text(wanted)


def uninstall() -> None:
    """Take this project away again, as in a new runtime."""
    subprocess.run([PYTHON, "-m", "pip", "uninstall", "-q", "-y", "autograder"], check=True, stderr=subprocess.DEVNULL)


def packages() -> dict[str, str]:
    """Name and version of everything installed, this project left out."""
    line = [PYTHON, "-m", "pip", "list", "--format=json"]
    listed = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
    return {item["name"]: item["version"] for item in listed if item["name"] != "autograder"}


def copy_checkout(to: Path) -> Path:
    """A copy of the files that pip needs: building in place would leave its own files in the tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "autograder", "pyproject.toml", "README.md", "LICENSE"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in filter(lambda name: (ROOT / name).is_file(), listed):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to / name)
    return to


def _dot(scratch: Path) -> Path:
    """A folder with a program `dot`: the system's, else the wheel's under that name."""
    if system := shutil.which("dot"):
        return Path(system).parent
    wheel = shutil.which("graphviz-pure") or str(Path(sys.executable).with_name("graphviz-pure"))
    folder = scratch / "dot"
    folder.mkdir(exist_ok=True)
    program = folder / "dot"
    program.write_text(f'#!/bin/sh\nexec "{wheel}" "$@"\n')
    program.chmod(0o755)
    return folder
