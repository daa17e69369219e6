"""How well one color is read on another, as WCAG 2 counts it."""

from __future__ import annotations


def contrast(one: str, other: str) -> float:
    """(lighter + 0.05) / (darker + 0.05), in relative luminance; 1 to 21. AA asks 4.5 of text."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
