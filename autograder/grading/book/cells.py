"""A chapter in nbgrader's gradebook: assignment, notebook and cells, as `nbgrader generate_assignment` saves them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from nbformat import NotebookNode, from_dict
from nbgrader.api import Base
from nbgrader.utils import compute_checksum

from autograder.grading.book.database import BookError
from autograder.grading.course import Chapter

_T = Base.metadata.tables
_ASSIGNMENT, _NOTEBOOK, _SOURCE = _T["assignment"], _T["notebook"], _T["source_cell"]
_BASE, _GRADE_CELL, _SOLUTION_CELL = _T["base_cell"], _T["grade_cells"], _T["solution_cells"]
_GRADE, _COMMENT, _SUBMITTED = _T["grade"], _T["comment"], _T["submitted_notebook"]


@dataclass(frozen=True)
class BookCell:
    """One cell that nbgrader keeps: a check cell, an answer cell, a free answer (grade and solution), or a locked cell.

    `source` is what students got plus the hidden tests, never an answer: stock `nbgrader autograde` puts it back into
    submissions.
    """

    grade_id: str
    cell_type: str
    source: str
    grade: bool = False
    solution: bool = False
    locked: bool = False
    points: float = 0.0

    @property
    def checksum(self) -> str:
        """The checksum of nbgrader, by which it knows an untouched answer."""
        return str(compute_checksum(self._node()))

    def _node(self) -> NotebookNode:
        mark: dict[str, Any] = {"grade_id": self.grade_id, "grade": self.grade, "solution": self.solution}
        mark |= {"locked": self.locked, "points": self.points, "task": False, "schema_version": 3}
        return from_dict({"cell_type": self.cell_type, "metadata": {"nbgrader": mark}, "source": self.source})


def cells_of(chapter: Chapter) -> list[BookCell]:
    """Pick the cells of a chapter that nbgrader keeps: answers as stubs, hidden tests still there."""
    found = []
    for cell in chapter.cells:
        mark = cell.metadata.get("nbgrader") or {}
        grade, solution = bool(mark.get("grade")), bool(mark.get("solution"))
        if grade or solution or mark.get("locked"):
            source = cell.released if solution else cell.source
            locked = not solution and (grade or bool(mark.get("locked")))
            found.append(BookCell(cell.id, cell.cell_type, source, grade, solution, locked, cell.points))
    return found


@dataclass(frozen=True)
class ChapterIds:
    """The keys of a chapter's rows: cells by grade_id."""

    name: str
    assignment: str
    notebook: str
    grade_cells: dict[str, str]
    solution_cells: dict[str, str]


def chapter_ids(connection: sa.Connection, chapter: str) -> ChapterIds:
    """Look a chapter up; BookError where it was never entered."""
    found = connection.execute(
        sa.select(_ASSIGNMENT.c.id, _NOTEBOOK.c.id)
        .join(_NOTEBOOK, _NOTEBOOK.c.assignment_id == _ASSIGNMENT.c.id)
        .where(_ASSIGNMENT.c.name == chapter, _NOTEBOOK.c.name == chapter)
    ).first()
    if found is None:
        raise BookError(f"The gradebook has no chapter {chapter!r}: enter the chapter before its grades.")
    kinds: dict[str, dict[str, str]] = {"GradeCell": {}, "SolutionCell": {}}
    query = sa.select(_BASE.c.type, _BASE.c.name, _BASE.c.id).where(_BASE.c.notebook_id == found[1])
    for kind, name, key in connection.execute(query):
        kinds.setdefault(kind, {})[name] = key
    return ChapterIds(chapter, found[0], found[1], kinds["GradeCell"], kinds["SolutionCell"])


def store_chapter(connection: sa.Connection, course_id: str, course_chapter: Chapter) -> None:
    """Bring a chapter's rows in step with its cells, submissions included."""
    chapter, cells = course_chapter.name, cells_of(course_chapter)
    assignment = connection.scalar(sa.select(_ASSIGNMENT.c.id).where(_ASSIGNMENT.c.name == chapter))
    if assignment is None:
        assignment = _new()
        connection.execute(_ASSIGNMENT.insert().values(id=assignment, name=chapter, course_id=course_id))
    spec = json.dumps(course_chapter.metadata.get("kernelspec") or {})
    known = connection.execute(
        sa.select(_NOTEBOOK.c.id, _NOTEBOOK.c.kernelspec).where(
            _NOTEBOOK.c.assignment_id == assignment, _NOTEBOOK.c.name == chapter
        )
    ).first()
    if known is None:
        notebook = _new()
        connection.execute(
            _NOTEBOOK.insert().values(id=notebook, name=chapter, assignment_id=assignment, kernelspec=spec)
        )
    else:
        notebook = known[0]
        if known[1] != spec:
            connection.execute(_NOTEBOOK.update().where(_NOTEBOOK.c.id == notebook).values(kernelspec=spec))
    _store_grade_cells(connection, chapter, notebook, [cell for cell in cells if cell.grade])
    _store_solution_cells(connection, chapter, notebook, [cell for cell in cells if cell.solution])
    _store_sources(connection, notebook, cells)


