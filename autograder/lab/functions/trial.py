"""What a trial of the backward contract works with: the function under test, and the form of a finding."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from autograder.lab.functions.backward import Apply, as_leaves, first_output

Verdict = Literal["pass", "fail", "n/a"]
Finding = tuple[Verdict, str, Any]
SHAPE = (3, 4)  #: small, not square, not a multiple of the usual block sizes


@dataclass(frozen=True)
class Clause:
    """One line of the report: a name, a verdict, a sentence, and the observation behind it."""

    name: str
    verdict: Verdict
    detail: str = ""
    raw: Any = None


@dataclass(frozen=True)
class Subject:
    """What is tried, and what it promises. See `contract.backward_contract`."""

    apply: Apply
    make_inputs: Callable[[tuple[int, ...], torch.dtype], Sequence[Any]]
    numeric: bool
    double_backward: bool
    sizes: tuple[tuple[int, ...], ...]
    half_bound: float

    def draw(self, shape: tuple[int, ...] = SHAPE, dtype: torch.dtype = torch.float64) -> list[Any]:
        """The same inputs for the same shape and dtype, every time."""
        torch.manual_seed(0)
        return list(self.make_inputs(shape, dtype))

    def forward(self, shape: tuple[int, ...] = SHAPE) -> tuple[list[Any], torch.Tensor]:
        leaves = as_leaves(self.draw(shape))
        return leaves, first_output(self.apply(*leaves))

    def value(self, inputs: Sequence[Any]) -> torch.Tensor:
        """The output that gradients enter by, without its graph."""
        return first_output(self.apply(*as_leaves(inputs))).detach()

    def of_tensors(self, leaves: Sequence[Any]) -> Callable[..., torch.Tensor]:
        """`apply` as a function of its differentiable tensors alone, as gradcheck wants it."""

        def call(*tensors: torch.Tensor) -> torch.Tensor:
            given = iter(tensors)
            return first_output(self.apply(*[next(given) if wants(leaf) else leaf for leaf in leaves]))

        return call


def attempt(name: str, trial: Callable[[Subject], Finding], subject: Subject) -> Clause:
    """Run one trial; what it raises is the finding, unless it is a stub that says it is not written."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Clause(name, *trial(subject))
    except Exception as error:
        if type(error) is NotImplementedError and not str(error):
            raise
        return Clause(name, "fail", f"raised {type(error).__name__}: {first_line(error)}", error)


def first_line(error: BaseException) -> str:
    text = str(error).strip().split("\n")[0]
    return text if len(text) <= 150 else text[:147] + "..."


def holds(condition: bool, fault: str, raw: Any, detail: str = "") -> Finding:
    return ("pass", detail, raw) if condition else ("fail", fault, raw)


def floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def wants(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def wanted_of(leaves: Sequence[Any]) -> list[torch.Tensor]:
    return [leaf for leaf in leaves if wants(leaf)]


def same(one: Sequence[torch.Tensor | None], two: Sequence[torch.Tensor | None]) -> bool:
    """Equal lists of tensors, up to rounding in float64; None counts as zero."""
    for a, b in zip(one, two, strict=True):
        if a is None or b is None:
            present = b if a is None else a
            if present is not None and present.count_nonzero():
                return False
        elif a.shape != b.shape or not torch.allclose(a, b, rtol=1e-7, atol=1e-9, equal_nan=True):
            return False
    return True
