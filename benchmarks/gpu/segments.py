"""The segments sweep of chapter 03: bytes and time of a deep chain, by the number of checkpointed segments."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

from autograder.lab.memory.sweep import sweep_segments
from benchmarks.gpu.machine import Machine

WHAT = (
    "One forward and backward pass of a chain of Linear and Tanh, by the number of segments. Peak of the allocator in "
    "bytes and in units of one layer's output, beside the model segments + layers / segments; time in milliseconds."
)


def measure(machine: Machine) -> dict[str, dict[str, int | float]]:
    """One row per number of segments, and one without checkpoints."""
    layers, rows, width = (8, 64, 32) if machine.dry else (64, 4096, 2048)
    counts = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= layers]
    chain = nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(layers)]).to(
        machine.device
    )
    batch = torch.randn(rows, width, device=machine.device)
    chain(batch).sum().backward()  # workspaces and .grad are there from now on
    unit = 4 * rows * width

    def step(segments: int) -> Any:
        out = checkpoint_sequential(chain, segments, batch, use_reentrant=False) if segments else chain(batch)
        out.sum().backward()

    machine.clear()
    found: dict[str, dict[str, int | float]] = {}
    for point in sweep_segments(step, [0, *counts], repeats=1 if machine.dry else 5):
        name = f"{point.segments} segment{'s' * (point.segments > 1)}" if point.segments else "no checkpoint"
        found[name] = {"peak, bytes": point.peak, "peak, units": point.peak / unit}
        if point.segments:
            found[name]["model, units"] = point.segments + -(-layers // point.segments)
        found[name]["time, ms"] = 1e3 * point.seconds
    return found
