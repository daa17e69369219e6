"""Loading the course for a run: which chapters, and what this machine can grade of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from autograder.grading.course import (
    Chapter,
    Course,
    CourseError,
    chapter_called,
    chapter_names,
    load_chapter,
    load_chapter_at,
)
from autograder.grading.jobs import missing_package


def choose(root: Path, names: Sequence[str] = ()) -> list[str]:
    """The chapters called so, all by default. Looks at file names only.

    Raises
    ------
    CourseError
        No course here, or no such chapter.
    """
    if not (root / "source").is_dir():
        raise CourseError(f"{root} is no course: it has no source/ folder. Run this in the course's root.")
    texts = sorted(path.stem for path in (root / "source").glob("[0-9][0-9]-*.py"))
    known = sorted({*texts, *chapter_names(root)})
    chosen = list(dict.fromkeys(chapter_called(name, known) for name in names)) or known
    if not chosen:
        raise CourseError(f"{root / 'source'} holds no chapter.")
    return chosen


def handed_in(submitted: Path, names: Sequence[str]) -> list[str]:
    """Those of the chapters that somebody has a folder for; all where a student's folder holds notebooks itself."""
    from autograder.grading.intake.attempts import may_hold_notebooks

    students = [folder for folder in submitted.iterdir() if folder.is_dir()]
    if any(may_hold_notebooks(path) for folder in students for path in folder.iterdir()):
        return list(names)
    return [name for name in names if any((folder / name).exists() for folder in students)] or list(names)


def load_course(root: Path, names: Sequence[str] = ()) -> Course:
    """Load chapters, all by default, from the notebooks that were built of them.

    Raises
    ------
    CourseError
        No such chapter, or a chapter that cannot be loaded.
    """
    chosen = choose(root, names)
    chapters = {name: load_chapter(root, name) for name in chosen}
    from autograder.grading.book.late import read_config  # brings nbgrader, a second or more

    course_id = str(read_config(root).CourseDirectory.get("course_id", "course"))
    return Course(course_id, chapters, _skipped(chapters.values()), _released(root, chosen))


def _released(root: Path, chosen: Sequence[str]) -> dict[str, Chapter]:
    """The chapters that are not chosen, as students have them; a broken one is not this run's concern."""
    found = {}
    for path in sorted((root / "notebooks").glob("*/*.ipynb")):
        if path.stem == path.parent.name and path.stem not in chosen:
            with suppress(CourseError):
                found[path.stem] = load_chapter_at(path.stem, path, path)
    return found


def _skipped(chapters: Iterable[Chapter]) -> dict[str, str]:
    """Exercises that need a package which is not installed here, with the sentence that says so."""
    missing = {cell.exercise: missing_package(cell) for chapter in chapters for cell in chapter.checks}
    return {name: f"{package} is not installed here" for name, package in missing.items() if name and package}
