"""The command line. Exit 0: done. 1: done, but something needs a person, and it is listed. 2: wrong usage or a broken course."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from autograder import __version__

if TYPE_CHECKING:
    from autograder.engine.api import Engine
    from autograder.grading.gradebook import Book
    from autograder.grading.results import ClassResult

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


def _known_errors() -> tuple[type[BaseException], ...]:
    from autograder.authoring.source import SourceError
    from autograder.engine.api import EngineUnavailable
    from autograder.grading.collecting import CollectError
    from autograder.grading.course import CourseError
    from autograder.grading.database import BookError
    from autograder.grading.reading import Unreadable

    return (SourceError, EngineUnavailable, CollectError, CourseError, BookError, Unreadable, OSError)


def one_sentence(command: Callable[..., None]) -> Callable[..., None]:
    """Turn the errors that a person can act on into one sentence and exit 2."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            errors.print(
                "Stopped. What was graded is in the gradebook; run the same command again to go on.", markup=False
            )
            raise SystemExit(130) from None
        except Exception as error:
            if not isinstance(error, _known_errors()):
                raise
            errors.print(f"autograder: {error}", style="red", markup=False)
            raise SystemExit(2) from None

    return wrapped


def examples(*lines: str) -> str:
    """The end of a help text: one example a line, as typed."""
    return "\n\n\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


ROOT = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    show_default="here",
    help="The course's root folder.",
)
ENGINE = click.option(
    "--engine",
    type=click.Choice(["auto", "warm", "kernel"]),
    default="auto",
    show_default=True,
    help="How a notebook is run.",
)
SANDBOX = click.option(
    "--sandbox",
    type=click.Choice(["auto", "require", "off"]),
    default="auto",
    show_default=True,
    help="Shut student code in: auto does what this machine allows, require refuses to go without.",
)
DEVICE = click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="cuda lets student code use the GPU, one notebook after another; docs/gpu.md says what is not protected then.",
)
JOBS = click.option("--jobs", type=click.IntRange(min=1), default=None, help="Notebooks at once.  [default: the cores]")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="autograder")
def main() -> None:
    """Build, check and grade a course of notebooks."""


@main.command(
    epilog=None,
    help="Build chapters: source/NAME.py to source/NAME/NAME.ipynb and notebooks/NAME/NAME.ipynb, and prove the reference answers."
    + examples("autograder build", "autograder build 01-graph"),
)
@click.argument("chapters", nargs=-1)
@click.option("--verify/--no-verify", "prove", default=True, help="Run the reference answers under two seeds.")
@click.option("--force", is_flag=True, help="Write over a release that holds somebody's work.")
@ROOT
@ENGINE
@one_sentence
def build(chapters: tuple[str, ...], prove: bool, force: bool, root: Path, engine: str) -> None:
    from contextlib import nullcontext
    from tempfile import TemporaryDirectory

    from autograder.authoring.build import clean_stale, refuse_to_lose_answers, release, write_source_notebook
    from autograder.authoring.source import SourceError, source_names
    from autograder.authoring.verify import verify
    from autograder.grading.course import load_chapter_at

    names = list(chapters) or source_names(root)
    if not names:
        raise SourceError(f"{root / 'source'} holds no chapter: write one as source/NN-topic.py.")
    if not chapters:
        clean_stale(root, names)
    broken: list[str] = []
    with (
        _engine(engine, "auto", None, quiet=True) if prove else nullcontext() as runner,
        TemporaryDirectory() as drafts,
    ):
        for name in names:
            target = root / "notebooks" / name / f"{name}.ipynb"
            if not force:
                refuse_to_lose_answers(target)
            source = write_source_notebook(root, name)
            draft = release(root, name, Path(drafts))
            if runner is not None:
                found = verify(load_chapter_at(name, source, draft), runner)
                broken += found.broken
                if found.broken:
                    continue
                constant = ", ".join(f"{key} {share:.0%}" for key, share in found.constant.items() if share)
                if constant:
                    console.print(f"{name}: points on values that no seed changes: {constant}", markup=False)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_file() or target.read_bytes() != draft.read_bytes():
                target.write_bytes(draft.read_bytes())
            console.print(f"{name}: {target.relative_to(root)}", markup=False)
    for sentence in broken:
        errors.print(f"autograder: {sentence}", style="red", markup=False)
    if broken:
        raise SystemExit(2)


