"""Signs that look like Python's own and are not: what a web page or a word processor puts in their place."""

# ruff: noqa: RUF001  (the signs that look alike are what this is about)

from __future__ import annotations

import re
import unicodedata

_INSTEAD = {
    '"': "“”„‟«»″",
    "'": "‘’‚‛′`´",
    "-": "‐‑‒–—−",
    "*": "×∗·",
    "/": "÷∕⁄",
    "...": "…",
    "<=": "≤",
    ">=": "≥",
    "!=": "≠",
    "->": "→",
}
_PLAIN = {sign: plain for plain, signs in _INSTEAD.items() for sign in signs if not sign.isascii()}
_QUOTES = [sign for sign, plain in _PLAIN.items() if plain in ("'", '"')]
_NAMED = re.compile(r"^invalid (?:character '.' \(|non-printable character )U\+([0-9A-F]{4,6})\)?$")


def advice_on(error: str, shown: str) -> str | None:
    """Which sign stands there and what to type instead, for a syntax error that is about one; else None.

    Parameters
    ----------
    error : str
        Python's own words, such as "invalid character '“' (U+201C)".
    shown : str
        The traceback, which shows the line.
    """
    found = _NAMED.match(error)
    if found is not None:
        return f"{_sign(chr(int(found[1], 16)))}."
    if error.startswith("unterminated string literal"):
        sign = next((sign for sign in _QUOTES if sign in shown), None)
        if sign is not None:
            return f"a string that does not end, and {_sign(sign)}."
    return None


def _sign(sign: str) -> str:
    code, kind = f"U+{ord(sign):04X}", unicodedata.category(sign)
    name = unicodedata.name(sign, "a sign without a name").lower()
    if kind == "Zs":
        return f"{code} ({name}), a blank that is not Python's, as web pages have it: type a plain space instead"
    if kind in ("Cf", "Cc"):
        return f"{code} ({name}), which nobody can see: delete it, or type the line anew"
    plain = _PLAIN.get(sign) or unicodedata.normalize("NFKC", sign)
    if plain != sign and plain.isascii():
        return f"{sign} ({code}, {name}), as web pages and word processors write it: type {plain} instead"
    return f"{sign} ({code}, {name}), which is no sign of Python's: delete it, or put it into a string"
