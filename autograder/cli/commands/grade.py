"""`autograder grade`."""

from __future__ import annotations

from pathlib import Path

import click

from autograder.cli.commands.shared import (
    DEVICE,
    ENGINE,
    JOBS,
    ROOT,
    SANDBOX,
    console,
    examples,
    one_sentence,
    running_engine,
)


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
    from autograder.grading.loading import choose, handed_in, load_course

    if not submitted.is_dir():
        raise click.UsageError(f"There is no folder {submitted}: name the folder of submissions with --submitted.")
    chosen = choose(root, chapters)
    if not chapters:
        chosen = handed_in(submitted, chosen)
    out = out or root
    url = gradebook or f"sqlite:///{(out / 'gradebook.db').resolve()}"
    # The engine comes before any source, submission or gradebook is opened; while it imports torch, we import the rest.
    with running_engine(engine, sandbox, jobs, device) as runner:
        from autograder.grading.intake.handins import strays, student_folders
        from autograder.grading.jobs import imports

        course = load_course(root, chosen)
        students = student_folders(submitted)
        runner.expect(imports(course.chapters.values()), len(students) * len(course.chapters))

        from autograder.cli.terminal import TABLE_ROWS, print_summary, progress
        from autograder.grading.book.gradebook import Book
        from autograder.grading.book.late import read_config
        from autograder.grading.campaign import Campaign
        from autograder.grading.references import observe_references
        from autograder.reporting.table import class_table

        # A gradebook keeps its seed, so that a second run grades only what is new.
        seed = seed if seed is not None else _seed(url, course.course_id)
        references = observe_references(runner, course.chapters.values(), seed)
        out.mkdir(parents=True, exist_ok=True)
        with Book.open(url, course.course_id, out / "autograded", read_config(root)) as book:
            book.keep("seed", str(seed))
            for chapter in course.chapters.values():
                book.register(chapter)
            known = {*students, *book.students()}
            with progress(console, len(known) * len(course.chapters)) as advance:
                campaign = Campaign(course, runner, book, references, seed, regrade=regrade, on_result=advance)
                result = campaign.run(submitted)
            book.settle(list(course.chapters))
            rows = book.rows()
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


def _seed(url: str, course_id: str) -> int:
    """The seed kept in the gradebook, or a new one."""
    from secrets import randbelow

    from autograder.grading.book.database import exists
    from autograder.grading.book.gradebook import Book

    if exists(url):
        with Book.open(url, course_id) as book:
            kept = book.setting("seed")
        if kept is not None:
            return int(kept)
    return randbelow(2**31)
