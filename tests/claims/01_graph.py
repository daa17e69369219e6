"""What chapter 01 says about PyTorch and no cell of it prints."""

from __future__ import annotations

import pytest

from tests.claims.quoting import says


def test_a_sentence_that_does_not_stand_in_the_chapter_is_refused() -> None:
    with pytest.raises(ValueError, match="does not say"):
        says("Nobody ever wrote this about autograd.")
