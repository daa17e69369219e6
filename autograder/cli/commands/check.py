"""`autograder check`."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from autograder.cli.commands.shared import ENGINE, ROOT, SANDBOX, console, course_above, errors, examples, one_sentence


@click.command(
    help="Judge your own work by the visible checks. FILE is a notebook, a .py file of answers, or a chapter's name."
    + examples(
        "autograder check notebooks/01-graph/01-graph.ipynb", "autograder check my_answers.py --chapter 01-graph"
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE ...")
@click.option("--chapter", default=None, help="The chapter, where the file does not say.")
@ROOT
@ENGINE
@SANDBOX
@one_sentence
def check(files: tuple[str, ...], chapter: str | None, root: Path, engine: str, sandbox: str) -> None:
    from autograder.engine import open_engine

    # First of all the engine: while it imports torch, we import the rest.
    with open_engine(engine, sandbox, 1) as runner:
        from autograder.checks.table import CheckTable, Row
        from autograder.grading.course import CourseError
        from autograder.grading.learner import check_file, released_chapters
        from autograder.grading.reading.notebook import Unreadable
        from autograder.reporting.table import escape

        known = released_chapters(root)
        if not known and click.get_current_context().get_parameter_source("root") is ParameterSource.DEFAULT:
            root = course_above(Path(files[0]).parent) or root
            known = released_chapters(root)
        if not known:
            raise CourseError(
                f"{root.resolve()} holds no released chapter in notebooks/: run this inside the course's folder, "
                "or name that with --root."
            )
        paths = [_path(root, list(known), file) for file in files]
        full = readable = True
        for path in paths:
            try:
                judged = check_file(runner, known, path, chapter)
            except Unreadable as error:
                errors.print(f"autograder: {error}", style="red", markup=False)
                readable = False
                continue
            for note in judged.notes:
                console.print(escape(f"note: {note.text}"), markup=False)
            for exercise in judged.exercises:
                if not exercise.checks:
                    console.print(f"{exercise.id.removeprefix('check-')}: not in this file", markup=False)
                    continue
                rows = [Row(item.label, item.passed, item.message) for item in exercise.checks]
                name = exercise.id.removeprefix("check-")
                console.print(repr(CheckTable(name, rows, exercise.max_score)), markup=False)
            passed = sum(bool(item.checks) and all(c.passed for c in item.checks) for item in judged.exercises)
            console.print(
                f"{path}: {passed} of {len(judged.exercises)} exercises of {judged.chapter} pass every visible check; "
                "grading may add hidden checks.",
                markup=False,
            )
            full = full and passed == len(judged.exercises)
    if not (full and readable):
        raise SystemExit(1 if readable else 2)


def _path(root: Path, chapters: list[str], file: str) -> Path:
    """A file, or the released notebook where a chapter is named."""
    from autograder.grading.course import chapter_called

    path = Path(file)
    if file not in chapters and (path.exists() or path.suffix):
        return path
    name = chapter_called(file, chapters)
    return root / "notebooks" / name / f"{name}.ipynb"
