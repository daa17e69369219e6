"""What this machine offers to the course, and what is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from autograder.authoring.source import PLACEHOLDER, repository, source_names

_PACKAGES = ("torch", "matplotlib", "graphviz", "jupyterlab", "nbgrader", "jupytext", "nbclient")


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report. Only what is "needed" must be mended; "advice" can wait."""

    subject: str
    text: str
    verdict: Literal["ok", "advice", "needed"] = "ok"


def findings(root: Path) -> Iterator[Finding]:
    """Look at the interpreter, the packages, dot, the engines and the course in `root`."""
    old = sys.version_info < (3, 11)
    yield Finding(
        "python", f"{sys.version.split()[0]}{', and 3.11 is needed' if old else ''}", "needed" if old else "ok"
    )
    for package in _PACKAGES:
        yield _package(package, required=True)
    yield _package("triton", required=False)
    yield from _drawing()
    yield from _engines()
    yield from _course(root)


def _package(name: str, *, required: bool) -> Finding:
    try:
        return Finding(name, version(name))
    except PackageNotFoundError:
        if required:
            return Finding(name, "not installed: run `make setup`.", "needed")
        return Finding(name, "not installed; the exercise that needs it waits for a person.", "advice")


def _drawing() -> Iterator[Finding]:
    from autograder.lab.machine.runtime import find_dot

    dot = find_dot()
    yield Finding(
        "dot",
        str(dot) if dot else "not found, drawings show their text: install graphviz or graphviz-pure.",
        "ok" if dot else "advice",
    )


def _engines() -> Iterator[Finding]:
    from autograder.engine import describe_machine

    features = describe_machine()
    for feature in features:
        yield Finding(feature.name, feature.detail, "ok" if feature.available else "advice")
    if not any(feature.available for feature in features if feature.name.endswith(" engine")):
        yield Finding("grading", "neither engine can run here, so no notebook can be graded.", "needed")


def _course(root: Path) -> Iterator[Finding]:
    names = source_names(root) if (root / "source").is_dir() else []
    if not names:
        yield Finding(
            "course", f"{root.resolve()} holds no chapter in source/: run this inside the course's folder.", "needed"
        )
        return
    yield Finding("course", f"{len(names)} chapters: {', '.join(names)}")
    unbuilt = [name for name in names if not (root / "notebooks" / name / f"{name}.ipynb").is_file()]
    if unbuilt:
        yield Finding("release", f"not built: {', '.join(unbuilt)}; run `make notebooks`.", "needed")
    address = repository(root)
    if address == PLACEHOLDER:
        yield Finding(
            "repository",
            f"still {PLACEHOLDER}: set [tool.autograder] repository in pyproject.toml and run `make notebooks`, then Colab links work.",
            "advice",
        )
    else:
        yield Finding("repository", address)
