"""The machine and the versions that a result belongs to."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def provenance() -> dict[str, object]:
    """Processor, cores, memory, kernel, versions and date."""
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        "",
    )
    memory = int(Path("/proc/meminfo").read_text().split()[1]) // 2**20
    packages = ("torch", "nbgrader", "nbclient", "ipykernel", "ipython", "numpy")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": memory,
        "kernel": platform.release().split("-")[0],
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
    }
