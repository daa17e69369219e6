"""Sibling files of a notebook, read from a folder that nobody trusts."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from autograder.engine.api import Job

ALL_BYTES = 64 * 2**20  #: of a job's files together
ONE_BYTES = 10 * 2**20  #: of one file
MOST = 200  #: files


def read_files(job: Job, notes: list[str]) -> Iterator[tuple[str, bytes]]:
    """The job's plain files, as (name, bytes); adds a note about each that is left out.

    A name is a relative path without `..`; links are never followed; folders, devices and what is too large are left out.
    """
    room = ALL_BYTES
    for name, path in job.files[:MOST]:
        data = _read(path, min(room, ONE_BYTES)) if _plain(name) else None
        if data is None:
            notes.append(f"The file {name!r} was left out: not a plain file, or too large.")
            continue
        room -= len(data)
        yield name, data
    if len(job.files) > MOST:
        notes.append(f"Of {len(job.files)} files only {MOST} were copied.")


def _plain(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(name) and "\0" not in name and not path.is_absolute() and ".." not in path.parts


def _read(path: Path, most: int) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > most:
                return None
            return file.read(most)
    except OSError:
        return None
