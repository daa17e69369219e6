"""Peak bytes and time as the number of checkpointed segments varies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
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


def plot_sweep(
    peaks: Mapping[int, int],
    model: Callable[[int], float] | None = None,
    plain: int | None = None,
    unit: tuple[int, str] | None = None,
    title: str = "",
) -> Any:
    """Draw the peak against the number of segments, on two logarithmic axes: a law of powers is a straight line there.

    Parameters
    ----------
    peaks : mapping of int to int
        Number of segments to measured bytes.
    model : callable, optional
        Predicted bytes for a number of segments, drawn as a line behind the measured dots.
    plain : int, optional
        Measured bytes without any checkpoint, drawn across.
    unit : (int, str), optional
        Bytes per unit and the unit's name; KiB, MiB or GiB unless given.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    size, name = unit or scale(max(peaks.values()))
    counts = sorted(peaks)
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained", facecolor="white")
    if plain is not None:
        axes.axhline(plain / size, color="#8c8c8c", linestyle=":", label=f"no checkpoint: {plain / size:,.4g}")
    if model is not None:
        line = range(counts[0], counts[-1] + 1)
        axes.plot(line, [model(count) / size for count in line], color="#dd8452", label="model")
    axes.plot(counts, [peaks[count] / size for count in counts], "o", color="#2f4b7c", label="measured")
    best = min(counts, key=lambda count: peaks[count])
    axes.annotate(
        f"{peaks[best] / size:,.4g}", (best, peaks[best] / size), xytext=(0, -14), textcoords="offset points",
        ha="center", fontsize=9, color="#2f4b7c",
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(counts))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    low, high = min(peaks.values()) / size, max([*peaks.values(), plain or 0]) / size
    axes.set_ylim(0.6 * low, 1.5 * high)
    axes.set_xlabel("segments")
    axes.set_ylabel(f"peak, {name}")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    if title:
        axes.set_title(title, fontsize=10)
    plt.close(figure)  # the caller shows it; nothing is drawn twice
    return figure


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
