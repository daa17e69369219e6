"""Measurements recorded on a machine with a GPU, shown where there is none, with the device, versions and date.

A recording is one JSON file in ``autograder/lab/recordings/``. `record` writes it, `recorded` reads it. A chapter whose
measurement nobody has recorded yet shows a sentence that says so.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "recordings"


@dataclass(frozen=True)
class Recording:
    """A measurement and where it comes from.

    Attributes
    ----------
    name : str
        The file's name without ``.json``.
    what : str
        One sentence: what was measured, in which unit.
    device, driver : str
        The GPU (or CPU) in words, and its driver ("" on a CPU).
    versions : dict of str
        Python, torch, CUDA and others, by name.
    date : str
        ISO date.
    data : dict
        The figures, by name; plain JSON.
    """

    name: str
    what: str
    device: str
    driver: str
    versions: dict[str, str]
    date: str
    data: dict[str, Any]

    @property
    def source(self) -> str:
        """Where and when, as a line to stand under a figure."""
        parts = [self.device, f"driver {self.driver}" if self.driver else ""]
        parts += [f"{name} {self.versions[name]}" for name in ("torch", "cuda", "triton") if name in self.versions]
        return f"Recorded on {self.date}: {', '.join(part for part in parts if part)}."


def _path(name: str, folder: Path) -> Path:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise ValueError(f"{name!r} is no name of a recording. Use lower-case letters, digits, '-' and '_'.")
    return folder / f"{name}.json"


def recorded(name: str, *, folder: Path | None = None) -> Recording | None:
    """The recording of that name, or None when nobody has recorded it.

    Parameters
    ----------
    name : str
        For instance ``"05-modes"``.
    folder : Path, optional
        Where recordings lie; the package's own folder unless given.

    Raises
    ------
    ValueError
        If `name` is not a plain name, or the file is there and is not a recording.
    """
    path = _path(name, FOLDER if folder is None else folder)
    if not path.exists():
        return None
    try:
        found = Recording(name=name, **json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is not a recording ({error}). Record it again.") from None
    if not (isinstance(found.data, dict) and isinstance(found.versions, dict)):
        raise ValueError(f"{path} is not a recording (data and versions are mappings). Record it again.")
    return found


def record(name: str, what: str, data: Mapping[str, Any], *, folder: Path | None = None) -> Recording:
    """Write a recording of what was just measured on this machine.

    Parameters
    ----------
    name, what
        As in `Recording`.
    data : mapping
        The figures, by name; plain JSON without NaN or infinity.
    folder : Path, optional
        Where to write; the package's own folder unless given.

    Raises
    ------
    ValueError
        If `name` is not a plain name, or `data` holds NaN or infinity.
    """
    from autograder.lab.runtime import device_name, driver, versions

    path = _path(name, FOLDER if folder is None else folder)
    made = Recording(name, what, device_name(), driver() or "", versions(), date.today().isoformat(), dict(data))
    text = json.dumps({k: v for k, v in asdict(made).items() if k != "name"}, indent=1, allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    return made


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _table(data: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """`data` as a header and rows: a list of dicts by column, a mapping of dicts by key, other values in one column."""
    if data and all(isinstance(value, Mapping) for value in data.values()):
        columns = list(dict.fromkeys(column for value in data.values() for column in value))
        return ["", *columns], [[key, *(_cell(v[c]) if c in v else "" for c in columns)] for key, v in data.items()]
    return ["", ""], [
        [key, ", ".join(map(_cell, value)) if isinstance(value, list) else _cell(value)] for key, value in data.items()
    ]


@dataclass(frozen=True)
class RecordingView:
    """What a notebook shows of a recording, or of its absence."""

    name: str
    recording: Recording | None

    def __repr__(self) -> str:
        if self.recording is None:
            return f"Not recorded yet: {self.name}. Nobody has run this on a GPU and kept the figures."
        header, rows = _table(self.recording.data)
        widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
        head = ["  ".join(text.ljust(width) for text, width in zip(header, widths, strict=True))] if any(header) else []
        body = [line.rstrip() for line in head + lines]
        return "\n".join([self.recording.what, *body, self.recording.source])

    def _repr_html_(self) -> str:
        if self.recording is None:
            return f"<p>{html.escape(repr(self))}</p>"
        header, rows = _table(self.recording.data)
        head = "".join(f"<th>{html.escape(text)}</th>" for text in header) if any(header) else ""
        body = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows)
        what, source = html.escape(self.recording.what), html.escape(self.recording.source)
        return f"<p>{what}</p><table><tr>{head}</tr>{body}</table><p><small>{source}</small></p>"


def show_recording(name: str, *, folder: Path | None = None) -> RecordingView:
    """Show a recording with its device, versions and date; where there is none, a sentence says so.

    Parameters
    ----------
    name, folder
        As for `recorded`.
    """
    return RecordingView(name, recorded(name, folder=folder))
