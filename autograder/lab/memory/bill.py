"""One bill for one forward pass: from the figure predicted by hand to the allocator's peak, with the rest named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from .ledger import saved_ledger
from .peak import Trace, Tracer
from .timeline import scale

_STEPS = (
    "predicted by hand",
    "packed, every save",
    "without parameters",
    "one row per storage",
    "peak of the allocator",
)


@dataclass(frozen=True)
class Reconciliation:
    """Five figures in bytes that should tell one story, and what lies between the last two.

    Attributes
    ----------
    steps : dict of str to int
        "predicted by hand" (absent when nothing was predicted), "packed, every save", "without parameters",
        "one row per storage", "peak of the allocator".
    residual : dict of str to int
        Signed bytes by name; they sum to the peak minus the storages.
    """

    steps: dict[str, int]
    residual: dict[str, int]

    def __str__(self) -> str:
        lines = [f"{name:<44}{nbytes:>16,}" for name, nbytes in self.steps.items()]
        gap = self.steps[_STEPS[4]] - self.steps[_STEPS[3]]
        lines.append(f"{'residual: peak minus storages':<44}{gap:>+16,}")
        lines += [f"    {name:<40}{nbytes:>+16,}" for name, nbytes in self.residual.items()]
        return "\n".join(lines)

    def plot(self) -> Any:
        """Draw the figures as horizontal bars, the last one stacked from storages and residual.

        Returns
        -------
        matplotlib.figure.Figure
        """
        import matplotlib.pyplot as plt

        unit, name = scale(max(self.steps.values()))
        figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained", facecolor="white")
        for row, nbytes in enumerate(self.steps.values()):
            axes.barh(row, nbytes / unit, color="#4c72b0" if row else "#8c8c8c", height=0.6)
            axes.text(nbytes / unit, row, f" {nbytes:,} B", va="center", fontsize=9)
        # The last bar once more: what the ledger explains, less what is older than the run, then every rest on top.
        row = len(self.steps) - 1
        negative = sum(nbytes for nbytes in self.residual.values() if nbytes < 0)
        left = (self.steps[_STEPS[3]] + negative) / unit
        rests = [(label, nbytes) for label, nbytes in self.residual.items() if nbytes > 0]
        for (label, nbytes), color in zip(rests, ("#dd8452", "#ccb974", "#c44e52", "#937860"), strict=False):
            axes.barh(row, nbytes / unit, left=left, color=color, height=0.6, label=label)
            left += nbytes / unit
        axes.set_yticks(range(len(self.steps)), list(self.steps))
        axes.invert_yaxis()
        axes.set_xlabel(name)
        axes.margins(x=0.22)
        if rests:
            axes.legend(title="alive at the peak, not saved", fontsize=8, title_fontsize=8)
        plt.close(figure)  # the caller shows it; nothing is drawn twice
        return figure


def reconcile(
    fn: Callable[..., Any], *args: Any, params: Iterable[Tensor] = (), predicted: int | None = None
) -> Reconciliation:
    """Run the forward pass `fn(*args)` twice, once under the ledger and once under the tracer, and compare the figures.

    Parameters
    ----------
    fn : callable
        A forward pass; it allocates the same on every call.
    params : iterable of Tensor
        Tensors whose storages are not activations.
    predicted : int, optional
        Bytes of activations as computed by hand.

    Returns
    -------
    Reconciliation
    """
    ledger = saved_ledger(fn, *args, params=params)
    seen, fresh = _traced(fn, *args)
    peak = seen.peak if seen.device_peak is None else seen.device_peak
    figures = (predicted, ledger.packed_bytes, ledger.activation_bytes, ledger.storage_bytes, peak)
    steps = {name: nbytes for name, nbytes in zip(_STEPS, figures, strict=True) if nbytes is not None}

    residual: dict[str, int] = {}
    if older := ledger.storage_bytes - fresh:
        residual["saved, but older than the run (inputs)"] = -older
    if later := sum(p.nbytes for p in seen.pieces if p.saved) - sum(p.nbytes for p in seen.at_peak if p.saved):
        residual["saved, but not alive at the peak"] = -later
    unsaved: Counter[str] = Counter()
    for piece in seen.at_peak:
        if not piece.saved:
            unsaved[piece.op] += piece.nbytes
    residual |= {f"made by {op}, not saved": nbytes for op, nbytes in unsaved.most_common()}
    if seen.device_peak is not None:
        residual["allocator: rounding, kernel workspaces"] = seen.device_peak - seen.peak
    return Reconciliation(steps, residual)


def _traced(fn: Callable[..., Any], *args: Any) -> tuple[Trace, int]:
    """A trace whose pieces know whether autograd packed them, and the bytes of those that it did."""
    tracer = Tracer()

    def pack(tensor: Tensor) -> Tensor:
        piece = tracer.piece(tensor)
        if piece is not None:
            piece.saved = True
        return tensor.detach()  # an output holding itself would never be freed

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        seen = tracer.run(fn, *args)
    return seen, sum(piece.nbytes for piece in seen.pieces if piece.saved)