@main.command(
    help="Grade a class. DIR has nbgrader's shape: DIR/<student>/<chapter>/<chapter>.ipynb."
    + examples(
        "autograder grade --submitted submitted",
        "autograder grade 01-graph --submitted submitted --json grades.json --jobs 4",
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
    with _engine(engine, sandbox, jobs, device) as runner:
        from autograder.grading.campaign import Campaign
        from autograder.grading.gradebook import Book
        from autograder.grading.intake import strays, student_folders
        from autograder.grading.late import read_config
        from autograder.grading.references import observe_references
        from autograder.reporting.table import class_table
        from autograder.terminal import TABLE_ROWS, print_summary, progress

        course = load_course(root, chosen)
        # A gradebook keeps its seed, so that a second run grades only what is new.
        seed = seed if seed is not None else _seed(url, course.course_id)
        references = observe_references(runner, course.chapters.values(), seed)
        out.mkdir(parents=True, exist_ok=True)
        with Book.open(url, course.course_id, out / "autograded", read_config(root)) as book:
            book.keep("seed", str(seed))
            for chapter in course.chapters.values():
                book.register(chapter)
            known = {*student_folders(submitted), *book.students()}
            with progress(console, len(known) * len(course.chapters)) as advance:
                campaign = Campaign(course, runner, book, references, seed, regrade=regrade, on_result=advance)
                result = campaign.run(submitted)
            book.settle(list(course.chapters))
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        result.write(json_file)
    console.print(class_table(result.submissions) if len(result.submissions) <= TABLE_ROWS else "")
    print_summary(console, result)
    if loose := strays(submitted):
        console.print(
            f"not in a student's folder, so not graded: {', '.join(loose[:10])}; `autograder collect` sorts them.",
            markup=False,
        )
    if any(submission.needs_person for submission in result.submissions):
        raise SystemExit(1)


@main.command(
    help="Judge your own work by the checks that stand in the notebooks. FILE is a notebook, a .py file of answers, or a chapter's name."
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
    from autograder.grading.course import CourseError
    from autograder.grading.learner import check_file, released_chapters
    from autograder.lab.table import CheckTable, Row
    from autograder.reporting.table import escape

    known = released_chapters(root)
    if not known:
        raise CourseError(f"{root / 'notebooks'} holds no released chapter: run this in the course's root.")
    paths = [root / "notebooks" / file / f"{file}.ipynb" if file in known else Path(file) for file in files]
    full = True
    with _engine(engine, sandbox, 1, quiet=True) as runner:
        for path in paths:
            judged = check_file(runner, known, path, chapter)
            for note in judged.notes:
                console.print(escape(f"note: {note.text}"), markup=False)
            for exercise in judged.exercises:
                if not exercise.checks:
                    console.print(f"{exercise.id.removeprefix('check-')}: not in this file", markup=False)
                    continue
                rows = [Row(item.label, item.passed, item.message) for item in exercise.checks]
                name = exercise.id.removeprefix("check-")
                console.print(repr(CheckTable(name, rows, exercise.score or 0.0, exercise.max_score)), markup=False)
            console.print(
                f"{path}: {judged.score:g} of {judged.max_score:g} points by the visible checks of {judged.chapter}",
                markup=False,
            )
            full = full and judged.score >= judged.max_score
    if not full:
        raise SystemExit(1)


def _seed(url: str, course_id: str) -> int:
    """The seed kept in the gradebook, or a new one."""
    from secrets import randbelow

    from autograder.grading.database import exists
    from autograder.grading.gradebook import Book

    if exists(url):
        with Book.open(url, course_id) as book:
            kept = book.setting("seed")
        if kept is not None:
            return int(kept)
    return randbelow(2**31)


@contextmanager
def _engine(kind: str, sandbox: str, jobs: int | None, device: str = "cpu", *, quiet: bool = False) -> Iterator[Engine]:
    from autograder.engine import open_engine
    from autograder.terminal import cores

    with open_engine(kind, sandbox, jobs or cores(), device=device) as runner:
        if not quiet:
            console.print(runner.describe(), markup=False)
        yield runner


BOOK = click.option(
    "--gradebook", default=None, help="SQLAlchemy URL of the gradebook.  [default: sqlite:///gradebook.db in the root]"
)


@main.command(
    help="Sort what was collected, in whatever shape, into nbgrader's: submitted/STUDENT/CHAPTER/CHAPTER.ipynb. SOURCE is a folder or a zip; "
    "nothing in it is changed." + examples("autograder collect moodle-download.zip --submitted submitted"),
)
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--submitted", required=True, type=click.Path(path_type=Path), help="The folder to fill.")
@ROOT
@one_sentence
def collect(source: Path, submitted: Path, root: Path) -> None:
    from autograder.grading.collecting import collect as collect_files
    from autograder.grading.loading import load_course
    from autograder.terminal import print_collected

    rows = collect_files(source, submitted, load_course(root).chapters)
    print_collected(console, source, rows)
    if not all(row.settled for row in rows) or not rows:
        raise SystemExit(1)


@main.command(
    help="Write one HTML page of feedback per submission." + examples("autograder feedback --out feedback-pages")
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("feedback-pages"),
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

    with _book(root, gradebook) as book:
        pages = write_feedback(book.results(), out, book.by_hand(), autograded or root / "autograded")
    console.print(f"{len(pages)} pages in {out}", markup=False)


@main.command(
    help="Write the class report: one HTML page with plots." + examples("autograder report --out report.html")
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True, help="The file to write."
)
@BOOK
@ROOT
@one_sentence
def report(out: Path, gradebook: str | None, root: Path) -> None:
    from autograder.grading.campaign import torch_version
    from autograder.grading.loading import load_course
    from autograder.grading.results import ClassResult
    from autograder.reporting.class_report import write_class_report

    with _book(root, gradebook) as book:
        chapters = sorted({result.chapter for result in book.results()})
        course = load_course(root, chapters)
        result = ClassResult(course.course_id, int(book.setting("seed") or 0), torch_version(), book.results())
    console.print(f"{write_class_report(result, out, course.chapters.values())}", markup=False)


@main.command(
    help="Write grades.csv: one line per student and chapter, late penalties and scores given by hand included."
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

    with _book(root, gradebook) as book:
        write_grades(book.rows(), target)
    console.print(f"{target}", markup=False)


@main.command(
    help="List whose grade changed between two runs, and by which check."
    + examples("autograder compare before.json after.json")
)
@click.argument("before", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("after", type=click.Path(path_type=Path, dir_okay=False))
@one_sentence
def compare(before: Path, after: Path) -> None:
    from autograder.reporting.compare import compare as changes_between
    from autograder.reporting.compare import compare_table

    changes = changes_between(_results(before), _results(after))
    console.print(compare_table(changes) if changes else "No grade changed.")


@main.command(help="Say what this machine offers, and what is missing." + examples("autograder doctor"))
@ROOT
@one_sentence
def doctor(root: Path) -> None:
    from autograder.doctor import findings

    trouble = False
    for finding in findings(root):
        console.print(f"{'ok  ' if finding.fine else 'look'}  {finding.subject}: {finding.text}", markup=False)
        trouble = trouble or not finding.fine
    if trouble:
        raise SystemExit(1)


def _results(path: Path) -> ClassResult:
    from autograder.grading.results import ClassResult

    try:
        return ClassResult.read(path)
    except FileNotFoundError:
        raise click.UsageError(f"There is no file {path}: name what `autograder grade --json` wrote.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise click.UsageError(f"{path} is not what `autograder grade --json` writes.") from None


def _book(root: Path, url: str | None) -> Book:
    """The gradebook to read; a sentence where there is none."""
    from autograder.grading.database import exists
    from autograder.grading.gradebook import Book
    from autograder.grading.late import read_config

    url = url or f"sqlite:///{(root / 'gradebook.db').resolve()}"
    if not exists(url):
        raise click.UsageError(f"There is no gradebook {url}: grade first, or name it with --gradebook.")
    config = read_config(root)
    return Book.open(url, str(config.CourseDirectory.get("course_id", "course")), None, config)


if __name__ == "__main__":
    sys.exit(main())
