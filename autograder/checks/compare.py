"""Two observations, one sentence: where they differ, or None.

Works on the JSON of `checks.observe` alone, so the process that compares need not import torch.
"""

from __future__ import annotations

import math
from typing import Any

from autograder.checks.observe import Observation
from autograder.checks.plain import NAMES, kind_of, plain, show

NOT_ANSWERED = "Not answered yet."  #: of a stub, or of the empty form of a prediction

#: rtol = atol, by dtype.
TOLERANCES = {
    "float64": 1e-10,
    "float32": 1e-5,
    "float16": 1e-3,
    "bfloat16": 1.6e-2,
    "complex128": 1e-10,
    "complex64": 1e-5,
}


def compare(
    observed: Observation, expected: Observation, rtol: float | None = None, atol: float | None = None
) -> str | None:
    """Compare two observations.

    Parameters
    ----------
    observed, expected : Observation
        As `checks.observe.observe` writes them.
    rtol, atol : float, optional
        Accepted: |observed - expected| <= atol + rtol * |expected|. By default both fit the dtype; a Python float counts
        as float64.

    Returns
    -------
    str or None
        None when they agree, else one sentence for the learner.
    """
    trouble = trouble_of(observed)
    if trouble:
        return trouble
    return _compare(observed, expected, "", rtol, atol)


def trouble_of(observed: Observation) -> str | None:
    """The sentence for an observation that is no value: an exception, a time-out, something opaque. None for a value."""
    match observed:
        case {"error": {"type": "NotImplementedError", "text": ""}}:  # a stub's; torch raises some with a text
            return NOT_ANSWERED
        case {"error": {"type": str(kind), "text": str(text)}}:
            return f"It raised {kind}: {text}" if text else f"It raised {kind}."
        case {"timeout": limit}:
            return (
                f"It ran for more than {limit:g} s and was stopped."
                if isinstance(limit, (int, float))
                else "It was stopped."
            )
        case {"opaque": str(sentence)}:
            return sentence
    return None


def _compare(observed: Any, expected: Any, where: str, rtol: float | None, atol: float | None) -> str | None:
    want = kind_of(expected)
    try:
        have = kind_of(observed)
    except ValueError:
        return f"{_at(where)}this is not plain data."
    if want == "float" and have == "int":
        return _numbers(observed, expected, "float64", where, rtol, atol)
    if want != have:
        return f"{_at(where)}expected {_phrase(want, expected)}, got {_phrase(have, observed)}."
    match want:
        case "float" | "complex":
            return _numbers(observed, expected, "float64", where, rtol, atol)
        case "list" | "tuple":
            return _sequences(observed[want], expected[want], where, rtol, atol)
        case "dict":
            return _mappings(observed[want], expected[want], where, rtol, atol)
        case "tensor" | "array":
            return _tensors(observed[want], expected[want], where, rtol, atol)
    if observed != expected:
        return f"{_at(where)}expected {show(expected)}, got {show(observed)}."
    return None


def _phrase(kind: str, observed: Any) -> str:
    if kind == "none":
        return "None"
    return f"{NAMES[kind]} ({show(observed, 80)})"


def _sequences(
    observed: list[Any], expected: list[Any], where: str, rtol: float | None, atol: float | None
) -> str | None:
    for index, (have, want) in enumerate(zip(observed, expected, strict=False)):
        difference = _compare(have, want, f"{where}[{index}]", rtol, atol)
        if difference:
            return difference
    if len(observed) != len(expected):
        return f"{_at(where)}expected {len(expected)} item{'s' * (len(expected) != 1)}, got {len(observed)}."
    return None


def _mappings(
    observed: dict[str, Any], expected: dict[str, Any], where: str, rtol: float | None, atol: float | None
) -> str | None:
    missing = [key for key in expected if key not in observed]
    surplus = [key for key in observed if key not in expected]
    if missing:
        return f"{_at(where)}the key {missing[0]!r} is missing."
    if surplus:
        return f"{_at(where)}there is a key too many: {show(surplus[0], 60)}."
    for key, want in expected.items():
        difference = _compare(observed[key], want, f"{where}[{key!r}]", rtol, atol)
        if difference:
            return difference
    return None


def _tensors(
    observed: dict[str, Any], expected: dict[str, Any], where: str, rtol: float | None, atol: float | None
) -> str | None:
    if observed["shape"] != expected["shape"]:
        return f"{_at(where)}expected shape {tuple(expected['shape'])}, got {tuple(observed['shape'])}."
    if observed["dtype"] != expected["dtype"]:
        return f"{_at(where)}expected dtype {expected['dtype']}, got {observed['dtype']}."
    for index, (have, want) in enumerate(zip(observed["data"], expected["data"], strict=True)):
        if not _close(have, want, expected["dtype"], rtol, atol):
            place = where + str(list(_unravel(index, expected["shape"]))) if expected["shape"] else where
            return f"{_at(place)}expected {show(want, 40)}, got {show(have, 40)}."
    return None


def _numbers(
    observed: Any, expected: Any, dtype: str, where: str, rtol: float | None, atol: float | None
) -> str | None:
    if _close(observed, expected, dtype, rtol, atol):
        return None
    return f"{_at(where)}expected {show(expected)}, got {show(observed)}."


def _close(observed: Any, expected: Any, dtype: str, rtol: float | None, atol: float | None) -> bool:
    if dtype not in TOLERANCES and rtol is None and atol is None:
        return bool(observed == expected and type(observed) is type(expected))
    tolerance = TOLERANCES.get(dtype, 0.0)
    rtol = tolerance if rtol is None else rtol
    atol = tolerance if atol is None else atol
    try:
        have, want = plain(observed), plain(expected)
        if isinstance(want, complex) or isinstance(have, complex):
            have, want = complex(have), complex(want)
            return near(have.real, want.real, rtol, atol) and near(have.imag, want.imag, rtol, atol)
        return near(float(have), float(want), rtol, atol)
    except (TypeError, ValueError, OverflowError, KeyError):
        return False


def near(have: float, want: float, rtol: float, atol: float) -> bool:
    """|have - want| <= atol + rtol * |want|; NaN equals NaN, an infinity only itself."""
    if math.isnan(have) or math.isnan(want):
        return math.isnan(have) and math.isnan(want)
    if math.isinf(have) or math.isinf(want):
        return have == want
    return abs(have - want) <= atol + rtol * abs(want)


def _unravel(index: int, shape: list[int]) -> tuple[int, ...]:
    place = []
    for size in reversed(shape):
        index, rest = divmod(index, size)
        place.append(rest)
    return tuple(reversed(place))


def _at(where: str) -> str:
    return f"At {where}: " if where else ""
