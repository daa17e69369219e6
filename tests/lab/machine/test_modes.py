"""The modes module measures what it says, in the modes that it names."""

import matplotlib
import pytest
import torch

from autograder.lab.machine.modes import MODES, TruthTable, mode, mode_costs

matplotlib.use("Agg")


def state():
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def test_modes_are_interleaved_and_the_first_round_is_not_counted():
    seen = []
    costs = mode_costs({"noop": lambda: seen.append(state())}, rounds=3, calls=2)
    states = [(True, False), (False, False), (False, True)]
    assert seen == [s for s in states for _ in range(2)] * 4
    assert list(costs.median["noop"]) == list(MODES)
    assert all(value > 0 for value in costs.median["noop"].values())
    assert state() == (True, False)


def test_grad_is_on_inside_no_grad():
    with torch.no_grad():
        with mode("grad"):
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()


def test_wrong_use_says_what_to_do():
    with pytest.raises(ValueError, match="the modes are grad, no_grad, inference_mode"):
        mode("eval")
    with pytest.raises(ValueError, match="at least one operator"):
        mode_costs({})


def test_the_plot_has_a_bar_per_operator_and_mode():
    x = torch.ones(2)
    figure = mode_costs({"add": lambda: x + x, "mul": lambda: x * x}, rounds=1, calls=1).plot()
    assert sum(len(container) for container in figure.axes[0].containers) == 6
    assert "nanoseconds" in figure.axes[0].get_xlabel()


def test_the_truth_table_is_made_by_running():
    def make():
        with torch.inference_mode():
            return torch.ones(2)

    weight = torch.ones(2, requires_grad=True)
    table = TruthTable({"add": lambda t: t + weight, "mul": lambda t: t * weight}, make)
    assert table.works == {"add": True, "mul": False}
    assert "Inference tensors cannot be saved for backward." in repr(table)
