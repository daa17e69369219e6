"""A value becomes an observation: plain JSON that another process can compare.

Reduction goes by exact type. It serves honesty, not defense: a class that claims to be a list is not one. The forms stand in
the table "Observations" of docs/design.md. This module does not import torch or numpy; it knows them when the notebook does.
"""

from __future__ import annotations

import enum
import math
import sys
from typing import Any

MAX_ELEMENTS = 10_000
MAX_TEXT = 100_000
MAX_DEPTH = 40
MAX_DIGITS = 1_000  # of an int: json.loads refuses more than 4,300

Observation = Any  #: JSON as `observe` writes it


class _Opaque(Exception):
    """The value has no plain form; the text says what to return instead."""


class _TooLarge(_Opaque):
    """It is the whole that has no plain form, not what stands at one place of it."""


def observe(value: object) -> Observation:
    """Reduce a value to an observation.

    Parameters
    ----------
    value : object
        None, bool, int, float, complex, str, list, tuple, dict with str keys, enum member, torch dtype, device or
        tensor, numpy array or scalar, nested at will.

    Returns
    -------
    Observation
        At most 10,000 elements. A value without a plain form gives `{"opaque": sentence}` for the whole.
    """
    reducer = _Reducer()
    try:
        return reducer.reduce(value, 0)
    except _TooLarge as reason:
        return {"opaque": str(reason)}
    except _Opaque as reason:
        return {"opaque": reducer.at(str(reason))}


def observe_error(error: BaseException, none: bool = False) -> Observation:
    """Reduce an exception to the names of its type and bases, and its text (2,000 characters).

    `none` says that it is not the answer's own: the check could not go on with a None.
    """
    try:
        text = str(error)
    except Exception:
        text = ""
    names = [cls.__name__ for cls in type(error).__mro__ if cls is not object]
    body = {"type": names[0], "mro": names, "text": clean(text[:2000])}
    return {"error": {**body, "none": True} if none else body}


def clean(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


class _Reducer:
    """Counts elements while it reduces, and knows at which place of the whole it is."""

    def __init__(self) -> None:
        self.left = MAX_ELEMENTS
        self.place: list[int | str] = []

    def at(self, sentence: str) -> str:
        """The sentence, with the place where the reduction ended."""
        where = "".join(f"[{clean(key[:40])!r}]" if isinstance(key, str) else f"[{key}]" for key in self.place)
        return f"At {where}: {sentence[0].lower()}{sentence[1:]}" if where else sentence

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise _TooLarge(f"This value has more than {MAX_ELEMENTS:,} elements; that is too many to compare.")

    def reduce(self, value: Any, depth: int) -> Observation:
        if depth > MAX_DEPTH:
            raise _TooLarge(f"This value is nested more than {MAX_DEPTH} levels deep.")
        self.spend(1)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            if abs(value).bit_length() > MAX_DIGITS * 3:
                raise _Opaque("This int is too large to compare.")
            return value
        if kind is float:
            return _float(value)
        if kind is complex:
            return {"complex": [_float(value.real), _float(value.imag)]}
        if kind is str:
            if len(value) > MAX_TEXT:
                raise _Opaque(f"This str has more than {MAX_TEXT:,} characters.")
            return clean(value)
        if kind is list:
            self.spend(max(0, len(value) - self.left))
            return {"list": [self.part(index, item, depth) for index, item in enumerate(value)]}
        if kind is tuple:
            self.spend(max(0, len(value) - self.left))
            return {"tuple": [self.part(index, item, depth) for index, item in enumerate(value)]}
        if kind is dict:
            return self.mapping(value, depth)
        if isinstance(kind, enum.EnumMeta):
            return {"enum": f"{kind.__name__}.{value.name}"}
        return self.foreign(value, kind)

    def mapping(self, value: dict[Any, Any], depth: int) -> Observation:
        for key in value:
            if type(key) is not str:
                raise _Opaque(f"This dict has a key of type {_name(type(key))}; only str keys can be compared.")
        return {"dict": {clean(key): self.part(key, item, depth) for key, item in value.items()}}

    def part(self, key: int | str, item: Any, depth: int) -> Observation:
        self.place.append(key)
        reduced = self.reduce(item, depth + 1)
        self.place.pop()
        return reduced

    def foreign(self, value: Any, kind: type) -> Observation:
        torch = sys.modules.get("torch")
        if torch is not None:
            if kind is torch.Size:
                return {"tuple": [self.reduce(int(item), 1) for item in value]}
            if kind is torch.Tensor or kind is torch.nn.Parameter:
                return self.tensor(value)
            if kind is torch.dtype:
                return {"dtype": str(value)}
            if kind is torch.device:
                return {"device": str(value)}
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            if kind is numpy.ndarray:
                return self.array(value)
            if issubclass(kind, numpy.generic) and type(value.item()) in (bool, int, float, complex, str):
                return self.reduce(value.item(), 1)
        name = _name(kind)
        article = "an" if name[:1].lower() in "aeiou" else "a"
        raise _Opaque(
            f"This is {article} {name}; return plain data such as a number, a list, a tuple, a dict or a tensor."
        )

    def tensor(self, value: Any) -> Observation:
        self.spend(value.numel())
        if value.is_meta or value.is_quantized:
            raise _Opaque("This tensor holds no plain values (it is a meta or quantized tensor).")
        dense = value.detach()
        if dense.layout is not sys.modules["torch"].strided:
            dense = dense.to_dense()
        data = dense.resolve_conj().resolve_neg().cpu().reshape(-1).tolist()
        dtype = str(value.dtype).removeprefix("torch.")
        return {"tensor": {"dtype": dtype, "shape": list(value.shape), "data": [_number(item) for item in data]}}

    def array(self, value: Any) -> Observation:
        self.spend(value.size)
        if value.dtype.kind not in "biufc":
            raise _Opaque(f"This array has dtype {value.dtype}; only numbers can be compared.")
        data = value.reshape(-1).tolist()
        return {
            "array": {"dtype": str(value.dtype), "shape": list(value.shape), "data": [_number(item) for item in data]}
        }


def _float(value: float) -> Observation:
    return value if math.isfinite(value) else {"float": str(value)}


def _number(value: Any) -> Observation:
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if type(value) is complex:
        return {"complex": [_float(value.real), _float(value.imag)]}
    return value


def _name(kind: type) -> str:
    return clean(str(getattr(kind, "__name__", "object")))[:80]
