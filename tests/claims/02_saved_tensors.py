"""What chapter 02 says about PyTorch and no cell of it prints."""

from __future__ import annotations

import gc
import io
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.nn import functional as F

from autograder.lab import Block, saved_ledger, trace
from tests.claims.quoting import says


def packs(fn: Callable[[], Any]) -> tuple[list[Tensor], Any]:
    """The tensors that arrive at a pack hook while `fn()` runs, and what it returns."""
    seen: list[Tensor] = []
    with saved_tensors_hooks(lambda t: seen.append(t) or t.detach(), lambda t: t):  # type: ignore[func-returns-value]
        out = fn()
    return seen, out


def same_storage(one: Tensor, other: Tensor) -> bool:
    return one.untyped_storage()._cdata == other.untyped_storage()._cdata


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, requires_grad=True)


# The questions, and section 1


@says("Its input, because the weight's gradient needs it. The weight is saved only when the input needs a gradient.")
def test_a_linear_saves_its_weight_only_for_the_gradient_of_its_input() -> None:
    layer, frozen = nn.Linear(3, 5), torch.randn(2, 3)
    (only,), _ = packs(lambda: layer(frozen))
    assert same_storage(only, frozen)
    both, _ = packs(lambda: layer(leaf(2, 3)))
    assert any(same_storage(t, layer.weight) for t in both)


@says(
    "all empty tensors have the address 0.",
    "(With empty tensors even that does not help: all of them are at address 0.)",
)
def test_empty_tensors_are_at_address_0() -> None:
    tensors = [torch.empty(0), torch.ones(0, 3), torch.empty(0, dtype=torch.int64)]
    assert {t.untyped_storage().data_ptr() for t in tensors} == {0}


@says(
    "ReLU saves its output, which the next Linear saves as well: one storage, counted once. GELU saves its input, which "
    "nobody else saves, and the next Linear saves GELU's output."
)
def test_gelu_keeps_one_storage_more_than_relu() -> None:
    def storages(activation: nn.Module) -> int:
        net = nn.Sequential(nn.Linear(4, 4), activation, nn.Linear(4, 4))
        return len(saved_ledger(net, torch.randn(8, 4), params=net.parameters()).storages)

    assert (storages(nn.ReLU()), storages(nn.GELU())) == (2, 3)


@says("`pack(tensor)` may return anything.", "`unpack(that)` has to give back the tensor.")
def test_pack_may_return_anything_and_unpack_gives_back_the_tensor() -> None:
    x, box = leaf(3), {}
    with saved_tensors_hooks(lambda t: box.setdefault("any name", t.detach()) is None or "any name", box.__getitem__):
        out = x.sin()
    out.sum().backward()
    assert torch.equal(x.grad, x.detach().cos())


@says("`silu` keeps its *input*, `x @ w1`.", "Nobody keeps `out`.")
def test_silu_keeps_its_input_and_nobody_the_output() -> None:
    x, w1, w2 = leaf(4, 5), leaf(5, 6), leaf(6, 3)
    h = x @ w1
    seen, out = packs(lambda: F.silu(h) @ w2)
    assert same_storage(seen[0], h)
    assert not any(same_storage(t, out) for t in seen)


@says("Packing a weight copies nothing: the graph holds a *reference* to it.")
def test_a_packed_weight_is_the_weight() -> None:
    w = leaf(5, 6)
    seen, _ = packs(lambda: leaf(4, 5) @ w)
    assert seen[0].data_ptr() == w.data_ptr()


@says("A backward pass would have prevented it, because backward releases what the node holds.")
def test_backward_ends_the_leak_of_an_undetached_output() -> None:
    def outlives(backward: bool) -> bool:
        x = leaf(10)
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            out = x.exp()
        if backward:
            out.sum().backward()
        storage = weakref.ref(out.untyped_storage())
        del out
        gc.collect()
        return storage() is not None

    assert outlives(backward=False)
    assert not outlives(backward=True)


