"""The transformer block whose activation memory chapters 02, 03 and 07 count."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Block(nn.Module):
    """A pre-norm transformer block, written so that every saved tensor can be pointed at.

    Attention is spelled out (no fused kernel): separate projections for q, k and v, scores divided after the product,
    softmax, then the product with v. The MLP is Linear, GELU, Linear. All Linears have biases; there is no dropout.

    Parameters
    ----------
    hidden : int
        Width of the residual stream, a multiple of `heads`.
    heads : int
        Number of attention heads.
    ffn : int
        Width of the MLP.
    causal : bool
        Whether a position may only look back. The mask is added: an addition saves nothing for backward, where
        `masked_fill` would keep its mask.
    """

    def __init__(self, hidden: int, heads: int, ffn: int, causal: bool = False) -> None:
        super().__init__()
        if heads < 1 or hidden % heads:
            raise ValueError(f"hidden must be a multiple of heads, but hidden is {hidden} and heads is {heads}.")
        self.heads = heads
        self.causal = causal
        self.norm1 = nn.LayerNorm(hidden)
        self.q = nn.Linear(hidden, hidden)
        self.k = nn.Linear(hidden, hidden)
        self.v = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, hidden)
        self.norm2 = nn.LayerNorm(hidden)
        self.up = nn.Linear(hidden, ffn)
        self.down = nn.Linear(ffn, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """Map [batch, seq, hidden] to the same shape."""
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))

    def attention(self, h: Tensor) -> Tensor:
        """Multi-head attention of the normed input [batch, seq, hidden]; the same shape comes back."""
        batch, seq, hidden = h.shape
        width = hidden // self.heads
        q, k, v = (p(h).view(batch, seq, self.heads, width).transpose(1, 2) for p in (self.q, self.k, self.v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width)  # [batch, heads, seq, seq]
        if self.causal:
            scores = scores + torch.full((seq, seq), -math.inf, dtype=h.dtype, device=h.device).triu(1)
        mixed = scores.softmax(dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, seq, hidden))
