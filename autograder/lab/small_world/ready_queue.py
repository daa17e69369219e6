"""The ready queue as it empties: a strip of frames, one per node that ran, drawn from a real run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autograder.lab.small_world.world import LAST, Node, Tensor

_INK = "#1f2328"
_FILL = {"running": "#f4a259", "ready": "#8cb4e8", "waiting": "#ffffff", "done": "#d5d9de", "early": "#e5484d"}
_MEANING = {
    "running": "runs now",
    "ready": "ready",
    "waiting": "waits: consumers still to run",
    "done": "has run",
    "early": "ran too early",
}


_TOO_NEAR = 0.45  # an arrow that passes a node so closely seems to end there, or vanishes behind it
_ROUND = 0.42  # how far it bends then


@dataclass(frozen=True)
class Frame:
    """What the graph looks like while one node runs.

    Attributes
    ----------
    running : Node
        The node that runs.
    early : bool
        Whether a consumer of `running` had not run yet, so that its gradient was not complete.
    waiting : dict of Node to int
        For each node that has not run: how many edges from reachable nodes have not delivered yet. 0 means ready.
    """

    running: Node
    early: bool
    waiting: dict[Node, int]

    @property
    def queue(self) -> list[Node]:
        """The ready nodes, the one with the highest sequence first."""
        return sorted((n for n, count in self.waiting.items() if count == 0), key=lambda n: -n.sequence)


def frames(root: Node, ran: Sequence[Node]) -> list[Frame]:
    """Replay a run over the graph below `root` and note the ready queue at each step.

    Parameters
    ----------
    root : Node
        Where the run started.
    ran : sequence of Node
        The nodes in the order in which they ran, for example what `order` returned.

    Returns
    -------
    list of Frame
        One per entry of `ran`.
    """
    counts = _in_edges(root)
    done: set[Node] = set()
    strip = []
    for node in ran:
        waiting = {n: count for n, count in counts.items() if n is not node and n not in done}
        strip.append(Frame(node, counts.get(node, 0) > 0, waiting))
        done.add(node)
        for following in node.next:
            if following in counts:
                counts[following] -= 1
    return strip


def draw_ready_queue(
    root: Node, ran: Sequence[Node], names: Mapping[str, Tensor] | None = None, columns: int = 4
) -> Figure:
    """Draw the frames of a run side by side.

    Parameters
    ----------
    root, ran
        As for `frames`.
    names : mapping of str to Tensor, optional
        What to call the leaves.
    columns : int
        Frames per row.

    Returns
    -------
    Figure
        Each node shows how many deliveries it still waits for. The queue stands below each frame.
    """
    strip = frames(root, ran)
    called = {tensor.node: name for name, tensor in (names or {}).items()}
    places = _places(root)
    rows = max(1, math.ceil(len(strip) / columns))
    figure, grid = plt.subplots(rows, columns, figsize=(3.1 * columns, 3.1 * rows + 0.5), squeeze=False)
    figure.patch.set_facecolor("white")
    for axes in grid.flat:
        axes.set_axis_off()
    for i, (axes, frame) in enumerate(zip(grid.flat, strip, strict=False)):
        _draw_frame(axes, i, frame, places, called)
    marks = [plt.Line2D([], [], marker="o", ls="", ms=10, mfc=c, mec=_INK, label=_MEANING[k]) for k, c in _FILL.items()]
    used = 5 if any(frame.early for frame in strip) else 4
    figure.legend(handles=marks[:used], loc="lower center", ncol=used, frameon=False, labelcolor=_INK)
    figure.tight_layout(rect=(0, 0.4 / (3.1 * rows + 0.5), 1, 1))
    plt.close(figure)  # a notebook shows what a cell returns; left open, it would show the figure twice
    return figure


def _draw_frame(
    axes: Axes, i: int, frame: Frame, places: dict[Node, tuple[float, float]], called: Mapping[Node | None, str]
) -> None:
    for node, (x, y) in places.items():
        for target, bend in _bends(node, places):
            style: dict[str, Any] = {"arrowstyle": "-|>", "color": "#6e7781", "shrinkA": 13, "shrinkB": 13}
            axes.annotate("", places[target], (x, y), arrowprops=style | {"connectionstyle": f"arc3,rad={bend}"})
    for node, (x, y) in places.items():
        state = _state(frame, node)
        axes.plot(x, y, "o", ms=25, mfc=_FILL[state], mec=_INK, mew=1.0, zorder=3)
        axes.text(x, y, _label(node, called), ha="center", va="center", fontsize=8, color=_INK, zorder=4)
        if state == "waiting":
            count = str(frame.waiting[node])
            mark: dict[str, Any] = {"fontsize": 10, "weight": "bold", "color": _INK}
            side = -21 if x < 0 else 21  # away from the edges
            axes.annotate(count, (x, y), (side, 0), textcoords="offset points", ha="center", va="center", **mark)
    queue = ", ".join(_label(n, called) for n in frame.queue) or "empty"
    axes.set_title(f"{i + 1}. {_label(frame.running, called)}", fontsize=10, loc="left", color=_INK)
    axes.text(0.5, -0.02, f"queue: {queue}", transform=axes.transAxes, ha="center", va="top", fontsize=9, color=_INK)
    xs, ys = zip(*places.values(), strict=True)
    axes.set_xlim(min(xs) - 0.6, max(xs) + 0.6)
    axes.set_ylim(min(ys) - 0.5, max(ys) + 0.5)


def _bends(node: Node, places: Mapping[Node, tuple[float, float]]) -> list[tuple[Node, float]]:
    """The targets of a node's edges, and how far each arrow bends: apart from its twin, and round a node that stands in its way."""
    following = [n for n in node.next if n is not None]
    bends = []
    for k, target in enumerate(following):
        twins = following.count(target)
        bend = 0.18 * (2 * k - 1) if twins > 1 else 0.0
        (x, y), (to_x, to_y) = places[node], places[target]
        for other, (at_x, at_y) in places.items():
            if other not in (node, target) and to_y < at_y < y:
                line = x + (to_x - x) * (at_y - y) / (to_y - y)
                if abs(line - at_x) < _TOO_NEAR:
                    # To the right where the node stands left of the straight line, else to the left.
                    bend = _ROUND if at_x < line else -_ROUND
        bends.append((target, bend))
    return bends


