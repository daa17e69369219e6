"""The backward contract finds every planted fault, and lets pass what is right."""

from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional as F

from autograder.lab.functions import backward as raw
from autograder.lab.functions.contract import backward_contract

torch.set_num_threads(1)


def two(shape, dtype):
    return torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)


def row_weight(shape, dtype):
    return torch.randn(shape, dtype=dtype), torch.randn(shape[-1], dtype=dtype)


def silu_mul(gate, up):
    return F.silu(gate) * up


class Good(torch.autograd.Function):
    """silu(gate) * up; the broken ones below change one thing."""

    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return silu_mul(gate, up)

    @staticmethod
    def backward(ctx, grad):
        return gradients(grad, *ctx.saved_tensors, *ctx.needs_input_grad)


def gradients(grad, gate, up, first=True, second=True):
    sig = torch.sigmoid(gate)
    return (
        grad * up * sig * (1 + gate * (1 - sig)) if first else None,
        grad * gate * sig if second else None,
    )


def flat(tensor):
    """What a kernel reads that takes the pointer and ignores strides, wrapped where the storage is shorter."""
    storage = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())[tensor.storage_offset() :]
    return storage[torch.arange(tensor.numel()) % storage.numel()].reshape(tensor.shape)


class WrongFormula(Good):
    @staticmethod
    def backward(ctx, grad):
        one, two = gradients(grad, *ctx.saved_tensors)
        return -one, two


class Intermediate(Good):
    @staticmethod
    def forward(ctx, gate, up):
        sig = torch.sigmoid(gate)
        ctx.save_for_backward(gate, up, sig)
        return gate * sig * up

    @staticmethod
    def backward(ctx, grad):
        gate, up, sig = ctx.saved_tensors
        return (
            grad * up * sig * (1 + gate * (1 - sig)) if ctx.needs_input_grad[0] else None,
            grad * gate * sig if ctx.needs_input_grad[1] else None,
        )


class SilentKernel(Good):
    """What a kernel without once_differentiable does: a constant where a second derivative was asked."""

    @staticmethod
    def backward(ctx, grad):
        return tuple(g if g is None else g.detach() for g in Good.backward(ctx, grad))


class IgnoresStrideZero(Good):
    @staticmethod
    def backward(ctx, grad):
        if 0 in grad.stride():
            grad = torch.cat([grad.reshape(-1)[:1], torch.zeros(grad.numel() - 1, dtype=grad.dtype)]).reshape(
                grad.shape
            )
        return Good.backward(ctx, grad)


class IgnoresTranspose(Good):
    @staticmethod
    def backward(ctx, grad):
        return Good.backward(ctx, flat(grad) if grad.stride() == grad.t().contiguous().t().stride() else grad)


class IgnoresColumns(Good):
    @staticmethod
    def backward(ctx, grad):
        return Good.backward(ctx, flat(grad) if grad.dim() > 1 and grad.stride(0) > grad.shape[1] else grad)


class IgnoresInputStrides(Good):
    @staticmethod
    def backward(ctx, grad):
        return gradients(grad, *map(flat, ctx.saved_tensors), *ctx.needs_input_grad)


class OverwritesSaved(Good):
    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        one, two = gradients(grad, gate, up, *ctx.needs_input_grad)
        if one is not None:
            one = gate.data.copy_(one)
        return one, two


class EditsIncoming(Good):
    @staticmethod
    def backward(ctx, grad):
        found = Good.backward(ctx, grad)
        grad.data.mul_(2)
        return found


class RemembersCalls(Good):
    @staticmethod
    def backward(ctx, grad):
        ctx.calls = getattr(ctx, "calls", 0) + 1
        return Good.backward(ctx, grad * ctx.calls)


