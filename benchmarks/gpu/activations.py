"""Activation memory: the figure by hand, what hooks see, and what the allocator says, with the rest between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

from autograder.lab.memory.peak import trace
from autograder.lab.models.transformer import Block
from benchmarks.gpu.machine import Machine, in_blocks

WHAT = (
    "Bytes of activations after a forward pass whose result is held. By hand and hooks: what backward needs, the input "
    "included, parameters not. Expected: the same without the input, which is older, and with the result, every storage "
    "rounded up to the allocator's blocks of 512 bytes. Allocator: what it handed out for the forward pass. Rests of "
    "blocks: a free block is not split for less than 1 MiB. Unexplained: asked for by no tensor that we know. The peak is "
    "that of forward and backward: what tensors own by our own account, then the allocator's; what it has more is workspaces "
    "of kernels and rests of blocks, which are not told apart here. The last row: what the first matrix product leaves behind."
)


@dataclass(frozen=True)
class Case:
    """A forward pass, the parameters it uses, its input, and the bytes predicted by hand (None where nobody did)."""

    forward: Callable[[], Tensor]
    params: tuple[Tensor, ...]
    input: Tensor
    by_hand: int | None


def measure(machine: Machine) -> dict[str, dict[str, int | float]]:
    """One row per case."""
    left = workspaces(machine)  # before anything else multiplies
    rows: dict[str, dict[str, int | float]] = {}
    for name, make in CASES.items():
        machine.clear()
        rows[name] = row(machine, make(machine))
    return rows | {"workspaces of products": {"allocator, bytes": left}}


def row(machine: Machine, case: Case) -> dict[str, int | float]:
    """Measure one case."""

    def step() -> None:
        case.forward().sum().backward()

    step()  # workspaces and .grad are there from now on
    saved, alive = storages(case)
    hooks, expected, blocks = sum(saved), sum(alive), sum(map(in_blocks, alive))
    held = machine.held(case.forward)
    if machine.device.type != "cuda":
        held = held._replace(blocks=blocks)  # our own account knows no blocks
    found: dict[str, int | float] = {} if case.by_hand is None else {"by hand, bytes": case.by_hand}
    found |= {
        "hooks, bytes": hooks,
        "expected in blocks, bytes": blocks,
        "allocator, bytes": held.blocks,
        "rests of blocks, bytes": (held.blocks - held.requested) - (blocks - expected),
        "unexplained, bytes": held.requested - expected,
        "difference, %": 100.0 * (held.blocks - blocks) / blocks,
    }
    return found | {"peak of tensors, bytes": trace(step).peak, "peak of the allocator, bytes": machine.peak(step)}


def storages(case: Case) -> tuple[list[int], list[int]]:
    """Bytes of each storage that was saved, parameters left out, and of each that the forward pass made and left alive."""
    held: dict[int, torch.UntypedStorage] = {}

    def pack(tensor: Tensor) -> Tensor:
        held.setdefault(*_identity(tensor))
        return tensor.detach()  # an output holding itself would never be freed

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        result = case.forward()
    owned = {_identity(p)[0] for p in case.params}
    saved = {key: storage.nbytes() for key, storage in held.items() if key not in owned}
    made = saved | {key: storage.nbytes() for key, storage in map(_identity, _tensors(result))}
    made.pop(_identity(case.input)[0], None)
    return list(saved.values()), list(made.values())


def workspaces(machine: Machine) -> int:
    """Bytes that the first matrix product leaves allocated when its operands and its result are gone."""
    if machine.device.type != "cuda":
        return 0
    if hasattr(torch._C, "_cuda_clearCublasWorkspaces"):
        torch._C._cuda_clearCublasWorkspaces()
    machine.clear()
    before = torch.cuda.memory_allocated()
    square = torch.ones(512, 512, device=machine.device)
    (square @ square).sum()
    del square
    machine.clear()
    return torch.cuda.memory_allocated() - before


def mlp(machine: Machine) -> Case:
    """The MLP of chapter 02, larger."""
    batch, hidden, ffn = (64, 32, 128) if machine.dry else (8192, 2048, 8192)
    x, w1, w2 = (
        torch.randn(*shape, device=machine.device, requires_grad=True)
        for shape in ((batch, hidden), (hidden, ffn), (ffn, hidden))
    )
    return Case(lambda: F.silu(x @ w1) @ w2, (w1, w2), x, 4 * (batch * hidden + 2 * batch * ffn))


def _block(machine: Machine) -> tuple[Block, Tensor, int]:
    batch, seq, hidden, heads, ffn = (2, 16, 32, 4, 64) if machine.dry else (8, 512, 1024, 16, 4096)
    block = Block(hidden, heads, ffn).to(machine.device)
    x = torch.randn(batch, seq, hidden, device=machine.device, requires_grad=True)
    return block, x, block_bytes(batch, seq, hidden, heads, ffn)


def block_bytes(batch: int, seq: int, hidden: int, heads: int, ffn: int, itemsize: int = 4) -> int:
    """The closed form of chapter 02's exercise of the same name."""
    return itemsize * (8 * batch * seq * hidden + heads * batch * seq**2 + 2 * batch * seq * ffn + 4 * batch * seq)


def block(machine: Machine) -> Case:
    """The transformer block of chapter 02."""
    block, x, by_hand = _block(machine)
    return Case(lambda: block(x), tuple(block.parameters()), x, by_hand)


def autocast_block(machine: Machine) -> Case:
    """The block under autocast: copies of the weights in the half type are saved, and nobody owns them beside the graph."""
    block, x, _ = _block(machine)

    def forward() -> Tensor:
        with torch.autocast(machine.device.type, dtype=machine.half):
            return block(x)

    return Case(forward, tuple(block.parameters()), x, None)


def _chain(machine: Machine, segments: int) -> Case:
    rows, width, layers = (64, 32, 4) if machine.dry else (4096, 2048, 16)
    chain = [nn.Sequential(nn.Linear(width, width), nn.Tanh()).to(machine.device) for _ in range(layers)]
    x = torch.randn(rows, width, device=machine.device, requires_grad=True)
    runs = (
        [nn.Sequential(*chain[i : i + layers // segments]) for i in range(0, layers, layers // segments)]
        if segments
        else []
    )

    def forward() -> Tensor:
        out = x
        for run in runs or chain:
            out = checkpoint(run, out, use_reentrant=False) if segments else run(out)
        return out

    params = tuple(p for layer in chain for p in layer.parameters())
    # Plain: the input, and every tanh's output, which the next layer saves as well. Checkpointed: one input per segment.
    return Case(forward, params, x, 4 * rows * width * (segments or layers + 1))


CASES: dict[str, Callable[[Machine], Case]] = {
    "MLP": mlp,
    "block": block,
    "block, autocast": autocast_block,
    "chain": lambda machine: _chain(machine, 0),
    "chain, 4 checkpoints": lambda machine: _chain(machine, 4),
}


def _identity(tensor: Tensor) -> tuple[int, torch.UntypedStorage]:
    storage = tensor.untyped_storage()
    return storage._cdata, storage


def _tensors(tree: Any) -> Iterable[Tensor]:
    return (leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor))
