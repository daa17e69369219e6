"""What the commands share: the consoles, errors as one sentence, common options, the engine and the gradebook to read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from autograder import interrupts

if TYPE_CHECKING:
    from autograder.grading.book.gradebook import Book

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


def _known_errors() -> tuple[type[BaseException], ...]:
    from autograder.authoring.source import SourceError
    from autograder.engine.api import EngineUnavailable
    from autograder.grading.book.database import BookError
    from autograder.grading.course import CourseError
    from autograder.grading.intake.collecting import CollectError
    from autograder.grading.reading.notebook import Unreadable

    return (SourceError, EngineUnavailable, CollectError, CourseError, BookError, Unreadable, OSError)


def one_sentence(command: Callable[..., None]) -> Callable[..., None]:
    """Turn the errors that a person can act on into one sentence and exit 2."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            with interrupts.working():
                command(*args, **kwargs)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            errors.print(interrupts.STOPPED, markup=False)
            raise SystemExit(interrupts.CODE) from None
        except Exception as error:
            if not isinstance(error, _known_errors()):
                raise
            errors.print(f"autograder: {error}", style="red", markup=False)
            raise SystemExit(2) from None

    return wrapped


def examples(*lines: str) -> str:
    """The end of a help text: one example a line, as typed."""
    return "\n\n\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def course_above(place: Path) -> Path | None:
    """The nearest folder, at or above a place, that is a course's root: it holds released chapters or nbgrader's settings."""
    place = place.resolve()
    for folder in (place, *place.parents):
        released = (path.stem == path.parent.name for path in folder.glob("notebooks/*/*.ipynb"))
        if (folder / "nbgrader_config.py").is_file() or any(released):
            return Path() if folder == Path.cwd() else folder
    return None


ROOT = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    callback=lambda context, option, value: value or course_above(Path.cwd()) or Path(),
    help="The course's root folder.  [default: the nearest above here]",
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
BOOK = click.option(
    "--gradebook", default=None, help="SQLAlchemy URL of the gradebook.  [default: sqlite:///gradebook.db in the root]"
)


def gradebook_to_read(root: Path, url: str | None) -> Book:
    """The gradebook to read, late penalties as they stand now; a sentence where there is none."""
    from autograder.grading.book.database import exists
    from autograder.grading.book.gradebook import Book, BookError
    from autograder.grading.book.late import read_config

    url = url or f"sqlite:///{(root / 'gradebook.db').resolve()}"
    if not exists(url):
        raise click.UsageError(f"There is no gradebook {url}: grade first, or name it with --gradebook.")
    config = read_config(root)
    book = Book.open(url, str(config.CourseDirectory.get("course_id", "course")), None, config)
    with contextlib.suppress(BookError):  # one that may only be read is shown as it is
        book.settle({result.chapter for result in book.results()})
    return book
