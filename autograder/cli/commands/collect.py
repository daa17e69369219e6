"""`autograder collect`."""

from __future__ import annotations

from pathlib import Path

import click

from autograder.cli.commands.shared import ROOT, console, examples, one_sentence


@click.command(
    help="Sort hand-ins into nbgrader's folders. SOURCE is a folder or a zip of whatever shape; nothing in it is changed. "
    "Notebooks are copied to submitted/STUDENT/CHAPTER/CHAPTER.ipynb."
    + examples("autograder collect moodle-download.zip --submitted submitted"),
)
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--submitted", required=True, type=click.Path(path_type=Path), help="The folder to fill.")
@ROOT
@one_sentence
def collect(source: Path, submitted: Path, root: Path) -> None:
    from autograder.cli.terminal import print_collected
    from autograder.grading.intake.collecting import collect as collect_files
    from autograder.pipeline import open_course

    rows = collect_files(source, submitted, open_course(root).chapters)
    print_collected(console, source, rows)
    if not all(row.settled for row in rows) or not rows:
        raise SystemExit(1)
