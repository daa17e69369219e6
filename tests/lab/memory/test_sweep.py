"""The sweep measures what it is given, in the order in which it is given."""

import matplotlib
import torch

from autograder.lab.memory.sweep import plot_sweep, sweep_segments

matplotlib.use("Agg")


def test_peaks_and_calls():
    calls = []

    def step(count):
        calls.append(count)
        torch.ones(100 * count)

    points = sweep_segments(step, [3, 1, 2], repeats=2)
    assert [(point.segments, point.peak) for point in points] == [(3, 1200), (1, 400), (2, 800)]
    assert calls == [3, 1, 2] * 3
    assert all(point.seconds > 0 for point in points)


def drawn(**options):
    axes = plot_sweep({1: 4000, 4: 1000, 2: 2000}, title="a sweep", **options).axes[0]
    return axes, {line.get_label(): line for line in axes.lines}


def test_measurement_and_model_are_told_apart():
    _, lines = drawn(model=lambda count: 4000 / count, unit=(1000, "layers"))
    measured, model = lines["measured"], lines["model"]
    assert (measured.get_linestyle(), model.get_marker()) == ("None", "None")
    assert list(measured.get_xdata()) == [1, 2, 4] and list(measured.get_ydata()) == [4.0, 2.0, 1.0]
    assert list(model.get_xdata()) == [1, 2, 3, 4]


def test_both_axes_are_logarithmic_and_carry_plain_numbers():
    axes, _ = drawn(unit=(1000, "layers"))
    axes.figure.canvas.draw()
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "4"]
    assert "layers" in axes.get_ylabel()
    assert {"1", "2"} <= {label.get_text() for label in axes.get_yticklabels()}


def test_a_line_for_no_checkpoint_lies_within_the_picture():
    axes, lines = drawn(plain=9000, unit=(1000, "layers"))
    assert "no checkpoint: 9" in lines
    assert axes.get_ylim()[1] > 9


def test_bytes_have_a_readable_unit():
    axes, _ = drawn()
    assert "KiB" in axes.get_ylabel()
