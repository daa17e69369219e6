"""`autograded/<student>/<chapter>/<chapter>.ipynb`: what formgrader shows a person and nbgrader makes feedback from.

Students see what is written here. So every locked cell and every check cell carries its released source, and a check
cell's one output is our own table: of a hidden check the label and the author's sentence, nothing else.
"""

from __future__ import annotations

import html
import json
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.checks.table import CheckTable, Row
from autograder.grading.book.database import BookError
from autograder.grading.book.harmless import harmless_markdown, harmless_outputs
from autograder.grading.course import Chapter, CourseCell, text_of
from autograder.grading.results import ExerciseResult, Note, SubmissionResult

Notebook = dict[str, Any]
Outputs = Mapping[str, list[dict[str, Any]]]


def autograded_notebook(
    cells: Iterable[Mapping[str, Any]], chapter: Chapter, result: SubmissionResult, outputs: Outputs | None = None
) -> Notebook:
    """The notebook to show for a graded submission.

    Parameters
    ----------
    cells : iterable of dict
        The submission as it was graded, in nbformat 4 and in order: the student's and, by grade_id, the course's.
    chapter : Chapter
        Locked cells, check cells and all nbgrader metadata come from here, as they were released.
    result : SubmissionResult
        Whose checks and notes are shown.
    outputs : mapping of str to list of dict
        A cell's id to its nbformat 4 outputs as run. Cells without an entry show none. Check cells show their table.

    Returns
    -------
    dict
        Valid nbformat 4.5. Nothing that the student wrote or printed runs in a browser that shows it.
    """
    course = {cell.id: cell for cell in chapter.cells if cell.metadata.get("nbgrader")}
    prose = {cell.released for cell in chapter.cells if cell.cell_type != "code"}
    exercises = {exercise.id: exercise for exercise in result.exercises}
    shown = [_notes_cell(result.notes)] if result.notes else []
    for number, cell in enumerate(cells):
        own_outputs = harmless_outputs((outputs or {}).get(str(cell.get("id")), ()))
        original = course.pop(_grade_id(cell), None)  # a second cell of one id is shown as the student's own
        if original is None:
            shown.append(_own_cell(cell, number, own_outputs, prose))
        elif original.locked:
            shown.append(_course_cell(original, cell, number, own_outputs, exercises.get(original.id)))
        else:
            shown.append(_own_cell(cell, number, own_outputs, prose) | {"metadata": dict(original.metadata)})
    metadata = {key: chapter.metadata[key] for key in ("kernelspec", "language_info") if key in chapter.metadata}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": _unique_ids(shown)}


def unreadable_notebook(chapter: Chapter, result: SubmissionResult) -> Notebook:
    """The notebook to show where a submission could not be read: the release, and above it why."""
    return autograded_notebook(released_cells(chapter), chapter, result)


def released_cells(chapter: Chapter) -> list[dict[str, Any]]:
    """The cells of a chapter as students were given them, in nbformat 4."""
    return [
        _cell(cell.cell_type, cell.cell_id or f"cell-{number}", cell.released, dict(cell.metadata), [])
        for number, cell in enumerate(chapter.cells)
    ]


