"""One bill for one forward pass: from the figure predicted by hand to the measured peak, with the rest named."""

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
)
PEAK_ON_CPU = "peak, by the tracer"
PEAK_ON_GPU = "peak, by the allocator"
# Color, hatch and legend of each kind of bar.
_LOOK = {
    "hand": ("#8c8c8c", None, "predicted by hand"),
    "kept": ("#4c72b0", None, "seen by the hooks"),
    "less": ("#c44e52", "////", "kept, but not allocated then"),
    "more": ("#dd8452", None, "allocated then, but not kept"),
    "peak": ("#2f4b7c", None, "alive at the peak"),
}


@dataclass(frozen=True)
class Reconciliation:
    """Five figures in bytes that should tell one story, and what lies between the last two.

    Attributes
    ----------
    steps : dict of str to int
        "predicted by hand" (absent when nothing was predicted), "packed, every save", "without parameters",
        "one row per storage", and the peak: "peak, by the allocator" where the run allocated on a GPU, else "peak, by the
        tracer", which sees what tensors own and no scratch memory inside a kernel.
    residual : dict of str to int
        Signed bytes by name; they sum to the peak minus the storages.
    """

    steps: dict[str, int]
    residual: dict[str, int]

    def __str__(self) -> str:
        lines = [f"{name:<44}{nbytes:>16,}" for name, nbytes in self.steps.items()]
        lines.append(f"{'residual: peak minus storages':<44}{self.peak - self.kept:>+16,}")
        lines += [f"    {name:<40}{nbytes:>+16,}" for name, nbytes in self.residual.items()]
        return "\n".join(lines)

    @property
    def kept(self) -> int:
        """Bytes kept for backward, one row per storage."""
        return self.steps[_STEPS[3]]

    @property
    def peak(self) -> int:
        """Bytes alive at the highest moment, by whoever measured it."""
        return next(reversed(self.steps.values()))

    def plot(self) -> Any:
        """Draw a waterfall: each figure a bar, and between the last two each part of the residual where it belongs.

        Returns
        -------
        matplotlib.figure.Figure
        """
        import matplotlib.pyplot as plt
        from matplotlib.patches import Patch

        unit, name = scale(max(self.steps.values()))
        *counted, last = self.steps
        bars = [(step, 0, self.steps[step], "hand" if step == _STEPS[0] else "kept") for step in counted]
        end = self.kept
        for label, nbytes in self.residual.items():
            bars.append((label, end, nbytes, "more" if nbytes > 0 else "less"))
            end += nbytes
        bars.append((last, 0, self.peak, "peak"))

        figure, axes = plt.subplots(figsize=(9, 0.8 + 0.36 * len(bars)), layout="constrained", facecolor="white")
        for row, (_, start, nbytes, kind) in enumerate(bars):
            color, hatch, _ = _LOOK[kind]
            axes.barh(row, nbytes / unit, left=start / unit, color=color, hatch=hatch, edgecolor="white", height=0.65)
            sign = "+" if kind == "more" else ""
            right = max(start, start + nbytes) / unit
            axes.text(right, row, f" {sign}{nbytes / unit:,.1f} {name}", va="center", fontsize=9)
        axes.set_yticks(range(len(bars)), [label for label, *_ in bars], fontsize=9)
        axes.invert_yaxis()
        axes.set_xlabel(name)
        axes.margins(x=0.18)
        axes.spines[["top", "right"]].set_visible(False)
        shown = dict.fromkeys(kind for *_, kind in bars)
        looks = [_LOOK[kind] for kind in shown]
        handles = [Patch(facecolor=color, hatch=hatch, edgecolor="white", label=label) for color, hatch, label in looks]
        figure.legend(handles=handles, fontsize=8, loc="outside lower center", ncols=len(handles))
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
    figures = (predicted, ledger.packed_bytes, ledger.activation_bytes, ledger.storage_bytes)
    steps = {name: nbytes for name, nbytes in zip(_STEPS, figures, strict=True) if nbytes is not None}
    steps[PEAK_ON_CPU if seen.device_peak is None else PEAK_ON_GPU] = peak

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