def _store_grade_cells(connection: sa.Connection, chapter: str, notebook: str, cells: Sequence[BookCell]) -> None:
    old = {
        name: (key, points, kind)
        for name, key, points, kind in connection.execute(
            sa.select(_BASE.c.name, _BASE.c.id, _GRADE_CELL.c.max_score, _GRADE_CELL.c.cell_type)
            .join(_GRADE_CELL, _GRADE_CELL.c.id == _BASE.c.id)
            .where(_BASE.c.notebook_id == notebook)
        )
    }
    new = {cell.grade_id: cell for cell in cells}
    by_hand = sa.or_(_GRADE.c.manual_score.is_not(None), _GRADE.c.extra_credit.is_not(None))
    gone = {name: old[name][0] for name in old.keys() - new.keys()}
    _remove(connection, chapter, gone, _GRADE_CELL, _GRADE, by_hand)
    added = {name: _new() for name in new if name not in old}
    _add(connection, notebook, added, "GradeCell")
    for name, cell in new.items():
        if name in added:
            connection.execute(
                _GRADE_CELL.insert().values(id=added[name], max_score=cell.points, cell_type=cell.cell_type)
            )
        elif old[name][1:] != (cell.points, cell.cell_type):
            connection.execute(
                _GRADE_CELL.update()
                .where(_GRADE_CELL.c.id == old[name][0])
                .values(max_score=cell.points, cell_type=cell.cell_type)
            )
    _give_everybody(connection, notebook, added.values(), _GRADE, needs_manual_grade=True)


def _store_solution_cells(connection: sa.Connection, chapter: str, notebook: str, cells: Sequence[BookCell]) -> None:
    query = sa.select(_BASE.c.name, _BASE.c.id).where(_BASE.c.notebook_id == notebook, _BASE.c.type == "SolutionCell")
    old: dict[str, str] = dict(connection.execute(query).tuples().all())
    new = {cell.grade_id for cell in cells}
    gone = {name: old[name] for name in old.keys() - new}
    _remove(connection, chapter, gone, _SOLUTION_CELL, _COMMENT, _COMMENT.c.manual_comment.is_not(None))
    added = {cell.grade_id: _new() for cell in cells if cell.grade_id not in old}
    _add(connection, notebook, added, "SolutionCell")
    if added:
        connection.execute(_SOLUTION_CELL.insert(), [{"id": key} for key in added.values()])
    _give_everybody(connection, notebook, added.values(), _COMMENT)


def _store_sources(connection: sa.Connection, notebook: str, cells: Sequence[BookCell]) -> None:
    columns = (_SOURCE.c.cell_type, _SOURCE.c.locked, _SOURCE.c.source, _SOURCE.c.checksum)
    query = sa.select(_SOURCE.c.name, _SOURCE.c.id, *columns).where(_SOURCE.c.notebook_id == notebook)
    old = {name: (key, tuple(rest)) for name, key, *rest in connection.execute(query)}
    for name in old.keys() - {cell.grade_id for cell in cells}:
        connection.execute(_SOURCE.delete().where(_SOURCE.c.id == old[name][0]))
    for cell in cells:
        values = (cell.cell_type, cell.locked, cell.source, cell.checksum)
        named = dict(zip(("cell_type", "locked", "source", "checksum"), values, strict=True))
        if cell.grade_id not in old:
            connection.execute(_SOURCE.insert().values(id=_new(), name=cell.grade_id, notebook_id=notebook, **named))
        elif old[cell.grade_id][1] != values:
            connection.execute(_SOURCE.update().where(_SOURCE.c.id == old[cell.grade_id][0]).values(**named))


def _add(connection: sa.Connection, notebook: str, added: Mapping[str, str], kind: str) -> None:
    if added:
        rows = [{"id": key, "name": name, "notebook_id": notebook, "type": kind} for name, key in added.items()]
        connection.execute(_BASE.insert(), rows)


def _give_everybody(
    connection: sa.Connection, notebook: str, cells: Iterable[str], table: sa.Table, **values: Any
) -> None:
    """A row for every cell of every submission, as formgrader expects, also of those that are not graded again."""
    submitted = list(connection.scalars(sa.select(_SUBMITTED.c.id).where(_SUBMITTED.c.notebook_id == notebook)))
    rows = [{"id": _new(), "cell_id": cell, "notebook_id": one, **values} for cell in cells for one in submitted]
    if rows:
        connection.execute(table.insert(), rows)


def _remove(
    connection: sa.Connection,
    chapter: str,
    gone: Mapping[str, str],
    cells: sa.Table,
    given: sa.Table,
    by_hand: sa.ColumnElement[bool],
) -> None:
    """Remove cells and what was given for them, unless a person gave it."""
    for name, key in gone.items():
        if connection.scalar(sa.select(sa.func.count()).select_from(given).where(given.c.cell_id == key, by_hand)):
            raise BookError(
                f"The gradebook holds scores or comments given by hand for {name!r}, which {chapter} no longer has: "
                "put the cell back, or start a new gradebook."
            )
        connection.execute(given.delete().where(given.c.cell_id == key))
        connection.execute(cells.delete().where(cells.c.id == key))
        connection.execute(_BASE.delete().where(_BASE.c.id == key))


def _new() -> str:
    return uuid4().hex
