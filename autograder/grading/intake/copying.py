"""Put a file where nothing is overwritten: whole, under the first free name."""

from __future__ import annotations

import os
from pathlib import Path


def write_new(path: Path, data: bytes, modified: float) -> tuple[Path, bool]:
    """Write a new file whole, under the first free name; returns where, and whether it had to be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        if modified:
            os.utime(part, (modified, modified))
        number = 1
        while True:
            target = path if number == 1 else path.with_name(f"{path.stem} ({number}){path.suffix}")
            if _publish(part, target):
                return target, True
            if target.is_file() and not target.is_symlink() and target.read_bytes() == data:
                return target, False
            number += 1
    finally:
        part.unlink(missing_ok=True)


def _publish(part: Path, target: Path) -> bool:
    """Give a finished file its name; False where the name is taken."""
    try:
        os.link(part, target)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if target.exists() or target.is_symlink():
            return False
        part.rename(target)
    return True
