"""The backward contract: one call that tries a differentiable function in the ways production will.

`clauses` holds the trials, this module runs them and shows the report.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from autograder.lab.functions.backward import Apply
from autograder.lab.functions.clauses import CLAUSES, half_type
from autograder.lab.functions.trial import Clause, Subject, attempt


@dataclass(frozen=True)
class Report:
    """The clauses of one run, in order. Its text has one line each; `raw` holds what was observed."""

    clauses: tuple[Clause, ...]

    @property
    def failed(self) -> list[str]:
        """Names of the clauses that do not hold."""
        return [clause.name for clause in self.clauses if clause.verdict == "fail"]

    @property
    def raw(self) -> dict[str, Any]:
        """Raw observations by clause name: gradients, errors, counts, bytes."""
        return {clause.name: clause.raw for clause in self.clauses}

    def __iter__(self) -> Iterator[Clause]:
        return iter(self.clauses)

    def __getitem__(self, name: str) -> Clause:
        return next(clause for clause in self.clauses if clause.name == name)

    def __repr__(self) -> str:
        width = max(len(clause.name) for clause in self.clauses)
        lines = [f"{c.verdict:4}  {c.name:{width}}  {c.detail}".rstrip() for c in self.clauses]
        return "\n".join([*lines, self._summary()])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><b>{c.verdict}</b></td><td style='text-align:left'>{html.escape(c.name)}</td>"
            f"<td style='text-align:left'>{html.escape(c.detail)}</td></tr>"
            for c in self.clauses
        )
        return f"<table>{rows}</table><p>{html.escape(self._summary())}</p>"

    def _summary(self) -> str:
        tried = sum(clause.verdict != "n/a" for clause in self.clauses)
        return f"{len(self.failed)} of {tried} clauses fail." if self.failed else f"All {tried} clauses hold."


def backward_contract(
    apply: Apply,
    make_inputs: Callable[[tuple[int, ...], torch.dtype], Sequence[Any]],
    *,
    numeric: bool = True,
    double_backward: bool = False,
    sizes: Sequence[tuple[int, ...]] = ((1, 1), (5, 7), (0, 4)),
    half_types: Sequence[torch.dtype] = (torch.float16, torch.bfloat16),
    half_bound: float = 4.0,
) -> Report:
    """Try the backward of `apply` in every way that training code will, and report one line per clause.

    Parameters
    ----------
    apply : callable
        A Function's `apply`, or any differentiable function. Of several outputs the first that requires a gradient
        is tried.
    make_inputs : callable
        `make_inputs(shape, dtype)` draws the arguments of one call; `shape` is (rows, columns). Floating tensors among
        them are differentiated, everything else passes through. On a GPU it puts them there.
    numeric : bool
        Whether the gradient is meant to be the derivative. False for a straight-through gradient.
    double_backward : bool
        Whether double backward is promised. Where it is not, it must be right or refuse; silence is a fault.
    sizes : sequence of shapes
        Shapes for "odd and empty sizes".
    half_types : sequence of dtype
        Types to compare with float64.
    half_bound : float
        Largest error allowed there, in eps of the type times the largest magnitude in the float64 result. Elementwise
        code that computes in float32 and rounds once stays below 1; each rounding in between may add about a half.

    Returns
    -------
    Report
        Shows as a table. `report.failed` names what does not hold, `report.raw` has the observations.

    Raises
    ------
    NotImplementedError
        Where `apply` is a stub: it raised one without a text.

    Examples
    --------
    >>> import torch
    >>> two = lambda shape, dtype: (torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype))
    >>> backward_contract(torch.mul, two, double_backward=True).failed
    []
    """
    subject = Subject(apply, make_inputs, numeric, double_backward, tuple(sizes), half_bound)
    trials = dict(CLAUSES)
    for dtype in half_types:
        trials[f"{str(dtype).removeprefix('torch.')} against float64"] = half_type(dtype)
    with torch.random.fork_rng():
        return Report(tuple(attempt(name, trial, subject) for name, trial in trials.items()))
