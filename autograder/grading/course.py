"""A chapter as the grader sees it: the instructor's cells beside the cells that students were given.

Plain JSON, no torch and no nbformat: a campaign loads its chapters in milliseconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

CourseRole = Literal["course", "answer", "check", "manual", "demo", "text"]


class CourseError(Exception):
    """The course itself is wrong; the text says what, where, and what to do."""


@dataclass(frozen=True, eq=False)  # told apart, and hashed, by identity
class CourseCell:
    """One cell of a chapter.

    Attributes
    ----------
    id : str
        The grade_id where there is one, else the nbformat id of the released cell; unique in its chapter.
    source : str
        The instructor's source, with reference answer and hidden checks.
    released : str
        What students were given.
    role : {"course", "answer", "check", "manual", "demo", "text"}
        "course" is set-up code, "text" is prose.
    exercise : str or None
        "walk" for the answer cell `walk` and for its check cell `check-walk`.
    points : float
        What the cell can earn; 0 where it earns nothing.
    locked : bool
        Whether the course's source replaces whatever a student made of it.
    metadata : dict
        The released cell's metadata.
    cell_id : str
        The nbformat id of the released cell, "" where it has none.
    """

    id: str
    cell_type: str
    source: str
    released: str
    role: CourseRole
    exercise: str | None = None
    points: float = 0.0
    locked: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    cell_id: str = ""


@dataclass(frozen=True, eq=False)  # told apart, and hashed, by identity
class Chapter:
    """A chapter: its cells in order, and the metadata of the released notebook."""

    name: str
    cells: tuple[CourseCell, ...]
    metadata: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def by_id(self) -> dict[str, CourseCell]:
        """Cells by id."""
        return {cell.id: cell for cell in self.cells}

    @cached_property
    def exercises(self) -> tuple[str, ...]:
        """Names of the exercises, in order."""
        return tuple(dict.fromkeys(cell.exercise for cell in self.cells if cell.exercise is not None))

    @cached_property
    def checks(self) -> tuple[CourseCell, ...]:
        """Check cells, in order."""
        return tuple(cell for cell in self.cells if cell.role == "check")

    @cached_property
    def manual(self) -> tuple[CourseCell, ...]:
        """Cells that a person grades, in order."""
        return tuple(cell for cell in self.cells if cell.role == "manual")

    @property
    def max_score(self) -> float:
        """Points of all check cells; what a person grades is not in it."""
        return math.fsum(cell.points for cell in self.checks)


@dataclass(frozen=True)
class Course:
    """What a run of the grader needs of the course.

    Attributes
    ----------
    skipped : mapping
        Exercise to the sentence why this machine cannot grade it.
    others : mapping
        Chapters that are not graded in this run, as released: their notebooks are told from those of `chapters`.
    """

    course_id: str
    chapters: Mapping[str, Chapter]
    skipped: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, Chapter] = field(default_factory=dict)


def chapter_names(root: Path) -> list[str]:
    """Names of the chapters that were built below `root`, in order: those with an instructor's notebook."""
    return sorted(path.parent.name for path in (root / "source").glob("*/*.ipynb") if path.stem == path.parent.name)


def chapter_called(name: str, known: Iterable[str]) -> str:
    """The known chapter of that name, or the only one whose name begins so: "02" is enough.

    Raises
    ------
    CourseError
        No such chapter, or several.
    """
    known = list(known)
    found = [name] if name in known else [one for one in known if name and one.startswith(name)]
    if len(found) != 1:
        raise CourseError(f"There is no chapter {name!r}; the chapters are: {', '.join(known) or 'none'}.")
    return found[0]


def load_chapter(root: Path, name: str) -> Chapter:
    """Load a chapter from `root/source/NAME/NAME.ipynb` and its release `root/notebooks/NAME/NAME.ipynb`.

    Raises
    ------
    CourseError
        A notebook is not there or is not one, the two are not in step, or a cell's metadata is wrong.
    """
    return load_chapter_at(name, root / "source" / name / f"{name}.ipynb", root / "notebooks" / name / f"{name}.ipynb")


