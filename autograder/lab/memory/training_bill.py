"""What one training step costs: bytes by kind, predicted and measured, and the FLOPs that a policy redoes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from autograder.lab.memory.ledger import saved_ledger
from autograder.lab.memory.peak import Tracer
from autograder.lab.memory.timeline import scale
from autograder.lab.models.decoder import CHOICES, Config, run_blocks, stored_tensors
from autograder.lab.models.transformer import Block

KINDS = ("weights", "gradients", "optimizer state", "activations", "temporaries")
_COLORS = ("#4c72b0", "#dd8452", "#937860", "#55a868", "#c44e52")


def kept_by_blocks(config: Config, policy: Sequence[str]) -> int:
    """Measure what causal blocks keep for backward under a policy, in bytes.

    Parameters
    ----------
    config : Config
        `itemsize` 4 or 8: float32 or float64 is run.
    policy : sequence of str
        One choice per layer.

    Returns
    -------
    int
        Distinct storages seen by saved-tensor hooks, parameters left out, and what selective checkpoints keep in stores
        of their own.
    """
    blocks, x = _blocks(config)
    stores: list[Any] = []
    stored: dict[int, int] = {}

    def forward() -> None:
        kept = run_blocks(blocks, x, policy, stores)
        # Read now: backward, and whoever looks at saved tensors, empties the stores.
        for tensor in stored_tensors(stores):
            stored[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        del kept

    ledger = saved_ledger(forward, params=blocks.parameters())
    return ledger.storage_bytes + sum(stored.values())


def flops_redone(config: Config, policy: Sequence[str]) -> int:
    """Count, with torch's own counter, the FLOPs of matrix products that backward runs once more under a policy."""
    from torch.utils.flop_counter import FlopCounterMode  # loads Triton where there is one, which takes a moment

    blocks, x = _blocks(config)
    counts = []
    for choices in (policy, ["none"] * config.layers):
        counter = FlopCounterMode(display=False)
        with counter:
            run_blocks(blocks, x, choices).sum().backward()
        counts.append(counter.get_total_flops())
    return counts[0] - counts[1]


def layer_choices(config: Config) -> dict[str, tuple[int, int]]:
    """What one layer costs under each choice, measured: keep, selective, full -> (bytes held, FLOPs redone)."""
    one = Config(config.batch, config.seq, config.hidden, config.heads, config.ffn, 1, config.itemsize)
    names = dict(zip(CHOICES, ("keep", "selective", "full"), strict=True))
    return {names[c]: (kept_by_blocks(one, [c]), flops_redone(one, [c])) for c in CHOICES}


def _blocks(config: Config) -> tuple[nn.ModuleList, Tensor]:
    dtype = {4: torch.float32, 8: torch.float64}[config.itemsize]
    blocks = nn.ModuleList(Block(config.hidden, config.heads, config.ffn, causal=True) for _ in range(config.layers))
    x = torch.randn(config.batch, config.seq, config.hidden, dtype=dtype, requires_grad=True)
    return blocks.to(dtype), x


@dataclass(frozen=True)
class Bill:
    """Bytes of one training step by kind; `peak` is what was alive at once, weights and optimizer state included.

    Attributes
    ----------
    parts : dict of str to int
        The `KINDS`. Temporaries are what was alive at the peak and is none of the others.
    peak : int
        The sum of what was alive at the peak. A gradient that comes later is in `parts` and not in the peak.
    at_peak : str
        The operation that reached the peak.
    alive : dict of str to int
        The peak by kind: of each of the `KINDS`, how much was alive then. Adds up to `peak`.
    """

    parts: dict[str, int]
    peak: int
    at_peak: str
    alive: dict[str, int]


def training_bill(model: nn.Module, loss_fn: Callable[[], Tensor], optimizer: torch.optim.Optimizer) -> Bill:
    """Measure one training step: forward, backward, optimizer step.

    Parameters
    ----------
    model : nn.Module
        Its parameters are the weights.
    loss_fn : callable
        Runs the model and returns the loss.
    optimizer : torch.optim.Optimizer
        One step is taken before, so that its state exists; the model changes by two steps.

    Returns
    -------
    Bill
        Step counters of the optimizer are left out.
    """
    params = [p for p in model.parameters() if p.requires_grad]

    def one_step(tracer: Tracer | None = None) -> list[Any]:
        loss = loss_fn()
        loss.backward()
        made = [] if tracer is None else [tracer.piece(p.grad) for p in params if p.grad is not None]
        optimizer.step()
        return made

    optimizer.zero_grad(set_to_none=True)
    one_step()
    optimizer.zero_grad(set_to_none=True)
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    state = sum(
        value.numel() * value.element_size()
        for per_parameter in optimizer.state.values()
        for value in per_parameter.values()
        if isinstance(value, Tensor) and value.dim() > 0
    )

    tracer = Tracer()
    packed: list[Any] = []
    gradients: list[Any] = []

    def pack(tensor: Tensor) -> Tensor:
        packed.append(tracer.piece(tensor))
        return tensor

    def traced() -> None:
        with saved_tensors_hooks(pack, lambda tensor: tensor):
            gradients.extend(one_step(tracer))

    trace = tracer.run(traced)
    saved, grads = {id(p): p for p in packed if p is not None}, {id(p): p for p in gradients if p is not None}
    alive = {
        "weights": weights,
        "gradients": sum(p.nbytes for p in trace.at_peak if id(p) in grads),
        "optimizer state": state,
        "activations": sum(p.nbytes for p in trace.at_peak if id(p) in saved and id(p) not in grads),
        "temporaries": sum(p.nbytes for p in trace.at_peak if id(p) not in saved and id(p) not in grads),
    }
    parts = alive | {
        "gradients": sum(p.nbytes for p in grads.values()),
        "activations": sum(p.nbytes for p in saved.values()),
    }
    top = max(trace.moments, key=lambda moment: moment.live)
    return Bill(parts, weights + state + trace.peak, f"{top.op} ({top.phase})", alive)


