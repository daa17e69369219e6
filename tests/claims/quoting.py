"""Binds a sentence of a chapter to the test that shows it to be true."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

SOURCE = Path(__file__).resolve().parents[2] / "source"
Test = TypeVar("Test", bound=Callable[..., None])


def says(*sentences: str) -> Callable[[Test], Test]:
    """Mark a test as the proof of sentences that stand in its chapter, word for word.

    A test in `tests/claims/01_graph.py`, or in `01_graph_more.py` beside it, quotes `source/01-graph.py`. Line breaks, comment marks and Markdown's
    emphasis do not count; every other character does. Whoever changes the sentence has to look at its test again.

    Parameters
    ----------
    *sentences : str
        What the test proves, as the chapter says it.

    Raises
    ------
    ValueError
        At collection, where a sentence is empty or does not stand in the chapter (any more).
    """
    here = inspect.stack()[1].filename
    stem = Path(here).stem.replace("_", "-")
    chapter = next(path for path in SOURCE.glob("*.py") if f"{stem}-".startswith(f"{path.stem}-"))
    text = _plain(chapter.read_text(encoding="utf-8"))
    for sentence in sentences:
        if not _plain(sentence) or _plain(sentence) not in text:
            raise ValueError(
                f"{chapter.name} does not say {sentence!r}: quote it as it stands there, or drop its test."
            )

    def mark(test: Test) -> Test:
        return test

    return mark


def _plain(text: str) -> str:
    """The words alone: comment marks at line starts, emphasis and line breaks do not count."""
    text = re.sub(r"^#( |$)", "", text, flags=re.MULTILINE)
    return " ".join(re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*]{1,2}", "", text).split())
