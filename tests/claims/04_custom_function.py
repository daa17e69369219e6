"""What chapter 04 says about PyTorch and no cell of it prints."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd.function import once_differentiable
from torch.autograd.gradcheck import gradcheck
from torch.nn import functional as F

from tests.claims.quoting import says

Function = torch.autograd.Function
traced = pytest.mark.skipif(sys.version_info >= (3, 14), reason="older releases of torch do not compile there")


class Square(Function):
    """x * x, as section 1 writes it."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class Scale(Function):
    """x * w, with a gradient of w that has the output's shape."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, w = ctx.saved_tensors
        return grad * w, grad * x


def function(forward: Callable[..., Any], backward: Callable[..., Any] = lambda ctx, *grads: grads[0]) -> Any:
    """A Function's `apply`, of two functions."""
    return type("Made", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}).apply


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


@says("`forward(ctx, ...)` computes, and nothing inside it is recorded.")
def test_nothing_is_recorded_in_forward() -> None:
    seen = []

    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        seen.append((x * 2).requires_grad)
        return x * 2

    function(forward)(leaf())
    assert seen == [False]


@says("`backward(ctx, ...)` gets one incoming gradient per output and returns one gradient per argument of `forward`.")
def test_one_gradient_in_per_output_one_out_per_argument() -> None:
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        got.append(len(grads))
        return grads[0] + grads[1], None, grads[0]

    got: list[int] = []
    x, y = leaf(), leaf()
    one, two = function(lambda ctx, x, number, y: (x * 2, y * 2), backward)(x, 3, y)
    (one + two).sum().backward()
    assert got == [2]
    assert x.grad is not None and y.grad is not None


@says("`ctx` is that node.")
def test_ctx_is_the_node() -> None:
    seen = []

    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        seen.append(ctx)
        return grad

    out = function(lambda ctx, x: x * 2, backward)(leaf())
    out.sum().backward()
    assert seen[0] is out.grad_fn


@says("all in one call: a second call replaces the first.")
def test_a_second_save_replaces_the_first() -> None:
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 2, x * 3)
        return x * 4

    node = function(forward)(leaf(1.0)).grad_fn
    assert [t.tolist() for t in node.saved_tensors] == [[2.0], [3.0]]


@says("for an output that nobody used, backward gets None instead of zeros")
@pytest.mark.parametrize("materialize", [True, False])
def test_gradients_of_unused_outputs(materialize: bool) -> None:
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if not materialize:
            ctx.set_materialize_grads(False)
        return x * 1, x * 2

    def backward(ctx: Any, one: torch.Tensor, two: torch.Tensor | None) -> torch.Tensor:
        seen.append(None if two is None else two.tolist())
        return one

    seen: list[Any] = []
    function(forward, backward)(leaf(1.0))[0].backward()
    assert seen == [[0.0] if materialize else None]


@says("A tensor counts its in-place edits in `_version`. Saving remembers the count, unpacking compares it.")
def test_the_version_is_compared_at_unpacking() -> None:
    x = leaf()
    out = Square.apply(x)
    with torch.no_grad():
        x.add_(1)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.grad_fn.saved_tensors  # noqa: B018


@says("A raw kernel is like `.data`: it gets a pointer, and the counter does not move.")
def test_a_write_through_the_pointer_moves_no_counter() -> None:
    x = torch.ones(4)
    ctypes.memset(x.data_ptr(), 0, x.nbytes)
    assert (x.tolist(), x._version) == ([0.0] * 4, 0)


