"""When something was handed in: timestamp.txt, as nbgrader and people write it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from autograder.grading.intake.files import File, FileTrouble


def nearest(folder: tuple[str, ...], values: Mapping[tuple[str, ...], Any]) -> Any:
    for length in range(len(folder), -1, -1):
        if folder[:length] in values:
            return values[folder[:length]]
    return None


def read_stamps(
    stamps: Mapping[tuple[str, ...], File],
) -> tuple[dict[tuple[str, ...], datetime], set[tuple[str, ...]]]:
    times, broken = {}, set()
    for folder, file in stamps.items():
        try:
            times[folder] = parse_timestamp(file.read()[:200].decode("utf-8-sig"))
        except (FileTrouble, ValueError, OverflowError):
            broken.add(folder)
    return times, broken


def parse_timestamp(text: str) -> datetime:
    """The time that a timestamp.txt says, in UTC without a zone; ValueError where it says none.

    nbgrader writes "2026-02-03 15:58:23.948203 UTC" or a zone's name at the end; ISO 8601 is read as well. A time
    without a zone is UTC, as nbgrader takes it.
    """
    text = text.strip().strip("\0")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        bare, _, zone = text.rpartition(" ")
        moment = datetime.fromisoformat(bare)
        if re.fullmatch(r"[+-]\d{4}", zone):
            moment = datetime.fromisoformat(f"{bare}{zone}")
        elif zone not in ("UTC", "GMT", "Z"):
            try:
                moment = moment.replace(tzinfo=ZoneInfo(zone))
            except (OSError, KeyError, ValueError):
                raise ValueError(f"there is no time zone {zone!r}") from None
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo is not None else moment
