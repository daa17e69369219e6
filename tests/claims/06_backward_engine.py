"""What chapter 06 says about PyTorch and no cell of it prints."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.claims.quoting import says


def a_leaf(n: int = 2) -> Tensor:
    return torch.ones(n, requires_grad=True)


def accumulator(leaf: Tensor) -> Any:
    return torch.autograd.graph.get_gradient_edge(leaf).node


def accumulated(leaves: list[Tensor]) -> list[int]:
    """A list that fills with the positions of leaves as their accumulators run."""
    ran: list[int] = []
    for i, leaf in enumerate(leaves):
        leaf.register_post_accumulate_grad_hook(lambda _, i=i: ran.append(i))
    return ran


@says("The one that the forward pass created later: it has the higher sequence number.")
def test_of_two_ready_nodes_the_later_one_runs_first() -> None:
    for first_operand_is_older in (True, False):
        x = a_leaf()
        older, younger = x.exp(), x.sin()
        ran: list[str] = []
        for name, made in (("older", older), ("younger", younger)):
            made.grad_fn.register_prehook(lambda _, ran=ran, name=name: ran.append(name))
        assert older.grad_fn._sequence_nr() < younger.grad_fn._sequence_nr()
        (older + younger if first_operand_is_older else younger + older).sum().backward()
        assert ran == ["younger", "older"]


@says(
    "An accumulator that is ready goes before both.",
    "An AccumulateGrad has the highest number there is, so a gradient that is complete goes to its leaf at once.",
)
def test_a_ready_accumulator_goes_first() -> None:
    x, late = a_leaf(), a_leaf()
    assert accumulator(x)._sequence_nr() == 2**64 - 1
    older = x.exp()
    ran: list[str] = []
    older.grad_fn.register_prehook(lambda _: ran.append("older"))
    late.register_post_accumulate_grad_hook(lambda _: ran.append("late"))
    (older + late).sum().backward()
    assert ran == ["late", "older"]


@says("as in torch, `dim=()` sums all of them")
def test_an_empty_dim_sums_everything() -> None:
    assert torch.ones(2, 3).sum(dim=()).tolist() == 6.0
    assert torch.ones(2, 3).sum(dim=(), keepdim=True).tolist() == [[6.0]]


@says("Torch's own sum does the same.", "After a sum it would change all elements at once: remember the stride 0.")
def test_a_sum_hands_on_a_view_and_the_leaf_gets_memory_of_its_own() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 1.0
    handed_on: list[Tensor] = []
    y.grad_fn.register_prehook(lambda grads: handed_on.append(grads[0]))
    y.sum().backward()
    assert handed_on[0].stride() == (0,)
    x.grad = None
    x.sum().backward()
    x.grad[0] = 5.0
    assert x.grad.tolist() == [5.0, 1.0, 1.0]


@says("So a leaf's gradient gets memory of its own.")
def test_two_leaves_of_an_addition_share_no_memory() -> None:
    a, b, given = a_leaf(), a_leaf(), torch.ones(2)
    (a + b).backward(given)
    a.grad[0] = 100.0
    assert b.grad.tolist() == given.tolist() == [1.0, 1.0]


@says(
    "A recurrent step `h = tanh(x @ u + h @ w)` puts three operations in a row: product, addition and tanh. "
    "Two thousand tokens make six thousand."
)
def test_a_recurrent_step_is_three_nodes_deep() -> None:
    u, w = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    h, steps = torch.zeros(1, 2), 20
    for _ in range(steps):
        h = torch.tanh(torch.ones(1, 2) @ u + h @ w)
    depth = {h.grad_fn: 1}
    waiting = [h.grad_fn]
    while waiting:
        node = waiting.pop()
        for following, _ in node.next_functions:
            if following is not None and depth.get(following, 0) < depth[node] + 1:
                depth[following] = depth[node] + 1
                waiting.append(following)
    assert max(depth.values()) == 3 * steps + 1  # and the accumulator


class Handing(torch.autograd.Function):
    """Hands on a fresh gradient, and notes where it lies; may keep it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, at: list[int], kept: list[Tensor] | None) -> Tensor:
        ctx.at, ctx.kept = at, kept
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        fresh = grad.clone()
        ctx.at.append(fresh.data_ptr())
        if ctx.kept is not None:
            ctx.kept.append(fresh)
        return fresh, None, None


