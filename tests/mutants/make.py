"""Mutants of right answers."""

from __future__ import annotations

import ast
import difflib
import random
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.course import Chapter
from tests.bank_lib import BANK, entries
from tests.mutants.edits import places
from tests.mutants.operators import OPERATORS
from tests.mutants.tensors import TENSORS

REFERENCE = "reference"


@dataclass(frozen=True)
class Mutant:
    """A right answer with one small change.

    Attributes
    ----------
    answer : str
        Which right answer: "reference", or a file of the bank without its ending.
    what : str
        The operator, in words.
    change : str
        The lines that differ, as in a diff; with `answer` and `what` it tells mutants of an exercise apart.
    """

    chapter: str
    exercise: str
    answer: str
    what: str
    change: str
    source: str

    @property
    def key(self) -> str:
        return f"{self.chapter}/{self.exercise}/{self.answer}: {self.what}\n{self.change}"


def right_answers(chapter: Chapter, exercise: str) -> dict[str, str]:
    """The reference's and the bank's right answers, by name."""
    found = {REFERENCE: next(cell.source for cell in chapter.cells if cell.role == "answer" and cell.id == exercise)}
    for entry in entries(chapter.name):
        if entry.exercise == exercise and entry.right:
            found[entry.path.stem] = entry.source
    return found


def mutants(chapter: Chapter, exercise: str) -> list[Mutant]:
    """Every mutant of every right answer of an exercise, each text once, in an order that depends on nothing but them."""
    answers = right_answers(chapter, exercise)
    seen = {ast.dump(ast.parse(text)) for text in answers.values()}
    found = []
    for name, text in answers.items():
        tree = ast.parse(text)
        before = ast.unparse(tree)
        for what, changed in _all_changes(tree):
            try:
                after = ast.unparse(changed)
                mark = ast.dump(ast.parse(after))
                compile(after, name, "exec")
            except (SyntaxError, ValueError):  # no program at all
                continue
            if mark not in seen:
                seen.add(mark)
                found.append(Mutant(chapter.name, exercise, name, what, change(before, after), after))
    return found


def _all_changes(tree: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    for place in places(tree):
        for operator in (*OPERATORS, *TENSORS):
            yield from operator(place)


def change(before: str, after: str) -> str:
    """The lines that two texts do not share, with - and + before them."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def sample(every: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """So many of them; the same for the same seed and the same answers."""
    pool = sorted(every, key=lambda mutant: mutant.key)
    return sorted(random.Random(seed).sample(pool, min(count, len(pool))), key=lambda mutant: mutant.key)


def equivalents(chapter: str, exercise: str) -> dict[tuple[str, str, str], str]:
    """(answer, what, change) to the sentence that says why no promise is broken.

    They stand in tests/bank/CHAPTER/EXERCISE/equivalent.toml as `[[equivalent]]` tables with these keys and `why`.
    """
    path: Path = BANK / chapter / exercise / "equivalent.toml"
    if not path.is_file():
        return {}
    listed = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    return {(item["answer"], item["what"], item["change"].strip("\n")): item["why"] for item in listed}