class MultiplesOfFour(Good):
    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        grad.view(-1)[grad.numel() // 4 * 4 :] = 0
        return Good.backward(ctx, grad)


class NoEmpty(Good):
    @staticmethod
    def forward(ctx, gate, up):
        gate.max()
        return Good.forward(ctx, gate, up)


class IgnoresNeeds(Good):
    @staticmethod
    def backward(ctx, grad):
        return gradients(grad, *ctx.saved_tensors)


class OnCtx(Good):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.pair = gate, up
        return silu_mul(gate, up)

    @staticmethod
    def backward(ctx, grad):
        return gradients(grad, *ctx.pair, *ctx.needs_input_grad)


class SavesData(Good):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate.data, up)
        return silu_mul(gate, up)


class EditsInput(Good):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        out = silu_mul(gate, up)
        up.data.zero_()
        return out


class HalfSum(torch.autograd.Function):
    """x * w with the sum over rows done in the input's own type, one row after another."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        total = torch.zeros_like(w)
        for row in grad * x:
            total = total + row
        return grad * w, total


PLANTED = [
    (WrongFormula, "gradcheck in float64"),
    (Intermediate, "double backward"),
    (SilentKernel, "double backward"),
    (IgnoresStrideZero, "gradient expanded (sum)"),
    (IgnoresTranspose, "gradient transposed"),
    (IgnoresColumns, "gradient column-sliced"),
    (IgnoresInputStrides, "strided inputs"),
    (OverwritesSaved, "second backward"),
    (OverwritesSaved, "nothing mutated"),
    (EditsIncoming, "two consumers"),
    (EditsIncoming, "nothing mutated"),
    (RemembersCalls, "second backward"),
    (MultiplesOfFour, "odd and empty sizes"),
    (NoEmpty, "odd and empty sizes"),
    (IgnoresNeeds, "only needed gradients"),
    (OnCtx, "saved tensors"),
    (OnCtx, "in-place edit is caught"),
    (SavesData, "in-place edit is caught"),
    (EditsInput, "nothing mutated"),
]


@pytest.mark.parametrize(("broken", "clause"), PLANTED, ids=lambda v: getattr(v, "__name__", v))
def test_finds_the_planted_fault(broken, clause):
    assert clause in backward_contract(broken.apply, two, half_types=()).failed


def test_finds_a_sum_in_a_half_type():
    tall = lambda shape, dtype: (1 + torch.rand(4096, shape[1], dtype=dtype), torch.randn(shape[1], dtype=dtype))
    failed = backward_contract(HalfSum.apply, tall, numeric=False).failed
    assert {"float16 against float64", "bfloat16 against float64"} <= set(failed)


@pytest.mark.parametrize(
    ("apply", "inputs"),
    [
        (Good.apply, two),
        (silu_mul, two),
        (torch.mul, two),
        (lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-5), row_weight),
        (lambda x, w: F.layer_norm(x, x.shape[-1:], w), row_weight),
        (lambda x, w: F.linear(x, w.expand(3, -1)), row_weight),
        (torch.softmax, lambda shape, dtype: (torch.randn(shape, dtype=dtype), -1)),
    ],
)
def test_lets_right_ones_pass(apply, inputs):
    report = backward_contract(apply, inputs, double_backward=True)
    assert report.failed == [], report


def test_a_refusal_is_clean_only_where_double_backward_is_not_promised():
    class Once(Good):
        backward = staticmethod(torch.autograd.function.once_differentiable(Good.backward))

    assert backward_contract(Once.apply, two, half_types=())["double backward"].verdict == "pass"
    assert backward_contract(Once.apply, two, half_types=(), double_backward=True).failed == ["double backward"]


def test_a_loss_without_shape_and_a_second_output_are_tried_too():
    loss = lambda x, y: (x.argmax(), F.mse_loss(x, y))
    assert backward_contract(loss, two, double_backward=True, sizes=((1, 1),)).failed == []


def test_what_a_broken_function_raises_is_reported_not_raised():
    class Raises(Good):
        @staticmethod
        def backward(ctx, grad):
            raise ValueError("no backward here\nsecond line")

    report = backward_contract(Raises.apply, two)
    assert report["second backward"].detail == "raised ValueError: no backward here"
    assert isinstance(report.raw["second backward"], ValueError)


def test_a_stub_says_that_it_is_not_written():
    def stub(gate, up):
        raise NotImplementedError

    with pytest.raises(NotImplementedError):
        backward_contract(stub, two)

    def refuses(gate, up):
        raise NotImplementedError("no rule for this dtype")

    assert "no rule for this dtype" in backward_contract(refuses, two)["gradcheck in float64"].detail


def test_the_report_reads_as_lines_and_escapes_html():
    report = backward_contract(torch.mul, two, double_backward=True, half_types=())
    lines = repr(report).splitlines()
    assert len(lines) == len(report.clauses) + 1
    assert lines[-1] == f"All {len(report.clauses)} clauses hold."
    assert report._repr_html_().count("<tr>") == len(report.clauses)


def test_it_leaves_the_generator_as_it_was():
    torch.manual_seed(3)
    expected = torch.randn(2)
    torch.manual_seed(3)
    backward_contract(torch.mul, two, double_backward=True, half_types=())
    assert torch.equal(torch.randn(2), expected)


def test_vjp_copies_its_inputs_and_keeps_their_strides():
    gate = torch.randn(4, 6).t()[1:]
    seen = []
    found = raw.vjp(lambda x: seen.append((x.stride(), x.storage_offset())) or x.mul(2.0), [gate], needs=[True])
    assert seen == [(gate.stride(), gate.storage_offset())]
    assert torch.equal(found[0], torch.full((5, 4), 2.0))
    assert not gate.requires_grad


def test_incoming_gradients_have_the_layouts_they_are_named_for():
    like = torch.zeros(3, 4)
    assert raw.incoming("expanded", like).stride() == (0, 0)
    assert raw.incoming("transposed", like).stride() == (1, 3)
    assert raw.incoming("sliced", like).stride() == (9, 1)
    assert all(raw.incoming(layout, torch.zeros(())).shape == () for layout in ("expanded", "transposed", "sliced"))


def test_work_counts_elements_written_and_no_views():
    x = torch.zeros(3, 4)
    with raw.count_work() as work:
        (x.t()[1:] + 1).sum()
    assert (work.ops, work.elements) == (["add", "sum"], 10)


def test_on_ctx_names_what_hides_from_save_for_backward():
    inputs = [torch.randn(2, requires_grad=True) for _ in range(2)]
    assert raw.on_ctx(OnCtx.apply(*inputs).grad_fn) == ["pair"]
    assert raw.on_ctx(Good.apply(*inputs).grad_fn) == []
    assert raw.on_ctx((inputs[0] * 2).grad_fn) == []


class OnCtxDeep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sig = x.sigmoid()
        ctx.rule, ctx.box, ctx.plain = (lambda grad: grad * sig), SimpleNamespace(sig=sig), (lambda grad: grad)
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return ctx.rule(grad)


def test_on_ctx_looks_into_closures_and_namespaces():
    assert raw.on_ctx(OnCtxDeep.apply(torch.randn(2, requires_grad=True)).grad_fn) == ["box", "rule"]


class Idle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        of_x = (y * 1).mul_(grad)  # edited in place, and still in vain when x is frozen
        assert not bool(grad.isnan().any())
        return (of_x if ctx.needs_input_grad[0] else None), (x.t().t() * grad if ctx.needs_input_grad[1] else None)


def test_idle_work_is_what_no_gradient_needed():
    inputs = [torch.randn(2, 3), torch.randn(2, 3)]
    assert raw.idle_work(Idle.apply, inputs).elements == 0
    assert raw.idle_work(Idle.apply, inputs, [True, False]).elements == 0
    wasted = raw.idle_work(Idle.apply, inputs, [False, True])
    assert wasted.ops[:1] == ["mul"] and wasted.elements >= 6