def _state(frame: Frame, node: Node) -> str:
    if node is frame.running:
        return "early" if frame.early else "running"
    if node not in frame.waiting:
        return "done"
    return "ready" if frame.waiting[node] == 0 else "waiting"


def _label(node: Node, called: Mapping[Node | None, str]) -> str:
    if node.sequence == LAST:
        return called.get(node, "leaf")
    return node.name.removesuffix("Backward")


def _in_edges(root: Node) -> dict[Node, int]:
    """How many edges lead to each node below `root`, from nodes below `root`."""
    counts = {root: 0}
    waiting = [root]
    while waiting:
        for following in waiting.pop().next:
            if following is not None:
                if following not in counts:
                    counts[following] = 0
                    waiting.append(following)
                counts[following] += 1
    return counts


def _places(root: Node) -> dict[Node, tuple[float, float]]:
    """Rows by the longest path from the root; within a row as the nodes were met, centered."""
    counts = _in_edges(root)
    depth = dict.fromkeys(counts, 0)
    ready = [root]
    while ready:
        node = ready.pop(0)
        for following in node.next:
            if following is not None:
                depth[following] = max(depth[following], depth[node] + 1)
                counts[following] -= 1
                if counts[following] == 0:
                    ready.append(following)
    rows: dict[int, list[Node]] = {}
    for node, row in depth.items():
        rows.setdefault(row, []).append(node)
    return {n: (i - (len(row) - 1) / 2, -float(y)) for y, row in rows.items() for i, n in enumerate(row)}
