"""The timeline names the peak and shows both phases."""

import matplotlib
import torch

from autograder.lab.memory.peak import trace
from autograder.lab.memory.timeline import highest, plot_timeline, scale
from autograder.lab.models.transformer import Block

matplotlib.use("Agg")


def a_step():
    block, x = Block(8, 2, 16), torch.ones(2, 4, 8)
    return trace(lambda: block(x).sum().backward())


def test_the_highest_moment_comes_first_and_is_named():
    seen = a_step()
    first = highest(seen, 3)[0]
    assert seen.moments[first].live == seen.peak
    texts = [text.get_text() for text in plot_timeline(seen).axes[0].texts]
    assert any(f"{seen.peak:,} B" in text and seen.moments[first].op in text for text in texts)
    assert any("backward" in text for text in texts)


def test_at_most_as_many_peaks_as_asked():
    assert len(highest(a_step(), 2)) <= 2
    assert highest(a_step(), 0) == []


def test_given_axes_are_used():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    assert plot_timeline(a_step(), title="one step", axes=axes) is figure
    assert axes.get_title() == "one step"
    plt.close(figure)


def test_a_run_that_allocates_nothing():
    x = torch.ones(3)
    plot_timeline(trace(lambda: x.add_(1.0)))
    plot_timeline(trace(lambda: None))


def test_units():
    assert [scale(n)[1] for n in (10, 2048, 3 << 20, 5 << 30)] == ["bytes", "KiB", "MiB", "GiB"]
