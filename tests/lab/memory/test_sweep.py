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


def test_picture():
    points = sweep_segments(lambda count: torch.ones(1000 * count), [1, 2, 4], repeats=1)
    figure = plot_sweep(points, model=lambda count: 4000 * count, title="a sweep")
    bytes_axis, time_axis = figure.axes
    assert [line.get_label() for line in bytes_axis.lines] == ["peak, measured", "peak, model"]
    assert "KiB" in bytes_axis.get_ylabel()
    assert "ms" in time_axis.get_ylabel()
    measured, model = (list(line.get_ydata()) for line in bytes_axis.lines)
    assert measured == model
