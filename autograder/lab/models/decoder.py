"""The small decoder-only transformer of chapter 07, with a choice per layer of what it keeps for backward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from autograder.lab.models.transformer import Block

CHOICES = ("none", "selective", "full")

_aten = torch.ops.aten
_PRODUCTS = {_aten.mm.default, _aten.addmm.default, _aten.bmm.default, _aten.baddbmm.default}


@dataclass(frozen=True)
class Config:
    """Sizes of a stack of transformer blocks and of the batch that goes through it.

    Attributes
    ----------
    batch, seq : int
        Sequences per step, tokens per sequence.
    hidden, heads, ffn, layers : int
        As in `Block`, and how many blocks.
    itemsize : int
        Bytes per element: 4 for float32, 2 for bfloat16.
    """

    batch: int
    seq: int
    hidden: int
    heads: int
    ffn: int
    layers: int
    itemsize: int = 4


class Decoder(nn.Module):
    """Token ids in, next-token logits out: embeddings, causal blocks, a norm, and a linear head without bias.

    Parameters
    ----------
    vocab : int
        Number of tokens.
    hidden, heads, ffn, layers : int
        As in `Config`.
    max_seq : int
        Most tokens per sequence.

    Attributes
    ----------
    policy : list of str
        One of `CHOICES` per block: keep everything, keep the products, or keep the input only.
    """

    def __init__(self, vocab: int, hidden: int, heads: int, ffn: int, layers: int, max_seq: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab, hidden)
        self.positions = nn.Embedding(max_seq, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads, ffn, causal=True) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, vocab, bias=False)
        self.policy = ["none"] * layers

    def forward(self, tokens: Tensor) -> Tensor:
        """Map token ids [batch, seq] to logits [batch, seq, vocab]."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(places)
        return self.head(self.norm(run_blocks(self.blocks, x, self.policy)))


def run_blocks(blocks: Any, x: Tensor, policy: Sequence[str], stores: list[Any] | None = None) -> Tensor:
    """Run blocks one after the other, each under its own choice.

    Parameters
    ----------
    blocks : iterable of nn.Module
    x : Tensor
        [batch, seq, hidden].
    policy : sequence of str
        One of `CHOICES` per block.
    stores : list, optional
        Receives the store of each selective block: what its checkpoint keeps outside saved-tensor hooks.
    """

    def contexts() -> Any:
        pair = create_selective_checkpoint_contexts(_save_products)
        if stores is not None:
            stores.append(pair[0].storage)
        return pair

    for block, choice in zip(blocks, policy, strict=True):
        if choice == "none":
            x = block(x)
        elif choice == "selective":
            x = checkpoint(block, x, use_reentrant=False, context_fn=contexts)
        elif choice == "full":
            x = checkpoint(block, x, use_reentrant=False)
        else:
            raise ValueError(f"A block's policy is one of {', '.join(CHOICES)}, not {choice!r}.")
    return x


def stored_tensors(store: Any) -> Iterator[Tensor]:
    """The tensors in a selective checkpoint's store, wherever this version of torch puts them."""
    if isinstance(store, Tensor):
        yield store
    elif isinstance(store, dict):
        for value in store.values():
            yield from stored_tensors(value)
    elif isinstance(store, (list, tuple)):
        for value in store:
            yield from stored_tensors(value)
    elif isinstance(value := getattr(store, "val", None), Tensor):
        yield value


def _save_products(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if op in _PRODUCTS else CheckpointPolicy.PREFER_RECOMPUTE
