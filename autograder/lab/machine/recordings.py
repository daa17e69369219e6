"""Measurements recorded on a machine with a GPU, shown where there is none, with the device, versions and date.

All of them stand in one JSON file, ``recordings.json`` beside this module, because all come from one run on one machine
(``make gpu``). Nobody edits it by hand::

    {"device": "...", "driver": "...", "versions": {"torch": "..."}, "date": "2026-01-31",
     "measurements": {"05-modes": {"what": "one sentence with the unit", "data": {"add": {"grad": 1.0}}}}}

A measurement that nobody has recorded yet shows nothing: its section says in words what to run and what to expect.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from autograder.lab.figures import image

FILE = Path(__file__).with_name("recordings.json")
_ACROSS = 4  # panels of a figure beside each other


@dataclass(frozen=True)
class Recording:
    """A measurement and where it comes from.

    Attributes
    ----------
    name : str
        For instance ``"05-modes"``.
    what : str
        What was measured, in which unit, in a sentence or two.
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

    def plot(self) -> Any:
        """Draw the figures: one panel of bars per column of numbers; columns of one unit ("peak, bytes") share their scale.

        Returns
        -------
        matplotlib.figure.Figure or None
            None when there is no column of numbers.
        """
        header, rows = _columns(self.data)
        panels = [i for i in range(1, len(header)) if any(_number(row[i]) for row in rows)]
        if not panels:
            return None
        import matplotlib.pyplot as plt

        across = min(len(panels), _ACROSS)
        down = -(-len(panels) // across)
        size = (2.2 + 2.1 * across, down * (0.9 + 0.3 * len(rows)))
        figure, grid = plt.subplots(
            down, across, figsize=size, sharey=True, squeeze=False, layout="constrained", facecolor="white"
        )
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        longest: dict[str, float] = {}
        for i in panels:
            longest[_unit(header[i])] = max(
                longest.get(_unit(header[i]), 0.0), *map(_length, (row[i] for row in rows)), 0.0
            )
        for axes, i in zip(grid.flat, panels, strict=False):
            values = [_length(row[i]) for row in rows]
            bars = axes.barh(range(len(rows)), values, height=0.6, color="#4c72b0")
            axes.bar_label(bars, labels=[_cell(row[i]) for row in rows], padding=3, fontsize=8)
            axes.set_title(header[i], fontsize=9)
            axes.set_xticks([])
            axes.set_xlim(min(0.0, *values, 0.0), 1.6 * (longest[_unit(header[i])] or 1.0))
            axes.spines[["top", "right", "bottom"]].set_visible(False)
        grid[0][0].set_yticks(range(len(rows)), [str(row[0]) for row in rows])
        grid[0][0].invert_yaxis()
        plt.close(figure)  # the caller shows it; nothing is drawn twice
        return figure


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        shared = {key: found[key] for key in ("device", "driver", "versions", "date")}
        measurements = {name: Recording(name=name, **shared, **one) for name, one in found["measurements"].items()}
        if not all(isinstance(m.data, dict) and isinstance(m.versions, dict) for m in measurements.values()):
            raise ValueError("data and versions are mappings")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{file} does not hold recordings ({error}). Record them again: make gpu.") from None
    return measurements


def recorded(name: str, *, file: Path | None = None) -> Recording | None:
    """The recording of that name, or None when nobody has recorded it.

    Parameters
    ----------
    name : str
        For instance ``"05-modes"``.
    file : Path, optional
        Where recordings stand; the package's own file unless given.

    Raises
    ------
    ValueError
        If `name` is not a plain name, or the file is there and does not hold recordings.
    """
    _check_name(name)
    file = FILE if file is None else file
    return _read(file).get(name) if file.exists() else None


def record(measurements: Mapping[str, tuple[str, Mapping[str, Any]]], *, file: Path | None = None) -> None:
    """Write what was just measured on this machine, in place of what stood there.

    Parameters
    ----------
    measurements : mapping
        Name to what was measured and its figures, as in `Recording`: plain JSON without NaN or infinity.
    file : Path, optional
        Where to write; the package's own file unless given.

    Raises
    ------
    ValueError
        If a name is not a plain name, or a figure is NaN or infinite. Nothing is written then.
    """
    from autograder.lab.machine.runtime import device_name, driver, versions

    for name in measurements:
        _check_name(name)
    found = {
        "device": device_name(),
        "driver": driver() or "",
        "versions": versions(),
        "date": date.today().isoformat(),
        "measurements": {name: {"what": what, "data": dict(data)} for name, (what, data) in measurements.items()},
    }
    text = json.dumps(found, indent=1, allow_nan=False)
    file = FILE if file is None else file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n", encoding="utf-8")


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise ValueError(f"{name!r} is no name of a recording. Use lower-case letters, digits, '-' and '_'.")


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _length(value: Any) -> float:
    return float(value) if _number(value) else 0.0


def _unit(column: str) -> str:
    """What stands behind the last comma of a column's name; the whole name where there is none."""
    return column.rpartition(", ")[2]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    return f"{value:,}" if _number(value) else str(value)


def _columns(data: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """`data` as a header and rows: a mapping of mappings by key, other values in one column. "" where nothing is."""
    if data and all(isinstance(value, Mapping) for value in data.values()):
        columns = list(dict.fromkeys(column for value in data.values() for column in value))
        return ["", *columns], [[key, *(value.get(c, "") for c in columns)] for key, value in data.items()]
    return ["", ""], [[key, value] for key, value in data.items()]


def _table(data: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    header, rows = _columns(data)
    return header, [[row[0], *map(_cell, row[1:])] for row in rows]


@dataclass(frozen=True)
class RecordingView:
    """What a notebook shows of a recording: its figures as text, and as a table with bars."""

    recording: Recording

    def __repr__(self) -> str:
        header, rows = _table(self.recording.data)
        widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
        head = ["  ".join(text.ljust(width) for text, width in zip(header, widths, strict=True))] if any(header) else []
        body = [line.rstrip() for line in head + lines]
        return "\n".join([self.recording.what, *body, self.recording.source])

    def _repr_html_(self) -> str:
        header, rows = _table(self.recording.data)
        head = "".join(f"<th>{html.escape(text)}</th>" for text in header) if any(header) else ""
        body = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows)
        what, source = html.escape(self.recording.what), html.escape(self.recording.source)
        return f"<p>{what}</p><table><tr>{head}</tr>{body}</table>{self._picture()}<p><small>{source}</small></p>"

    def _picture(self) -> str:
        figure = self.recording.plot()
        if figure is None:
            return ""
        return image(figure, "The figures of the table as bars.")


def show_recording(name: str, *, file: Path | None = None) -> RecordingView | None:
    """Show a recording with its device, versions and date.

    Parameters
    ----------
    name, file
        As for `recorded`.

    Returns
    -------
    RecordingView or None
        None where nobody has recorded it: a notebook that ends a cell with it shows nothing then.
    """
    found = recorded(name, file=file)
    return RecordingView(found) if found else None
