"""From a chapter and its cells to a job for the engine."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.util import find_spec

from autograder.checks.grammar import CheckCell, parse
from autograder.engine.api import Cell, Job
from autograder.grading.course import Chapter, CourseCell

CELL_LIMIT = 60.0  #: seconds before a course cell is interrupted: it may import torch in a cold kernel
OWN_LIMIT = 10.0  #: seconds before a cell that a student wrote is interrupted
CHECK_MARGIN = 5.0  #: seconds a check cell may spend outside its checks


@lru_cache(maxsize=256)
def parsed(source: str) -> CheckCell:
    """The check cell, parsed once."""
    return parse(source)


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
    cells = []
    for cell in chapter.cells:
        if only is not None and cell.exercise not in (None, only):
            continue
        if cell.role == "course":
            cells.append(Cell(cell.id, cell.source, "course", None, CELL_LIMIT))
        elif cell.role == "answer":
            source = answers.get(cell.exercise or "", cell.source)
            cells.append(Cell(cell.id, source, "answer", cell.exercise, OWN_LIMIT))
        elif cell.role == "check" and missing_package(cell) is None:
            cells.append(check_job_cell(cell, expected))
    return Job(f"reference/{chapter.name}", tuple(cells), seed)
