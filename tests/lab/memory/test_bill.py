"""The bill: figures agree where they must, and the residual is named to the byte."""

import matplotlib
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from autograder.lab.memory.bill import reconcile
from autograder.lab.models.transformer import Block

matplotlib.use("Agg")


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 3), st.integers(1, 20), st.booleans())
def test_the_residual_is_the_gap(batch, seq, heads, ffn, causal):
    block = Block(4 * heads, heads, ffn, causal)
    x = torch.randn(batch, seq, 4 * heads, requires_grad=True)
    rows = batch * seq
    predicted = 4 * (8 * rows * 4 * heads + heads * rows * seq + 2 * rows * ffn + 4 * rows)
    bill = reconcile(block, x, params=block.parameters(), predicted=predicted)
    steps = bill.steps
    assert steps["predicted by hand"] == steps["one row per storage"] == predicted
    assert steps["packed, every save"] > steps["without parameters"] >= predicted
    assert sum(bill.residual.values()) == bill.peak - predicted


def test_by_hand():
    # Two layers of Linear and Tanh: x and the first Tanh are saved twice over, both Tanh outputs once.
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh())
    bill = reconcile(model, torch.ones(8, 4), params=model.parameters())
    assert "predicted by hand" not in bill.steps
    assert bill.steps["without parameters"] == 4 * 128
    assert bill.steps["one row per storage"] == 3 * 128
    assert bill.steps["peak, by the tracer"] == 3 * 128
    assert bill.residual == {"saved, but older than the run (inputs)": -128, "made by addmm, not saved": 128}


def test_what_was_saved_but_dropped_before_the_peak():
    x = torch.ones(100, requires_grad=True)

    def fn():
        (x * 2.0).sin()  # saves 400 bytes, and the graph is dropped
        return torch.ones(1000)

    bill = reconcile(fn)
    assert bill.residual["saved, but not alive at the peak"] == -400
    assert sum(bill.residual.values()) == bill.peak - bill.kept


def test_table_and_picture():
    block = Block(8, 2, 16)
    bill = reconcile(block, torch.ones(2, 3, 8, requires_grad=True), params=block.parameters(), predicted=1)
    for name, nbytes in bill.steps.items():
        assert name in str(bill)
        assert f"{nbytes:,}" in str(bill)
    axes = bill.plot().axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    *counted, peak = bill.steps
    assert labels == [*counted, *bill.residual, peak]


def test_the_picture_is_a_waterfall_with_every_entry_in_it():
    block = Block(8, 2, 16)
    bill = reconcile(block, torch.ones(2, 3, 8, requires_grad=True), params=block.parameters(), predicted=1)
    figure = bill.plot()
    axes = figure.axes[0]
    bars = {label.get_text(): bar for label, bar in zip(axes.get_yticklabels(), axes.patches, strict=True)}
    unit = bill.peak / bars["peak, by the tracer"].get_width()
    end = bill.kept
    for name, nbytes in bill.residual.items():  # each begins where the one before it ended
        assert bars[name].get_x() * unit == pytest.approx(end)
        assert bars[name].get_width() * unit == pytest.approx(nbytes)
        end += nbytes
    assert end == bill.peak
    (legend,) = figure.legends
    shown = {tuple(bar.get_facecolor()) for bar in axes.patches}
    assert shown == {tuple(patch.get_facecolor()) for patch in legend.get_patches()}
    assert {text.get_text().split()[-1] for text in axes.texts} == {axes.get_xlabel()}


def test_an_error_in_the_forward_pass_passes():
    with pytest.raises(RuntimeError):
        reconcile(nn.Linear(3, 3), torch.ones(2, 5))
