"""Frames replay a run: what is ready, what waits, and what ran too early."""

import numpy as np
import torch

from autograder.lab.small_world.ready_queue import draw_ready_queue, frames
from autograder.lab.small_world.world import Tensor
from tests.engines import answer


def diamond():
    a, b = (Tensor(torch.ones(2), requires_grad=True) for _ in range(2))
    h = a * b
    return a, b, h, (h.exp() + h * a).sum()


def test_a_right_order_has_no_early_node():
    *_, root = diamond()
    strip = frames(root.node, answer("order", "right_largest_of_a_list")(root.node))
    assert [frame.early for frame in strip] == [False] * 7
    assert [len(frame.waiting) for frame in strip] == [6, 5, 4, 3, 2, 1, 0]


def test_the_queue_has_the_youngest_first():
    _, _, h, root = diamond()
    add = root.node.next[0]
    exp, product = add.next
    strip = frames(root.node, [root.node, add, product, exp, h.node])
    assert strip[1].queue == []
    assert strip[2].queue == [exp]
    assert strip[2].waiting[h.node] == 2
    assert strip[3].waiting[h.node] == 1


def test_running_at_first_sight_is_early():
    _, _, h, root = diamond()
    strip = frames(root.node, answer("order", "wrong_pre_order_visited")(root.node))
    early = {frame.running for frame in strip if frame.early}
    assert h.node in early


def test_figure_has_a_frame_per_node_and_names_leaves():
    a, b, _, root = diamond()
    figure = draw_ready_queue(root.node, answer("order", "right_largest_of_a_list")(root.node), {"a": a, "b": b})
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    assert titles == ["1. Sum", "2. Add", "3. Mul", "4. Exp", "5. Mul", "6. a", "7. b"]


def test_a_leaf_alone_can_be_drawn():
    a = Tensor(torch.ones(2), requires_grad=True)
    assert len(draw_ready_queue(a.node, [a.node]).axes) == 4


def crossings(root):
    """How many arrows of the first frame pass over a node that is neither their start nor their end."""
    figure = draw_ready_queue(root.node, [root.node])
    figure.draw_without_rendering()
    axes = figure.axes[0]
    places = axes.transData.transform([line.get_xydata()[0] for line in axes.lines])
    radius = 25 / 2 * figure.dpi / 72
    found = 0
    for arrow in (text.arrow_patch for text in axes.texts if getattr(text, "arrow_patch", None)):
        points = np.concatenate(arrow.get_path().to_polygons(closed_only=False))
        ends = np.stack([points[0], points[len(points) // 2], points[-1]])
        for place in places:
            near = np.hypot(*(points - place).T)
            found += near.min() < 0.9 * radius and np.hypot(*(ends - place).T).min() > 2 * radius
    return found, sum(1 for text in axes.texts if getattr(text, "arrow_patch", None))


def test_no_arrow_runs_behind_a_node():
    *_, root = diamond()
    assert crossings(root) == (0, 8)
    a = Tensor(torch.ones(2), requires_grad=True)
    assert crossings((a * 2.0).exp() + a * 2.0)[0] == 0
