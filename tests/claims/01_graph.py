"""What chapter 01 says about nodes, edges, saved tensors and errors, and no cell of it prints."""

from __future__ import annotations

import weakref

import pytest
import torch
from torch.nn import functional as F

from autograder.lab import saved_ledger
from tests.claims.quoting import says
from tests.claims.walking import below, pair, values


def test_a_sentence_that_does_not_stand_in_the_chapter_is_refused() -> None:
    with pytest.raises(ValueError, match="does not say"):
        says("Nobody ever wrote this about autograd.")


# The story


@says("From there on every validation batch takes more memory than the one before")
def test_a_sum_of_losses_keeps_every_activation() -> None:
    weight, total, alive = torch.randn(8, 8, requires_grad=True), torch.zeros(()), []
    for _ in range(3):
        hidden = (torch.randn(4, 8) @ weight).exp()
        alive.append(weakref.ref(hidden.untyped_storage()))
        total = total + hidden.sum()
        del hidden
    assert all(storage() is not None for storage in alive)
    del total
    assert not any(storage() is not None for storage in alive)


@says(
    "Now it fails with modified by an inplace operation, and nobody has modified anything.",
    "More often it only changes the message: the optimizer has changed the weights in place meanwhile, and the old graph had saved them.",
)
def test_retaining_a_hidden_state_changes_the_message() -> None:
    for retain, message in ((False, "second time"), (True, "modified by an inplace operation")):
        weight, hidden = torch.randn(4, 4, requires_grad=True), torch.zeros(2, 4)
        optimizer = torch.optim.SGD([weight], 0.1)
        with pytest.raises(RuntimeError, match=message):
            for _ in range(4):
                hidden = torch.tanh(torch.randn(2, 4) + hidden @ weight)
                hidden.sum().backward(retain_graph=retain)
                optimizer.step()


@says("Retaining hides it at best, and the graph grows with each step.")
def test_a_retained_running_loss_grows() -> None:
    weight, total, sizes = torch.randn(4, 1, requires_grad=True), torch.zeros(()), []
    for _ in range(3):
        total = total + (torch.randn(8, 4) @ weight).pow(2).mean()
        total.backward(retain_graph=True)
        sizes.append(len(below(total.grad_fn)))
        with torch.no_grad():
            weight -= 0.01
    assert sizes[0] < sizes[1] < sizes[2]


# Nodes and edges


@says(
    "A leaf is a tensor that no recorded operation made: an input, or a parameter.",
    "SumBackward0 saved no tensor. To send a gradient back through a sum, a shape is enough.",
    "Only MulBackward0 keeps tensors: `x` and `w` themselves, by reference. SumBackward0 keeps a shape.",
    "61 nodes and 2⁶⁰ paths.",
)
def test_the_first_graph() -> None:
    x, w = pair()
    y = (x * w).sum()
    assert [t.is_leaf for t in (x, w, x * w, y, torch.ones(3), y.detach())] == [True, True, False, False, True, True]
    assert list(values(y.grad_fn)) == [(3,)]
    assert [value is kept for value, kept in zip(values(y.grad_fn.next_functions[0][0]), (w, x), strict=True)] == [
        True
    ] * 2
    for _ in range(60):
        x = x + x
    assert len(below(x.grad_fn)) == 61


@says(
    "There is one pair per operand that a gradient could go to. An index or a mask has none, and leaves no pair.",
    "A mask, an index or a label never could, so not even a None stands for it: `x.gather(0, index)` has one entry, for `x`.",
)
def test_masks_indices_and_labels_leave_no_entry() -> None:
    x, w = pair()
    index, mask = torch.tensor([0, 1]), torch.tensor([True, False, True])
    for result in (x.gather(0, index), x[index], x[mask], x.masked_fill(mask, 0.0), F.nll_loss(x[None], index[:1])):
        assert len(result.grad_fn.next_functions) == 1 and result.grad_fn.next_functions[0][0] is not None
    assert len(torch.where(mask, x, w).grad_fn.next_functions) == 2
    assert [node is None for node, _ in (x * torch.ones(3)).grad_fn.next_functions] == [False, True]


