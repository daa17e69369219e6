"""What checks earn together: the same rule in a notebook and in the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALONE = "Counts only when another check of this exercise passes."


@dataclass
class Outcome:
    """What became of one check.

    Attributes
    ----------
    message : str
        What its student reads; "" for one that passed.
    weight : float
        Share of the exercise's points, relative to its other checks.
    is_value : bool
        Whether it looks at a value, rather than for an exception.
    """

    label: str
    passed: bool
    message: str
    weight: float
    is_value: bool


def settle(outcomes: Sequence[Outcome], points: float) -> float:
    """Points x passed weight / total weight, between 0 and `points`.

    An answer that raises whatever it is given would pass every check that waits for an exception. So such a check counts
    only where a value check of the same exercise passes; elsewhere its outcome is changed, and says so.
    """
    if not any(outcome.passed for outcome in outcomes if outcome.is_value):
        for outcome in outcomes:
            if outcome.passed:
                outcome.passed, outcome.message = False, ALONE
    total = sum(outcome.weight for outcome in outcomes)
    earned = sum(outcome.weight for outcome in outcomes if outcome.passed)
    return min(points, points * earned / total) if total > 0 else 0.0
