"""Live bytes against a count by hand, to the byte."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

from autograder.lab.memory.peak import Tracer, peak_bytes, trace


def chain(n, width, activation):
    return nn.Sequential(*[nn.Sequential(nn.Linear(width, width), activation()) for _ in range(n)])


@pytest.mark.parametrize(("n", "batch", "width"), [(1, 3, 5), (4, 16, 8), (9, 7, 30)])
def test_forward_of_linear_and_tanh(n, batch, width):
    # Every Tanh keeps its output; a Linear's output is alive until its Tanh is done.
    layers, x = chain(n, width, nn.Tanh), torch.ones(batch, width)
    assert peak_bytes(layers, x) == (n + 1) * 4 * batch * width


@pytest.mark.parametrize(("n", "batch", "width"), [(1, 3, 5), (4, 16, 8)])
def test_forward_of_linear_and_gelu(n, batch, width):
    # GELU keeps the Linear's output, and the next Linear keeps GELU's.
    assert peak_bytes(chain(n, width, nn.GELU), torch.ones(batch, width)) == 2 * n * 4 * batch * width


def step_by_hand(units, batch, width):
    """`units` activations, one weight's and one bias's gradient, the sum and its gradient."""
    return 4 * (units * batch * width + width * width + width + 2)


@pytest.mark.parametrize(("n", "batch", "width"), [(3, 16, 8), (6, 9, 20)])
def test_a_training_step(n, batch, width):
    # In the last Linear's backward n - 1 Tanh outputs, the gradients of its output and input, and its weights' are alive.
    layers, x = chain(n, width, nn.Tanh), torch.ones(batch, width)
    step = lambda: layers(x).sum().backward()
    step()  # .grad is there from now on
    assert peak_bytes(step) == step_by_hand(n + 1, batch, width)


@pytest.mark.parametrize("segments", [1, 2, 3, 4, 6, 12])
def test_checkpointing_falls_as_the_model_says(segments):
    # Inputs of all segments but the first (it is x), and in the segment that is rebuilt one unit more than its layers.
    n, batch, width = 12, 32, 8
    layers, x = chain(n, width, nn.Tanh), torch.ones(batch, width)
    step = lambda: checkpoint_sequential(layers, segments, x, use_reentrant=False).sum().backward()
    step()
    assert peak_bytes(step) == step_by_hand(segments + n // segments, batch, width)


def test_what_was_there_before_is_not_counted():
    x = torch.ones(100)
    assert peak_bytes(lambda: x.view(10, 10).t()[2:].add_(1.0)) == 0


def test_freed_storages_are_taken_off():
    def fn():
        a = torch.ones(100)
        del a
        b = torch.ones(50)
        return b.sum()

    seen = trace(fn)
    assert seen.peak == 400
    assert seen.moments[-1].live == 204
    assert [piece.nbytes for piece in seen.pieces] == [400, 200, 4]
    assert [piece.op for piece in seen.at_peak] == ["ones"]


def test_views_share_and_resized_outputs_grow():
    def fn():
        out = torch.empty(0)
        torch.add(torch.ones(10), 1.0, out=out)
        return out[2:]

    assert trace(fn).peak == 80


def test_phases():
    x = torch.ones(3, requires_grad=True)
    phases = [moment.phase for moment in trace(lambda: x.exp().sum().backward()).moments]
    assert phases[0] == "forward"
    assert phases[-1] == "backward"
    assert phases == sorted(phases, reverse=True)


def test_nothing_is_held():
    tracer = Tracer()
    tracer.run(lambda: torch.ones(10).exp())
    assert not tracer._pieces
    assert tracer._live == 0


def test_an_error_passes():
    with pytest.raises(ZeroDivisionError):
        trace(lambda: 1 / 0)
