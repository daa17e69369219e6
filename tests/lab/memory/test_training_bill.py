"""The bill of a training step: closed forms equal what is measured, and plans equal brute force."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from autograder.lab.memory.training_bill import (
    flops_redone,
    kept_by_blocks,
    layer_choices,
    plot_bills,
    plot_plans,
    training_bill,
)
from autograder.lab.models.decoder import CHOICES, Config, Decoder, run_blocks
from tests.engines import right_answers

ACTIVATION_BYTES = right_answers("activation_bytes", "07-training-ledger")
PLANS = right_answers("plan", "07-training-ledger")
small = st.integers(1, 4)


@st.composite
def configs(draw):
    heads = draw(small)
    layers = draw(st.integers(1, 3))
    config = Config(
        batch=draw(small),
        seq=draw(st.integers(1, 6)),
        hidden=heads * draw(small),
        heads=heads,
        ffn=draw(st.integers(1, 9)),
        layers=layers,
        itemsize=draw(st.sampled_from([4, 8])),
    )
    return config, draw(st.lists(st.sampled_from(CHOICES), min_size=layers, max_size=layers))


@settings(max_examples=60, deadline=None)
@given(configs())
def test_activation_bytes_equals_ledger_and_store(drawn):
    config, policy = drawn
    kept = kept_by_blocks(config, policy)
    assert [f(config, policy) for f in ACTIVATION_BYTES] == [kept] * len(ACTIVATION_BYTES)


prices = st.tuples(st.integers(0, 30), st.integers(0, 30))
layer = st.fixed_dictionaries({"keep": prices, "selective": prices, "full": prices})


@settings(max_examples=150, deadline=None)
@given(st.lists(layer, min_size=1, max_size=5), st.integers(0, 100))
def test_plan_equals_brute_force(layers, budget):
    fits = [
        sum(again for _, again in choice)
        for choice in itertools.product(*(layer.values() for layer in layers))
        if sum(held for held, _ in choice) <= budget
    ]
    for plan in PLANS:
        if not fits:
            with pytest.raises(ValueError):
                plan(layers, budget)
            continue
        chosen = [layer[name] for layer, name in zip(layers, plan(layers, budget), strict=True)]
        assert sum(held for held, _ in chosen) <= budget
        assert sum(again for _, again in chosen) == min(fits)


def test_flops_redone_are_the_blocks_products():
    config = Config(batch=2, seq=3, hidden=4, heads=2, ffn=8, layers=2)
    tokens = 6
    one_block = 2 * tokens * (4 * 4 * 4 + 2 * 4 * 8) + 2 * 2 * 2 * 3 * 3 * 4
    assert flops_redone(config, ["none", "none"]) == 0
    assert flops_redone(config, ["full", "none"]) <= one_block
    assert flops_redone(config, ["full", "full"]) == 2 * flops_redone(config, ["none", "full"])
    assert flops_redone(config, ["selective", "selective"]) == 0


def test_layer_choices_have_the_names_of_a_plan():
    found = layer_choices(Config(batch=1, seq=3, hidden=4, heads=2, ffn=8, layers=7))
    assert list(found) == ["keep", "selective", "full"]
    assert found["keep"][0] > found["selective"][0] > found["full"][0] > 0
    assert found["full"][1] > 0


@pytest.fixture(scope="module")
def bill():
    torch.manual_seed(0)
    model = Decoder(vocab=200, hidden=8, heads=2, ffn=16, layers=2, max_seq=6)
    text = torch.randint(200, (3, 7))
    loss = lambda: F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
    return model, training_bill(model, loss, torch.optim.Adam(model.parameters()))


def test_bill_of_a_step_is_predicted(bill):
    model, found = bill
    weights = 4 * sum(p.numel() for p in model.parameters())
    tokens = 18
    blocks = ACTIVATION_BYTES[0](Config(3, 6, 8, 2, 16, 2), "none")
    assert found.parts["weights"] == found.parts["gradients"] == weights
    assert found.parts["optimizer state"] == 2 * weights
    around = 4 * (2 * tokens * 8 + 2 * tokens + tokens * 200) + 8 * (tokens + 6)
    assert found.parts["activations"] == pytest.approx(blocks + around, abs=16)
    assert found.parts["temporaries"] == pytest.approx(2 * 4 * tokens * 200, abs=16)
    assert found.peak < sum(found.parts.values())
    assert "log_softmax" in found.at_peak


def test_at_the_peak_activations_and_temporaries_are_there_and_gradients_are_not(bill):
    _, found = bill
    assert list(found.alive) == list(found.parts)
    assert sum(found.alive.values()) == found.peak
    assert found.alive["gradients"] == 0
    assert found.alive["activations"] == pytest.approx(found.parts["activations"], abs=8 * (18 + 6) + 16)


def test_decoder_is_causal_under_every_policy():
    torch.manual_seed(0)
    model = Decoder(vocab=11, hidden=8, heads=2, ffn=16, layers=3, max_seq=6)
    tokens = torch.randint(11, (2, 6))
    plain = model(tokens)
    model.policy = ["none", "selective", "full"]
    assert torch.allclose(model(tokens), plain, atol=1e-6)
    changed = tokens.clone()
    changed[:, 4:] = (changed[:, 4:] + 1) % 11
    assert torch.allclose(model(changed)[:, :4], plain[:, :4], atol=1e-6)
    assert not torch.allclose(model(changed)[:, 4:], plain[:, 4:])


def test_an_unknown_policy_is_refused():
    model = Decoder(vocab=5, hidden=4, heads=1, ffn=4, layers=1, max_seq=4)
    with pytest.raises(ValueError, match="none, selective, full"):
        run_blocks(model.blocks, torch.randn(1, 2, 4), ["keep"])


def test_figures_are_drawn(bill):
    layers = [{"keep": (4, 0), "selective": (3, 1), "full": (1, 5)}] * 3
    assert plot_plans(layers, PLANS[0], range(0, 13), others=20).axes[0].get_xlabel().startswith("held for backward")
    found = bill[1]
    axes = plot_bills({"all lines": found.parts, "alive": found.alive}, peak=found.peak, title="bill").axes[0]
    assert axes.get_title(loc="left") == "bill"
    (line,) = axes.lines
    ends = [max(bar.get_x() + bar.get_width() for bar in bars) for bars in (axes.patches[:5], axes.patches[5:])]
    assert ends[1] == pytest.approx(line.get_xdata()[0])  # the bar of what is alive ends at the peak, the other beyond
    assert ends[0] > ends[1]
