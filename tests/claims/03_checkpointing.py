"""What chapter 03 says about PyTorch and no cell of it prints."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.utils.checkpoint
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
)

from autograder.lab import Block, peak_bytes, saved_ledger, trace
from tests.claims.quoting import says

checkpoint = partial(torch.utils.checkpoint.checkpoint, use_reentrant=False)
aten = torch.ops.aten


class Seen(TorchDispatchMode):
    """The names of the operations that really run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def operations(step: Callable[[], Any]) -> list[str]:
    with Seen() as seen:
        step()
    return seen.names


def leaf(*shape: int) -> Tensor:
    return torch.randn(*shape, requires_grad=True)


# The questions, and section 1


@says("The gradients do not. But the forward runs twice, so the running statistics are updated twice per step.")
def test_batchnorm_under_a_checkpoint() -> None:
    plain, twice, x = nn.BatchNorm1d(4), nn.BatchNorm1d(4), torch.randn(8, 4)
    one, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    plain(one).square().sum().backward()
    checkpoint(twice, other).square().sum().backward()
    torch.testing.assert_close(one.grad, other.grad)
    torch.testing.assert_close(plain.weight.grad, twice.weight.grad)
    assert (plain.num_batches_tracked.item(), twice.num_batches_tracked.item()) == (1, 2)
    assert not torch.equal(plain.running_mean, twice.running_mean)


@says(
    "The reentrant variant is an autograd.Function whose inputs are the arguments. When none of them requires a gradient, "
    "the output does not either, and the graph ends there."
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_reentrant_variant_cuts_the_graph_at_a_frozen_input() -> None:
    layer = nn.Linear(3, 3)
    assert checkpoint(layer, torch.ones(2, 3), use_reentrant=True).grad_fn is None
    assert checkpoint(layer, torch.ones(2, 3)).requires_grad
    node = checkpoint(layer, leaf(2, 3), use_reentrant=True).grad_fn
    assert isinstance(node, torch.autograd.function.BackwardCFunction)


@says("It keeps the tensors among `args`, and nothing of what `fn` saves.")
def test_a_checkpoint_keeps_its_tensor_arguments() -> None:
    x, y = leaf(3), torch.randn(4)
    packed = saved_ledger(lambda: checkpoint(lambda x, y, n: (x.exp() * n).sin().sum() * y, x, y, 2.0))
    assert sorted(entry.shape for entry in packed) == [(3,), (4,)]


@says(
    "The redo ends as soon as everything that was saved has been saved again.",
    "that is saved before the product is computed.",
)
def test_the_redo_ends_with_the_last_save() -> None:
    w, ran = leaf(3, 3), []

    def fn(x: Tensor) -> Tensor:
        h = x.sin()
        ran.append("before")
        out = h @ w
        ran.append("after")
        return out

    with Seen() as seen:
        out = checkpoint(fn, leaf(2, 3))
        forward = len(seen.names)
        out.sum().backward()
    assert ran == ["before", "after", "before"]
    assert seen.names[:forward].count("mm") == 1
    assert "sin" in seen.names[forward:]
    # Backward itself needs two products, for x and for w; the redo adds none.
    assert seen.names[forward:].count("mm") == 2


@says("So early stop spares the last product itself, and everything after it.")
def test_a_block_spares_its_last_linear() -> None:
    block = Block(8, 2, 32)
    names = operations(lambda: checkpoint(block, leaf(2, 4, 8)).sum().backward())
    assert names.count("addmm") == 6 + 5


@says(
    "In a pure nest the outer levels have saved nothing, so early stop ends their redo before it begins any work: two runs at any depth."
)
@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_a_pure_nest_runs_twice(depth: int) -> None:
    calls = []

    def work(x: Tensor) -> Tensor:
        calls.append(1)
        return x.sin()

    fn: Callable[[Tensor], Tensor] = work
    for _ in range(depth):
        fn = partial(checkpoint, fn)
    fn(leaf(3)).sum().backward()
    assert len(calls) == 2


@says("Every level that saves something after its inner checkpoint adds one run.")
def test_only_levels_that_save_add_a_run() -> None:
    calls = []

    def work(x: Tensor) -> Tensor:
        calls.append(1)
        return x.sin()

    inner = partial(checkpoint, lambda x: checkpoint(work, x).exp())
    middle = partial(checkpoint, inner)  # saves nothing of its own
    checkpoint(lambda x: middle(x).exp(), leaf(3)).sum().backward()
    assert len(calls) == 2 + 2


# Section 2


@says("Autocast is no such case: a checkpoint remembers its state and restores it.")
@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_restores_autocast(reentrant: bool) -> None:
    w, seen = leaf(4, 4), []

    def fn(x: Tensor) -> Tensor:
        y = x @ w
        seen.append(y.dtype)
        return y.sin()

    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = checkpoint(fn, leaf(4, 4), use_reentrant=reentrant)
    out.sum().backward()
    assert seen == [torch.bfloat16, torch.bfloat16]


@says("In real code that is a global flag, a call of `model.eval()`, or a cache that the first run filled.")
def test_eval_between_the_runs_is_noticed() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Tanh())
    out = checkpoint(model, leaf(2, 3))
    model.eval()
    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        out.sum().backward()