@says(
    "There is one per leaf. It holds the leaf in `.variable`, and it adds the gradient that arrives to `leaf.grad`.",
    "Each says where a gradient goes next: to a node, and to which of that node's outputs.",
)
def test_one_accumulate_grad_per_leaf() -> None:
    x, w = pair()
    loss = (x * w * x).sum() + x.exp().sum()
    ends = [node for node in below(loss.grad_fn) if type(node).__name__ == "AccumulateGrad"]
    assert sorted(id(node.variable) for node in ends) == sorted([id(x), id(w)])
    first, second = torch.randn(2, 3, requires_grad=True).unbind()
    assert [number for _, number in (first + second).grad_fn.next_functions] == [0, 1]


@says("Use type(node).__name__. node.name() is the C++ name.")
def test_the_name_of_an_accumulate_grad() -> None:
    (node, _), _ = (pair()[0] * 2).grad_fn.next_functions
    assert (type(node).__name__, node.name()) == ("AccumulateGrad", "torch::autograd::AccumulateGrad")


@says(
    "Nodes can be put into a set or a dict: they are hashed by identity.",
    "It holds the nodes themselves: a remembered id() may come to mean another node.",
)
def test_nodes_are_hashed_by_identity() -> None:
    x, w = pair()
    product, other = (x * w).grad_fn, (x * w).grad_fn
    assert product != other and len({product, other, product}) == 2
    assert product.next_functions[0][0] is other.next_functions[0][0], "the leaf's node is one object while it is held"


@says("A factor is saved when the other one needs a gradient.")
def test_a_factor_is_saved_for_the_others_gradient() -> None:
    x, w = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
    for product in (x @ w, x * w):
        kept = [value for value in values(product.grad_fn) if isinstance(value, torch.Tensor)]
        assert len(kept) == 1 and kept[0] is x


@says("But its AccumulateGrad then adds nothing.")
def test_a_leaf_frozen_since_gets_nothing() -> None:
    x, w = pair()
    loss = (x * w).sum()
    w.requires_grad_(False)
    loss.backward()
    assert w.grad is None and x.grad is not None


# What a node keeps


@says(
    "So what a node saves is of three kinds: tensors, tuples that may hold tensors, and plain values.",
    "exp, sqrt and relu can write their derivative in terms of their result, so they keep that; it exists anyway.",
)
def test_three_kinds_of_saved_values() -> None:
    x = torch.rand(4, 4, requires_grad=True)
    results = [x.exp(), x.sqrt(), x.relu(), x[:, torch.tensor([0])], x.sum(0), x + 1, F.layer_norm(x, (4,)), x.cumsum(0),
               F.softmax(x, 0), torch.stack([x, x]), F.conv1d(x[None], x[:, :, None])]  # fmt: skip
    for result in results:
        for value in values(result.grad_fn):
            assert value is None or isinstance(value, torch.Tensor | tuple | int | float | bool | torch.dtype | str)
    for result in results[:3]:
        assert result.grad_fn._saved_result.data_ptr() == result.data_ptr()


@says(
    "At a large batch this is most of what training keeps in memory.",
    "(At a small batch the weights, their gradients and Adam's two tensors per weight are more.)",
)
def test_activations_against_the_rest() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, 64)).sum().backward()
    optimizer.step()
    states = [t for state in optimizer.state.values() for t in state.values() if t.numel() > 1]
    rest = sum(t.nbytes for t in [*model.parameters(), *(p.grad for p in model.parameters()), *states])
    assert len(states) == 2 * len(list(model.parameters()))
    bytes_at = [
        saved_ledger(model, torch.randn(batch, 64), params=model.parameters()).storage_bytes for batch in (4, 4096)
    ]
    assert bytes_at[0] < rest < bytes_at[1]


@says(
    "A custom Function's node has no `_saved_` attributes. `saved_tensors` is another door: leave it.",
    "On a released graph PyTorch raises when you read what was saved.",
    "`_raw_saved_...` is the packed form of the same tensor.",
)
def test_doors_to_what_was_saved() -> None:
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x / 2

        @staticmethod
        def backward(ctx, grad):
            return grad / 2

    x, w = pair()
    node = Half.apply(x).grad_fn
    assert not [name for name in dir(node) if name.startswith("_saved_")] and node.saved_tensors[0] is x
    product = (x * w).grad_fn
    assert torch.equal(product._raw_saved_self.data, x)
    loss = x.exp().sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        _ = loss.grad_fn.next_functions[0][0]._saved_result


