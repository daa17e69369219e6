"""The checks of an exercise, as a notebook runs them: every check observes a value and compares it.

A learner sees a small table; nbgrader sees a number of points. When a class is graded, the judge compares again, outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from autograder.checks import verdict
from autograder.checks.compare import NOT_ANSWERED
from autograder.checks.observe import Observation, observe
from autograder.checks.probe import DEFAULT_LIMIT, call
from autograder.checks.score import Outcome, settle
from autograder.checks.sealing import unseal
from autograder.checks.seeds import PRACTICE
from autograder.checks.table import CheckTable, Row, shows_html

_passed: dict[
    str, bool
] = {}  # exercise to whether its last report was all pass: how far one is since the kernel started


class Points(float):
    """The value of a check cell: a number to nbgrader, which reads the plain text; to people the table.

    One output for both: a table shown apart would leave an empty prompt under it.
    """

    table: CheckTable

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


class Check:
    """Collects the checks of one exercise.

    Parameters
    ----------
    name : str
        The exercise, for example "walk".
    points : float
        What the exercise is worth; at least 0.
    of : int, optional
        How many exercises the chapter has. The builder writes it; the table then says how many of them pass.

    Examples
    --------
    >>> check = Check("double", points=2)
    >>> check("two becomes four", lambda: double(2), 4, wrong={2: "Nothing was doubled."})
    >>> check.report()
    """

    def __init__(self, name: str, points: float = 1.0, of: int | None = None) -> None:
        self.name, self.points, self.of = name, float(points), of
        self._outcomes: list[Outcome] = []
        self._timed_out = False

    def __call__(
        self,
        label: str,
        thunk: Callable[[], Any],
        expected: Any,
        *,
        wrong: verdict.Wrong = None,
        hint: str = "",
        rtol: float | None = None,
        atol: float | None = None,
        limit: float = DEFAULT_LIMIT,
        weight: float = 1.0,
        empty: Any = verdict.NO_EMPTY_FORM,
    ) -> None:
        """Check that `thunk()` gives `expected`.

        Parameters
        ----------
        label : str
            What is checked, unique in the exercise.
        thunk : callable
            Takes no argument; returns plain data (see `checks.observe`).
        expected : object
            Plain data.
        wrong : dict or pairs, optional
            Maps values that known mistakes produce, predicates on the plain form, exception types, or pairs
            (type, what its text contains) to a sentence.
        hint : str
            The sentence when no entry of `wrong` fits.
        rtol, atol : float, optional
            Tolerances; by default they fit the dtype.
        limit : float
            Seconds.
        weight : float
            Share of the points, relative to the other checks.
        empty : None, bool, int, float or str, optional
            What `thunk()` gives before anything was predicted. The builder writes it.
        """
        wanted = observe(expected)

        def judge(observed: Observation) -> str | None:
            return verdict.judge_value(observed, wanted, rtol, atol, empty)

        self._run(label, thunk, judge, wrong, hint, limit, weight, True)

    def that(
        self,
        label: str,
        thunk: Callable[[], Any],
        predicate: Callable[[Any], Any],
        *,
        wrong: verdict.Wrong = None,
        hint: str = "",
        limit: float = DEFAULT_LIMIT,
        weight: float = 1.0,
    ) -> None:
        """Check that the predicate holds of the plain form of `thunk()`: a tensor comes as its nested list."""
        self._run(label, thunk, lambda o: verdict.judge_that(o, predicate), wrong, hint, limit, weight, True)

    def raises(
        self,
        label: str,
        thunk: Callable[[], Any],
        error: type[BaseException] | tuple[type[BaseException], ...],
        *,
        match: str | None = None,
        wrong: verdict.Wrong = None,
        hint: str = "",
        limit: float = DEFAULT_LIMIT,
        weight: float = 1.0,
    ) -> None:
        """Check that `thunk()` raises this exact exception, or a subclass whose text matches `match`.

        It counts only when a value check of the same exercise passes.
        """
        names = tuple(kind.__name__ for kind in (error if isinstance(error, tuple) else (error,)))
        self._run(label, thunk, lambda o: verdict.judge_raises(o, names, match), wrong, hint, limit, weight, False)

    def report(self) -> float:
        """Return the points earned: points x passed weight / total weight, between 0 and `points`.

        A notebook shows the value of a cell's last line, and that of a report is its table. Elsewhere the table is printed.
        """
        score = Points(settle(self._outcomes, self.points))
        rows = [Row(outcome.label, outcome.passed, outcome.message) for outcome in self._outcomes]
        score.table = CheckTable(self.name, rows, self.points, progress=self._progress(rows))
        if not shows_html():
            print(score.table)
        return score

    @staticmethod
    def sealed(text: str) -> Any:
        """What the builder sealed, so that opening a check cell gives no prediction away."""
        return eval(unseal(text), {"math": math})  # the course's own text

    def _progress(self, rows: list[Row]) -> tuple[int, int] | None:
        if self.of is None:
            return None
        _passed[self.name] = all(row.passed for row in rows)
        return sum(_passed.values()), self.of

    def _run(
        self,
        label: str,
        thunk: Callable[[], Any],
        judge: Callable[[Observation], str | None],
        wrong: verdict.Wrong,
        hint: str,
        limit: float,
        weight: float,
        is_value: bool,
    ) -> None:
        if self._timed_out:
            outcome = Outcome(label, False, "Not run: an earlier check ran out of time.", weight, is_value)
        else:
            observed = call(thunk, limit, PRACTICE, self.name, label)
            self._timed_out = isinstance(observed, dict) and "timeout" in observed
            difference = judge(observed)
            message = "" if difference is None else visible_message(observed, difference, wrong, hint, is_value)
            outcome = Outcome(label, difference is None, message, weight, is_value)
        self._outcomes.append(outcome)


def visible_message(
    observed: Observation, difference: str, wrong: verdict.Wrong, hint: str, is_value: bool = True
) -> str:
    """What a learner reads: how the value differs, then the sentence that explains it."""
    if difference == NOT_ANSWERED:
        return difference  # a hint would be half of the answer
    sentence = verdict.explanation(observed, wrong, hint, of_value=is_value)
    if not sentence or verdict.asks_for_input(observed):
        return sentence or difference
    return f"{difference}{'' if difference.endswith(('.', '!', '?', ':')) else '.'} {sentence}"
