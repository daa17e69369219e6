"""What chapter 00 says about PyTorch and no cell of it prints."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from autograder.lab import saved_ledger, trace
from tests.claims.quoting import says


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([0.5, -1.0, 2.0], requires_grad=True)


def gradients(model: nn.Module) -> list[torch.Tensor | None]:
    return [parameter.grad for parameter in model.parameters()]


@says(
    "The product saved `x` and `w`, because its derivative needs them. It saved them by reference: nothing was copied.",
    "The product's derivative needs both factors, so its node holds them.",
    "Saving holds a reference.",
    "c: `x` and `w`, by reference",
)
def test_a_product_saves_its_factors_by_reference() -> None:
    x, w = pair()
    node = (x * w).grad_fn
    assert node is not None and node._saved_self is x and node._saved_other is w


@says(
    "Nobody saved the product itself. A sum's derivative is 1 everywhere, so a shape is enough for it.",
    "A sum's derivative needs no values, only a shape. Nobody keeps the product, so it is freed.",
)
def test_nobody_saves_the_product() -> None:
    x, w = pair()
    ledger = saved_ledger(lambda: (x * w).sum(), params=[x, w])
    assert len(ledger) == 2 and not ledger.storages
    assert torch.autograd.grad(x.sum(), x)[0].tolist() == [1.0, 1.0, 1.0]
    assert [a for a in dir(x.sum().grad_fn) if a.startswith("_saved_")] == ["_saved_self_sym_sizes"]


@says("A module's output may be saved by nobody, and inside a module several tensors may be saved.")
def test_modules_and_saved_tensors_do_not_match() -> None:
    linear, x = nn.Linear(8, 8), torch.randn(4, 8)
    outputs: list[torch.Tensor] = []

    def keep(_module: nn.Module, _inputs: object, output: torch.Tensor) -> None:
        outputs.append(output)

    linear.register_forward_hook(keep)
    kept = saved_ledger(lambda: linear(x).sum()).entries
    assert [entry.shape for entry in kept if entry.shape == tuple(outputs[0].shape)] == [tuple(x.shape)]
    block = nn.TransformerEncoderLayer(8, 2, 16)
    assert len(saved_ledger(lambda: block(torch.randn(4, 1, 8)), params=block.parameters()).storages) > 5


@says(
    "What nobody saved is freed as soon as it has been used. It counts towards the allocator's peak, and not towards the activations."
)
def test_a_temporary_counts_for_the_peak_alone() -> None:
    x = torch.randn(1024, requires_grad=True)

    def work() -> torch.Tensor:
        return (x.repeat(16) + 1).sum() + x.exp().sum()

    assert saved_ledger(work, params=[x]).storage_bytes == 4096
    assert trace(work).peak >= 16 * 4096


@says("The forward pass is run again, with the same random numbers: the gradients are the same.")
def test_checkpointing_gives_the_same_gradients_with_dropout() -> None:
    model = nn.Sequential(nn.Linear(16, 16), nn.Dropout(0.5), nn.GELU(), nn.Linear(16, 1))
    x = torch.randn(8, 16)
    found = []
    for run in (model, lambda y: checkpoint(model, y, use_reentrant=False)):
        model.zero_grad()
        torch.manual_seed(5)
        run(x).sum().backward()
        found.append([grad.clone() for grad in gradients(model) if grad is not None])
    assert len(found[0]) == 4 and all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@says(
    "Checkpointing keeps what goes into a segment and computes the rest again.",
    "d: about one more forward pass for the memory of what the forward pass would have saved",
)
def test_a_checkpoint_keeps_its_input() -> None:
    runs = []

    def work(y: torch.Tensor) -> torch.Tensor:
        runs.append(1)
        return y.exp().sin().exp()

    x = torch.randn(8, requires_grad=True)
    kept: list[torch.Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        out = checkpoint(work, x * 1, use_reentrant=False)
    assert [tuple(t.shape) for t in kept] == [(8,)], "the input of the segment"
    out.sum().backward()
    assert len(runs) == 2


@says("A layer made of PyTorch operations has its backward already; and a loss goes down with a wrong gradient too.")
def test_a_loss_goes_down_with_a_wrong_gradient() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 0.3 * torch.ones(3)  # has nothing to do with x

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    losses = []
    for _ in range(5):
        loss = Wrong.apply(x).sum()
        losses.append(loss.item())
        x = (x - torch.autograd.grad(loss, x)[0]).detach().requires_grad_()
    assert losses[1] < losses[0]
    assert torch.autograd.grad(nn.Linear(3, 1)(x).sum(), x)[0].shape == (3,)


@says(
    "float32 is too coarse for finite differences: right gradients fail, and with tolerances wide enough for them wrong ones pass. gradcheck wants float64."
)
@pytest.mark.filterwarnings("ignore:Input #0 requires gradient")
def test_gradcheck_in_float32() -> None:
    class FivePercentOff(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, grad):
            return 1.05 * grad * ctx.saved_tensors[0].cos()

    def passes(fn, dtype: torch.dtype, **tolerances: float) -> bool:
        x = torch.linspace(-1, 1, 8, dtype=dtype, requires_grad=True)
        return torch.autograd.gradcheck(fn, x, raise_exception=False, **tolerances)

    assert not passes(torch.sin, torch.float32)
    assert passes(torch.sin, torch.float32, atol=0.2, rtol=0.2)
    assert passes(FivePercentOff.apply, torch.float32, atol=0.2, rtol=0.2)
    assert passes(torch.sin, torch.float64) and not passes(FivePercentOff.apply, torch.float64)


@says("PyTorch's in-place operations have derivatives of their own.")
def test_in_place_operations_have_derivatives() -> None:
    x = torch.randn(3, requires_grad=True)
    y = x * 1
    y.mul_(2).exp_()
    assert torch.allclose(torch.autograd.grad(y.sum(), x)[0], 2 * (2 * x).exp())


@says(
    "a: both record nothing; inference_mode also drops version counters and views' bookkeeping, so its tensors cannot be saved for a backward later",
    "An inference tensor saved for a backward later raises; a no_grad tensor does not.",
)
def test_what_inference_mode_drops() -> None:
    weight = torch.randn(4, requires_grad=True)
    with torch.no_grad():
        plain = torch.ones(4)
        view, product = plain[:2], weight * 2
        assert view._is_view() and view._version == 0 and product.grad_fn is None
    with torch.inference_mode():
        odd = torch.ones(4)
        odd_view, odd_product = odd[:2], weight * 2
    assert odd_product.grad_fn is None and not odd_view._is_view()
    with pytest.raises(RuntimeError, match="do not track version counter"):
        _ = odd._version
    (weight * plain).sum().backward()
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        weight * odd


@says("That is `model.eval()`. Neither mode touches dropout or batch norm.")
def test_modes_leave_dropout_and_batch_norm_alone() -> None:
    dropout, norm = nn.Dropout(0.5), nn.BatchNorm1d(4)
    for mode in (torch.no_grad, torch.inference_mode):
        before = norm.running_mean.clone()
        with mode():
            assert (dropout(torch.ones(1000)) == 0).any()
            norm(torch.randn(8, 4) + 3)
        assert not torch.equal(norm.running_mean, before)
    dropout.eval()
    assert dropout(torch.ones(1000)).eq(1).all()


@says("Neither frees anything. They decide what is recorded from now on.")
def test_modes_free_nothing() -> None:
    x, w = pair()
    x.grad = torch.ones(3)
    loss = (x * w).sum()
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            pass
    assert x.grad is not None
    loss.backward()


@says("It is twice as large: backward adds to .grad, and nobody cleared it in between.")
def test_backward_adds() -> None:
    v = torch.ones(3, requires_grad=True)
    for _ in range(2):
        (v * 5).sum().backward()
    assert v.grad is not None and v.grad.tolist() == [10.0] * 3
