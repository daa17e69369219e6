"""What chapter 01 says about the run of backward and no cell of it prints."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.claims.quoting import says
from tests.claims.walking import below, pair, watched

# What a node computes


@says(
    "A node multiplies the vector that arrives with the Jacobian of its operation: it computes a vector-Jacobian product, VJP for short.",
    "A backward pass is made of such products, one after the other from the loss down, and of sums where paths meet.",
    "Its Jacobian has one row, and the vector is `[1]`.",
    "that is the argument of `out.backward(vector)`, and the `grad_outputs` of `torch.autograd.grad`.",
)
def test_vector_jacobian_products() -> None:
    jacobian = torch.autograd.functional.jacobian
    v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    inner, outer = (lambda u: u.cumprod(0)), (lambda u: u.softmax(0))
    chained = torch.autograd.grad(outer(inner(v)), v, grad_outputs=torch.tensor([1.0, 0.0, 0.0]))[0]
    table = jacobian(outer, inner(v)) @ jacobian(inner, v)
    assert torch.allclose(chained, table[0], atol=1e-6)
    out = inner(v)
    out.backward(torch.tensor([0.0, 0.0, 1.0]))
    assert v.grad is not None and torch.equal(v.grad, jacobian(inner, v)[2])
    arrived: list[torch.Tensor] = []
    loss = v.sum()
    loss.grad_fn.register_prehook(lambda grads: arrived.append(grads[0]))
    loss.backward()
    assert arrived[0].tolist() == 1.0


@says("A whole Jacobian takes one backward pass per output instead.")
def test_a_jacobian_takes_a_pass_per_output() -> None:
    passes: list[int] = []

    def watched_product(u: torch.Tensor) -> torch.Tensor:
        out = u.cumprod(0)
        out.grad_fn.register_prehook(lambda _grads: passes.append(1))
        return out

    torch.autograd.functional.jacobian(watched_product, torch.rand(5))
    assert len(passes) == 5


# Recording and running


@says("the gradient is that of the branch that was taken, as if the condition were a constant;")
def test_the_gradient_of_a_branch() -> None:
    for start, slope in ((2.0, 3.0), (-2.0, 5.0)):
        v = torch.tensor(start, requires_grad=True)
        (v * 3 if v > 0 else v * 5).backward()
        assert v.grad is not None and v.grad.item() == slope


@says(
    "each step pays for the memory of its graph, from the forward pass until backward or until the result is dropped.",
    "When a node has run, it lets go of its saved tensors, so that memory falls while backward proceeds. The nodes and edges stay.",
    "Saving is holding a reference. Nothing is copied. But as long as the graph lives, what it refers to cannot be freed.",
)
def test_when_saved_tensors_are_let_go() -> None:
    x = torch.randn(3, requires_grad=True)
    out = (x * 2).exp().sin().sum()
    storage = weakref.ref(out.grad_fn.next_functions[0][0]._saved_self.untyped_storage())
    assert storage() is not None
    del out
    assert storage() is None, "the result was dropped"

    early = x * 2
    out = early.exp().sin().sum()
    sine = out.grad_fn.next_functions[0][0]
    storage = weakref.ref(sine._saved_self.untyped_storage())
    alive: list[bool] = []
    early.register_hook(lambda _grad: alive.append(storage() is not None))
    out.backward()
    assert alive == [False], "released before backward has come to the beginning"
    assert len(below(out.grad_fn)) == 5


@says(
    "a node runs once, after all its consumers have run.",
    "Among operations that are ready, the one that was recorded last goes first: `sin` was called after `exp`, so its node runs before. An AccumulateGrad that is ready goes before all of them.",
)
def test_the_order_of_running() -> None:
    x, b = (torch.rand(3, requires_grad=True) for _ in range(2))
    shared = x.tanh()
    loss = (shared.exp() * shared.sin()).sum() + shared.cos().sum() + b.sum()
    ran = watched(loss.grad_fn)
    loss.backward()
    assert len(ran) == len(set(ran)) == len(below(loss.grad_fn))
    place = {node: number for number, node in enumerate(ran)}
    for node in ran:
        for operand, _ in node.next_functions:
            assert operand is None or place[node] < place[operand]
    names = [type(node).__name__ for node in ran]
    assert names.index("SinBackward0") < names.index("ExpBackward0")
    assert ran[names.index("AccumulateGrad")].variable is b and names[2:4] == ["AccumulateGrad", "AddBackward0"]


@says("with the loss divided by the number of rounds where it is a mean.")
def test_micro_batches() -> None:
    weight, data = torch.randn(4, 1, requires_grad=True), torch.randn(8, 4)
    (whole,) = torch.autograd.grad((data @ weight).pow(2).mean(), weight)
    for part in data.chunk(4):
        ((part @ weight).pow(2).mean() / 4).backward()
    assert weight.grad is not None and torch.allclose(weight.grad, whole, atol=1e-5)


@says(
    "Outside of it PyTorch refuses to change a leaf in place, because the change itself would have to be recorded.",
    "`p = p - ...` makes a new tensor, and `p.data = ...` gives p other memory.",
    "Whatever was in .grad before is there afterwards, unchanged: backward adds to that tensor in place.",
    "A parameter that the loss does not use has no gradient: it is None.",
    "It needs allow_unused=True; then skip the None.",
)
def test_updates_and_grads() -> None:
    p, idle = pair()
    address = p.data_ptr()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        p -= 0.1
    assert (p - 0.1).data_ptr() != address
    p.data = p.data - 0.1
    assert p.data_ptr() != address
    p.grad = held = torch.ones(3)
    p.sum().backward()
    assert p.grad is held and held.tolist() == [2.0] * 3 and idle.grad is None
    with pytest.raises(RuntimeError, match="allow_unused"):
        torch.autograd.grad(p.sum(), [p, idle])
    assert torch.autograd.grad(p.sum(), [p, idle], allow_unused=True)[1] is None


# Hooks


@says(
    "when the gradient of this tensor is complete",
    "the gradient; what `f` returns goes on in its place",
    "after `.grad` of this leaf was written",
    "gradients of its operands and of its output; of its output",
)
def test_what_hooks_get() -> None:
    x, w = pair()
    inner = x * 1
    calls: list[Any] = []
    inner.register_hook(lambda grad: calls.append(grad.tolist()) or grad * 10)
    x.register_post_accumulate_grad_hook(lambda leaf: calls.append(leaf.grad.tolist()))
    product = inner * w
    product.grad_fn.register_hook(lambda operands, outputs: calls.append((len(operands), len(outputs))))
    product.grad_fn.register_prehook(lambda outputs: calls.append(len(outputs)))
    (product + inner).sum().backward()
    assert calls == [1, (2, 1), [1.5, 0.0, 3.0], [15.0, 0.0, 30.0]]


@says(
    "A tensor hook must not change its gradient in place: return a new one. A hook lives as long as its tensor, so keep the handle and call `.remove()` on it.",
    "And a tensor hook runs when backward comes by; the gradient itself is kept only for leaves, or after `.retain_grad()`.",
)
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_rules_for_hooks() -> None:
    x, w = pair()
    other, inner = w * 1, x * 1

    def in_place(grad: torch.Tensor) -> None:
        grad.mul_(10)

    inner.register_hook(in_place)
    ((other + inner) * torch.ones(3)).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [10.0] * 3, "w's gradient was the same tensor"
    calls: list[int] = []
    handle = x.register_hook(lambda _grad: calls.append(1))
    for _ in range(2):
        x.sum().backward()
    handle.remove()
    x.sum().backward()
    assert len(calls) == 2 and inner.grad is None
    inner = x * 1
    inner.retain_grad()
    inner.sum().backward()
    assert inner.grad is not None


@pytest.fixture
def one_process() -> Iterator[None]:
    distributed = pytest.importorskip("torch.distributed")
    if not distributed.is_available() or not distributed.is_gloo_available():
        pytest.skip("this torch was built without torch.distributed")
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


@says(
    "`DistributedDataParallel` hangs hooks on the AccumulateGrad nodes: as soon as all gradients of a bucket are there, it starts to average them over the machines, and backward goes on meanwhile."
)
def test_ddp_averages_while_backward_goes_on(one_process: None) -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64, bias=False) for _ in range(3)))
    parallel = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.01)
    numbers = {id(p): i for i, p in enumerate(model.parameters())}
    events: list[str] = []

    def average(_state, bucket):  # torch refuses an annotation that is text
        events.append(f"average {[numbers[id(p)] for p in bucket.parameters()]}")
        future: Any = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    parallel.register_comm_hook(None, average)
    for number, parameter in enumerate(model.parameters()):
        parameter.register_post_accumulate_grad_hook(lambda _leaf, number=number: events.append(f"grad {number}"))
    for _ in range(2):  # buckets are laid out after the first pass
        events.clear()
        parallel(torch.randn(4, 64)).sum().backward()
    assert events == ["grad 2", "average [2]", "grad 1", "average [1]", "grad 0", "average [0]"]


@says("`fully_shard` (FSDP) hangs a tensor hook on a module's outputs.")
def test_fsdp_hangs_a_hook_on_outputs(one_process: None) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    layer = torch.nn.Linear(8, 8)
    plain = layer(torch.randn(2, 8))
    fully_shard(layer, mesh=init_device_mesh("cpu", (1,)))
    out = layer(torch.randn(2, 8, requires_grad=True))
    assert not plain._backward_hooks and out._backward_hooks


# Releasing


@says(
    "`torch.autograd.grad(loss, params)` returns gradients and leaves `.grad` alone. It releases the graph as backward does, unless told not to.",
    "create_graph=True records the backward pass as well",
)
def test_autograd_grad() -> None:
    x, w = pair()
    loss = (x * w).sum()
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    assert first.grad_fn is not None or first is w
    assert torch.autograd.grad((x.exp()).sum(), x, create_graph=True)[0].grad_fn is not None
    torch.autograd.grad(loss, [x, w])
    assert x.grad is None and w.grad is None
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, x)


@says(
    "A second pass raises at the first node that wants a tensor it no longer has.",
    "A second pass raises at the first node that needs a saved tensor. Where no node saved one, the second pass runs.",
)
def test_the_second_pass_runs_until_a_tensor_is_missing() -> None:
    x, w = pair()
    loss = (x * w).exp().sum()
    loss.backward()
    ran = watched(loss.grad_fn)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    assert type(ran[0]).__name__ == "SumBackward0" and len(ran) <= 2
    for _ in range(2):
        (unsaved := (x + w).sum()).backward(retain_graph=False)
    unsaved.backward()