def encode(notebook: Notebook) -> bytes:
    """The bytes of a notebook. Lone surrogates, which no UTF-8 file can hold, become question marks."""
    return json.dumps(notebook, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def publish(files: Mapping[Path, bytes | None]) -> None:
    """Put files in their places, None for one that has to go.

    Call it as the last step of a transaction. All are written beside their places first, so that a full disk is met before
    any of them is changed. A grader that is killed between these files and its commit leaves notebooks that are newer than
    the gradebook: they are written again when that submission is, since the gradebook does not know it as graded.

    Raises
    ------
    BookError
        Where a file cannot be written; then the transaction must not be committed either.
    """
    beside = {path: path.with_name(f".{path.name}.new") for path, data in files.items() if data is not None}
    try:
        for path, data in files.items():
            with _sentence(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                if data is not None:
                    beside[path].write_bytes(data)
        for path in files:
            with _sentence(path):
                if path in beside:
                    beside[path].replace(path)
                else:
                    path.unlink(missing_ok=True)
    finally:
        for leftover in beside.values():
            with suppress(OSError):
                leftover.unlink(missing_ok=True)


def files_of(
    folder: Path, student: str, chapter: str, notebook: Notebook | None, timestamp: datetime | None = None
) -> dict[Path, bytes | None]:
    """`<folder>/<student>/<chapter>/<chapter>.ipynb` and its timestamp, by which nbgrader tells old from new, for `publish`."""
    place = folder_of(folder, student, chapter)
    return {
        place / f"{chapter}.ipynb": encode(notebook) if notebook is not None else None,
        place / "timestamp.txt": f"{timestamp:%Y-%m-%d %H:%M:%S.%f} UTC\n".encode() if timestamp else None,
    }


def folder_of(folder: Path, student: str, chapter: str) -> Path:
    """`<folder>/<student>/<chapter>`; BookError where a name would lead elsewhere."""
    for name in (student, chapter):
        if name in {"", ".", ".."} or any(c in name for c in "/\\\0"):
            raise BookError(f"{name!r} cannot be the name of a folder: rename the student or the chapter.")
    return folder / student / chapter


class _sentence:
    """Turns an OSError about a path into a BookError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, OSError):
            raise BookError(
                f"{self.path} cannot be written: {error.strerror or error}; see to that, then run this again."
            ) from error


def _grade_id(cell: Mapping[str, Any]) -> str:
    mark = (cell.get("metadata") or {}).get("nbgrader")
    grade_id = mark.get("grade_id") if isinstance(mark, dict) else None
    return grade_id if isinstance(grade_id, str) else ""


def _own_cell(
    cell: Mapping[str, Any], number: int, outputs: list[dict[str, Any]], prose: Container[str]
) -> dict[str, Any]:
    """A student's cell as it stands, its metadata reduced to tags. Prose of the course itself may hold HTML."""
    kind = cell["cell_type"] if cell["cell_type"] in {"code", "markdown", "raw"} else "raw"
    tags = (cell.get("metadata") or {}).get("tags")
    metadata = {"tags": tags} if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags) else {}
    source = text_of(cell.get("source"))
    if kind != "code" and source not in prose:
        source = harmless_markdown(source)
    return _cell(kind, cell.get("id") or f"cell-{number}", source, metadata, outputs)


def _course_cell(
    original: CourseCell,
    cell: Mapping[str, Any],
    number: int,
    outputs: list[dict[str, Any]],
    exercise: ExerciseResult | None,
) -> dict[str, Any]:
    """A locked cell or a check cell, as released. A check cell never shows what was run in it."""
    if original.role == "check":
        outputs = [_table(exercise)] if exercise is not None and exercise.checks else []
    cell_id = cell.get("id") or original.cell_id or f"cell-{number}"
    return _cell(original.cell_type, cell_id, original.released, dict(original.metadata), outputs)


def _cell(
    kind: str, cell_id: str, source: str, metadata: dict[str, Any], outputs: list[dict[str, Any]]
) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": cell_id, "metadata": metadata, "source": source}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": outputs}
    return cell


def _table(exercise: ExerciseResult) -> dict[str, Any]:
    """The output of a check cell: which check passed, and the sentence for one that did not."""
    rows = [Row(check.label, check.passed, check.message, check.hidden) for check in exercise.checks]
    table = CheckTable(exercise.id.removeprefix("check-"), rows, exercise.max_score, exercise.score or 0.0)
    return {
        "output_type": "display_data",
        "metadata": {},
        "data": {"text/plain": repr(table), "text/html": table._repr_html_()},
    }


def _notes_cell(notes: Iterable[Note]) -> dict[str, Any]:
    """What the grader noticed, as one block of HTML, so that no character of a file name is taken for Markdown."""
    items = ""
    for note in notes:
        where = f"<code>{html.escape(note.cell)}</code>: " if note.cell else ""
        items += f"<li>{where}{html.escape(' '.join(note.text.split()))}</li>"
    return _cell("markdown", "grader-notes", f"<div><b>Notes from the grader</b><ul>{items}</ul></div>", {}, [])


def _unique_ids(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give every cell an id of its own that nbformat accepts (1 to 64 letters, digits, - and _)."""
    seen: set[str] = set()
    for number, cell in enumerate(cells):
        given = str(cell["id"])
        fits = 0 < len(given) <= 64 and given.isascii() and all(c.isalnum() or c in "-_" for c in given)
        cell["id"] = given if fits and given not in seen else f"cell-{number}"
        while cell["id"] in seen:
            cell["id"] += "-x"
        seen.add(cell["id"])
    return cells
