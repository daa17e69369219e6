"""Live bytes drawn over the operations of a forward and a backward pass."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping
from typing import Any

from .peak import Piece, Trace

_NAMED = 3  # kinds of tensors that the label of a peak names; the rest is summed up


def plot_timeline(traces: Trace | Mapping[str, Trace], title: str = "") -> Any:
    """Draw how many bytes are alive after each operation, and say what is alive at the peak.

    Parameters
    ----------
    traces : Trace or mapping of str to Trace
        From `lab.trace`. Several are drawn below each other, on one axis of operations and one of bytes, so that a longer
        run is longer and a higher one higher.
    title : str
        Above a single trace; several carry their names.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    panels = {title: traces} if isinstance(traces, Trace) else dict(traces)
    unit, name = scale(max(trace.peak for trace in panels.values()))
    highest = max(1, max(trace.peak for trace in panels.values())) / unit
    longest = max(1, max(len(trace.moments) for trace in panels.values()))
    height = 0.7 + 2.7 * len(panels) if len(panels) == 1 else 0.7 + 2.1 * len(panels)
    figure, rows = plt.subplots(
        len(panels),
        figsize=(9, height),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
        facecolor="white",
    )
    for axes, (label, trace) in zip(rows[:, 0], panels.items(), strict=True):
        _draw(axes, trace, unit, name, longest)
        axes.set_title(label, fontsize=10, loc="left", pad=16 if trace.moments else None)
        axes.set_ylabel(f"alive, {name}")
    axes.set_xlabel("operation")
    axes.set_xlim(0, longest)
    axes.set_ylim(0, 1.45 * highest)  # room for the labels above every curve
    plt.close(figure)  # the caller shows it; nothing is drawn twice
    return figure


def _draw(axes: Any, trace: Trace, unit: int, name: str, longest: int) -> None:
    live = [moment.live / unit for moment in trace.moments]
    live += live[-1:]  # the last operation has a width, too
    axes.step(range(len(live)), live, where="post", color="#4c72b0")
    axes.fill_between(range(len(live)), live, step="post", color="#4c72b0", alpha=0.15)
    split = next((i for i, moment in enumerate(trace.moments) if moment.phase == "backward"), None)
    if split is not None:
        axes.axvspan(split, len(trace.moments), color="#dd8452", alpha=0.12)
        above = {"transform": axes.get_xaxis_transform(), "fontsize": 9, "va": "bottom"}
        axes.text(0, 1.01, "forward", color="#2f4b7c", **above)
        axes.text(max(split, 0.08 * longest), 1.01, "backward", color="#a04000", **above)
    if not trace.peak:
        return
    at = next(i for i, moment in enumerate(trace.moments) if moment.live == trace.peak)
    said = (
        f"peak {_size(trace.peak, unit)} {name}, in {trace.moments[at].op}. Alive: {alive(trace.at_peak, unit, name)}"
    )
    axes.annotate(
        textwrap.fill(said, 80, break_long_words=False),
        (at + 0.5, live[at]),
        xytext=(0.5, 0.94),
        textcoords="axes fraction",
        ha="center",
        va="top",
        fontsize=8,
        arrowprops={"arrowstyle": "-", "color": "#5d6b7e", "lw": 0.8, "relpos": (0.5, 0.0)},
    )


def alive(pieces: list[Piece], unit: int, name: str) -> str:
    """Which operations made the tensors that are alive, and their bytes, largest first."""
    nbytes: Counter[str] = Counter()
    count = Counter(piece.op for piece in pieces)
    for piece in pieces:
        nbytes[piece.op] += piece.nbytes
    named = nbytes.most_common(_NAMED)
    parts = [f"{count[op]} from {op} ({_size(size, unit)})" for op, size in named]
    rest = sum(nbytes.values()) - sum(size for _, size in named)
    return ", ".join(parts) + (f", others ({_size(rest, unit)} {name})" if rest >= unit / 20 else f" {name}")


def _size(nbytes: int, unit: int) -> str:
    return f"{nbytes / unit:,.1f}".removesuffix(".0")


def scale(nbytes: int) -> tuple[int, str]:
    """The unit in which a figure of that size is easy to read: (bytes per unit, its name)."""
    for power, name in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if nbytes >= 1024**power:
            return 1024**power, name
    return 1, "bytes"