def plot_bills(bills: Mapping[str, Mapping[str, int]], peak: int | None = None, title: str = "") -> Any:
    """Draw bills as stacked bars of bytes.

    Parameters
    ----------
    bills : mapping
        For each bar its name and bytes by kind; every bar has the same kinds, in the same order.
    peak : int, optional
        Bytes alive at once; a line across all bars, so that one sees which bars go beyond it.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    longest = max(sum(parts.values()) for parts in bills.values())
    unit, name = scale(longest)
    figure, axes = plt.subplots(figsize=(8.5, 1.3 + 0.55 * len(bills)), layout="constrained", facecolor="white")
    for row, parts in enumerate(bills.values()):
        left = 0.0
        for (kind, nbytes), color in zip(parts.items(), _COLORS, strict=False):
            axes.barh(row, nbytes / unit, left=left, height=0.6, color=color, label=kind if row == 0 else None)
            left += nbytes / unit
        axes.text(left + longest / unit / 100, row, f"{sum(parts.values()) / unit:,.2f}", va="center", fontsize=9)
    if peak is not None:
        axes.axvline(peak / unit, color="#1f2328", lw=1.2, ls="--")
        mark: dict[str, Any] = {"xytext": (0, 2), "textcoords": "offset points", "ha": "center", "va": "bottom"}
        axes.annotate("peak", (peak / unit, 1), xycoords=axes.get_xaxis_transform(), fontsize=9, **mark)
    axes.set_yticks(range(len(bills)), list(bills))
    axes.invert_yaxis()
    axes.set_xlabel(name)
    axes.set_xlim(0, 1.12 * longest / unit)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncol=len(_COLORS), fontsize=8, frameon=False)
    if title:
        axes.set_title(title, fontsize=10, loc="left")
    plt.close(figure)  # the caller shows it; nothing is drawn twice
    return figure


def plot_plans(
    layers: Sequence[Mapping[str, tuple[int, int]]],
    plan: Callable[[list[Any], int], list[str]],
    budgets: Sequence[int],
    others: int = 400,
) -> Any:
    """Draw what `plan` chooses under each budget among random choices: bytes held against FLOPs redone.

    Parameters
    ----------
    layers : sequence of mapping
        Per layer: keep, selective, full -> (bytes held, FLOPs redone).
    plan : callable
        `plan(layers, budget)`; a ValueError leaves that budget out.
    budgets : sequence of int
        In bytes.
    others : int
        How many random choices to draw as dots.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    def total(choice: Sequence[str]) -> tuple[int, int]:
        chosen = [layer[name] for layer, name in zip(layers, choice, strict=True)]
        return sum(held for held, _ in chosen), sum(redone for _, redone in chosen)

    draws = random.Random(0)
    dots = []
    for _ in range(others):
        share = draws.random()  # so that all mixes are met, not only the even ones
        dots.append(total(["full" if draws.random() < share else draws.choice(("keep", "selective")) for _ in layers]))
    points = []
    for budget in budgets:
        with suppress(ValueError):
            points.append(total(plan(list(layers), budget)))
    unit, name = scale(max(held for held, _ in dots + points))
    figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained", facecolor="white")
    axes.plot([h / unit for h, _ in dots], [f / 1e6 for _, f in dots], ".", color="#b0b7c3", label="random choices")
    if points:
        held, redone = zip(*sorted(set(points)), strict=True)
        axes.step(
            [h / unit for h in held], [f / 1e6 for f in redone], "o-", where="post", color="#c44e52", label="your plan"
        )
    axes.set_xlabel(f"held for backward, {name}")
    axes.set_ylabel("redone in backward, MFLOP")
    axes.legend(frameon=False)
    plt.close(figure)
    return figure
