"""Grade submissions of the small chapter through the whole campaign."""

from __future__ import annotations

from pathlib import Path

from autograder.grading.book.gradebook import Book
from autograder.grading.campaign import Campaign
from autograder.grading.course import Course
from autograder.grading.references import observe_references
from autograder.grading.results import SubmissionResult
from tests.grading.small_chapter import NAME, released_notebook, small_chapter

SEED = 11


def grade(engine, submitted: Path, folder: Path) -> dict[str, SubmissionResult]:
    """Student to result; gradebook and notebooks to show go below `folder`."""
    course = Course("small", {NAME: small_chapter()}, {NAME: released_notebook()})
    references = observe_references(engine, course.chapters.values(), SEED)
    folder.mkdir(exist_ok=True)
    with Book.open(f"sqlite:///{folder / 'gradebook.db'}", course.course_id, folder / "autograded") as book:
        for chapter in course.chapters.values():
            book.register(chapter)
        graded = Campaign(course, engine, book, references, SEED).run(submitted)
    return {result.student: result for result in graded.submissions}
