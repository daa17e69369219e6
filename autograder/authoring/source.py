"""A chapter's text becomes a notebook with reference answers and hidden checks."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path
from typing import Any

import jupytext
import nbformat

PLACEHOLDER = "YOUR-NAME/YOUR-REPOSITORY"
CHAPTER_NAME = re.compile(r"\d\d-[a-z0-9]+(-[a-z0-9]+)*")
_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


class SourceError(Exception):
    """A chapter's text that cannot become a notebook; one sentence that says what and where."""


def repository(root: Path) -> str:
    """The address the course is published under, "owner/name", or the placeholder.

    Parameters
    ----------
    root : Path
        The course's root, where pyproject.toml lies.
    """
    try:
        settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return PLACEHOLDER
    return str(settings.get("tool", {}).get("autograder", {}).get("repository", PLACEHOLDER))


def source_names(root: Path) -> list[str]:
    """The chapters that have a text in source/, in order."""
    return sorted(path.stem for path in (root / "source").glob("*.py") if CHAPTER_NAME.fullmatch(path.stem))


def read_source(root: Path, name: str) -> Any:
    """Read source/NAME.py.

    Returns
    -------
    nbformat.NotebookNode
        The whole chapter, the same bytes for the same text: cell ids are grade_ids or follow from the cell's source.

    Raises
    ------
    SourceError
        Where there is no such chapter, or its text is no notebook.
    """
    path = root / "source" / f"{name}.py"
    if not path.is_file():
        known = ", ".join(source_names(root)) or "none"
        raise SourceError(f"There is no chapter {name!r} in source/; the chapters are: {known}.")
    try:
        notebook = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    except Exception as error:
        raise SourceError(f"source/{name}.py cannot be read as a notebook: {error}") from error
    notebook.metadata = nbformat.from_dict({"kernelspec": _KERNEL, "language_info": {"name": "python"}})
    address = repository(root)
    if address == PLACEHOLDER:
        _drop_badge(notebook.cells[0])
    _add_links(notebook.cells, _neighbors(source_names(root), name))
    taken: set[str] = set()
    for cell in notebook.cells:
        cell.source = cell.source.replace(PLACEHOLDER, address)
        cell.metadata.pop("lines_to_next_cell", None)
        cell.id = _cell_id(cell, taken)
        if cell.cell_type == "code":
            cell.execution_count, cell.outputs = None, []
        _check_metadata(cell, name)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return notebook


def _drop_badge(cell: Any) -> None:
    """A badge that leads nowhere is none: nobody has said yet where the course is published."""
    lines = cell.source.split("\n")
    cell.source = "\n".join(line for line in lines if not ("colab" in line and PLACEHOLDER in line))


def _add_links(cells: list[Any], links: str) -> None:
    """The chapter's last words: below its last text, which nobody grades, or in a cell of their own."""
    last = cells[-1]
    if links and last.cell_type == "markdown" and "nbgrader" not in last.metadata:
        last.source = f"{last.source.rstrip()}\n\n{links}"
    elif links:
        cells.append(nbformat.v4.new_markdown_cell(links))


def _neighbors(names: list[str], name: str) -> str:
    """Links to the chapter before and the chapter after."""
    place = names.index(name) if name in names else len(names)
    sides = [("Previous", names[max(place - 1, 0) : place]), ("Next", names[place + 1 : place + 2])]
    return " | ".join(f"{side}: [{one}](../{one}/{one}.ipynb)" for side, ones in sides for one in ones)


def _cell_id(cell: Any, taken: set[str]) -> str:
    wanted = cell.metadata.get("nbgrader", {}).get("grade_id")
    if not wanted:
        wanted = "cell-" + hashlib.sha256(cell.source.encode()).hexdigest()[:10]
    unique, count = wanted, 1
    while unique in taken:
        count += 1
        unique = f"{wanted}-{count}"
    taken.add(unique)
    return unique


def _check_metadata(cell: Any, name: str) -> None:
    metadata = cell.metadata.get("nbgrader")
    if metadata is None:
        return
    missing = {"grade", "grade_id", "locked", "schema_version", "solution", "task"} - set(metadata)
    if missing:
        raise SourceError(
            f"source/{name}.py: cell {metadata.get('grade_id', '?')!r} lacks nbgrader's {sorted(missing)[0]!r}."
        )
    if metadata["grade"] and not isinstance(metadata.get("points"), (int, float)):
        raise SourceError(f"source/{name}.py: graded cell {metadata['grade_id']!r} lacks its points.")
    if metadata["grade"] and metadata["solution"] and cell.cell_type == "code":
        raise SourceError(
            f"source/{name}.py: cell {metadata['grade_id']!r} is answer and check at once; make it two cells."
        )
