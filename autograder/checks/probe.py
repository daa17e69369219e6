"""The observer of a graded run: it calls, reduces and emits, and knows nothing to compare with."""

from __future__ import annotations

import contextlib
import io
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from autograder.checks.observe import Observation, observe, observe_error
from autograder.checks.seeds import seed_everything

DEFAULT_LIMIT = 5.0  #: seconds a check may take


class CheckTimeout(BaseException):
    """Raised inside a check that ran too long. Not an Exception, so that `except Exception` does not swallow it."""


class Probe:
    """Calls the thunks of one exercise and emits what they returned.

    Parameters
    ----------
    exercise : str
        Part of every check's seed.
    seed : int
        The run's seed.
    emit : callable
        Takes (label, observation), once per check. After a time-out nothing more is called or emitted.
    """

    def __init__(self, exercise: str, seed: int, emit: Callable[[str, Observation], None]) -> None:
        self.exercise, self.seed, self.emit = exercise, seed, emit
        self.timed_out = False

    def __call__(self, label: str, thunk: Callable[[], Any], limit: float = DEFAULT_LIMIT) -> None:
        if self.timed_out:
            return
        observed = call(thunk, limit, self.seed, self.exercise, label)
        self.timed_out = isinstance(observed, dict) and "timeout" in observed
        self.emit(label, observed)
        seed_everything(self.seed, self.exercise, label, "after")  # inputs that are drawn next depend on no answer


def call(thunk: Callable[[], Any], limit: float, seed: int, exercise: str, label: str) -> Observation:
    """Seed the generators, call the thunk under a time limit, and reduce what it returned or raised.

    Parameters
    ----------
    thunk : callable
        Takes no argument.
    limit : float
        Seconds.
    seed : int
        The run's seed.
    exercise, label : str
        Which check it is: the generators' seed is derived from all three.

    Returns
    -------
    Observation
        Of the value, of the exception, or `{"timeout": limit}`.
    """
    seed_everything(seed, exercise, label)
    try:
        with contextlib.redirect_stderr(io.StringIO()), time_limit(limit):
            try:
                return observe(thunk())
            except (CheckTimeout, KeyboardInterrupt):
                raise
            except BaseException as error:
                return observe_error(error, none=_over_none(error, exercise))
    except CheckTimeout:
        return {"timeout": limit}


def _over_none(error: BaseException, exercise: str) -> bool:
    """Whether a None stopped the check outside the exercise: most often, the answer has no `return`."""
    if type(error) not in (TypeError, AttributeError):
        return False
    if not any(type(text) is str and "NoneType" in text for text in error.args):
        return False
    frames = (frame.f_code.co_qualname for frame, _ in traceback.walk_tb(error.__traceback__))
    return exercise not in (name.partition(".")[0] for name in frames)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise CheckTimeout in the block after so many seconds, and again each second until it ends.

    Works in the main thread of a Unix process, where a signal can interrupt Python; elsewhere the block is not limited.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(number: int, frame: object) -> None:
        raise CheckTimeout

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
