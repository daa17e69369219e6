"""From a chapter and its cells to a job for the engine."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from autograder.checks.grammar import CheckCall, CheckCell, GrammarError, parse
from autograder.engine.api import Cell, Job, Role
from autograder.grading.course import Chapter, CourseCell

DEADLINE = 120.0  #: seconds that one submission may take
CELL_LIMIT = 60.0  #: seconds before a course cell is interrupted: it may import torch in a cold kernel
OWN_LIMIT = 10.0  #: seconds before a cell that a student wrote is interrupted
CHECK_MARGIN = 5.0  #: seconds a check cell may spend outside its checks


@lru_cache(maxsize=256)
def parsed(source: str) -> CheckCell:
    """The check cell, parsed once."""
    return parse(source)


@lru_cache(maxsize=256)
def checks_of(cell: CourseCell) -> CheckCell:
    """The course's own check cell, with the empty forms that the builder wrote into the released one.

    So whoever left a prediction empty reads that it is not answered, in feedback as in the notebook, and no expected value.
    """
    checks = parsed(cell.source)
    with contextlib.suppress(GrammarError):
        forms = {call.label: call.empty for call in parsed(cell.released).calls}
        items = (
            replace(item, empty=forms.get(item.label, item.empty)) if isinstance(item, CheckCall) else item
            for item in checks.statements
        )
        return replace(checks, statements=tuple(items))
    return checks


class Placed(Protocol):
    """A cell and its place in a chapter: one of the course, or one that `restore` put there."""

    @property
    def id(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def exercise(self) -> str | None: ...


def job(
    key: str,
    chapter: Chapter,
    cells: Iterable[Placed],
    seed: int,
    *,
    skipped: Container[str | None] = (),
    expected: bool = False,
    files: tuple[tuple[str, Path], ...] = (),
    deadline: float = DEADLINE,
) -> Job:
    """What the engine is asked to run for a chapter.

    Parameters
    ----------
    key : str
        Names the run.
    chapter : Chapter
        Check cells come from here, whatever stands in `cells`.
    cells : iterable of Placed
        The cells that run, in order.
    seed : int
        Of the run.
    skipped : container of str
        Exercises whose checks this machine cannot run.
    expected : bool
        Also observe the expected arguments of the checks; for trusted runs only.
    files, deadline
        As in `engine.api.Job`.
    """
    wanted = (cell for cell in cells if not (cell.role == "check" and cell.exercise in skipped))
    return Job(key, tuple(_job_cell(chapter, cell, expected) for cell in wanted), seed, files, deadline)


def _job_cell(chapter: Chapter, cell: Placed, expected: bool) -> Cell:
    if cell.role == "check":
        return check_job_cell(chapter.by_id[cell.id], expected)
    role: Role = "course" if cell.role == "course" else "answer" if cell.role == "answer" else "student"
    return Cell(cell.id, cell.source, role, cell.exercise, CELL_LIMIT if role == "course" else OWN_LIMIT)


def check_job_cell(cell: CourseCell, expected: bool = False) -> Cell:
    """The engine's cell for a check cell of the course: its programs, without anything to compare with."""
    grammar = parsed(cell.source)
    limit = max(call.limit for call in grammar.calls) + CHECK_MARGIN
    visible, hidden = _programs(cell.source, expected)
    return Cell(cell.id, visible, "check", cell.exercise, limit, hidden, sum(call.hidden for call in grammar.calls))


@lru_cache(maxsize=256)
def _programs(source: str, expected: bool) -> tuple[str, str]:
    grammar = parsed(source)
    return grammar.program("visible", expected=expected), grammar.program("hidden", expected=expected)


def imports(chapters: Iterable[Chapter]) -> set[str]:
    """The modules that the chapters' course cells import, and the packages that their check cells ask for by a tag."""
    cells = [cell for chapter in chapters for cell in chapter.cells]
    found = {package for cell in cells for package in _packages(cell)}
    for cell in cells:
        if cell.role == "course":
            with contextlib.suppress(SyntaxError):  # magics
                for node in ast.walk(ast.parse(cell.source)):
                    if isinstance(node, ast.Import):
                        found |= {alias.name for alias in node.names}
                    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                        found.add(node.module)
    return found


def _packages(cell: CourseCell) -> list[str]:
    return [tag.removeprefix("needs-") for tag in cell.metadata.get("tags", ()) if tag.startswith("needs-")]


def missing_package(cell: CourseCell) -> str | None:
    """The package that a check cell's tag `needs-PACKAGE` asks for and that is not installed here, else None."""
    return next((package for package in _packages(cell) if find_spec(package) is None), None)


def reference_job(
    chapter: Chapter,
    seed: int,
    *,
    answers: Mapping[str, str] | None = None,
    only: str | None = None,
    expected: bool = False,
) -> Job:
    """A job of the chapter's course, answer and check cells, without demo cells and what this machine cannot check.

    Parameters
    ----------
    chapter : Chapter
        With reference answers.
    seed : int
        Of the run.
    answers : mapping, optional
        Exercise to answer, in place of the reference's.
    only : str, optional
        Leave out the other exercises.
    expected : bool
        Also observe the expected arguments of the checks.
    """
    answers = answers or {}
    cells = [
        replace(cell, source=answers.get(cell.exercise or "", cell.source)) if cell.role == "answer" else cell
        for cell in chapter.cells
        if cell.role in ("course", "answer", "check") and (only is None or cell.exercise in (None, only))
    ]
    skipped = {cell.exercise for cell in chapter.checks if missing_package(cell)}
    return job(f"reference/{chapter.name}", chapter, cells, seed, skipped=skipped, expected=expected)
