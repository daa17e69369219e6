"""`autograder feedback`, `report` and `export`: what is read from the gradebook."""

from __future__ import annotations

from pathlib import Path

import click

from autograder.cli.commands.shared import BOOK, ROOT, console, examples, gradebook_to_read, one_sentence


@click.command(help="Write one HTML page of feedback per submission." + examples("autograder feedback --out feedback"))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("feedback"),
    show_default=True,
    help="The folder to write to.",
)
@click.option(
    "--autograded",
    type=click.Path(path_type=Path),
    default=None,
    help="Where answers are read from.  [default: autograded in the root]",
)
@BOOK
@ROOT
@one_sentence
def feedback(out: Path, autograded: Path | None, gradebook: str | None, root: Path) -> None:
    from autograder.reporting.feedback import write_feedback

    if autograded is not None and not autograded.is_dir():
        raise click.UsageError(f"There is no folder {autograded}: name the autograded/ that `autograder grade` wrote.")
    with gradebook_to_read(root, gradebook) as book:
        pages = write_feedback(book.results(), out, book.by_hand(), autograded or root / "autograded", book.rows())
    console.print(f"{len(pages)} pages in {out}", markup=False)


@click.command(
    help="Write the class report: one HTML page. Scores lead to the pages of feedback that are there."
    + examples("autograder report --out report.html")
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True, help="The file to write."
)
@click.option(
    "--feedback",
    type=click.Path(path_type=Path),
    default=None,
    help="Where `autograder feedback` wrote to.  [default: feedback beside the report]",
)
@BOOK
@ROOT
@one_sentence
def report(out: Path, feedback: Path | None, gradebook: str | None, root: Path) -> None:
    from autograder.grading.campaign import torch_version
    from autograder.grading.results import ClassResult
    from autograder.pipeline import open_course
    from autograder.reporting.class_report import write_class_report

    with gradebook_to_read(root, gradebook) as book:
        chapters = sorted({result.chapter for result in book.results()})
        course = open_course(root, chapters)
        result = ClassResult(course.course_id, int(book.setting("seed") or 0), torch_version(), book.results())
        rows = book.rows()
    feedback = feedback or out.parent / "feedback"
    console.print(f"{write_class_report(result, out, course.chapters.values(), rows, feedback)}", markup=False)


@click.command(
    help="Write grades.csv, the final grades. One line per student and chapter, with late penalties and scores given by hand."
    + examples("autograder export --out grades.csv")
)
@click.option(
    "--out",
    "--to",
    "target",
    type=click.Path(path_type=Path),
    default=Path("grades.csv"),
    show_default=True,
    help="The file to write.",
)
@BOOK
@ROOT
@one_sentence
def export(target: Path, gradebook: str | None, root: Path) -> None:
    from autograder.reporting.export import write_grades

    with gradebook_to_read(root, gradebook) as book:
        write_grades(book.rows(), target)
    console.print(f"{target}", markup=False)