def load_chapter_at(name: str, source: Path, release: Path) -> Chapter:
    """Load a chapter from these two notebooks; errors as `load_chapter`."""
    return chapter_of(name, _load(source, name), _load(release, name))


def chapter_of(name: str, source: dict[str, Any], release: dict[str, Any]) -> Chapter:
    """Make a chapter of two notebooks (nbformat 4 as dicts), source and release; errors as `load_chapter`."""
    ours, theirs = source["cells"], release["cells"]
    if [_key(cell) for cell in ours] != [_key(cell) for cell in theirs]:
        raise CourseError(f"The release of {name} is not in step with its source: run `autograder build {name}`.")
    exercises = {str(_grader(cell).get("grade_id")) for cell in ours if _role(cell) == "answer"}
    cells = tuple(
        _course_cell(name, number, mine, given, exercises)
        for number, (mine, given) in enumerate(zip(ours, theirs, strict=True))
    )
    seen: set[str] = set()
    for cell in cells:
        if cell.id in seen:
            raise CourseError(f"{name} has two cells with the id {cell.id!r}: give one of them another grade_id.")
        seen.add(cell.id)
    return Chapter(name, cells, dict(release.get("metadata") or {}))


def _course_cell(
    chapter: str, number: int, mine: dict[str, Any], given: dict[str, Any], exercises: set[str]
) -> CourseCell:
    grader, role = _grader(mine), _role(mine)
    cell_id = str(given.get("id") or "")
    identity = str(grader.get("grade_id") or cell_id or f"cell-{number}")
    exercise = None
    if role == "answer":
        exercise = identity
    elif role == "check":
        exercise = identity.removeprefix("check-")
        if exercise not in exercises:
            raise CourseError(f"{chapter}: the check cell {identity!r} belongs to no answer cell; call it check-NAME.")
    points = 0.0
    if role in ("check", "manual"):
        try:
            points = float(grader.get("points", 0))
        except (TypeError, ValueError):
            points = math.nan
        if not (math.isfinite(points) and points >= 0):
            raise CourseError(f"{chapter}: the points of {identity!r} are not a number; correct them in its source.")
    locked = role == "check" or (role in ("course", "demo", "text") and bool(grader.get("locked")))
    return CourseCell(
        id=identity,
        cell_type=str(mine.get("cell_type")),
        source=text_of(mine.get("source")),
        released=text_of(given.get("source")),
        role=role,
        exercise=exercise,
        points=points,
        locked=locked,
        metadata=dict(given.get("metadata") or {}),
        cell_id=cell_id,
    )


def text_of(source: Any) -> str:
    """The text of a cell's source, which nbformat writes as one string or as a list of lines."""
    return "".join(source) if isinstance(source, list) else str(source or "")


def _role(cell: dict[str, Any]) -> CourseRole:
    grader = _grader(cell)
    if grader.get("task") or (grader.get("grade") and grader.get("solution")):
        return "manual"
    if cell.get("cell_type") != "code":
        return "text"
    if grader.get("solution"):
        return "answer"
    if grader.get("grade"):
        return "check"
    return "demo" if "demo" in ((cell.get("metadata") or {}).get("tags") or ()) else "course"


def _grader(cell: dict[str, Any]) -> dict[str, Any]:
    return (cell.get("metadata") or {}).get("nbgrader") or {}


def _key(cell: dict[str, Any]) -> tuple[str, str]:
    return str(cell.get("cell_type")), str(_grader(cell).get("grade_id") or "")


def _load(path: Path, name: str) -> dict[str, Any]:
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CourseError(f"{path} is not there: run `autograder build {name}` first.") from None
    except (OSError, ValueError) as error:
        raise CourseError(f"{path} cannot be read ({error}): run `autograder build {name}` again.") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise CourseError(f"{path} is no notebook of format 4: run `autograder build {name}` again.")
    return notebook
