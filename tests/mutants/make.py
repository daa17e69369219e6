"""Mutants of right answers."""

from __future__ import annotations

import ast
import difflib
import hashlib
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.grading.course import Chapter
from tests.bank_lib import BANK, entries
from tests.mutants.edits import places
from tests.mutants.statements import STATEMENTS
from tests.mutants.tensors import TENSORS, ZEROED
from tests.mutants.values import VALUES
from tests.mutants.worklists import WALKS

REFERENCE = "reference"
OPERATORS = (*VALUES, *STATEMENTS, *TENSORS, *WALKS)


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
    seen = {ast.unparse(ast.parse(text)) for text in answers.values()}
    zeroed = any(".grad.zero_()" in text for text in answers.values())
    found = []
    for name, text in answers.items():
        tree = ast.parse(text)
        before = ast.unparse(tree)
        alike = Counter[tuple[str, str]]()
        for what, changed in changes(tree):
            if what == ZEROED and zeroed:  # what a right answer does is no mistake
                continue
            after = ast.unparse(changed)
            if after in seen or not _is_program(after):
                continue
            seen.add(after)
            lines = change(before, after)
            alike[what, lines] += 1
            again = f" ({alike[what, lines]})" if alike[what, lines] > 1 else ""
            found.append(Mutant(chapter.name, exercise, name, what + again, lines, after))
    return found


def changes(tree: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """Every small change of a program: what it is called, and the changed program."""
    for place in places(tree):
        for operator in OPERATORS:
            yield from operator(place)


def _is_program(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            compile(text, "<mutant>", "exec")
        except (SyntaxError, ValueError):
            return False
    return True


def change(before: str, after: str) -> str:
    """The lines that two texts do not share, with - and + before them."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def sample(every: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """So many of them. Each mutant draws a number of its own, so that a changed answer changes its own mutants alone."""

    def drawn(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed} {mutant.key}".encode()).digest()

    return sorted(sorted(every, key=drawn)[:count], key=lambda mutant: mutant.key)


def equivalents(chapter: str, exercise: str) -> dict[tuple[str, str, str], str]:
    """(answer, what, change) to the sentence that says why no promise is broken.

    They stand in tests/bank/CHAPTER/EXERCISE/equivalent.toml as `[[equivalent]]` tables with these keys and `why`.
    """
    path: Path = BANK / chapter / exercise / "equivalent.toml"
    if not path.is_file():
        return {}
    listed = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    return {(item["answer"], item["what"], item["change"].strip("\n")): item["why"] for item in listed}
