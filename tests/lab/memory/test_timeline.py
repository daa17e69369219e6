"""The timeline says what is alive at the peak, shows both phases, and draws several runs on one scale."""

import matplotlib
import torch
from torch import nn

from autograder.lab.memory.peak import Piece, trace
from autograder.lab.memory.timeline import alive, plot_timeline, scale
from autograder.lab.models.transformer import Block

matplotlib.use("Agg")


def a_step(layers=1):
    chain, x = nn.Sequential(*[Block(8, 2, 16) for _ in range(layers)]), torch.ones(2, 4, 8)
    return trace(lambda: chain(x).sum().backward())


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_the_peak_carries_its_operation_and_both_phases_are_named():
    seen = a_step()
    shown = texts(plot_timeline(seen).axes[0])
    at = next(moment for moment in seen.moments if moment.live == seen.peak)
    assert any(f"in {at.op}. Alive: " in text for text in shown)
    assert {"forward", "backward"} <= set(shown)


def test_what_is_alive_is_grouped_by_operation_largest_first():
    pieces = [Piece("mm", (4,), 1024), Piece("exp", (4,), 3072), Piece("mm", (4,), 4096), Piece("a", (1,), 512)]
    assert alive(pieces, 1024, "KiB") == "2 from mm (5), 1 from exp (3), 1 from a (0.5) KiB"
    assert alive([*pieces, Piece("b", (1,), 256)], 1024, "KiB").endswith("1 from a (0.5), others (0.2 KiB)")


def test_the_label_accounts_for_every_byte_at_the_peak():
    seen = a_step()
    assert sum(piece.nbytes for piece in seen.at_peak) == seen.peak


def test_several_runs_share_both_axes_so_a_longer_run_is_longer():
    short, long = a_step(1), a_step(3)
    first, second = plot_timeline({"short": short, "long": long}).axes
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["short", "long"]
    assert first.get_xlim() == second.get_xlim() == (0, len(long.moments))
    assert first.get_ylim() == second.get_ylim()
    ends = [max(axes.lines[0].get_xdata()) for axes in (first, second)]
    assert ends == [len(short.moments), len(long.moments)]


def test_no_text_reaches_into_a_curve():
    figure = plot_timeline({"one": a_step(), "three": a_step(3)})
    figure.canvas.draw()
    for axes in figure.axes:
        top = axes.transData.transform((0, max(axes.lines[0].get_ydata())))[1]
        assert all(text.get_window_extent().y0 > top for text in axes.texts)


def test_a_run_that_allocates_nothing():
    x = torch.ones(3)
    plot_timeline(trace(lambda: x.add_(1.0)), title="in place")
    plot_timeline(trace(lambda: None))


def test_units():
    assert [scale(n)[1] for n in (10, 2048, 3 << 20, 5 << 30)] == ["bytes", "KiB", "MiB", "GiB"]
