"""Peak bytes and time as the number of checkpointed segments varies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch

from .peak import peak_bytes
from .timeline import scale


@dataclass(frozen=True)
class Point:
    """One setting of a sweep: peak in bytes, time in seconds (median)."""

    segments: int
    peak: int
    seconds: float


def sweep_segments(step: Callable[[int], Any], segments: Iterable[int], repeats: int = 5) -> list[Point]:
    """Measure `step(segments)` for each number of segments.

    Parameters
    ----------
    step : callable
        One forward and backward pass, run in that many segments. It should leave nothing behind.
    segments : iterable of int
    repeats : int
        Timed runs per setting, after the one that is traced. Rounds interleave the settings, so that a slow moment of
        the machine does not fall on one of them.

    Returns
    -------
    list of Point
    """
    settings = list(segments)
    peaks = [peak_bytes(step, count) for count in settings]
    times: list[list[float]] = [[] for _ in settings]
    for _ in range(repeats):
        for row, count in zip(times, settings, strict=True):
            _wait()
            start = time.perf_counter()
            step(count)
            _wait()
            row.append(time.perf_counter() - start)
    return [Point(*point) for point in zip(settings, peaks, map(median, times), strict=True)]


def plot_sweep(points: Sequence[Point], model: Callable[[int], float] | None = None, title: str = "") -> Any:
    """Draw bytes (left axis) and time (right axis) against the number of segments.

    Parameters
    ----------
    points : sequence of Point
    model : callable, optional
        Predicted bytes for a number of segments, drawn as a dashed curve.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    unit, name = scale(max(point.peak for point in points))
    counts = [point.segments for point in points]
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained", facecolor="white")
    axes.plot(counts, [point.peak / unit for point in points], "o-", color="#4c72b0", label="peak, measured")
    if model is not None:
        axes.plot(counts, [model(count) / unit for count in counts], "--", color="#2f4b7c", label="peak, model")
    axes.set_xlabel("segments")
    axes.set_ylabel(f"peak, {name}", color="#2f4b7c")
    axes.set_ylim(bottom=0)
    clock = axes.twinx()
    clock.plot(counts, [1e3 * point.seconds for point in points], "s:", color="#dd8452", label="time")
    clock.set_ylabel("forward and backward, ms", color="#a04000")
    clock.set_ylim(bottom=0)
    handles = axes.get_legend_handles_labels(), clock.get_legend_handles_labels()
    axes.legend(handles[0][0] + handles[1][0], handles[0][1] + handles[1][1], fontsize=8, loc="lower right")
    if title:
        axes.set_title(title, fontsize=10)
    plt.close(figure)  # the caller shows it; nothing is drawn twice
    return figure


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
