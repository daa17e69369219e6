"""Live bytes drawn over the operations of a forward and a backward pass."""

from __future__ import annotations

from typing import Any

from .peak import Trace


def plot_timeline(trace: Trace, peaks: int = 3, title: str = "", axes: Any = None) -> Any:
    """Draw how many bytes are alive after each operation, and name the operations at the highest peaks.

    Parameters
    ----------
    trace : Trace
        From `lab.trace`.
    peaks : int
        How many local peaks carry the name of their operation.
    title : str
    axes : matplotlib.axes.Axes, optional
        Draw here; else a new figure is made.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    fresh = axes is None
    if fresh:
        figure, axes = plt.subplots(figsize=(9, 3.4), layout="constrained", facecolor="white")
    else:
        figure = axes.figure
    unit, name = scale(trace.peak)
    live = [moment.live / unit for moment in trace.moments]
    axes.step(range(len(live)), live, where="post", color="#4c72b0")
    axes.fill_between(range(len(live)), live, step="post", color="#4c72b0", alpha=0.15)
    split = next((i for i, moment in enumerate(trace.moments) if moment.phase == "backward"), None)
    if split is not None:
        axes.axvspan(split, max(len(live) - 1, split), color="#dd8452", alpha=0.12)
        axes.text(split, 0.02, " backward", transform=axes.get_xaxis_transform(), color="#a04000", fontsize=9)
        axes.text(0, 0.02, "forward", transform=axes.get_xaxis_transform(), color="#2f4b7c", fontsize=9)
    for i in highest(trace, peaks):
        moment = trace.moments[i]
        axes.annotate(
            f"{moment.op}\n{moment.live:,} B",
            (i, live[i]),
            textcoords="offset points",
            xytext=(0, 5),
            ha="center",
            fontsize=8,
        )
    axes.margins(y=0.22)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("operation")
    axes.set_ylabel(f"live memory, {name}")
    if title:
        axes.set_title(title, fontsize=10)
    if fresh:
        plt.close(figure)  # the caller shows it; nothing is drawn twice
    return figure


def highest(trace: Trace, count: int) -> list[int]:
    """Indices of the highest local peaks, highest first, no two closer than a twentieth of the run."""
    live = [moment.live for moment in trace.moments]
    near = max(1, len(live) // 20)
    chosen: list[int] = []
    for i in sorted(range(len(live)), key=lambda i: -live[i]):
        if len(chosen) == count:
            break
        top = live[i] == max(live[max(0, i - near) : i + near + 1])
        if top and live[i] and all(abs(i - j) > near for j in chosen):
            chosen.append(i)
    return chosen


def scale(nbytes: int) -> tuple[int, str]:
    """The unit in which a figure of that size is easy to read: (bytes per unit, its name)."""
    for power, name in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if nbytes >= 1024**power:
            return 1024**power, name
    return 1, "bytes"
