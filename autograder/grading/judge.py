"""The judge: what the run observed, beside what the reference observed, becomes points.

It runs where no submitted code runs, reads JSON only, and takes points and checks from the course.
"""

from __future__ import annotations

import builtins
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from autograder.checks import verdict
from autograder.checks.check import visible_message
from autograder.checks.compare import NOT_ANSWERED, trouble_of
from autograder.checks.grammar import EXPECTED_MARK, CheckCall, CheckCell
from autograder.checks.observe import Observation
from autograder.checks.score import Outcome, settle
from autograder.engine.api import CellRun
from autograder.grading.results import CheckResult, ExerciseResult, ExerciseStatus

NOT_RUN = "This check did not run."
PREDICATE_SECONDS = 2.0


def judge(
    grade_id: str, cell: CheckCell, run: CellRun, reference: Mapping[str, Observation], *, max_score: float
) -> ExerciseResult:
    """Grade one exercise.

    Parameters
    ----------
    grade_id : str
        Of the check cell.
    cell : CheckCell
        The check cell as the course has it.
    run : CellRun
        What became of it in the run under test; observations of unknown labels are ignored.
    reference : mapping
        Label to what the reference answer observed in the same environment with the same seed.
    max_score : float
        Points, as the course has them.

    Returns
    -------
    ExerciseResult
        points x passed weight / total weight; 0 for a cell that had to be killed.
    """
    with _alarms():
        return _judge(grade_id, cell, run, reference, max_score)


def _judge(
    grade_id: str, cell: CheckCell, run: CellRun, reference: Mapping[str, Observation], max_score: float
) -> ExerciseResult:
    observations = _counted(cell, run)
    differences = [_difference(call, observations, reference) for call in cell.calls]
    outcomes = []
    for call, difference in zip(cell.calls, differences, strict=True):
        passed = difference is None and not run.killed
        message = "" if passed else _message(call, difference or "The cell had to be stopped.", observations)
        outcomes.append(Outcome(call.label, passed, message, call.weight, call.kind != "raises"))
    score = settle(outcomes, max_score)
    checks = [
        CheckResult(outcome.label, outcome.passed, call.hidden, outcome.message)
        for call, outcome in zip(cell.calls, outcomes, strict=True)
    ]
    return ExerciseResult(grade_id, _status(run), False, score, max_score, checks)


def broken_checks(cell: CheckCell, observed: Mapping[str, Observation]) -> list[tuple[CheckCall, str]]:
    """The checks that the reference itself fails, with the reason. Needs `program(expected=True)` for expected values."""
    broken = []
    with _alarms():
        for call in cell.calls:
            difference: str | None = NOT_RUN
            if call.label in observed:
                expected = observed.get(call.label + EXPECTED_MARK, observed[call.label])
                difference = _verdict(call, observed[call.label], expected)
            if difference is not None:
                broken.append((call, difference))
    return broken


def _counted(cell: CheckCell, run: CellRun) -> dict[str, Observation]:
    """The observations that count: a visible check's message quotes its own, which must be older than the hidden part."""
    found = {}
    for call in cell.calls:
        part = run.hidden if call.hidden else run.observations
        if call.label in part:
            found[call.label] = part[call.label]
    return found


def _difference(
    call: CheckCall, observations: Mapping[str, Observation], reference: Mapping[str, Observation]
) -> str | None:
    if call.label not in observations:
        return NOT_RUN
    return _verdict(call, observations[call.label], reference.get(call.label))


def _verdict(call: CheckCall, observed: Observation, expected: Observation) -> str | None:
    with _bounded():
        try:
            if call.kind == "value":
                return verdict.judge_value(observed, expected, call.rtol, call.atol, call.empty)
            if call.kind == "that":
                assert call.predicate is not None
                return verdict.judge_that(observed, call.predicate)
            return verdict.judge_raises(observed, call.error, call.match)
        except (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError, MemoryError, _TooSlow):
            return "The answer could not be compared."
    raise AssertionError("unreachable")


def _message(call: CheckCall, difference: str, observations: Mapping[str, Observation]) -> str:
    observed = observations.get(call.label)
    with _bounded():
        try:
            if call.label not in observations:
                return NOT_RUN
            if call.hidden:
                return _hidden_message(call, observed)
            return visible_message(observed, difference, call.wrong, call.hint, call.kind != "raises")
        except _TooSlow:
            return difference if not call.hidden else call.hint
    raise AssertionError("unreachable")


def _hidden_message(call: CheckCall, observed: Observation) -> str:
    """The author's sentence, or one of ours: nothing that the run wrote."""
    if trouble_of(observed) == NOT_ANSWERED:
        return NOT_ANSWERED
    sentence = verdict.explanation(observed, call.wrong, call.hint, of_value=call.kind != "raises")
    if isinstance(observed, dict) and "timeout" in observed:
        return f"It ran for more than {call.limit:g} s and was stopped. {sentence}".rstrip()
    if (
        isinstance(observed, dict)
        and "error" in observed
        and not verdict.asks_for_input(observed)
        and verdict.known_mistake(observed, call.wrong) in (None, call.hint)
    ):
        return f"It raised {_error_name(observed)}. {sentence}".rstrip()
    return sentence or "Wrong on an input that the visible checks do not show."


def _error_name(observed: Observation) -> str:
    """The exception's name where Python knows it: an answer could put anything into a name of its own."""
    name = observed["error"].get("type") if isinstance(observed["error"], dict) else None
    known = getattr(builtins, name, None) if isinstance(name, str) else None
    return str(name) if isinstance(known, type) and issubclass(known, BaseException) else "an exception"


def _status(run: CellRun) -> ExerciseStatus:
    if run.status in ("ran", "error"):
        return "timed-out" if run.timed_out else "ran"
    return cast(ExerciseStatus, run.status)


class _TooSlow(Exception):
    pass


def _can_alarm() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def _alarms() -> Iterator[None]:
    """Where `_bounded` may be used. To set a handler takes longer than most comparisons, so it is set once for an exercise."""
    if not _can_alarm():
        yield
        return

    def expire(number: int, frame: Any) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, expire)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _bounded() -> Iterator[None]:
    """Bound the time that data from a run can cost a predicate or a comparison."""
    if not _can_alarm():
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, PREDICATE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
