"""A learner's own judge: the visible checks of a released notebook, nothing else. No source and no reference needed."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.checks.grammar import EXPECTED_MARK
from autograder.engine.api import CellRun, Engine
from autograder.grading.answer_errors import error_notes
from autograder.grading.course import Chapter, CourseError, chapter_called, chapter_of
from autograder.grading.intake.recognize import chapter_in_cells
from autograder.grading.jobs import Placed, job, parsed
from autograder.grading.judge import judge
from autograder.grading.reading.notebook import Reading, Unreadable, read_notebook
from autograder.grading.restore.graft import PlacedCell, restore
from autograder.grading.results import ExerciseResult, Note

PRACTICE_SEED = 1


@dataclass
class Judged:
    """A learner's file, judged by the visible checks."""

    file: Path
    chapter: str
    exercises: list[ExerciseResult]
    notes: list[Note]

    @property
    def score(self) -> float:
        return sum(exercise.score or 0.0 for exercise in self.exercises)

    @property
    def max_score(self) -> float:
        return sum(exercise.max_score for exercise in self.exercises)


def released_chapters(root: Path) -> dict[str, Chapter]:
    """The chapters of root/notebooks, by name, as students have them."""
    found = {}
    for path in sorted((root / "notebooks").glob("*/*.ipynb")):
        if path.stem == path.parent.name:
            notebook = json.loads(path.read_text(encoding="utf-8"))
            found[path.stem] = chapter_of(path.stem, notebook, notebook)
    return found


def check_file(engine: Engine, chapters: dict[str, Chapter], path: Path, name: str | None = None) -> Judged:
    """Judge a notebook, or a .py file of answers, by the visible checks.

    Parameters
    ----------
    engine : Engine
        Open.
    chapters : dict
        As `released_chapters` gives them.
    path : Path
        An .ipynb or a .py.
    name : str, optional
        The chapter; by default it follows from the file's name, then from what is in it.

    Raises
    ------
    Unreadable, CourseError
        One sentence.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from None
    if path.suffix == ".py":
        chapter = _chapter_of_answers(chapters, path, data, name)
        cells, notes = _with_answers(chapter, data.decode("utf-8-sig", "replace")), list[Note]()
    else:
        try:
            reading = read_notebook(data)
        except Unreadable as error:
            raise Unreadable(f"{path}: {error}") from None
        chapter = _chapter_named(chapters, path, name) or _chapter_of_cells(chapters, path, reading)
        restored = restore(reading, chapter)
        cells, notes = [cell for cell in restored.cells if cell.run], restored.notes
    absent = _absent(chapter, path, data)
    run = next(iter(engine.run([job(str(path), chapter, cells, PRACTICE_SEED, expected=True)])))
    runs = {cell.id: cell for cell in run.cells}
    exercises = []
    for cell in chapter.checks:
        if cell.exercise in absent:
            exercises.append(ExerciseResult(cell.id, "not-run", False, 0.0, cell.points))
            continue
        result = runs.get(cell.id) or CellRun(cell.id)
        expected = {
            label.removesuffix(EXPECTED_MARK): value
            for label, value in result.observations.items()
            if label.endswith(EXPECTED_MARK)
        }
        exercises.append(judge(cell.id, parsed(cell.source), result, expected, max_score=cell.points))
    if path.suffix == ".py":
        notes += error_notes(run.cells, ["answers"], path.name)
    else:
        notes += error_notes(run.cells, chapter.exercises)
    return Judged(path, chapter.name, exercises, notes)


def _absent(chapter: Chapter, path: Path, data: bytes) -> set[str]:
    """Exercises that a .py file of answers does not define."""
    if path.suffix != ".py":
        return set()
    try:
        bound = set(_bound(ast.parse(data).body))
    except (SyntaxError, ValueError):
        return set()
    return {exercise for exercise, names in _asked(chapter).items() if not names & bound}


def _asked(chapter: Chapter) -> dict[str, set[str]]:
    """Exercise to the names that its answer cell binds; a file of answers binds them in its place."""
    asked = {}
    for cell in chapter.cells:
        if cell.role == "answer" and cell.exercise:
            try:
                asked[cell.exercise] = set(_bound(ast.parse(cell.released).body)) or {cell.exercise}
            except SyntaxError:  # IPython's own syntax
                asked[cell.exercise] = {cell.exercise}
    return asked


def _with_answers(chapter: Chapter, text: str) -> list[Placed]:
    """Set-up cells, the file as one cell, then every check."""
    blank = not text.partition("\n")[0].strip()  # IPython drops blank lines at the start, and would count without them
    answers = PlacedCell("answers", "code", f"#{text}" if blank else text, "answer")
    return [*(cell for cell in chapter.cells if cell.role == "course"), answers, *chapter.checks]


def _chapter_named(chapters: dict[str, Chapter], path: Path, name: str | None) -> Chapter | None:
    return chapters.get(path.stem if name is None else chapter_called(name, chapters))


def _chapter_of_cells(chapters: dict[str, Chapter], path: Path, reading: Reading) -> Chapter:
    name = chapter_in_cells(reading, chapters)
    if name is None:
        raise CourseError(f"{path} belongs to no chapter that is known here; name it with --chapter.")
    return chapters[name]


def _chapter_like(chapters: dict[str, Chapter], path: Path, names: set[str]) -> Chapter:
    """The chapter that shares most names with the file."""

    def shared(chapter: Chapter) -> int:
        return len(names & set().union(*_asked(chapter).values()))

    best = max(chapters.values(), key=shared, default=None)
    if best is None or not shared(best):
        raise CourseError(f"{path} belongs to no chapter that is known here; name it with --chapter.")
    return best


def _chapter_of_answers(chapters: dict[str, Chapter], path: Path, data: bytes, name: str | None) -> Chapter:
    named = _chapter_named(chapters, path, name)
    if named is not None:
        return named
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError) as error:
        raise Unreadable(f"{path} is not Python ({error.args[0]}, line {getattr(error, 'lineno', '?')}).") from None
    return _chapter_like(chapters, path, set(_bound(tree.body)))


def _bound(body: Sequence[ast.stmt]) -> list[str]:
    names = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names
