"""Host and device times: asked for without a GPU, one sentence; with one, four figures."""

import pytest
import torch

from autograder.lab.machine.launches import launch_times


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_it_says_so():
    with pytest.raises(RuntimeError, match="needs a CUDA device"):
        launch_times()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_gpu_finishes_no_earlier_than_the_call_returns():
    found = launch_times(size=256, layers=2, repeats=1)
    assert all(value > 0 for times in found.values() for value in times.values())


def test_on_the_cpu_a_call_takes_time_and_needs_no_device():
    found = launch_times(8, 1, 1, device="cpu")
    assert {kind: set(times) for kind, times in found.items()} == {
        kind: {"returns", "finished"} for kind in ("forward", "backward")
    }
    assert all(value > 0 for times in found.values() for value in times.values())