@says("Without a gradient for x, nobody packs w1.")
def test_nobody_packs_w1_for_a_frozen_input() -> None:
    w1 = leaf(5, 6)
    seen, _ = packs(lambda: torch.randn(4, 5) @ w1)
    assert not any(same_storage(t, w1) for t in seen)


@says("and x * x packs x twice.")
def test_a_square_packs_twice() -> None:
    x = leaf(3)
    seen, _ = packs(lambda: x * x)
    assert [same_storage(t, x) for t in seen] == [True, True]


@says("masked_fill packs its mask, one byte per element.")
def test_masked_fill_packs_its_mask() -> None:
    mask = torch.ones(2, 3, dtype=torch.bool)
    (only,), _ = packs(lambda: leaf(2, 3).masked_fill(mask, 0.0))
    assert same_storage(only, mask) and only.nbytes == 6


@says(
    "What a custom Function saves with save_for_backward is packed too. Attributes named _saved_* do not show it; the hooks do."
)
def test_a_custom_functions_saves_are_packed_and_no_attribute_shows_them() -> None:
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return grad * 2

    seen, out = packs(lambda: Keeps.apply(leaf(3)))
    assert len(seen) == 1
    assert not [name for name in dir(out.grad_fn) if name.startswith("_saved_")]


@says("exp packs its result; its backward, recorded, packs the incoming gradient.")
def test_a_recorded_backward_packs() -> None:
    x, g = leaf(3), torch.ones(3)
    out = x.exp()
    seen, _ = packs(lambda: torch.autograd.grad(out, x, g, create_graph=True))
    assert [same_storage(t, g) for t in seen] == [True]


# Section 2


@says("Call `masked_fill` in every layer with one mask, and there is one storage of masks.")
def test_one_mask_for_all_layers_is_one_storage() -> None:
    x, mask = leaf(4, 6), torch.ones(4, 6, dtype=torch.bool)
    ledger = saved_ledger(lambda: [x.masked_fill(mask, 0.0) for _ in range(4)])
    assert (len(ledger), len(ledger.storages)) == (4, 1)


@says("dropout keeps the mask that it drew.")
def test_dropout_keeps_its_mask() -> None:
    (mask,), out = packs(lambda: F.dropout(torch.ones(1000, requires_grad=True), 0.5))
    assert torch.equal(mask != 0, out != 0)


@says("`max` along a dimension keeps only *where* the maximum was.")
def test_max_keeps_the_index() -> None:
    x = leaf(4, 6)
    (index,), out = packs(lambda: x.max(-1))
    assert torch.equal(index.flatten(), out.indices)


@says(
    "`cross_entropy` is two operations: `log_softmax` keeps its output, and the loss after it keeps the same tensor, the "
    "target, and a total weight of one element."
)
def test_what_cross_entropy_keeps() -> None:
    x, target = leaf(4, 6), torch.tensor([0, 1, 2, 3])
    rows = list(saved_ledger(lambda: F.cross_entropy(x, target)))
    assert [row.node for row in rows] == ["LogSoftmaxBackward0"] + ["NllLossBackward0"] * 3
    assert rows[0].storage == rows[1].storage
    (first, _, kept, total), _ = packs(lambda: F.cross_entropy(x, target))
    assert torch.equal(first, x.log_softmax(-1)) and same_storage(kept, target) and total.numel() == 1


@says("A Linear packs the view `weight.t()`.", "and a Linear packs a view of its weight.")
def test_a_linear_packs_a_view_that_is_no_parameter() -> None:
    layer = nn.Linear(3, 5)
    seen, _ = packs(lambda: layer(leaf(2, 3)))
    (weight,) = [t for t in seen if same_storage(t, layer.weight)]
    assert tuple(weight.shape) == (3, 5) and not isinstance(weight, nn.Parameter)


