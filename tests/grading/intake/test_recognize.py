"""The chapter that a name speaks of, and what else it says."""

import pytest

from autograder.grading.intake.recognize import chapter_in_name, names_fully, without_chapter

NAMES = ["01-graph", "02-saved-tensors", "06-backward-engine"]


@pytest.mark.parametrize(
    ("text", "chapter", "rest"),
    [
        ("01-graph", "01-graph", ""),
        ("01_Graph (3)", "01-graph", ""),
        ("Copy of 01 graph", "01-graph", ""),
        ("01-graph - Copy", "01-graph", ""),
        ("01graph", "01-graph", ""),
        ("Jane Doe 02 saved tensors v2", "02-saved-tensors", "Jane Doe   v2"),
        ("week 6", "06-backward-engine", ""),
        ("hw06_jane", "06-backward-engine", "jane"),
        ("saved-tensors", "02-saved-tensors", ""),
        ("s01", None, "s01"),
        ("2026-01-06", None, "2026-01-06"),
        ("graph and saved tensors", "02-saved-tensors", "graph and"),
        ("jane", None, "jane"),
    ],
)
def test_chapters_are_read_from_names(text, chapter, rest):
    assert chapter_in_name(text, NAMES) == chapter
    assert without_chapter(text, NAMES) == rest


@pytest.mark.parametrize(
    ("text", "whole"), [("Copy of 01_Graph (3)", True), ("jane 01graph", True), ("hw1", False), ("graph", False)]
)
def test_a_whole_name_is_told_from_a_number(text, whole):
    assert names_fully(text, "01-graph") == whole
    assert not names_fully(text, None)
