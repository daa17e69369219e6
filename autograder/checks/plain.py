"""Observations as people and predicates read them: their kind, their plain form, and how they would be typed.

Works on the JSON of `checks.observe` alone and needs no torch.
"""

from __future__ import annotations

import math
from typing import Any

from autograder.checks.observe import MAX_ELEMENTS, Observation

NAMES = {"list": "a list", "tuple": "a tuple", "dict": "a dict", "tensor": "a tensor", "array": "an array",
          "dtype": "a dtype", "device": "a device", "enum": "an enum member", "complex": "a complex number",
          "float": "a float", "int": "an int", "bool": "a bool", "str": "a str", "none": "None"}  # fmt: skip


def show(observed: Observation, limit: int = 160) -> str:
    """The observation as a reader would type it, cut to `limit` characters."""
    try:
        text = _show(observed, 0)
    except (KeyError, TypeError, ValueError, RecursionError):
        text = "something that is no observation"
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def plain(observed: Observation) -> Any:
    """The plain form that predicates and `wrong` see: a tensor is its nested list, a dtype, device or enum its name.

    Raises
    ------
    ValueError
        For an observation that is no value.
    """
    kind = kind_of(observed)
    if kind in ("none", "bool", "int", "str"):
        return observed
    if kind == "float":
        return _as_float(observed)
    body = observed[kind]
    match kind:
        case "list":
            return [plain(item) for item in body]
        case "tuple":
            return tuple(plain(item) for item in body)
        case "dict":
            return {key: plain(item) for key, item in body.items()}
        case "complex":
            return complex(_as_float(body[0]), _as_float(body[1]))
        case "tensor" | "array":
            return _nested([plain(item) for item in body["data"]], body["shape"])
        case "enum":
            return body.rpartition(".")[2]
    return body


def kind_of(observed: Observation) -> str:
    """Which kind of value an observation is; ValueError where it is none."""
    if observed is None:
        return "none"
    kind = type(observed)
    if kind is bool:
        return "bool"
    if kind is int:
        return "int"
    if kind is float:
        return "float"
    if kind is str:
        return "str"
    if kind is dict and len(observed) == 1:
        name = next(iter(observed))
        if name in NAMES and _well_formed(name, observed[name]):
            return name
    raise ValueError("not an observation of a value")


def _well_formed(name: str, body: Any) -> bool:
    match name:
        case "list" | "tuple":
            return type(body) is list
        case "dict":
            return type(body) is dict
        case "float":
            return body in ("nan", "inf", "-inf")
        case "complex":
            return type(body) is list and len(body) == 2
        case "dtype" | "device" | "enum":
            return type(body) is str
        case "tensor" | "array":
            if type(body) is not dict or set(body) != {"dtype", "shape", "data"}:
                return False
            shape, data = body["shape"], body["data"]
            return (
                type(body["dtype"]) is str
                and type(shape) is list
                and len(shape) <= 64
                and all(type(size) is int and size >= 0 for size in shape)
                and math.prod(size or 1 for size in shape) <= MAX_ELEMENTS
                and type(data) is list
                and len(data) == math.prod(shape)
            )
    return False


def _as_float(observed: Any) -> float:
    return float(observed["float"]) if type(observed) is dict else float(observed)


def _nested(data: list[Any], shape: list[int]) -> Any:
    if not shape:
        return data[0]
    step = len(data) // shape[0] if shape[0] else 0
    return [_nested(data[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def _show(observed: Any, depth: int) -> str:
    kind = kind_of(observed)
    if kind in ("none", "bool", "int", "str"):
        return repr(observed) if kind != "str" or len(observed) < 400 else repr(observed[:400])
    if kind == "float":
        return repr(_as_float(observed))
    body = observed[kind]
    match kind:
        case "list":
            return (
                "["
                + ", ".join(_show(item, depth + 1) for item in body[:60])
                + (", ..." if len(body) > 60 else "")
                + "]"
            )
        case "tuple":
            inner = ", ".join(_show(item, depth + 1) for item in body[:60]) + (", ..." if len(body) > 60 else "")
            return f"({inner},)" if len(body) == 1 else f"({inner})"
        case "dict":
            items = list(body.items())[:60]
            return "{" + ", ".join(f"{key!r}: {_show(item, depth + 1)}" for key, item in items) + "}"
        case "tensor" | "array":
            data = ", ".join(_short(item) for item in body["data"][:8]) + (", ..." if len(body["data"]) > 8 else "")
            return f"{kind}({data}; shape {tuple(body['shape'])}, {body['dtype']})"
        case "complex":
            return repr(plain(observed))
    return str(body)


def _short(item: Any) -> str:
    value = plain(item)
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