@says(
    "Torch's engine does edit a buffer, but only one that nobody else holds.",
    "Buffers that it edits, when nobody else holds them.",
)
def test_a_buffer_is_edited_when_nobody_else_holds_it() -> None:
    for kept in (None, []):
        x = torch.ones(1_000, requires_grad=True)
        h = x * 1.0
        arrived: list[int] = []
        h.grad_fn.register_prehook(lambda grads, arrived=arrived: arrived.append(grads[0].data_ptr()))
        at: list[int] = []
        (Handing.apply(h, at, kept) + Handing.apply(h, at, kept)).sum().backward()
        assert (arrived[0] in at) == (kept is None)
        assert x.grad.unique().tolist() == [2.0]
        assert all(tensor.unique().tolist() == [1.0] for tensor in kept or [])


@says("Of five the order is no rule at all: it is how torch's heap happens to turn over equal numbers.")
def test_ties_among_five_accumulators_follow_no_operand_order() -> None:
    leaves = [a_leaf(1) for _ in range(5)]
    ran = accumulated(leaves)
    torch.cat(leaves).sum().backward()
    assert sorted(ran) == [0, 1, 2, 3, 4]
    assert ran not in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0])


@says("Of two, the first operand's goes first.")
def test_of_two_accumulators_the_first_operands_goes_first() -> None:
    for combine in (torch.add, torch.mul, torch.sub, torch.dot):
        leaves = [a_leaf(), a_leaf()]
        ran = accumulated(leaves)
        combine(*leaves).sum().backward()
        assert ran == [0, 1]


@says("Hooks before and after each node.")
def test_a_node_takes_hooks_before_and_after() -> None:
    x = a_leaf()
    node = (x * 2.0).grad_fn
    ran: list[str] = []
    node.register_prehook(lambda grads: ran.append("before"))
    node.register_hook(lambda results, grads: ran.append("after"))
    node(torch.ones(2))
    made = x * 2.0
    made.grad_fn.register_prehook(lambda grads: ran.append("before"))
    made.grad_fn.register_hook(lambda results, grads: ran.append("after"))
    ran.clear()
    made.sum().backward()
    assert ran == ["before", "after"]


@says("Only saved tensors are released, so a node that saved none runs again without complaint, as chapter 01 showed.")
def test_a_node_that_saved_no_tensor_runs_again() -> None:
    a, b = a_leaf(), a_leaf()
    plain, product = (a + b).sum(), (a * b).sum()
    for loss in (plain, product):
        loss.backward()
    plain.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        product.backward()


@says("Torch looks at a node when its turn comes, and `a` had its turn before `b * b`.")
def test_nothing_is_touched_where_the_released_node_has_the_first_turn() -> None:
    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    held = a + 0.0
    loss = held + b * b  # b * b is the younger one now
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()
    assert (a.grad.item(), b.grad.item()) == (1.0, 4.0)


@says("x * x has two edges to one accumulator.")
def test_a_square_has_two_edges_to_one_accumulator() -> None:
    x = a_leaf()
    (first, _), (second, _) = (x * x).grad_fn.next_functions
    assert first is second is accumulator(x)


@says(
    'Help: "IndexError: Dimension out of range"',
    "You summed one dimension after another without `keepdim`, and the later numbers no longer fit.",
)
def test_summing_one_dimension_after_another_runs_out_of_them() -> None:
    grad = torch.ones(4, 2, 3)
    with pytest.raises(IndexError, match="Dimension out of range"):
        grad.sum(0).sum(2)


@says(
    "Help: \"RuntimeError: shape '[...]' is invalid for input of size ...\"",
    "The size is 1: `dim=()` summed everything; when there is nothing to sum, return `grad`.",
)
def test_what_an_empty_dim_leaves_does_not_fit() -> None:
    with pytest.raises(RuntimeError, match=r"shape '\[2, 3\]' is invalid for input of size 1"):
        torch.ones(2, 3).sum(dim=(), keepdim=True).reshape(2, 3)


@says(
    "RuntimeError: unsupported operation: more than one element of the written-to tensor refers to a single memory location",
    "You added in place (`+=`) to a view with stride 0, which a sum handed on.",
)
def test_a_view_with_stride_0_cannot_be_added_to_in_place() -> None:
    view = torch.ones(()).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        view += torch.ones(3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@says(
    "Nodes that belong to a GPU run in a thread of the engine.",
    "The same hook, on a tensor that lives there, should run in a thread of the engine and no longer in yours, so expect `False`.",
)
def test_nodes_of_a_gpu_run_in_another_thread() -> None:
    x = torch.ones(3, device="cuda", requires_grad=True)
    seen: list[int] = []
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: seen.append(threading.get_ident()))
    y.sum().backward()
    assert seen != [threading.get_ident()]
    assert x.grad is not None  # backward returned after the last node