@says(
    "A layer norm without weight and bias saved None for them.", "A power keeps its base, its exponent and its result."
)
def test_layer_norm_and_power() -> None:
    x = torch.rand(2, 4, requires_grad=True)
    node = F.layer_norm(x, (4,)).grad_fn
    assert node._saved_weight is None and node._saved_bias is None
    node = (x ** torch.ones(4, requires_grad=True)).grad_fn
    assert [name for name in dir(node) if name.startswith("_saved_")] == [
        "_saved_exponent",
        "_saved_result",
        "_saved_self",
    ]


# The graph of a training step


def training_step() -> tuple[torch.Tensor, list[torch.Tensor]]:
    images, labels = torch.randn(32, 64), torch.randint(0, 10, (32,))
    w1 = (torch.randn(64, 128) / 8).requires_grad_()
    b1, b2 = torch.zeros(128, requires_grad=True), torch.zeros(10, requires_grad=True)
    w2 = (torch.randn(128, 10) / 11).requires_grad_()
    hidden = torch.relu(images @ w1 + b1)
    return F.cross_entropy(hidden @ w2 + b2, labels), [images, w1, b1, w2, b2]


@says(
    "The first keeps the labels and the log-probabilities. The second keeps its result, which is the same tensor, so its bytes are written once.",
    "The relu keeps its result, and that is `hidden`, the very tensor that the upper product keeps: again one storage.",
    "a product keeps each factor whose other factor needs a gradient, an addition nothing, relu its result.",
)
def test_what_the_training_step_saves() -> None:
    loss, (images, _, _, w2, _) = training_step()
    nll = loss.grad_fn
    log_softmax, upper_sum = nll.next_functions[0][0], nll.next_functions[0][0].next_functions[0][0]
    upper = upper_sum.next_functions[0][0]
    relu = upper.next_functions[0][0]
    lower = relu.next_functions[0][0].next_functions[0][0]
    assert nll._saved_target.dtype == torch.int64
    assert nll._saved_self.data_ptr() == log_softmax._saved_result.data_ptr()
    assert not [value for value in values(upper_sum) if isinstance(value, torch.Tensor)]
    assert upper._saved_mat2 is w2 and upper._saved_self.data_ptr() == relu._saved_result.data_ptr()
    assert lower._saved_self is images and lower._saved_mat2 is None


@says(
    "PyTorch would have compared counters and refused, since the weights it had saved are no longer the ones that made the loss."
)
def test_a_backward_after_the_update_is_refused() -> None:
    loss, (_, w1, b1, w2, b2) = training_step()
    loss.backward(retain_graph=True)
    with torch.no_grad():
        for parameter in (w1, b1, w2, b2):
            parameter -= 0.1 * parameter.grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


# Errors


@says(
    "'NoneType' object has no attribute 'next_functions'",
    "element 0 of tensors does not require grad and does not have a grad_fn",
    "grad can be implicitly created only for scalar outputs",
    "Boolean value of Tensor with more than one value is ambiguous",
    "a leaf Variable that requires grad is being used in an in-place operation",
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed",
    "`in` on a list of tensors compares their elements, and that raises.",
    "Nothing it came from required a gradient, or it was computed under `no_grad`, or it went through `.detach()`, `.item()` or NumPy.",
    "or asked a leaf for its graph: `leaf.grad_fn` is None.",
)
def test_errors_say_what_the_chapter_quotes() -> None:
    x, w = pair()

    def in_place() -> None:
        y = x
        y += 1

    for call, words in {
        lambda: x.grad_fn.next_functions: "'NoneType' object has no attribute 'next_functions'",
        lambda: (
            torch.ones(3).sum().backward()
        ): "element 0 of tensors does not require grad and does not have a grad_fn",
        lambda: (x * w).backward(): "grad can be implicitly created only for scalar outputs",
        lambda: w in [x]: "Boolean value of Tensor with more than one value is ambiguous",
        in_place: "a leaf Variable that requires grad is being used in an in-place operation",
    }.items():
        with pytest.raises((RuntimeError, AttributeError)) as error:
            call()
        assert words in str(error.value)
    with pytest.warns(UserWarning, match="that is not a leaf Tensor is being accessed"):
        _ = (x * w).grad
    for lost in (x.detach().sum(), torch.tensor(x.sum().item()), torch.from_numpy(x.detach().numpy()).sum()):
        with pytest.raises(RuntimeError, match="element 0"):
            lost.backward()
    with torch.no_grad():
        assert (x * w).grad_fn is None and x.grad_fn is None
