"""When something was handed in: timestamp.txt, as nbgrader and people write it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from autograder.grading.intake.files import TIMESTAMP, File, FileTrouble
from autograder.grading.results import Note

SKEW = timedelta(days=1)  #: how far ahead a clock may be, time zones that were mixed up included


class Stamps:
    """One student's timestamps. One stands for its folder and for those below that have none of their own.

    Parameters
    ----------
    files : iterable of File
        All files of the student. A timestamp.txt inside an archive says nothing: the student has made the archive.
    """

    def __init__(self, files: Iterable[File]) -> None:
        self.times: dict[tuple[str, ...], datetime] = {}
        self._odd: dict[tuple[str, ...], Note] = {}
        for file in files:
            if file.name == TIMESTAMP and file.archive is None:
                self._read(file)

    def _read(self, file: File) -> None:
        folder = file.parts[:-1]
        try:
            time = parse_timestamp(file.read()[:200].decode("utf-8-sig"))
        except (FileTrouble, ValueError, OverflowError) as error:
            why = str(error).rstrip(".") if isinstance(error, FileTrouble) else f"{TIMESTAMP} says no time"
            self._odd[folder] = Note("timestamp-broken", f"{why}, so no late penalty was charged.")
            return
        self.times[folder] = time
        if time > _now() + SKEW:  # it counts all the same: no grade depends on this machine's clock
            text = f"{TIMESTAMP} says {time:%Y-%m-%d %H:%M} UTC, which is still to come; how late it is was reckoned by it."
            self._odd[folder] = Note("timestamp-future", text)

    def seconds(self) -> dict[tuple[str, ...], float]:
        """Folder to time, as files have it."""
        return {folder: time.replace(tzinfo=UTC).timestamp() for folder, time in self.times.items()}

    def of(self, folder: tuple[str, ...]) -> tuple[datetime | None, list[Note]]:
        """The time that counts for what lies in a folder, and a note where it is odd or where none could be read."""
        above = [folder[:length] for length in range(len(folder), -1, -1)]
        counts = next((place for place in above if place in self.times), None)
        odd = next((place for place in above if place in self._odd), None)
        if counts is None:
            return None, [self._odd[odd]] if odd is not None else []
        return self.times[counts], [self._odd[counts]] if counts in self._odd else []


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


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
