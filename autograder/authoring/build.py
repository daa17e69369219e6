"""source/NN-topic.py -> source/NN-topic/NN-topic.ipynb -> notebooks/NN-topic/NN-topic.ipynb.

The first arrow is jupytext, the second nbgrader's own generate_assignment. The same text gives the same bytes.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import nbformat

from autograder.authoring.source import SourceError, read_source
from autograder.checks.grammar import GrammarError, parse


def write_source_notebook(root: Path, name: str) -> Path:
    """Write source/NAME/NAME.ipynb, with answers and hidden checks, for nbgrader and the grader; returns its path.

    Raises
    ------
    SourceError
        Where the text, its metadata or a check cell is wrong.
    """
    notebook = read_source(root, name)
    check_cells(notebook, name)
    path = root / "source" / name / f"{name}.ipynb"
    path.parent.mkdir(exist_ok=True)
    _write(path, notebook)
    return path


def release(root: Path, name: str, to: Path | None = None) -> Path:
    """Write the student release of a chapter with nbgrader's generate_assignment.

    Parameters
    ----------
    root : Path
        The course's root; source/NAME/NAME.ipynb must have been written.
    name : str
        The chapter.
    to : Path, optional
        The release folder; root/notebooks by default.

    Returns
    -------
    Path
        TO/NAME/NAME.ipynb.
    """
    from nbgrader.apps.nbgraderapp import NbGraderApp
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory

    from autograder.grading.book.database import NBGRADER_DEFAULT, Database

    to = to or root / "notebooks"
    with tempfile.TemporaryDirectory() as scratch:
        config = _nbgrader_config(root)
        config.CourseDirectory.root = str(root)
        config.CourseDirectory.release_directory = str(Path(scratch) / "release")
        config.CourseDirectory.db_url = url = f"sqlite:///{scratch}/gradebook.db"
        # nbgrader starts a process of some seconds where it has to make the gradebook itself.
        Database(url, str(config.CourseDirectory.get("course_id", NBGRADER_DEFAULT))).close()
        config.CourseDirectory.assignment_id = name
        app = NbGraderApp(config=config)
        app.log.setLevel(logging.ERROR)
        log = StringIO()
        here = Path.cwd()
        try:
            os.chdir(root)
            with redirect_stdout(log), redirect_stderr(log):
                converter = GenerateAssignment(coursedir=CourseDirectory(parent=app), parent=app)
                converter.start()
        except (Exception, SystemExit) as error:
            raise SourceError(f"nbgrader could not release {name}: {error} {log.getvalue().strip()}".strip()) from error
        finally:
            os.chdir(here)
        made = Path(scratch) / "release" / name / f"{name}.ipynb"
        if not made.is_file():
            raise SourceError(f"nbgrader released nothing for {name}: {log.getvalue().strip()}")
        target = to / name / f"{name}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(target, nbformat.read(made, as_version=4))
    return target


def refuse_to_lose_answers(path: Path) -> None:
    """Raise SourceError where the release at `path` is somebody's work: it was run, or its stubs are filled."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        worked = any(
            cell.get("outputs")
            or cell.get("execution_count")
            or (
                cell["metadata"].get("nbgrader", {}).get("solution") and "YOUR CODE HERE" not in "".join(cell["source"])
            )
            for cell in cells
            if cell["cell_type"] == "code"
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # not there, or no notebook: nothing to lose
    if worked:
        raise SourceError(f"{path} holds somebody's work: move it away, or build with --force to write over it.")


def check_cells(notebook: Any, name: str) -> None:
    """Raise SourceError where a check cell breaks the grammar, or disagrees with its metadata."""
    answers = {c.metadata.nbgrader.grade_id for c in notebook.cells if c.metadata.get("nbgrader", {}).get("solution")}
    for cell in notebook.cells:
        where = cell.metadata.get("nbgrader", {}).get("grade_id") or cell.source.strip().split("\n")[0][:60]
        if cell.source.count("BEGIN SOLUTION") != cell.source.count("END SOLUTION"):
            raise SourceError(
                f"source/{name}.py, cell {where}: every `### BEGIN SOLUTION` needs its `### END SOLUTION`."
            )
        if "BEGIN HIDDEN TESTS" in cell.source and not cell.metadata.get("nbgrader", {}).get("grade"):
            raise SourceError(
                f"source/{name}.py, cell {where}: hidden tests stand in a cell that is not graded; is its metadata right?"
            )
    for cell in notebook.cells:
        metadata = cell.metadata.get("nbgrader", {})
        if not metadata.get("grade") or cell.cell_type != "code":
            continue
        grade_id = metadata["grade_id"]
        try:
            parsed = parse(cell.source)
        except GrammarError as error:
            raise SourceError(f"source/{name}.py, cell {grade_id}: {error}") from error
        if grade_id != f"check-{parsed.exercise}" or parsed.exercise not in answers:
            raise SourceError(
                f"source/{name}.py, cell {grade_id}: it checks {parsed.exercise!r}, which has no answer cell of that id."
            )
        if parsed.points != float(metadata["points"]):
            raise SourceError(
                f"source/{name}.py, cell {grade_id}: Check says {parsed.points:g} points, the metadata {metadata['points']}."
            )


def clean_stale(root: Path, names: list[str]) -> None:
    """Remove generated folders whose source text is gone."""
    for folder in (root / "source", root / "notebooks"):
        for path in folder.iterdir() if folder.is_dir() else ():
            if path.is_dir() and path.name not in names and (path / f"{path.name}.ipynb").is_file():
                shutil.rmtree(path)


def _write(path: Path, notebook: Any) -> None:
    text = nbformat.writes(notebook, version=4)
    if not path.is_file() or path.read_text(encoding="utf-8") != text + "\n":
        path.write_text(text + "\n", encoding="utf-8")


def _nbgrader_config(root: Path) -> Any:
    from traitlets.config.loader import Config, PyFileConfigLoader

    if not (root / "nbgrader_config.py").is_file():
        return Config()
    return PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
