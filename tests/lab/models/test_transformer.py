"""The block: causal where asked, and its activation memory equals the closed form."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.lab.memory.ledger import saved_ledger
from autograder.lab.models.transformer import Block


@settings(max_examples=30, deadline=None)
@given(
    batch=st.integers(1, 4),
    seq=st.integers(1, 8),
    heads=st.integers(1, 4),
    width=st.integers(1, 5),
    ffn=st.integers(1, 24),
    causal=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
)
def test_ledger_equals_the_closed_form(batch, seq, heads, width, ffn, causal, dtype):
    hidden = heads * width
    block = Block(hidden, heads, ffn, causal).to(dtype)
    x = torch.randn(batch, seq, hidden, dtype=dtype, requires_grad=True)
    n = batch * seq * hidden
    elements = 8 * n + heads * batch * seq**2 + 2 * batch * seq * ffn + 4 * batch * seq
    assert saved_ledger(block, x, params=block.parameters()).storage_bytes == elements * dtype.itemsize


def test_a_causal_block_does_not_look_ahead():
    block = Block(8, 2, 16, causal=True)
    x = torch.randn(2, 5, 8)
    other = x.clone()
    other[:, 3:] = torch.randn(2, 2, 8)
    assert torch.allclose(block(x)[:, :3], block(other)[:, :3], atol=1e-6)
    assert not torch.allclose(block(x)[:, 3:], block(other)[:, 3:], atol=1e-3)
    free = Block(8, 2, 16)
    assert not torch.allclose(free(x)[:, :3], free(other)[:, :3], atol=1e-6)


def test_attention_equals_torch():
    block = Block(12, 3, 8, causal=True).double()
    h = torch.randn(2, 6, 12, dtype=torch.float64)
    q, k, v = (p(h).view(2, 6, 3, 4).transpose(1, 2) for p in (block.q, block.k, block.v))
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(block.attention(h), block.out(mixed.transpose(1, 2).reshape(2, 6, 12)))


def test_hidden_must_be_a_multiple_of_heads():
    with pytest.raises(ValueError, match="multiple of heads"):
        Block(10, 3, 8)
