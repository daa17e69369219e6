"""What the three modes cost: small operators, timed in turn under grad, no_grad and inference_mode."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

MODES = ("grad", "no_grad", "inference_mode")
_COLORS = ("#4c72b0", "#dd8452", "#55a868")  # told apart by lightness too, on white and on black


def mode(name: str) -> Any:
    """A context that is in the named mode, whatever the caller is in."""
    if name == "inference_mode":
        return torch.inference_mode()
    if name not in MODES:
        raise ValueError(f"There is no mode {name!r}; the modes are {', '.join(MODES)}.")
    return torch.set_grad_enabled(name == "grad")


@dataclass(frozen=True)
class ModeCosts:
    """Median nanoseconds per call.

    Attributes
    ----------
    median : dict
        Operator name to mode name to nanoseconds.
    rounds, calls : int
        How many rounds were measured, and how many calls each measurement averages.
    """

    median: dict[str, dict[str, float]]
    rounds: int
    calls: int

    def __repr__(self) -> str:
        width = max(map(len, self.median))
        head = f"{'ns per call':{width}}" + "".join(f"{name:>16}" for name in MODES)
        rows = [f"{op:{width}}" + "".join(f"{row[m]:16,.0f}" for m in MODES) for op, row in self.median.items()]
        return "\n".join([head, *rows, f"median of {self.rounds} rounds of {self.calls} calls, modes in turn"])

    def plot(self) -> Any:
        """A bar per operator and mode, in nanoseconds."""
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(8, 0.6 + 0.7 * len(self.median)), facecolor="white")
        for place, (name, color) in enumerate(zip(MODES, _COLORS, strict=True)):
            values = [row[name] for row in self.median.values()]
            positions = [index + (place - 1) * 0.27 for index in range(len(values))]
            bars = axes.barh(positions, values, height=0.25, color=color, label=name)
            axes.bar_label(bars, labels=[f"{value:,.0f}" for value in values], padding=3, fontsize=8)
        axes.set_yticks(range(len(self.median)), list(self.median))
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set_xlabel("median nanoseconds per call")
        axes.set_title(f"{self.rounds} rounds of {self.calls} calls, modes in turn", fontsize=10)
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        axes.spines[["top", "right"]].set_visible(False)
        figure.tight_layout()
        return figure


def mode_costs(ops: Mapping[str, Callable[[], Any]], rounds: int = 30, calls: int = 50) -> ModeCosts:
    """Time small operators under the three modes, interleaved, so that a slow moment of the machine hits all alike.

    Parameters
    ----------
    ops : mapping
        Name to a function without arguments.
    rounds : int
        Each round times every operator under every mode once; at least 1.
    calls : int
        Calls per measurement; at least 1.

    Returns
    -------
    ModeCosts
        Medians over the rounds. On CUDA every measurement ends with a synchronization.

    Raises
    ------
    ValueError
        If `ops` is empty, or a count is below 1.
    """
    if not ops or rounds < 1 or calls < 1:
        raise ValueError("mode_costs needs at least one operator, one round and one call.")
    times: dict[str, dict[str, list[float]]] = {op: {name: [] for name in MODES} for op in ops}
    for number in range(rounds + 1):  # the first round warms up
        for op, fn in ops.items():
            for name in MODES:
                nanoseconds = _time(fn, name, calls)
                if number:
                    times[op][name].append(nanoseconds)
    medians = {op: {name: statistics.median(values) for name, values in row.items()} for op, row in times.items()}
    return ModeCosts(medians, rounds, calls)


def _time(fn: Callable[[], Any], name: str, calls: int) -> float:
    with mode(name):
        begin = time.perf_counter_ns()
        for _ in range(calls):
            fn()
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
        return (time.perf_counter_ns() - begin) / calls


@dataclass(frozen=True)
class Happening:
    """What one use of a tensor did: "works", or the error's first sentence."""

    use: str
    works: bool
    message: str


class TruthTable:
    """Uses of a tensor and what happened, made by running them.

    Parameters
    ----------
    uses : mapping
        Name to a function of one tensor.
    make : callable
        Makes a fresh tensor for every use.
    """

    def __init__(self, uses: Mapping[str, Callable[[torch.Tensor], Any]], make: Callable[[], torch.Tensor]) -> None:
        self.rows: Sequence[Happening] = [_try(name, use, make()) for name, use in uses.items()]

    @property
    def works(self) -> dict[str, bool]:
        return {row.use: row.works for row in self.rows}

    def __repr__(self) -> str:
        width = max(len(row.use) for row in self.rows)
        return "\n".join(
            f"{row.use:{width}}  {'works' if row.works else 'raises: ' + row.message}" for row in self.rows
        )


def _try(name: str, use: Callable[[torch.Tensor], Any], tensor: torch.Tensor) -> Happening:
    try:
        use(tensor)
    except RuntimeError as error:
        return Happening(name, False, str(error).split(".")[0] + ".")
    return Happening(name, True, "")