@says("its backward runs a whole new backward inside.", "leaves the graph of `fn` in place.")
def test_whose_graph_it_is() -> None:
    x, tasks = leaf(3), []

    def fn(x: Tensor) -> Tensor:
        out = x.sin()
        if out.requires_grad:
            out.register_hook(lambda grad: tasks.append(torch._C._current_graph_task_id()))
        return out

    assert type(checkpoint(fn, x).grad_fn).__name__ == "SinBackward0"
    out = checkpoint(fn, x, use_reentrant=True)
    outer: list[int] = []
    out.register_hook(lambda grad: outer.append(torch._C._current_graph_task_id()))
    out.sum().backward()
    assert outer and tasks and outer != tasks


# Section 3


def once(forward: Callable[..., Any]) -> Any:
    """A Function that only watches itself."""

    class Watch(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            return forward(*args)

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> Any:
            forward(*grads)
            return grads

    return Watch.apply


@says("But backward is called at all only if one *input* of the Function requires a gradient.")
def test_a_function_without_a_differentiable_input_is_no_node() -> None:
    w = leaf(3)
    assert once(lambda x: x * w)(torch.ones(3)).grad_fn is None
    assert once(lambda x: x * w)(leaf(3)).grad_fn is not None


@says("Grad mode is off in `forward` and in `backward`; `torch.enable_grad()` turns it on.")
def test_grad_mode_inside_a_function() -> None:
    seen: list[tuple[bool, bool]] = []

    def look(x: Tensor) -> Tensor:
        with torch.enable_grad():
            on = torch.is_grad_enabled()
        seen.append((torch.is_grad_enabled(), on))
        return x.clone()

    once(look)(leaf(3)).sum().backward()
    assert seen == [(False, True), (False, True)]


@says("`torch.random.fork_rng(devices=[])` puts it back at the end of a block.")
def test_fork_rng_restores_the_generator() -> None:
    before = torch.get_rng_state()
    with torch.random.fork_rng(devices=[]):
        torch.rand(3)
        assert not torch.equal(torch.get_rng_state(), before)
    assert torch.equal(torch.get_rng_state(), before)


@says("torch.autograd.backward fills .grad of every leaf; autograd.grad over the arguments does not.")
def test_backward_fills_the_leaves_and_grad_does_not() -> None:
    x, w = leaf(3), leaf(3)
    torch.autograd.grad((x * w).sum(), x)
    assert w.grad is None
    torch.autograd.backward((x * w).sum())
    assert w.grad is not None


@says(
    "Kept as an attribute of ctx, it goes round the hooks and the in-place check: save every tensor, whatever its dtype."
)
def test_an_attribute_of_ctx_is_seen_by_nobody() -> None:
    class Attribute(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.x = x
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return 2 * ctx.x * grad

    packed: list[Tensor] = []
    x = leaf(3)
    y = x * 1.0
    with saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):  # type: ignore[func-returns-value]
        out = Attribute.apply(y)
    assert packed == []
    with torch.no_grad():
        y.mul_(10.0)
    out.sum().backward()  # wrong, and without a word
    torch.testing.assert_close(x.grad, 20 * x.detach())


# Section 4


@says(
    "Tanh keeps its output, and the next Linear keeps the same storage. So such a layer keeps as much as its input, `A = a`."
)
def test_linear_and_tanh_keep_one_input_per_layer() -> None:
    deep = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(5)])
    x = torch.randn(8, 4)
    assert saved_ledger(deep, x, params=deep.parameters()).storage_bytes == (5 + 1) * x.nbytes


