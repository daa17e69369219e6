"""Damaged submissions, made from a released notebook the way people and tools damage them.

Each kind takes an answered notebook and returns what lies in the student's folder. It says which status and which notes
must come out, and what share of the answers is still there.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.grading.small_chapter import (
    EXPLANATION,
    FULL_MARKS,
    NAME,
    answered_notebook,
    released_notebook,
)

MANUAL = f"explain-{NAME}"


@dataclass(frozen=True)
class Damage:
    """One kind of damage.

    Attributes
    ----------
    make : callable
        Notebook (dict) to what is handed in: bytes of the notebook file, or a dict of file names below the student's
        folder to bytes, or to a str, which is the target of a link.
    status : str
        What must come out.
    codes : tuple of str
        Notes that must be among those that come out.
    score : float or None
        Points of 7 that must come out; None where there is no grade.
    """

    kind: str
    make: Callable[[dict], bytes | dict]
    status: str
    codes: tuple[str, ...] = ()
    score: float | None = FULL_MARKS


DAMAGES: list[Damage] = []


def damage(kind, status="repaired", *codes, score=FULL_MARKS):
    """Register a kind of damage; the function may also change the notebook in place and return None."""

    def register(make):
        def made(notebook):
            result = make(notebook)
            return encode(notebook if result is None else result) if not isinstance(result, bytes | Files) else result

        expected = None if status in ("unreadable", "missing") else score
        DAMAGES.append(Damage(kind, made, status, codes, expected))
        return make

    return register


class Files(dict):
    """Files below the student's folder: name to bytes, or to a str for a link."""


def encode(notebook) -> bytes:
    return json.dumps(notebook, indent=1).encode()


def zipped(files: dict[str, bytes], **kinds) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def write(folder: Path, made) -> None:
    """Put what a damage made into a student's folder."""
    files = {f"{NAME}/{NAME}.ipynb": made} if isinstance(made, bytes) else made
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = folder / name
        if data is None:
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, str):
            path.symlink_to(data)
        else:
            path.write_bytes(data)


def age(folder: Path, name: str, days: float) -> None:
    """Make a file some days old."""
    then = 1_760_000_000 - days * 86_400
    os.utime(folder / name, (then, then))


def blank():
    return encode(released_notebook())


def each_grader(nb):
    return [c["metadata"]["nbgrader"] for c in nb["cells"] if "nbgrader" in c["metadata"]]


def retype(cell, kind):
    cell["cell_type"] = kind
    cell.pop("outputs", None)
    cell.pop("execution_count", None)


def position_of_id(nb, cell_id):
    return next(number for number, cell in enumerate(nb["cells"]) if cell.get("id") == cell_id)


def made(kind: Damage):
    """What a student with this damage hands in."""
    return kind.make(answered_notebook())


assert EXPLANATION  # the free answer is in every answered notebook
