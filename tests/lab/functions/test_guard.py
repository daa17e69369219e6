"""Sentinels catch what a kernel writes outside, and tensors made under them behave as ordinary ones."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.lab.functions import kernels
from autograder.lab.functions.guard import PAD, sentinels

SMALL = st.lists(st.integers(0, 4), max_size=3)
DTYPES = st.sampled_from(
    [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool]
)


@given(SMALL, DTYPES)
def test_a_guarded_tensor_is_an_ordinary_tensor(shape, dtype):
    with sentinels() as guarded:
        zeros, empty = torch.zeros(shape, dtype=dtype), torch.empty(shape, dtype=dtype)
    assert (zeros.shape, zeros.dtype, zeros.stride()) == (tuple(shape), dtype, torch.zeros(shape).stride())
    assert not zeros.any()
    assert not zeros._is_view() and zeros.is_leaf
    if dtype.is_floating_point:
        assert empty.isnan().all()  # an element that nobody writes shows
    zeros.fill_(1)
    empty.fill_(1)
    assert all(pair == (0, 0) for pair in guarded.overwritten())


@given(st.integers(1, 50), st.integers(1, 200), st.sampled_from([torch.float32, torch.float16, torch.float64]))
def test_every_byte_written_outside_is_counted(size, over, dtype):
    with sentinels() as guarded:
        out = torch.empty(size, dtype=dtype)
    torch.as_strided(out, (size + over,), (1,)).fill_(1.25)
    torch.as_strided(out, (over,), (1,), out.storage_offset() - over).fill_(1.25)
    before, after = guarded.overwritten()[0]
    assert 0 < before <= over * dtype.itemsize
    assert 0 < after <= over * dtype.itemsize


def test_strides_of_the_copy_are_those_of_the_original():
    with sentinels() as guarded:
        copy = torch.empty_like(torch.randn(3, 4).t())
        placed = guarded.place(torch.randn(6)[::2])
    assert copy.stride() == (1, 4)
    assert placed.stride() == (2,)


def test_an_expanded_tensor_stays_one_number_in_memory():
    with sentinels() as guarded:
        placed = guarded.place(torch.tensor(2.0).expand(3, 4))
    assert (placed.stride(), placed.tolist()) == ((0, 0), [[2.0] * 4] * 3)


def test_a_copy_of_one_buffer_over_another_is_seen():
    with sentinels() as guarded:
        source, target = torch.zeros(4), torch.empty(4)
    wide = lambda t: torch.as_strided(t, (5,), (1,))
    wide(target).copy_(wide(source))
    assert guarded.overwritten()[1] == (0, 4)


def test_backward_inside_is_guarded_too():
    class Overruns(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            out = torch.empty_like(grad)
            torch.as_strided(out, (grad.numel() + 1,), (1,)).fill_(2.0)
            return out

    x = torch.randn(4, requires_grad=True)
    with sentinels() as guarded:
        Overruns.apply(x).sum().backward()
    assert torch.equal(x.grad, torch.full((4,), 2.0))
    assert [pair for pair in guarded.overwritten() if pair != (0, 0)] == [(0, 4)]


def test_nothing_is_guarded_outside():
    with sentinels() as guarded:
        pass
    torch.empty(3)
    assert guarded.overwritten() == []


def test_kernels_can_be_defined_but_not_launched_where_triton_is_missing(monkeypatch):
    monkeypatch.setattr(kernels, "has_triton", lambda: False)
    triton, tl = kernels.load_triton()

    @triton.jit
    def kernel(x, BLOCK: tl.constexpr):
        pass

    with pytest.raises(RuntimeError, match="Triton is not installed here"):
        kernel[(triton.cdiv(3, 2),)](torch.ones(3), BLOCK=2)


SCRIPT = """
import torch
from autograder.lab.functions.guard import PAD, sentinels
from autograder.lab.functions.kernels import load_triton
triton, tl = load_triton()

@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr, MASK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASK:
        tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)
    else:
        tl.store(out + i, tl.load(x + i))

for mask in (True, False):
    with sentinels() as guarded:
        x = guarded.place(torch.arange(20.0))
        out = torch.empty_like(x)
        copy[(1,)](x, out, 20, BLOCK=32, MASK=mask)
    print(torch.equal(x, out), [pair for pair in guarded.overwritten() if pair != (0, 0)])
"""


@pytest.mark.skipif(not kernels.has_triton() or torch.cuda.is_available(), reason="needs Triton's interpreter")
def test_a_kernel_without_a_mask_is_caught():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True []", "True [(0, 48)]"]
    assert PAD >= 4 * 32


@pytest.mark.skipif(not kernels.has_triton() or torch.cuda.is_available(), reason="needs Triton's interpreter")
def test_triton_imported_for_compiling_is_refused_with_a_sentence():
    script = "import triton.language\nfrom autograder.lab.functions.kernels import load_triton\nload_triton()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "Restart the kernel and run again." in done.stderr
