"""What chapter 05 says about PyTorch and no cell of it prints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tests.claims.quoting import says

CANNOT_SAVE = "Inference tensors cannot be saved for backward"


def inference(*values: float) -> torch.Tensor:
    with torch.inference_mode():
        return torch.tensor(values or (1.0, 2.0, 3.0))


def weight() -> torch.Tensor:
    return torch.ones(3, requires_grad=True)


def packed(fn: Callable[[], Any]) -> list[torch.Tensor]:
    """The tensors that `fn` saves for backward."""
    kept: list[torch.Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        fn()
    return kept


def modes() -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


@says("There are two switches, and each thread has its own pair.")
def test_the_modes_are_per_thread() -> None:
    seen = []
    with torch.inference_mode(), torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(modes()))
        thread.start()
        thread.join()
    assert seen == [(True, False)]


@says("base and view share one version counter.")
def test_a_view_shares_the_counter() -> None:
    base = torch.zeros(4)
    with torch.inference_mode():
        view = base[:2]
    base.add_(1)
    assert view._version == base._version == 1


@says(
    "`AutogradCPU` is the layer that records, `ADInplaceOrView` is the layer that counts edits and keeps track of views."
)
def test_what_the_two_layers_do() -> None:
    keys = torch._C.DispatchKey
    base = torch.zeros(4)
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(keys.ADInplaceOrView)):
        view = base[:2]
        base.add_(1)
    assert (view._is_view(), base._version) == (False, 0)
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(keys.AutogradCPU)):
        assert not (weight() * 2).requires_grad


@says("Only an edit that would be recorded is refused")
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_an_edit_of_such_a_view_passes_without_gradients(mode: Callable[[], Any]) -> None:
    base = torch.zeros(4)
    with mode():
        view = base[:3]
    with torch.no_grad():
        view.mul_(weight())
    assert base._version == 1


@says("Edit the base in a way that is recorded, and the view can no longer say whether it is a leaf.")
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_stale_view_refuses_is_leaf(mode: Callable[[], Any]) -> None:
    base = torch.zeros(3)
    with mode():
        view = base[:2]
    base.mul_(weight())
    with pytest.raises(RuntimeError, match="A view was created in"):
        view.is_leaf  # noqa: B018


@says(
    "In the last row the gap between the first and the second bar is the graph: a node made, a tensor saved. In the other rows nothing requires a gradient"
)
def test_which_of_the_four_rows_record() -> None:
    small = torch.ones(3)
    assert [out.requires_grad for out in (small + small, small.add_(0), small[:2])] == [False] * 3
    parameter = weight()
    assert len(packed(lambda: small * parameter)) == 1


@says(
    "`torch.enable_grad()` does not switch inference mode off. `torch.inference_mode(False)` does, and it is a context manager like the others."
)
def test_leaving_inference_mode() -> None:
    with torch.inference_mode():
        with torch.enable_grad():
            assert torch.is_inference_mode_enabled()
        with torch.inference_mode(False), torch.enable_grad():
            assert (weight() * 2).requires_grad
        assert torch.is_inference_mode_enabled()


@says("An inference tensor may be read.")
def test_an_inference_tensor_may_be_read() -> None:
    assert inference().sum().item() == 6.0
    assert (inference() + 1).tolist() == [2.0, 3.0, 4.0]


@says(
    "Outside the mode it may not be saved for backward, not be edited in place, and not be made to require a gradient."
)
def test_what_is_refused_outside_the_mode() -> None:
    with pytest.raises(RuntimeError, match=CANNOT_SAVE):
        inference() * weight()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        inference().add_(1)
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        inference().requires_grad_()
    with torch.inference_mode():
        assert inference().add_(1).requires_grad_().requires_grad


@says("The backward of an addition needs neither operand. Nothing is saved, nothing raises.")
def test_an_addition_saves_nothing() -> None:
    assert packed(lambda: inference() + weight()) == []


@says("so nothing is recorded or saved. The result is an ordinary tensor.")
def test_a_product_of_inference_tensors_is_ordinary() -> None:
    out = inference() * 2.0
    assert not out.is_inference() and out._version == 0
    out.add_(1)


@says("Without a version counter autograd could not notice the edit, so it is refused outside inference mode.")
def test_there_is_no_counter() -> None:
    with pytest.raises(RuntimeError, match="do not track version counter"):
        inference()._version  # noqa: B018


@says("A view reads. It is an inference tensor again, and making it is allowed.")
def test_a_view_made_outside_is_an_inference_tensor() -> None:
    assert inference()[1:].is_inference()


@says("detach shares the memory, and memory born in inference mode stays inference.")
def test_detach_stays_inference() -> None:
    t = inference()
    assert t.detach().is_inference() and t.detach().data_ptr() == t.data_ptr()


@says("A clone made outside inference mode has memory of its own: an ordinary tensor, which may be saved.")
def test_a_clone_outside_is_ordinary() -> None:
    t = inference()
    copy = t.clone()
    assert not copy.is_inference() and copy.data_ptr() != t.data_ptr()
    assert len(packed(lambda: copy * weight())) == 1


@says("Indexing a parameter saves the index", "Integer tensors are inference tensors as well.")
def test_indexing_saves_the_index() -> None:
    index = torch.tensor([0, 2])
    kept = packed(lambda: weight()[index])
    assert len(kept) == 1 and torch.equal(kept[0], index)
    with torch.inference_mode():
        assert torch.tensor([1]).is_inference()


@says("where saves its condition")
def test_where_saves_its_condition() -> None:
    mask = torch.tensor([True, False, True])
    kept = packed(lambda: torch.where(mask, weight(), torch.zeros(3)))
    assert any(t.dtype == torch.bool and torch.equal(t, mask) for t in kept)


@says("targets and indices are integers, no gradient flows through them, and still they are saved.")
def test_targets_and_indices_are_saved() -> None:
    logits, target = torch.randn(3, 3, requires_grad=True), torch.tensor([0, 2, 1])
    for fn in (lambda: F.cross_entropy(logits, target), lambda: logits.gather(1, target[:, None])):
        assert any(t.dtype == torch.int64 for t in packed(fn))


@says("A conversion that changes the dtype makes a new tensor; one that changes nothing returns the same tensor.")
def test_conversions() -> None:
    t = inference()
    assert t.to(torch.float32) is t
    assert not t.to(torch.float64).is_inference()


@says(
    "A tensor that you detach outside the mode has a version counter of its own, so it lets itself be edited. It shares the memory, so the rollout changes with it."
)
def test_the_side_door() -> None:
    t = inference()
    alias = t.detach()
    assert alias._version == 0
    alias.add_(1)
    assert (alias._version, t.tolist()) == (1, [2.0, 3.0, 4.0])
    assert t.detach()._version == 0  # nobody counted for the others


@says("`eval()` is neither mode. It changes what dropout and batch normalization do, and records as before.")
def test_eval_records() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(3)).eval()
    x = torch.randn(4, 3)
    before = model[2].running_mean.clone()
    assert model(x).requires_grad
    assert torch.equal(model[1](x), x) and torch.equal(model[2].running_mean, before)


@says("turns grad mode on, and still nothing is recorded: what is made there are inference tensors.")
def test_enable_grad_inside_inference_mode() -> None:
    with torch.inference_mode(), torch.enable_grad():
        out = weight() * 2
        assert torch.is_grad_enabled()
    assert out.is_inference() and not out.requires_grad


def naive() -> Iterator[int]:
    with torch.no_grad():
        yield 1
        yield 2


@says("After an early `break` the block is left only when the generator is closed.")
def test_the_mode_leaks_until_the_generator_is_closed() -> None:
    items = naive()
    for _ in items:
        break
    assert not torch.is_grad_enabled()
    items.close()  # type: ignore[attr-defined]
    assert torch.is_grad_enabled()


@says(
    "`@torch.no_grad()` on a generator function switches the mode on whenever the generator runs, and back at each yield.",
    "But then the batches are drawn without gradients, too.",
)
def test_a_decorated_generator() -> None:
    drawn = []

    def batches() -> Iterator[int]:
        for item in range(2):
            drawn.append(torch.is_grad_enabled())
            yield item

    @torch.no_grad()
    def stream() -> Iterator[bool]:
        for _ in batches():
            yield torch.is_grad_enabled()

    rows = [(inside, torch.is_grad_enabled()) for inside in stream()]
    assert (rows, drawn) == ([(False, True)] * 2, [False] * 2)


@says("`detach` never does. `clone` does, outside inference mode. Inside, the clone is an inference tensor again.")
def test_where_a_clone_is_made_decides() -> None:
    t = inference()
    with torch.inference_mode():
        assert t.clone().is_inference() and t.detach().is_inference()
    assert not t.clone().is_inference() and t.detach().is_inference()


@says("a subtraction saves nothing.")
def test_a_subtraction_saves_nothing() -> None:
    assert packed(lambda: weight() - inference()) == []


@says(
    "A clone is one more node above the parameter",
    "A detached clone is a new tensor, and training does not reach the parameter at all.",
)
def test_what_a_clone_of_a_parameter_is() -> None:
    parameter = weight()
    clone = parameter.clone()
    assert clone.grad_fn is not None and clone.grad_fn.next_functions[0][0].variable is parameter
    assert parameter.detach().clone().is_leaf
    with pytest.raises(ValueError, match="can't optimize a non-leaf"):
        torch.optim.SGD([clone], lr=0.1)


@says("The ratio is 1, and the slope is not 0: it is A.")
@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_the_slope_at_ratio_one(advantage: float) -> None:
    ratio = torch.tensor(1.0, requires_grad=True)
    torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).backward()
    assert ratio.grad == advantage


@says("`old_logp` equals `logp`", "Until the first optimizer step the policy has not moved")
def test_the_policy_moves_with_the_first_step() -> None:
    torch.manual_seed(0)
    policy, x = torch.nn.Linear(3, 2), torch.randn(4, 3)
    with torch.no_grad():
        old = policy(x).log_softmax(-1)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    new = policy(x).log_softmax(-1)
    assert torch.equal(new, old)
    new[:, 0].sum().backward()
    assert torch.equal(policy(x).log_softmax(-1), old)
    optimizer.step()
    assert not torch.equal(policy(x).log_softmax(-1), old)


@says("a quotient of two probabilities is 0 / 0 for long sequences.")
def test_a_quotient_of_small_probabilities_is_nan() -> None:
    logp = torch.tensor(-200.0)
    assert (logp.exp() / logp.exp()).isnan() and (logp - logp).exp() == 1


@says("It stays one after the `with` block.")
def test_the_kind_outlives_the_block() -> None:
    assert inference().is_inference()