@says("GELU keeps its input only. Its output belongs to the next operation, and the bias is needed by nobody.")
def test_gelu_keeps_its_input_and_nobody_the_bias() -> None:
    layer = nn.Linear(3, 5)
    seen, out = packs(lambda: F.gelu(layer(leaf(2, 3))))
    assert len(seen) == 3
    assert not any(same_storage(t, layer.bias) or same_storage(t, out) for t in seen)


# Sections 3 and 4


@says("Two tensors are on the same storage when `a.untyped_storage()` and `b.untyped_storage()` are the same object.")
def test_a_storage_is_one_object() -> None:
    a = torch.ones(6)
    assert a.untyped_storage() is a.view(2, 3).untyped_storage()
    assert a.untyped_storage() is not a.clone().untyped_storage()


@says(
    "A mask that is *added* would change nothing in this table; `masked_fill` would keep its mask.",
    "Dividing by a number keeps nothing, and softmax keeps only its output.",
    "A residual addition keeps nothing, and the block's output is kept by nobody.",
)
def test_what_attention_does_not_keep() -> None:
    scores = leaf(3, 3)
    assert packs(lambda: scores + torch.zeros(3, 3))[0] == []
    assert packs(lambda: scores / 2.0)[0] == []
    assert packs(lambda: scores + leaf(3, 3))[0] == []
    (kept,), weights = packs(lambda: scores.softmax(-1))
    assert same_storage(kept, weights)
    assert len(packs(lambda: scores.masked_fill(torch.ones(3, 3, dtype=torch.bool), 0.0))[0]) == 1
    block = Block(8, 2, 12)
    seen, out = packs(lambda: block(leaf(2, 3, 8)))
    assert not any(same_storage(t, out) for t in seen)


@says("They keep q, k, v, the output and one number per row, and compute the matrix again in backward.")
def test_fused_attention_keeps_no_matrix_and_still_has_the_gradient() -> None:
    q, k, v = (leaf(1, 2, 16, 4) for _ in range(3))
    ledger = saved_ledger(lambda: F.scaled_dot_product_attention(q, k, v))
    assert sorted(e.storage_bytes // 4 for e in ledger.storages) == [2 * 16] + [2 * 16 * 4] * 4
    fused = torch.autograd.grad(F.scaled_dot_product_attention(q, k, v).square().sum(), q)
    spelled = torch.autograd.grad(((q @ k.mT / 2.0).softmax(-1) @ v).square().sum(), q)
    torch.testing.assert_close(fused, spelled)


# Section 5


@says(
    "It saves no bytes here: `tensor.cpu()` returns the very tensor when that is on the CPU. And it repeats the leak of "
    "section 1, because its pack function does not detach."
)
def test_save_on_cpu_keeps_the_output_itself_on_a_cpu() -> None:
    tensor = torch.ones(3)
    assert tensor.cpu() is tensor
    x = leaf(3)
    with save_on_cpu():
        out = x.exp()
    assert out.grad_fn._saved_result.grad_fn is out.grad_fn  # type: ignore[union-attr]


@says("`tensor.is_floating_point()` is False for complex ones.")
def test_complex_is_not_floating() -> None:
    assert not torch.ones(2, dtype=torch.complex64).is_floating_point()


@says("`tensor.to(same_dtype)` returns the tensor itself, so going back needs no second question.")
def test_to_its_own_dtype_is_the_tensor() -> None:
    tensor = torch.ones(2)
    assert tensor.to(torch.float32) is tensor


@says("An int64 or complex64 element is wide, too, but it is left untouched.")
def test_integers_and_complex_numbers_have_eight_bytes() -> None:
    assert torch.int64.itemsize == torch.complex64.itemsize == 8


@says(
    "with `retain_graph` it is called again.",
    "With retain_graph a packed tensor is read more than once, and comes back the same.",
)
def test_retain_graph_unpacks_again() -> None:
    x, read = leaf(3), []
    with saved_tensors_hooks(lambda t: t.detach(), lambda t: read.append(1) or t):  # type: ignore[func-returns-value]
        out = x.exp().sum()
    out.backward(retain_graph=True)
    out.backward()
    assert len(read) == 2


@says("A backward that releases the graph lets go of what `pack` returned. So does a graph that is simply dropped.")
@pytest.mark.parametrize("backward", [True, False])
def test_the_packed_object_dies_with_the_graph(backward: bool) -> None:
    class Packed:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor.detach()

    x, made = leaf(3), []
    with saved_tensors_hooks(lambda t: (made.append(weakref.ref(p := Packed(t))), p)[1], lambda p: p.tensor):
        out = x.exp()
    assert made[0]() is not None
    if backward:
        out.sum().backward()
    else:
        del out
    assert made[0]() is None


@says("`torch.save` of a view writes its whole storage.")
def test_save_writes_the_storage() -> None:
    def size(tensor: Tensor) -> int:
        file = io.BytesIO()
        torch.save(tensor, file)
        return len(file.getvalue())

    row = torch.zeros(100, 1000)[0]
    assert size(row) > 400_000 > 10 * size(row.clone())


@says(
    "`torch.save` and `torch.load` handle every dtype.",
    "NumPy has no bfloat16. Use `torch.save` and `torch.load`.",
    "NumPy has no float8.",
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fn])
def test_save_keeps_what_numpy_has_not(dtype: torch.dtype) -> None:
    tensor, file = torch.ones(3).to(dtype), io.BytesIO()
    with pytest.raises(TypeError, match="Got unsupported ScalarType"):
        tensor.numpy()
    torch.save(tensor, file)
    file.seek(0)
    assert torch.load(file, weights_only=True).dtype == dtype


