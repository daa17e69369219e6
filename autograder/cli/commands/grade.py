"""`autograder grade`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.commands.shared import DEVICE, ENGINE, JOBS, ROOT, SANDBOX, console, examples, one_sentence

if TYPE_CHECKING:
    from autograder.grading.results import SubmissionResult


@click.command(
    help="Grade a class of submissions. The folder has nbgrader's shape: submitted/STUDENT/CHAPTER/CHAPTER.ipynb. "
    "The beginning of a chapter's name is enough; all that were handed in by default."
    + examples(
        "autograder grade --submitted submitted",
        "autograder grade 01 --submitted submitted --json grades.json --jobs 4",
    ),
)
@click.argument("chapters", nargs=-1)
@click.option("--submitted", required=True, type=click.Path(path_type=Path), help="The folder of submissions.")
@click.option(
    "--gradebook", default=None, help="SQLAlchemy URL of nbgrader's gradebook.  [default: sqlite:///OUT/gradebook.db]"
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=None, help="Where autograded/ goes.  [default: the root]"
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="Also write the results here.",
)
@click.option("--seed", type=int, default=None, help="Seed of hidden inputs.  [default: drawn once per gradebook]")
@click.option("--regrade", is_flag=True, help="Grade again what has not changed.")
@JOBS
@ENGINE
@SANDBOX
@DEVICE
@ROOT
@one_sentence
def grade(
    chapters: tuple[str, ...],
    submitted: Path,
    gradebook: str | None,
    out: Path | None,
    json_file: Path | None,
    seed: int | None,
    regrade: bool,
    jobs: int | None,
    engine: str,
    sandbox: str,
    device: str,
    root: Path,
) -> None:
    from contextlib import ExitStack

    from autograder import pipeline

    if not submitted.is_dir():
        raise click.UsageError(f"There is no folder {submitted}: name the folder of submissions with --submitted.")

    class Shown(pipeline.Watcher):
        def protected(self, sentence: str) -> None:
            console.print(sentence, markup=False)

        def begin(self, total: int) -> None:
            from autograder.cli.terminal import progress

            self.advance = bar.enter_context(progress(console, total))

        def graded(self, result: SubmissionResult) -> None:
            self.advance(result)

    with ExitStack() as bar:
        graded = pipeline.grade(
            submitted,
            chapters,
            root=root,
            gradebook=gradebook,
            out=out,
            seed=seed,
            regrade=regrade,
            jobs=jobs,
            engine=engine,
            sandbox=sandbox,
            device=device,
            watcher=Shown(),
        )
    result, rows = graded.result, graded.rows

    from autograder.cli.terminal import TABLE_ROWS, print_summary
    from autograder.grading.intake.handins import strays
    from autograder.reporting.table import class_table

    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        result.write(json_file)
    if len(result.submissions) <= TABLE_ROWS:
        console.print(class_table(result.submissions, rows))
    else:
        console.print(f"{len(result.submissions)} rows: `autograder report` and `autograder export` show them.")
    print_summary(console, result, rows)
    if loose := strays(submitted):
        console.print(
            f"not in a student's folder, so not graded: {', '.join(loose[:10])}; `autograder collect` sorts them.",
            markup=False,
        )
    if any(submission.needs_person for submission in result.submissions):
        raise SystemExit(1)
