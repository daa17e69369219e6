"""source/NN-topic.py -> answers/NN-topic/NN-topic.ipynb: a chapter with our answers, for whoever learns alone.

The folder is ignored by git. Nothing of it goes into the release: nbgrader takes source/NN-topic/ alone.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat

from autograder.authoring.source import SourceError, read_source, source_names

REASON = "# Why this shape:"  # opens the comment, inside a solution region, that says why an answer looks as it does
FIRST_CELL = (
    "**Our answers to this chapter.** Each stands where yours would. The comment *Why this shape* says what speaks for it. "
    "Other answers are right, too. Try first: here is nothing left to find out."
)
_MARK = re.compile(r"^[ \t]*### (?:BEGIN|END) SOLUTION[ \t]*\n?", re.MULTILINE)
_HIDDEN = re.compile(r"^### BEGIN HIDDEN TESTS\n.*?^### END HIDDEN TESTS\n", re.MULTILINE | re.DOTALL)


def answers_notebook(root: Path, name: str) -> Any:
    """A chapter as it is released, with our answers in place of the stubs.

    Parameters
    ----------
    root : Path
        The course's root.
    name : str
        The chapter.

    Returns
    -------
    nbformat.NotebookNode
        Without hidden checks and without nbgrader's metadata: nobody can take it for a release or for a submission.

    Raises
    ------
    SourceError
        Where there is no such chapter, or its text is no notebook.
    """
    notebook = read_source(root, name)
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
        cell.source = _HIDDEN.sub("", _MARK.sub("", cell.source)).rstrip("\n")
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(FIRST_CELL, id="our-answers"))
    return notebook


def write_answers(root: Path, name: str) -> Path:
    """Write answers/NAME/NAME.ipynb below `root`; returns its path."""
    path = root / "answers" / name / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(answers_notebook(root, name), version=4) + "\n", encoding="utf-8")
    return path


def main(*begins: str) -> int:
    """Write the chapters whose names begin so, all by default."""
    from autograder.grading.course import CourseError, chapter_called

    root = Path.cwd()
    try:
        known = source_names(root)
        for name in [chapter_called(begin, known) for begin in begins] or known:
            print(write_answers(root, name).relative_to(root))
    except (SourceError, CourseError) as error:
        print(f"answers: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