@says(
    "Six or eight segments peak at about twice what one per block does.",
    "one checkpoint per block needs far less than seven segments;",
)
def test_one_checkpoint_per_block_beats_the_root() -> None:
    blocks, x = nn.Sequential(*[Block(16, 2, 64) for _ in range(48)]), leaf(2, 16, 16)

    def step(cuts: list[int]) -> None:
        h = x
        for begin, end in pairwise(cuts):
            h = checkpoint(blocks[begin:end], h)
        h.sum().backward()

    step(list(range(49)))
    each, seven = (peak_bytes(step, [48 * i // s for i in range(s + 1)]) for s in (48, 7))
    assert 1.8 < seven / each < 2.2


@says("So one per block is the best of all as soon as `A / a` is larger than half the number of layers.")
@pytest.mark.parametrize("layers", [2, 7, 32, 48, 65])
def test_when_one_per_layer_is_the_best_of_the_model(layers: int) -> None:
    def peak(segments: int, kept: float) -> float:
        return segments + math.ceil(layers / segments) * kept

    for kept in (layers / 2 + 0.01, layers, 3 * layers):
        assert all(peak(layers, kept) < peak(s, kept) for s in range(1, layers))


@says("Both are equal, and their sum is lowest, at `s = √(n · A / a)`.")
def test_the_minimum_of_the_law() -> None:
    n, a, A = 48, 2.0, 37.0
    best = math.sqrt(n * A / a)
    assert best * a == pytest.approx(n / best * A)
    assert all(best * a + n / best * A < s * a + n / s * A for s in (0.9 * best, 1.1 * best))


@says(
    "`checkpoint_sequential` leaves the *last* segment plain, because that would be rebuilt at once anyway.",
    "It rounds the length down, and gives the rest to the last segment.",
)
@pytest.mark.parametrize(("layers", "segments"), [(10, 4), (7, 3), (11, 2)])
def test_how_checkpoint_sequential_cuts(layers: int, segments: int) -> None:
    ran: list[int] = []

    def layer(i: int) -> Callable[[Tensor], Tensor]:
        return lambda x: ran.append(i) or x.tanh()  # type: ignore[func-returns-value]

    out = checkpoint_sequential([layer(i) for i in range(layers)], segments, leaf(2), use_reentrant=False)
    ran.clear()
    out.sum().backward()
    assert sorted(ran) == list(range(layers // segments * (segments - 1)))


@says("Counted in products, a backward is twice a forward, so one more forward is a third more work.")
def test_a_backward_has_twice_the_products() -> None:
    deep = nn.Sequential(*[nn.Linear(4, 4) for _ in range(6)])
    names = operations(lambda: deep(leaf(2, 4)).sum().backward())
    assert (names.count("addmm"), names.count("mm")) == (6, 12)


# Section 5


@says("A set of packets matches nothing. The policy then recomputes everything, and there is no error.")
def test_a_policy_with_packets_keeps_nothing() -> None:
    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        return CheckpointPolicy.MUST_SAVE if op in {aten.mm} else CheckpointPolicy.PREFER_RECOMPUTE

    w, x = leaf(3, 3), leaf(2, 3)
    context = partial(create_selective_checkpoint_contexts, policy)
    names = operations(lambda: checkpoint(lambda x: (x @ w).sin(), x, context_fn=context).sum().backward())
    assert names.count("mm") == 1 + 1 + 2


@says(
    "That is the *block's* input, and the output of every one of its eight products. The inputs of the products in between "
    "are computed again."
)
def test_what_selective_checkpointing_keeps() -> None:
    hidden, heads, ffn, batch, seq = 8, 2, 12, 2, 3
    block, x = Block(hidden, heads, ffn), leaf(batch, seq, hidden)
    products = {aten.mm.default, aten.addmm.default, aten.bmm.default}
    kept: list[int] = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        if op in products and not ctx.is_recompute:
            kept.append(1)
        return CheckpointPolicy.MUST_SAVE if op in products else CheckpointPolicy.PREFER_RECOMPUTE

    run = partial(checkpoint, block, context_fn=partial(create_selective_checkpoint_contexts, policy))
    assert saved_ledger(run, x, params=block.parameters()).storage_bytes == x.nbytes
    assert len(kept) == 8
    block(x).sum().backward()
    n = batch * seq * hidden
    seen = trace(lambda: (run(x), torch.empty(0)))
    own = seen.moments[-1].live - 4 * n  # less the block's output
    assert own + 4 * n == 4 * (7 * n + heads * batch * seq * seq + batch * seq * ffn)


@says("the policy is called for every operation of forward, in Python.")
def test_the_policy_is_asked_about_every_operation_of_forward() -> None:
    asked: list[Any] = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        if not ctx.is_recompute:
            asked.append(op)
        return CheckpointPolicy.PREFER_RECOMPUTE

    context = partial(create_selective_checkpoint_contexts, policy)
    checkpoint(lambda x: x.sin().exp(), leaf(3), context_fn=context).sum().backward()
    assert asked == [aten.sin.default, aten.exp.default]


@says("(Seen on torch 2.13: in forward only.")
@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="said of torch 2.13")
def test_the_policy_is_not_asked_again_on_2_13() -> None:
    asked: list[bool] = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        asked.append(ctx.is_recompute)
        return CheckpointPolicy.PREFER_RECOMPUTE

    context = partial(create_selective_checkpoint_contexts, policy)
    checkpoint(lambda x: x.sin().exp(), leaf(3), context_fn=context).sum().backward()
    assert not any(asked)


@says(
    "The products of the block reach the policy as aten.addmm.default and aten.bmm.default.",
    "On a CPU it is aten._scaled_dot_product_flash_attention_for_cpu.default.",
)
def test_under_which_names_products_arrive() -> None:
    block, q = Block(8, 2, 12), leaf(1, 2, 4, 8)
    names = operations(lambda: block(leaf(2, 3, 8)))
    assert (names.count("addmm"), names.count("bmm"), names.count("mm")) == (6, 2, 0)
    fused = operations(lambda: F.scaled_dot_product_attention(q, q, q))
    assert "_scaled_dot_product_flash_attention_for_cpu" in fused


# The messages


@says("UserWarning: None of the inputs have requires_grad=True. Gradients will be None")
def test_the_warning_of_the_reentrant_variant() -> None:
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
        checkpoint(nn.Linear(3, 3), torch.ones(2, 3), use_reentrant=True)


@says("_CheckpointBackward returned an incorrect number of gradients (expected 4, got 2)")
def test_too_few_gradients() -> None:
    class _Checkpoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, fn: Any, anchor: Tensor, *args: Any) -> Any:
            return fn(*args)

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            return grad, grad

    out = _Checkpoint.apply(torch.add, leaf(0), leaf(3), leaf(3))
    with pytest.raises(
        RuntimeError, match=r"_CheckpointBackward returned an incorrect number of gradients \(expected 4, got 2\)"
    ):
        out.sum().backward()


@says("`nn.Sequential` takes modules only.", "nn.Sequential takes modules only; a loop calls everything.")
def test_sequential_takes_modules_only() -> None:
    with pytest.raises(TypeError, match="is not a Module subclass"):
        nn.Sequential(torch.tanh)  # type: ignore[arg-type]


@says("element 0 of tensors does not require grad and does not have a grad_fn")
def test_backward_without_a_graph() -> None:
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.autograd.backward(torch.ones(3).sum())
