"""Letters and shapes of the pages stand out from what is behind them, in the light and in the dark: WCAG 2 AA."""

from __future__ import annotations

import re

import pytest

from autograder.reporting.pages import source_of

STYLE = source_of("style.css")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in re.findall(r":root \{(.*?)\}", STYLE, re.S)
)

#: letters, and every ground that they stand on
LETTERS = {
    "ink": ["page", "card", "wash", "mark-wash", "bad-wash", "some-wash"],
    "soft": ["page", "card", "wash"],
    "good": ["card", "good-wash"],
    "some": ["some-wash"],
    "bad": ["card", "bad-wash"],
    "mark": ["page", "card", "mark-wash"],
}
#: shapes that say something, and what they must be told from
SHAPES = {
    "good": ["card", "page"],
    "some": ["card"],
    "bad": ["card"],
    "mark": ["card", "mark-wash"],
    "soft": ["card"],
    "ink": ["card"],
}


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of two colors, from 1 to 21."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_ratio_is_wcags():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("pairs", "least"), [(LETTERS, 4.5), (SHAPES, 3.0)], ids=["letters", "shapes"])
def test_contrast(scheme, pairs, least):
    low = {
        f"{front} on {back}": round(contrast(scheme[front], scheme[back]), 2)
        for front, backs in pairs.items()
        for back in backs
        if contrast(scheme[front], scheme[back]) < least
    }
    assert not low


def test_every_color_is_a_name_that_is_measured():
    rules = re.sub(r":root \{.*?\}", "", STYLE, flags=re.S)
    named = set(re.findall(r"(?<![\w-])color: ([^;}]+)", rules)) - {"inherit"}
    assert named == {f"var(--{front})" for front in LETTERS}
    assert LIGHT.keys() == DARK.keys()