@says("Saved-tensor hooks go round the check, too (chapter 02).")
def test_hooks_go_round_the_check() -> None:
    x = leaf(1.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        out = x.exp() * 1
        y = Square.apply(out)
    with torch.no_grad():
        out.mul_(2)
    (g,) = torch.autograd.grad(y.sum(), out)
    assert torch.equal(g, 2 * out.detach())  # of the edited value, and no error


@says("Such memory waits for Python's cycle collector.")
def test_an_output_on_ctx_waits_for_the_collector() -> None:
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.y = x.exp()
        return ctx.y

    gc.collect()
    gc.disable()
    try:
        y = function(forward)(leaf())
        alive = weakref.ref(y)
        del y
        assert alive() is not None
        gc.collect()
        assert alive() is None
    finally:
        gc.enable()


@says(
    "It goes through the saved-tensor hooks, it is released after backward, and it makes no reference cycle when `x` is the output. An attribute does none of this."
)
def test_what_save_for_backward_does_and_an_attribute_does_not() -> None:
    def keep(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.x = x
        return x * 2

    packed: list[torch.Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        saved, attribute = Square.apply(leaf()), function(keep)(leaf())
    assert len(packed) == 1
    (saved.sum() + attribute.sum()).backward()
    with pytest.raises(RuntimeError, match="a second time"):
        saved.grad_fn.saved_tensors  # noqa: B018
    assert attribute.grad_fn.x is not None

    def save_output(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    gc.disable()
    try:
        alive = weakref.ref(function(save_output)(leaf()))
        assert alive() is None
    finally:
        gc.enable()


@says("Composed of two operators, it keeps `silu(gate)` besides its inputs.")
def test_the_composed_version_keeps_silu_of_the_gate() -> None:
    gate, up = leaf(), leaf()
    packed: list[torch.Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        F.silu(gate) * up
    own = [t for t in packed if t is not gate and t is not up]
    assert len(own) == 1 and torch.equal(own[0], F.silu(gate))


@says("moves each element of the inputs by ±10⁻⁶ and compares the slope with your backward.")
def test_gradcheck_moves_by_a_millionth() -> None:
    seen = []

    def fn(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.item())
        return x * 2

    gradcheck(fn, torch.tensor(1.0, dtype=torch.float64, requires_grad=True))
    assert min(seen) == pytest.approx(1 - 1e-6, abs=1e-12) and max(seen) == pytest.approx(1 + 1e-6, abs=1e-12)


@says("PyTorch warns, and in float32 a right answer fails.")
def test_gradcheck_warns_in_float32() -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(3, 4, requires_grad=True) for _ in range(2)]
    with pytest.warns(UserWarning, match="double precision"), pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(lambda g, u: F.silu(g) * u, inputs)


@says("An incoming gradient with other strides, or expanded from one number.")
def test_gradcheck_does_not_try_strides() -> None:
    def flat(grad: torch.Tensor) -> torch.Tensor:
        """As a kernel that takes the pointer and counts on."""
        storage = torch.empty(0, dtype=grad.dtype).set_(grad.untyped_storage())
        return storage[torch.arange(grad.numel()) % storage.numel()].reshape(grad.shape)

    fn = function(lambda ctx, x: x * 2, lambda ctx, grad: 2 * flat(grad))
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(fn, x)
    grad = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).t()
    assert not torch.equal(torch.autograd.grad(fn(x), x, grad)[0], 2 * grad)


@says("Work done for an input that needs no gradient. Tensors kept that nobody needs.")
def test_gradcheck_sees_neither_waste_nor_hoarding() -> None:
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, y)
        ctx.more = x.exp()
        return x + y

    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return grad * 1, (grad * 2) / 2

    inputs = [torch.randn(2, dtype=torch.float64, requires_grad=need) for need in (True, False)]
    assert gradcheck(function(forward, backward), inputs)


@says("`.t()` and `torch.cat` send gradients with such strides")
def test_where_strided_gradients_come_from() -> None:
    strides = []

    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        strides.append(grad.stride())
        return grad

    apply = function(lambda ctx, x: x * 1, backward)
    x = torch.randn(2, 3, requires_grad=True)
    torch.autograd.grad(apply(x).t(), x, torch.ones(3, 2))
    torch.autograd.grad(torch.cat([x, apply(x)], 1), x, torch.ones(2, 6))
    assert strides == [(1, 2), (6, 1)]


@says("The kernel took a pointer", "there is only one number behind that pointer.")
def test_sum_sends_one_number() -> None:
    seen = []

    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        seen.append((grad.stride(), grad.untyped_storage().nbytes()))
        return grad

    function(lambda ctx, x: x * 1, backward)(torch.randn(2, 3, requires_grad=True)).sum().backward()
    assert seen == [((0, 0), 4)]


@says("`grad.mul_` writes into a buffer that an addition shares with its other operand.")
def test_an_addition_shares_its_gradient() -> None:
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad.mul_(5)

    x, neighbor = leaf(), leaf()
    out = neighbor * 1 + function(lambda ctx, x: x * 5, backward)(x)
    found = torch.autograd.grad(out, (x, neighbor), torch.ones(3))
    assert found[1].tolist() == [5.0] * 3  # ones would be right


@says("it runs gradcheck in fast mode, which calls backward twice with one gradient.")
def test_fast_mode_calls_twice_with_one_gradient() -> None:
    pointers = []

    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        pointers.append(grad.data_ptr())
        return 2 * grad

    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    gradcheck(function(lambda ctx, x: x * 2, backward), x, fast_mode=True)
    assert any(pointers.count(pointer) > 1 for pointer in pointers)


@says("The engine sums a gradient to the input's shape when that is possible, and says nothing.")
def test_the_engine_sums_silently_or_raises() -> None:
    w = leaf(1.0, 2.0, 3.0)
    Scale.apply(torch.ones(4, 3), w).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [4.0] * 3
    bad = function(lambda ctx, x: x * 1, lambda ctx, grad: grad.reshape(-1)[:2])
    with pytest.raises(RuntimeError, match="invalid gradient"):
        bad(leaf()).sum().backward()


@traced
@says("and so does `torch.compile` with `fullgraph=True`.")
def test_compile_repairs_the_shape_too() -> None:
    x, w = torch.randn(5, 3), torch.randn(3, requires_grad=True)
    torch.compile(lambda x, w: Scale.apply(x, w).square().sum(), fullgraph=True, backend="aot_eager")(x, w).backward()
    assert w.grad is not None
    torch.testing.assert_close(w.grad, 2 * w.detach() * x.square().sum(0))


@says("Inputs and outputs have one when they come back from `saved_tensors`. An intermediate has none.")
def test_what_comes_back_with_a_graph() -> None:
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        between = x * 2
        out = between * 3
        ctx.save_for_backward(x, between, out)
        return out

    x = leaf()
    out = function(forward)(x)
    saved = out.grad_fn.saved_tensors
    assert saved[0] is x
    assert [t.requires_grad for t in saved] == [True, False, True]
    assert saved[2].grad_fn is out.grad_fn


@says("It is recorded while it runs, if the caller asked for that with `create_graph=True`.")
@pytest.mark.parametrize("asked", [True, False])
def test_backward_is_recorded_on_request(asked: bool) -> None:
    x = leaf()
    (g,) = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=asked)
    assert g.requires_grad is asked


class Once(Function):
    """x * x, whose backward may not be differentiated."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * grad


@says("it complains about an unused input, and `allow_unused=True` would silence that.")
def test_allow_unused_silences_the_refusal() -> None:
    x = leaf(2.0)
    (first,) = torch.autograd.grad((Once.apply(x) ** 2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, allow_unused=True)
    assert second is None  # 12 x**2 would be right


@says(
    "An integer output never requires a gradient; marking it tells the reader. A float output requires one unless you say otherwise"
)
def test_outputs_that_require_a_gradient() -> None:
    def marked(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        out = x.round()
        ctx.mark_non_differentiable(out)
        return out

    both = function(lambda ctx, x: (x.int(), x.round()))(leaf())
    assert [t.requires_grad for t in both] == [False, True]
    assert not function(marked)(leaf()).requires_grad


@says("whoever uses `h` afterwards gets the gradient of a graph that knows nothing of the relu.")
@pytest.mark.parametrize("mark", [True, False])
def test_an_unmarked_edit_is_missing_from_the_graph(mark: bool) -> None:
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        x.relu_()
        if mark:
            ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * (ctx.saved_tensors[0] > 0)

    w = leaf(-1.0, 2.0)
    h = w * 1
    function(forward, backward)(h)
    assert torch.autograd.grad(h.sum(), w)[0].tolist() == ([0.0, 1.0] if mark else [1.0, 1.0])


@says("The version counter catches the second backward. It does not catch a kernel, nor `.data`.")
def test_data_is_not_caught_in_a_second_pass() -> None:
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        x.data.mul_(2).mul_(grad)
        return x.clone()

    x = leaf(1.0)
    out = function(forward, backward)(x)
    passes = [torch.autograd.grad(out, x, torch.ones(1), retain_graph=True)[0].item() for _ in range(2)]
    assert passes == [2.0, 4.0]  # 2 and 2 would be right


@says("an intermediate can be saved only if `forward` returns it. The older style saves it right away.")
def test_setup_context_sees_inputs_and_outputs_only() -> None:
    class Split(Function):
        @staticmethod
        def forward(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x * x, x.exp()

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
            seen.append((len(inputs), len(output)))
            ctx.save_for_backward(output[1])

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
            return grad

    seen: list[tuple[int, int]] = []
    Split.apply(leaf())
    assert seen == [(1, 2)]


@traced
@says("they look into its `forward` and `backward` and record the operators there.")
def test_compile_and_export_trace_a_function() -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Square.apply(x)

    graph = torch.export.export(Module(), (torch.ones(3),)).graph
    assert any(node.target is torch.ops.aten.mul.Tensor for node in graph.nodes)
    x = leaf()
    torch.compile(Square.apply, fullgraph=True, backend="aot_eager")(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0, 6.0]


@traced
@says("They cannot look into a call that only knows pointers.")
def test_compile_does_not_trace_a_call_on_pointers() -> None:
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        ctypes.memmove(out.data_ptr(), x.data_ptr(), x.nbytes)
        return out

    with pytest.raises(Exception, match=r"memmove|data_ptr|CFunctionType|[Uu]nsupported"):
        torch.compile(function(forward), fullgraph=True, backend="eager")(leaf())


def compiled_calls(op: Any) -> list[str]:
    """Names of the operators that a compiler sees in `op(x) + 1`."""
    from torch._dynamo.backends.common import aot_autograd

    seen: list[str] = []

    def note(module: Any, _: Any) -> Any:
        seen.extend(str(node.target) for node in module.graph.nodes if node.op == "call_function")
        return module.forward

    torch.compile(lambda x: op(x) + 1, fullgraph=True, backend=aot_autograd(fw_compiler=note))(torch.ones(3))
    return seen


def body(x: torch.Tensor) -> torch.Tensor:
    return x * x


@traced
@says(
    "makes a closed box. A tracer records one call and asks the fake version for the shape.",
    "A compiler opens it and sees what is inside, so it needs no fake version.",
)
def test_what_a_compiler_sees_of_each_kind_of_operator() -> None:
    closed = torch.library.custom_op("course_claims::closed", body, mutates_args=())
    closed.register_fake(torch.empty_like)
    assert compiled_calls(closed) == ["course_claims.closed.default", "aten.add.Tensor"]
    opened = torch.library.triton_op("course_claims::opened", body, mutates_args=())
    assert compiled_calls(opened) == ["aten.mul.Tensor", "aten.add.Tensor"]


@says("`opcheck` verifies the registration. It does not verify the mathematics; gradcheck does that.")
def test_opcheck_passes_a_wrong_gradient() -> None:
    op = torch.library.custom_op("course_claims::wrong", body, mutates_args=())
    op.register_fake(torch.empty_like)
    op.register_autograd(lambda ctx, grad: grad * 7)
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert set(torch.library.opcheck(op, (x,)).values()) == {"SUCCESS"}
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(op, x)


@says("plain `empty_like` copies the strides of a transposed gate.")
def test_empty_like_copies_strides() -> None:
    assert torch.empty_like(torch.ones(2, 3).t()).stride() == (1, 3)


@says("The result of an ordinary operation is new memory")
def test_an_operation_allocates() -> None:
    x = torch.ones(3)
    assert (1 - x).untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


@says("`sum(dim=())` sums everything")
def test_sum_over_no_dimensions_sums_everything() -> None:
    assert torch.ones(2, 3).sum(dim=()).shape == ()


@says("`gate` and `up` are fresh products, nobody else keeps them, and there is one backward.")
def test_a_product_keeps_its_inputs_and_not_its_output() -> None:
    x, w = torch.ones(2, 3), torch.ones(3, 3, requires_grad=True)
    packed: list[torch.Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        gate = x @ w
    assert gate.data_ptr() not in [t.data_ptr() for t in packed]


@says("Clamp before the cast: a float outside the range of int8 does not clip by itself.")
def test_a_cast_to_int8_does_not_clip() -> None:
    assert torch.tensor([200.0]).to(torch.int8).item() != 127


@says("In float32 exp(x) is infinite from x = 89 on, and infinite / infinite is NaN. torch.sigmoid has no such limit.")
def test_where_exp_ends() -> None:
    assert torch.tensor(89.0).exp().isinf() and not torch.tensor(88.0).exp().isinf()
    assert (torch.tensor(89.0).exp() / torch.tensor(89.0).exp()).isnan()
    assert torch.sigmoid(torch.tensor([100.0, -100.0])).isfinite().all()


@says("int8 times a float is float32. The dequantized values have x's dtype.")
def test_int8_times_a_float_is_float32() -> None:
    assert (torch.ones(2, dtype=torch.int8) * 0.5).dtype == torch.float32


@says("torch.round takes a half to the even code.")
def test_halves_round_to_even() -> None:
    assert torch.tensor([0.5, 1.5, 2.5, -0.5]).round().tolist() == [0.0, 2.0, 2.0, 0.0]


@says("function SiluMulBackward returned an incorrect number of gradients (expected 2, got 1)")
def test_the_error_for_too_few_gradients() -> None:
    apply = function(lambda ctx, x, y: x * y, lambda ctx, grad: grad)
    with pytest.raises(RuntimeError, match=r"returned an incorrect number of gradients \(expected 2, got 1\)"):
        apply(leaf(), leaf()).sum().backward()


@says("returned an invalid gradient at index 1 - got [] but expected shape compatible with [4]")
def test_the_error_for_a_sum_too_many() -> None:
    apply = function(lambda ctx, x, w: x * w, lambda ctx, grad: (grad, grad.sum()))
    with pytest.raises(
        RuntimeError, match=r"invalid gradient at index 1 - got \[\] but expected shape compatible with"
    ):
        apply(torch.ones(2, 4), leaf(1.0, 1.0, 1.0, 1.0)).sum().backward()


@says("backward() takes 2 positional arguments but 3 were given")
def test_the_error_for_a_second_output() -> None:
    class Two(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x * 1, x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad

    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        Two.apply(leaf())[0].sum().backward()
