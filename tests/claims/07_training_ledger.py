"""What chapter 07 says about PyTorch and no cell of it prints."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from autograder.lab.memory.ledger import saved_ledger
from autograder.lab.models.decoder import run_blocks, stored_tensors
from autograder.lab.models.transformer import Block
from tests.claims.quoting import says


class Operations(TorchDispatchMode):
    """Names of the operations that ran while it was on."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def saved_shapes(fn: Any) -> list[tuple[int, ...]]:
    seen: list[tuple[int, ...]] = []

    def pack(tensor: Tensor) -> Tensor:
        seen.append(tuple(tensor.shape))
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn()
    return seen


@says("an addition saves nothing, while `masked_fill` would keep its mask for backward.")
def test_an_added_mask_is_not_saved() -> None:
    scores = torch.ones(3, 3, requires_grad=True)
    mask = torch.ones(3, 3).triu(1)
    assert saved_shapes(lambda: scores + mask) == []
    assert saved_shapes(lambda: scores.masked_fill(mask.bool(), 0.0)) == [(3, 3)]


@says(
    "Only operations such as matrix products run in bfloat16.",
    "What they save is bfloat16 too, and a bfloat16 copy of each weight comes on top until backward.",
)
def test_autocast_saves_bfloat16_and_a_copy_of_the_weight() -> None:
    layer = nn.Linear(64, 64)
    x = torch.randn(8, 64, requires_grad=True)

    def run() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = layer(x)
            assert (out.dtype, out.exp().dtype, out.float().softmax(-1).dtype) == (
                torch.bfloat16,
                torch.bfloat16,
                torch.float32,
            )
            assert torch.exp(x).dtype == (x + 1.0).dtype == torch.float32

    rows = [
        (tuple(entry.shape), entry.dtype)
        for entry in saved_ledger(run, params=layer.parameters()).entries
        if entry.dtype == torch.bfloat16
    ]
    assert ((64, 64), torch.bfloat16) in rows
    assert ((8, 64), torch.bfloat16) in rows


@says('"sgd": no state. "sgd_momentum": one value per parameter. "adam": two.')
def test_what_optimizers_keep() -> None:
    p = nn.Parameter(torch.ones(4, dtype=torch.bfloat16))
    for make, count in (
        (lambda: torch.optim.SGD([p], lr=0.1), 0),
        (lambda: torch.optim.SGD([p], lr=0.1, momentum=0.9), 1),
        (lambda: torch.optim.Adam([p]), 2),
    ):
        optimizer = make()
        p.grad = torch.ones_like(p)
        optimizer.step()
        kept = [v for v in optimizer.state[p].values() if isinstance(v, Tensor) and v.shape == p.shape]
        assert [v.dtype for v in kept] == [torch.bfloat16] * count


@says(
    "A dtype knows its size: `torch.bfloat16.itemsize` is 2.",
    "A dtype knows its size, also one that no table of yours has: param_dtype.itemsize.",
)
def test_a_dtype_knows_its_size() -> None:
    assert torch.bfloat16.itemsize == 2
    assert torch.float8_e4m3fn.itemsize == 1


@says(
    "Those products sit in the checkpoint's own store, where saved-tensor hooks do not see them, so the measurement adds the store to the ledger."
)
def test_hooks_do_not_see_what_selective_checkpoints_store() -> None:
    block, stores = Block(8, 2, 16, causal=True), []
    x = torch.randn(1, 4, 8, requires_grad=True)
    seen: list[int] = []
    kept: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        seen.append(tensor.untyped_storage()._cdata)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        out = run_blocks([block], x, ["selective"], stores)
        kept += stored_tensors(stores)
    assert len(kept) == 8
    assert not {t.untyped_storage()._cdata for t in kept} & set(seen)
    del out


@says(
    "Selective redoes no matrix product, so it shows 0.",
    "It does redo norms, softmax and GELU, which take time but few FLOPs; torch's FLOP counter leaves them out.",
)
def test_selective_redoes_norms_softmax_and_gelu() -> None:
    block = Block(8, 2, 16, causal=True)
    x = torch.randn(1, 4, 8, requires_grad=True)
    loss = run_blocks([block], x, ["selective"]).sum()
    with Operations() as again:
        loss.backward()
    plain = run_blocks([block], x, ["none"]).sum()
    with Operations() as usual:
        plain.backward()
    more = {name: again.names.count(name) - usual.names.count(name) for name in {*again.names, *usual.names}}
    assert more["native_layer_norm"] == 2
    assert more["_softmax"] == more["gelu"] == 1
    assert not any(more.get(name, 0) for name in ("mm", "bmm", "addmm", "baddbmm"))
    with FlopCounterMode(display=False) as counter:
        F.gelu(F.layer_norm(torch.randn(4, 8), (8,)).softmax(-1))
    assert counter.get_total_flops() == 0


@says("It pays with a second run of the product that makes the scores, and of their softmax.")
def test_a_checkpointed_core_redoes_scores_and_softmax() -> None:
    def core(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.transpose(-2, -1)).softmax(-1) @ v

    counts = []
    for run in (core, lambda *qkv: checkpoint(core, *qkv, use_reentrant=False)):
        out = run(*(torch.randn(1, 2, 4, 3, requires_grad=True) for _ in range(3))).sum()
        with Operations() as seen:
            out.backward()
        counts.append((seen.names.count("bmm"), seen.names.count("_softmax")))
    assert counts == [(4, 0), (5, 1)]


