"""A class, from hand-ins to grades: the whole pipeline behind one call. `autograder.grade` is its door.

It stands above the rooms that it connects: authoring brings the sources' notebooks up to date, the engine runs, grading
judges and writes down.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.grading.course import Course
from autograder.grading.loading import choose, handed_in, load_course

if TYPE_CHECKING:
    from autograder.grading.book.standing import GradeRow
    from autograder.grading.results import ClassResult, SubmissionResult

log = logging.getLogger(__name__)


@dataclass
class GradedClass:
    """What one run of the grader came to.

    Attributes
    ----------
    result : ClassResult
        One `SubmissionResult` per student and chapter, the scores those of the automatic checks.
    rows : list of GradeRow
        The same as the gradebook has them: with what people gave, and with late penalties.
    """

    result: ClassResult
    rows: list[GradeRow]


class Watcher:
    """Told how a run goes. Override what you want to know; the defaults do nothing."""

    def protected(self, sentence: str) -> None:
        """The engine is open; the sentence says what protects this machine from the code that it runs."""

    def begin(self, total: int) -> None:
        """So many submissions are about to be graded."""

    def graded(self, result: SubmissionResult) -> None:
        """One of them is in the gradebook."""


def grade(
    submitted: Path,
    chapters: Sequence[str] = (),
    *,
    root: Path = Path(),
    gradebook: str | None = None,
    out: Path | None = None,
    seed: int | None = None,
    regrade: bool = False,
    jobs: int | None = None,
    engine: str = "auto",
    sandbox: str = "auto",
    device: str = "cpu",
    watcher: Watcher | None = None,
) -> GradedClass:
    """Grade a class of submissions, as `autograder grade` does.

    Parameters
    ----------
    submitted : Path
        nbgrader's shape: submitted/STUDENT/CHAPTER/CHAPTER.ipynb.
    chapters : sequence of str
        Names, or their beginnings; all that were handed in by default.
    root : Path
        The course's folder.
    gradebook : str, optional
        SQLAlchemy URL of nbgrader's gradebook; `gradebook.db` in `out` by default.
    out : Path, optional
        Where `autograded/` goes; `root` by default.
    seed : int, optional
        Of hidden inputs. By default the gradebook's own, so that a second run grades only what is new.
    regrade : bool
        Grade also what has not changed.
    jobs : int, optional
        Notebooks at once; by default as many as this process may use cores.
    engine, sandbox, device : str
        As in `engine.open_engine`.
    watcher : Watcher, optional
        Told how the run goes.

    Returns
    -------
    GradedClass

    Raises
    ------
    CourseError, SourceError
        The course is broken, or one of its references fails here: then nobody is graded.
    EngineUnavailable
        What was asked for cannot be had on this machine.
    BookError
        The gradebook refuses.

    Examples
    --------
    >>> graded = autograder.grade(Path("submitted"), ["01-graph"])
    >>> graded.result.write(Path("grades.json"))
    """
    watcher, out = watcher or Watcher(), out or root
    chosen = choose(root, chapters)
    if not chapters:
        chosen = handed_in(submitted, chosen)
    url = gradebook or f"sqlite:///{(out / 'gradebook.db').resolve()}"
    from autograder.engine import open_engine

    # The engine comes before any source, submission or gradebook is opened; while it imports torch, we import the rest.
    with open_engine(engine, sandbox, jobs or cores(), device=device) as runner:
        watcher.protected(runner.describe())
        from autograder.grading.intake.handins import student_folders
        from autograder.grading.jobs import imports

        course = open_course(root, chosen)
        students = student_folders(submitted)
        runner.expect(imports(course.chapters.values()), len(students) * len(course.chapters))

        from autograder.grading.book.gradebook import Book
        from autograder.grading.book.late import read_config
        from autograder.grading.campaign import Campaign
        from autograder.grading.references import observe_references

        seed = seed if seed is not None else _kept_seed(url, course.course_id)
        log.info("%d students, chapters %s, seed %d", len(students), ", ".join(course.chapters), seed)
        references = observe_references(runner, course.chapters.values(), seed)
        out.mkdir(parents=True, exist_ok=True)
        with Book.open(url, course.course_id, out / "autograded", read_config(root)) as book:
            book.keep("seed", str(seed))
            for chapter in course.chapters.values():
                book.register(chapter)
            watcher.begin(len({*students, *book.students()}) * len(course.chapters))
            campaign = Campaign(course, runner, book, references, seed, regrade=regrade, on_result=watcher.graded)
            result = campaign.run(submitted)
            book.settle(list(course.chapters))
            return GradedClass(result, book.rows())


def open_course(root: Path, names: Sequence[str] = ()) -> Course:
    """Load chapters (all by default), after building those whose text is newer than their notebooks.

    Raises
    ------
    CourseError, SourceError
        No such chapter, or a chapter that cannot be built or loaded.
    """
    chosen = choose(root, names)
    for name in chosen:
        if _is_stale(root, name):
            from autograder.authoring.build import (
                write_source_notebook,  # brings nbformat, which nothing else here needs
            )

            write_source_notebook(root, name)
    return load_course(root, chosen)


def _is_stale(root: Path, name: str) -> bool:
    """Whether a chapter's text is newer than the instructor's notebook. Where there is no text the notebook stays."""
    text, made = root / "source" / f"{name}.py", root / "source" / name / f"{name}.ipynb"
    return text.is_file() and (not made.is_file() or made.stat().st_mtime < text.stat().st_mtime)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _kept_seed(url: str, course_id: str) -> int:
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
