"""The bill of a training step at a size that fills some gigabytes: by hand, by the lab's account, by the allocator."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from autograder.lab.memory.training_bill import training_bill
from autograder.lab.models.decoder import CHOICES, Config, Decoder
from benchmarks.gpu.activations import block_bytes
from benchmarks.gpu.machine import Machine

WHAT = (
    "Bytes of one training step (forward, backward, Adam) of a float32 decoder, by what its blocks keep. Fixed: weights and "
    "Adam's state. Activations by hand are the blocks' alone; by hooks everything that is saved, but not what a selective "
    "checkpoint keeps in a store of its own. Peak by our own account of tensors, and by the allocator."
)
VOCAB = 32_000
#: Largest first; the last one is for trying only. The second fits a device of 15 GB.
SIZES = (
    Config(batch=8, seq=1024, hidden=2048, heads=16, ffn=8192, layers=8),
    Config(batch=8, seq=512, hidden=1024, heads=16, ffn=4096, layers=8),
    Config(batch=2, seq=256, hidden=512, heads=8, ffn=2048, layers=8),
    Config(batch=1, seq=16, hidden=32, heads=2, ffn=64, layers=2),
)


def measure(machine: Machine) -> dict[str, dict[str, int | float | str]]:
    """One row per policy."""
    config = machine.largest(SIZES, need)
    return {policy: _row(machine, config, policy) for policy in CHOICES}


def need(config: Config) -> int:
    """Bytes that a step without checkpoints needs, roughly: four times the weights, all activations, the loss's logits."""
    params = 12 * config.layers * config.hidden**2 + 2 * VOCAB * config.hidden
    return 16 * params + by_hand(config, "none") + 16 * config.batch * config.seq * VOCAB


def by_hand(config: Config, policy: str) -> int:
    """The closed form of chapter 07: bytes that the blocks keep."""
    c, tokens = config, config.batch * config.seq
    n, scores = tokens * c.hidden, c.heads * tokens * c.seq
    per_layer = {
        "none": block_bytes(c.batch, c.seq, c.hidden, c.heads, c.ffn, c.itemsize),
        "selective": c.itemsize * (7 * n + scores + tokens * c.ffn),
        "full": c.itemsize * n,
    }
    return c.layers * per_layer[policy]


def _row(machine: Machine, config: Config, policy: str) -> dict[str, int | float | str]:
    machine.clear()
    vocab = 64 if machine.dry else VOCAB
    before = torch.cuda.memory_allocated() if machine.device.type == "cuda" else 0
    model = Decoder(vocab, config.hidden, config.heads, config.ffn, config.layers, max_seq=config.seq).to(
        machine.device
    )
    model.policy = [policy] * config.layers
    text = torch.randint(vocab, (config.batch, config.seq + 1), device=machine.device)
    adam = torch.optim.Adam(model.parameters())

    def loss() -> torch.Tensor:
        return F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())

    def step() -> None:
        adam.zero_grad(set_to_none=True)
        loss().backward()
        adam.step()

    bill = training_bill(model, loss, adam)
    fixed = bill.parts["weights"] + bill.parts["optimizer state"]
    adam.zero_grad(set_to_none=True)
    machine.clear()
    there = torch.cuda.memory_allocated() - before if machine.device.type == "cuda" else fixed
    peak = there + machine.peak(step)
    return {
        "size": f"batch {config.batch}, seq {config.seq}, hidden {config.hidden}, {config.layers} layers",
        "fixed, bytes": fixed,
        "activations by hand, bytes": by_hand(config, policy),
        "activations by hooks, bytes": bill.parts["activations"],
        "peak by our account, bytes": bill.peak,
        "peak by the allocator, bytes": peak,
        "difference, %": 100.0 * (peak - bill.peak) / bill.peak,
        "step, ms": machine.milliseconds(step, repeats=5),
    }
