"""Plots as SVG to stand inside a page: their colors are the page's own, so they follow its light or dark theme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import StringIO
from typing import TypeVar
from warnings import catch_warnings, filterwarnings

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autograder.reporting.summary import CheckSummary, ExerciseSummary
from autograder.reporting.table import escape

T = TypeVar("T")

# matplotlib knows no CSS: it draws in these colors, and the names of the page's take their place in the SVG.
_COLORS = {
    "#010101": "var(--ink)",
    "#020202": "var(--soft)",
    "#030303": "var(--line)",
    "#040404": "var(--good)",
    "#050505": "var(--some)",
    "#060606": "var(--bad)",
    "#070707": "var(--mark)",
}
INK, SOFT, LINE, GOOD, SOME, BAD, MARK = _COLORS
_WIDTH = 9.6  #: inches; one width for all, so that their letters are equally large
_INCH = 0.29  #: height of one horizontal bar with its gap


def distribution(chapters: dict[str, list[float]]) -> str:
    """Histograms of scores as shares of the maximum (0 to 1), one small plot per chapter, ten bins."""
    columns = 4
    lines = -(-len(chapters) // columns)
    figure = Figure(figsize=(_WIDTH, 1.75 * lines), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True).ravel()
    for ax, (name, shares) in zip(axes, chapters.items(), strict=False):
        ax.hist([100 * share for share in shares], bins=range(0, 101, 10), color=MARK, rwidth=0.88)
        ax.set_title(_text(name), fontsize=9, color=INK, loc="left")
        ax.set_xlim(0, 100)
        ax.set_xticks([0, 50, 100], ["0 %", "50 %", "100 %"])
        ax.tick_params(labelbottom=True)
        ax.yaxis.get_major_locator().set_params(integer=True, nbins=4)
        _plain(ax)
        ax.grid(axis="y", color=LINE, linewidth=0.6)
    for ax in axes[len(chapters) :]:
        ax.remove()
    axes[0].set_ylabel("submissions", fontsize=8.5, color=SOFT)
    return _svg(figure, "distribution")


def exercise_bars(exercises: Sequence[ExerciseSummary]) -> str:
    """One bar per exercise: the shares of submissions with all, some and none of its points, and the mean as a dot."""

    def draw(ax: Axes, row: int, item: ExerciseSummary) -> None:
        left = 0.0
        for count, color in ((item.full, GOOD), (item.some, SOME), (item.none, BAD)):
            width = 100 * count / item.count
            ax.barh(row, width, left=left, height=0.62, color=color)
            left += width
        ax.plot([100 * item.mean], [row], "o", color=INK, markersize=4.5)

    figure, ax = _bars(exercises, draw, lambda item: f"{item.chapter} \N{MIDDLE DOT} {item.name}")
    ax.set_xlim(0, 100)
    ax.set_xticks([0, 25, 50, 75, 100], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    return _svg(figure, "exercises")


def failing_checks(checks: Sequence[CheckSummary]) -> str:
    """One bar per check: the share of submissions that fail it, with the count beside it. Hidden checks are paler."""

    def draw(ax: Axes, row: int, item: CheckSummary) -> None:
        width = 100 * item.failed / item.count
        ax.barh(row, width, height=0.62, color=BAD, alpha=0.55 if item.hidden else 1.0)
        ax.annotate(
            f"{item.failed} of {item.count}",
            (width, row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
            color=SOFT,
        )

    def name(item: CheckSummary) -> str:
        return f"{item.exercise}: {item.label}"

    figure, ax = _bars(checks, draw, name)
    ax.set_xlim(0, 112)
    ax.set_xticks([0, 25, 50, 75, 100], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    return _svg(figure, "checks")


def _bars(items: Sequence[T], draw: Callable[[Axes, int, T], None], name: Callable[[T], str]) -> tuple[Figure, Axes]:
    """Horizontal bars, the first item on top."""
    figure = Figure(figsize=(_WIDTH, 0.4 + _INCH * len(items)), layout="constrained")
    ax = figure.subplots()
    for row, item in enumerate(items):
        draw(ax, row, item)
    ax.set_yticks(range(len(items)), [_text(name(item)) for item in items])
    ax.set_ylim(len(items) - 0.4, -0.6)
    _plain(ax)
    ax.grid(axis="x", color=LINE, linewidth=0.6)
    return figure, ax


def _plain(ax: Axes) -> None:
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    ax.spines["bottom"].set(visible=True, color=LINE)
    ax.tick_params(colors=SOFT, labelsize=8.5, length=0)
    for label in ax.get_yticklabels():
        label.set_color(INK)


def _text(text: str) -> str:
    """A label on one line; a dollar sign is a dollar sign."""
    text = escape(text).replace("$", r"\$")
    return text if len(text) <= 64 else text[:63] + "\N{HORIZONTAL ELLIPSIS}"


def _svg(figure: Figure, name: str) -> str:
    """The figure as an svg element; the same figure gives the same text."""
    out = StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"}), catch_warnings():
        filterwarnings("ignore", "Glyph .* missing")  # the browser has the font
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    for drawn, shown in _COLORS.items():
        svg = svg.replace(drawn, shown)
    return svg.replace("'DejaVu Sans'", "system-ui, 'DejaVu Sans'")
