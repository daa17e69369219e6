"""From an observation to a verdict: did the check pass, and which sentence explains it.

`Check` in a notebook and the judge outside both decide here, so they cannot disagree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from autograder.checks.compare import NOT_ANSWERED, compare, trouble_of
from autograder.checks.observe import Observation
from autograder.checks.plain import kind_of, plain, show


@dataclass(frozen=True)
class ErrorName:
    """A key of `wrong` that stands for an exception of this type whose text contains `text`.

    A TypeError has many causes: an entry that explains one of them names it, `(TypeError, "NoneType")`.
    """

    name: str
    text: str = ""


NO_EMPTY_FORM = object()  #: an answer whose empty form cannot be told from an answer
Wrong = Mapping[Any, str] | Iterable[tuple[Any, str]] | None

#: What to do about an answer that calls `input()`.
NO_INPUT = "Nobody is there to type while it is checked: take it out, or put a value in its place."
MISSING_RETURN = "If your function returned None, a `return` is missing."


def judge_value(
    observed: Observation,
    expected: Observation,
    rtol: float | None = None,
    atol: float | None = None,
    empty: Any = NO_EMPTY_FORM,
) -> str | None:
    """None where the value agrees, else how it differs. What equals the empty form of the answer is not compared."""
    if empty is not NO_EMPTY_FORM and type(observed) is type(empty) and observed == empty:
        return NOT_ANSWERED
    return compare(observed, expected, rtol, atol)


def judge_that(observed: Observation, predicate: Callable[[Any], Any]) -> str | None:
    """None where the predicate holds of the plain form, else what was observed."""
    trouble = trouble_of(observed)
    if trouble:
        return trouble
    try:
        holds = bool(predicate(plain(observed)))
    except Exception:
        holds = False
    return None if holds else f"Got {show(observed)}."


def judge_raises(observed: Observation, error: str | tuple[str, ...], match: str | None = None) -> str | None:
    """None where the exact exception was raised, or a subclass of it whose text matches `match`."""
    names = (error,) if isinstance(error, str) else error
    wanted = " or ".join(names)
    try:
        found = observed["error"]
        kind, mro, text = found["type"], found["mro"], found["text"]
        if not (isinstance(kind, str) and isinstance(text, str) and isinstance(mro, list)):
            raise TypeError
    except (KeyError, TypeError, IndexError):
        if isinstance(observed, dict) and ("timeout" in observed or "opaque" in observed):
            return trouble_of(observed) if "timeout" in observed else f"Nothing was raised; expected {wanted}."
        return f"Nothing was raised; expected {wanted}."
    matches = match is not None and re.search(match, text) is not None
    if kind == "NotImplementedError" and kind not in names:
        return f"It raised {kind}: {text}; expected {wanted}." if text else NOT_ANSWERED
    if kind in names and (match is None or matches):
        return None
    if matches and any(name in mro for name in names) and kind != "RecursionError":
        return None
    if kind in names:
        return f"It raised {kind}, but its text {f'does not say what it should: {text}' if text else 'is empty.'}"
    return f"It raised {kind}{f': {text}' if text else ''}; expected {wanted}."


def explanation(observed: Observation, wrong: Wrong, hint: str = "", *, of_value: bool = True) -> str:
    """The sentence for a failed check: of a known mistake, else the hint, after a word on None where None came back.

    Where an error is asked for, and not a value, None means that nothing was raised: `of_value` is False.
    """
    sentence = known_mistake(observed, wrong)
    if sentence is not None:
        return sentence
    if asks_for_input(observed):
        return f"It called input(). {NO_INPUT}"
    return f"{MISSING_RETURN} {hint}".rstrip() if _stumbled(observed) or (observed is None and of_value) else hint


def known_mistake(observed: Observation, wrong: Wrong) -> str | None:
    """The first entry of `wrong` that the observation meets."""
    pairs = wrong.items() if isinstance(wrong, Mapping) else (wrong or ())
    return next((sentence for key, sentence in pairs if _meets(observed, key)), None)


def _meets(observed: Observation, key: Any) -> bool:
    key = _error_key(key)
    if isinstance(key, ErrorName):
        error = observed.get("error") if isinstance(observed, dict) else None
        return (
            isinstance(error, dict)
            and key.name == error.get("type")
            and key.text in str(error.get("text"))
            and not _stumbled(observed)
        )
    try:
        kind_of(observed)
        value = plain(observed)
        return bool(key(value)) if callable(key) else _same(value, key)
    except Exception:
        return False


def _error_key(key: Any) -> Any:
    """The `ErrorName` of an exception, or of (exception, text), as a notebook's own check has them; others as they are."""
    kind, text = key if isinstance(key, tuple) and len(key) == 2 else (key, "")
    if isinstance(kind, type) and issubclass(kind, BaseException) and isinstance(text, str):
        return ErrorName(kind.__name__, text)
    return key


def asks_for_input(observed: Observation) -> bool:
    """Whether the check ended at a call of `input()`, which no run of the grader answers."""
    error = observed.get("error") if isinstance(observed, dict) else None
    return isinstance(error, dict) and error.get("type") == "StdinNotImplementedError"


def _stumbled(observed: Observation) -> bool:
    """Whether the check could not go on with a None, so that the error is not the answer's own."""
    error = observed.get("error") if isinstance(observed, dict) else None
    return isinstance(error, dict) and error.get("none") is True


def _same(value: Any, literal: Any) -> bool:
    if isinstance(literal, bool) or isinstance(value, bool):
        return value is literal
    if isinstance(literal, (int, float)) and isinstance(value, (int, float)):
        if math.isnan(literal) or math.isnan(value):
            return math.isnan(literal) and math.isnan(value)
        return value == literal or math.isclose(value, literal, rel_tol=1e-6, abs_tol=1e-6)
    if type(value) is not type(literal):
        return False
    if isinstance(literal, (list, tuple)):
        return len(value) == len(literal) and all(map(_same, value, literal))
    if isinstance(literal, dict):
        return value.keys() == literal.keys() and all(_same(value[key], literal[key]) for key in literal)
    return bool(value == literal)
