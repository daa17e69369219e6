"""Answers to chapter 06, ready to call: the reference's and the bank's."""

from __future__ import annotations

import re
from pathlib import Path

import torch

from autograder.lab.small_world.arrays import copy, ones_like, reshape, sizes, sum_over
from autograder.lab.small_world.world import Node, Tensor

ROOT = Path(__file__).parents[1]
BANK = ROOT / "tests" / "bank"
_GIVEN = {f.__name__: f for f in (copy, ones_like, reshape, sizes, sum_over)}
_GIVEN |= {"Node": Node, "Tensor": Tensor, "torch": torch}


def reference(exercise, chapter="06-backward-engine"):
    """The function that the chapter's own answer cell defines."""
    text = (ROOT / "source" / f"{chapter}.py").read_text(encoding="utf-8")
    (cell,) = re.findall(rf'^# %% .*"grade_id": "{exercise}".*\n((?:(?!# %%).*\n)*)', text, flags=re.MULTILINE)
    return _defined(cell, exercise)


def answer(exercise, name, chapter="06-backward-engine"):
    """The function that a bank answer defines; it sees what the set-up cell of chapter 06 imports."""
    return _defined((BANK / chapter / exercise / f"{name}.py").read_text(encoding="utf-8"), exercise)


def right_answers(exercise, chapter):
    """The reference and every right answer of the bank."""
    names = sorted(path.stem for path in (BANK / chapter / exercise).glob("right_*.py"))
    return [reference(exercise, chapter), *(answer(exercise, name, chapter) for name in names)]


def _defined(source, exercise):
    names = dict(_GIVEN)
    exec(source, names)
    return names[exercise]
