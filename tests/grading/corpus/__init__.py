"""Damaged submissions, made from a released notebook the way people and tools damage them. `damages` says what a damage is."""

from tests.grading.corpus import cells, answers, marks, files, folders  # isort: skip
from tests.grading.corpus.damages import DAMAGES, Damage, Files, age, blank, encode, made, write, zipped

__all__ = [
    "DAMAGES",
    "Damage",
    "Files",
    "age",
    "answers",
    "blank",
    "cells",
    "encode",
    "files",
    "folders",
    "made",
    "marks",
    "write",
    "zipped",
]
