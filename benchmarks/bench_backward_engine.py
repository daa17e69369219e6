"""Does the reference engine of chapter 06 cost the same per node on small and on large graphs?

    python benchmarks/bench_backward_engine.py

Runs it on chains and on wide graphs of 1,000 to 100,000 nodes. Prints nanoseconds per node, and how much more a node
costs on the largest graph than on the smallest: 1 is linear, 100 quadratic. What lies above 1 is memory: a small one fits
into the processor's caches. The best of several runs counts, with the garbage collector off.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from autograder.lab.small_world.world import Tensor, chain
from tests.engines import reference

SIZES = (1_000, 10_000, 100_000)


def deep(nodes: int) -> Tensor:
    """One node after the other."""
    return chain(Tensor(torch.tensor(1.0), requires_grad=True), nodes)


def wide(nodes: int) -> Tensor:
    """Sums of products of one leaf with itself: many nodes are ready at once, many edges meet in one accumulator."""
    leaf = Tensor(torch.tensor(1.0), requires_grad=True)
    parts = [leaf * leaf for _ in range(nodes // 2)]
    while len(parts) > 1:
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)] + parts[len(parts) // 2 * 2 :]
    return parts[0]


def nanoseconds(run: Callable[[Tensor], object], build: Callable[[int], Tensor], nodes: int, repeats: int = 5) -> float:
    """The best time per node over fresh graphs."""
    best = float("inf")
    for _ in range(repeats):
        root = build(nodes)
        gc.collect()
        gc.disable()
        begin = time.perf_counter_ns()
        run(root)
        best = min(best, time.perf_counter_ns() - begin)
        gc.enable()
    return best / nodes


def main() -> None:
    torch.set_num_threads(1)
    backward, order = reference("backward"), reference("order")
    print(
        f"{'':<22}"
        + "".join(f"{size:>12,}" for size in SIZES)
        + "   nodes; ns per node; largest against smallest, and against the middle"
    )
    for name, run in (("backward", backward), ("order", lambda root: order(root.node))):
        for build in (deep, wide):
            costs = [nanoseconds(run, build, size) for size in SIZES]
            row = "".join(f"{cost:>12,.0f}" for cost in costs)
            print(
                f"{name + ', ' + build.__name__:<22}{row}   x {costs[-1] / costs[0]:.2f}  x {costs[-1] / costs[1]:.2f}"
            )


if __name__ == "__main__":
    main()