# Sections 6 and 7


@says("its *version counter* has moved.")
def test_a_change_in_place_moves_the_counter() -> None:
    y = torch.ones(3)
    before = y._version
    y.mul_(2.0)
    assert y._version == before + 1


@says("while the new gradients of the weights stay until they have been added to `.grad`.")
def test_the_peak_of_a_step_is_early_in_backward() -> None:
    block, x = Block(8, 2, 16), leaf(2, 4, 8)
    block(x).sum().backward()
    seen = trace(lambda: block(x).sum().backward())
    split = next(i for i, moment in enumerate(seen.moments) if moment.phase == "backward")
    at = next(i for i, moment in enumerate(seen.moments) if moment.live == seen.peak)
    assert split < at < (split + len(seen.moments)) // 2


@says(
    "Four bytes for the weight, four for its gradient, eight for Adam's two averages. (The few bytes on top are the step counters, one number per tensor of parameters.)"
)
def test_the_state_of_adamw() -> None:
    layer = nn.Linear(3, 5)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    for param in layer.parameters():
        state = optimizer.state[param]
        sizes = {name: tuple(value.shape) for name, value in state.items()}
        assert sizes == {"step": (), "exp_avg": tuple(param.shape), "exp_avg_sq": tuple(param.shape)}
        assert {value.dtype for value in state.values()} == {torch.float32}


# The messages


@says("TypeError: Output of saved tensor unpack_hook expected to be a Tensor")
def test_unpack_that_returns_no_tensor() -> None:
    x = leaf(3)
    with saved_tensors_hooks(lambda t: t.shape, lambda shape: shape):
        out = x.exp()
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor"):
        out.sum().backward()


@says("IndexError: tensors used as indices must be long, int, byte or bool tensors")
def test_an_index_that_came_back_floating() -> None:
    x = leaf(3)
    with saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
        out = x[torch.tensor([0, 1])]
    with pytest.raises(IndexError, match="tensors used as indices must be long, int, byte or bool tensors"):
        out.sum().backward()


@says("TypeError: Got unsupported ScalarType BFloat16")
def test_numpy_on_bfloat16() -> None:
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        torch.ones(2).bfloat16().numpy()