@says("the block then keeps 8n + 2·batch·seq·ffn + 4·batch·seq elements")
def test_a_block_that_redoes_its_scores_keeps_what_is_linear_in_the_sequence() -> None:
    class ScoresRedone(Block):
        def attention(self, h: Tensor) -> Tensor:
            q, k, v = (p(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (self.q, self.k, self.v))
            core = lambda q, k, v: (q @ k.transpose(-2, -1)).softmax(-1) @ v
            return self.out(checkpoint(core, q, k, v, use_reentrant=False).transpose(1, 2).flatten(2))

    for batch, seq, hidden, ffn in ((2, 5, 8, 12), (1, 16, 4, 20)):
        block = ScoresRedone(hidden, 2, ffn)
        x = torch.randn(batch, seq, hidden, requires_grad=True)
        kept = saved_ledger(lambda block=block, x=x: block(x), params=block.parameters()).storage_bytes
        assert kept == 4 * (8 * batch * seq * hidden + 2 * batch * seq * ffn + 4 * batch * seq)


@says(
    "the last norm saves its input and two statistics per token, and the head saves its input",
    "the loss saves the log-probabilities, T · vocab elements.",
    "the loss, its first gradient and the total weight that the loss saves are single numbers.",
)
def test_what_norm_head_and_loss_save() -> None:
    norm, head = nn.LayerNorm(8), nn.Linear(8, 50, bias=False)
    x = torch.randn(6, 8, requires_grad=True)
    targets = torch.randint(50, (6,))
    ours = [s for s in saved_shapes(lambda: norm(x)) if s != (8,)]  # the norm's weight and bias aside
    assert sorted(ours) == [(6, 1), (6, 1), (6, 8)]
    logits = head(norm(x))
    assert sorted(saved_shapes(lambda: F.cross_entropy(logits, targets))) == [(), (6,), (6, 50), (6, 50)]
    rows = [e for e in saved_ledger(lambda: F.cross_entropy(logits, targets)).entries if tuple(e.shape) == (6, 50)]
    assert len({e.storage for e in rows}) == 1  # the log-probabilities, saved by two operations


@says("`zero_grad` sets them to None, and it matters when you call it.")
def test_zero_grad_sets_gradients_to_none() -> None:
    layer = nn.Linear(2, 2)
    layer(torch.ones(1, 2)).sum().backward()
    torch.optim.SGD(layer.parameters(), lr=0.1).zero_grad()
    assert layer.weight.grad is None


@says("that moves the policy. A ratio of 1 is a number; its gradient comes from the graph behind it.")
def test_a_ratio_of_one_has_a_gradient() -> None:
    logp = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    advantages = torch.tensor([[-1.0], [0.0], [1.0]], dtype=torch.float64)
    ratio = (logp - logp.detach()).exp()
    loss = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
    loss.backward()
    assert loss.item() == 0.0
    assert torch.allclose(logp.grad, -advantages.expand(3, 2) / 6)


@says("`F.scaled_dot_product_attention` saves no tensor with seq² elements.")
def test_fused_attention_saves_no_scores() -> None:
    seq, width = 128, 16
    q, k, v = (torch.randn(1, 2, seq, width, requires_grad=True) for _ in range(3))
    shapes = saved_shapes(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
    assert shapes
    assert all(torch.Size(s).numel() <= 2 * seq * width for s in shapes)


@says(
    "Inference tensors cannot be saved for backward",
    "Tokens (an index, which gather saves), advantages or old log-probabilities came straight from the rollout.",
)
def test_an_index_from_inference_mode_cannot_be_saved() -> None:
    with torch.inference_mode():
        index = torch.zeros(1, 1, dtype=torch.int64)
        factor = torch.ones(1, 1)
    x = torch.randn(1, 3, requires_grad=True)
    for use in (lambda: x.gather(1, index), lambda: x * factor):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            use()
    x.gather(1, index.clone()).sum().backward()


@says(
    "element 0 of tensors does not require grad and does not have a grad_fn",
    "The loss has no graph: the training pass ran inside the rollout's `with` block, or logp is the rollout's own.",
)
def test_a_loss_without_a_graph_has_no_backward() -> None:
    weight = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        loss = (weight * 2).sum()
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        loss.backward()


@says("Two slices differ by one.", "Advantages have shape [B]; the ratio has [B, new_tokens].")
def test_what_torch_says_of_shapes_that_do_not_fit() -> None:
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(7\) must match the size of tensor b \(8\)"):
        torch.ones(5, 7) - torch.ones(5, 8)
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(8\) must match the size of tensor b \(5\)"):
        torch.ones(5, 8) * torch.ones(5)
    with pytest.raises(RuntimeError, match="Size does not match at dimension 1"):
        torch.ones(5, 7, 3).gather(2, torch.zeros(5, 8, 1, dtype=torch.int64))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@says("it rounds every tensor up, and it counts whatever else is on the device")
def test_the_allocator_rounds_up() -> None:
    before = torch.cuda.memory_allocated()
    one = torch.zeros(1, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() - before > one.numel()
