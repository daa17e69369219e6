"""The class report: one page that shows how a class did, what it misunderstood, and who needs a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from markupsafe import Markup

from autograder.grading.book.gradebook import GradeRow
from autograder.grading.course import Chapter
from autograder.grading.results import ClassResult, SubmissionResult
from autograder.reporting import plots
from autograder.reporting.pages import render, share, write
from autograder.reporting.summary import by_chapter, everybody, sentences_of, summarize
from autograder.reporting.table import first_trouble, handing_in, waiting

CHECKS_SHOWN = 20  #: bars in the plot of failing checks
ROWS_SHOWN = 80  #: lines in each table of sentences
NAMES_SHOWN = 8  #: students named beside a misconception


def class_report_page(result: ClassResult, course: Iterable[Chapter] = (), rows: Sequence[GradeRow] = ()) -> str:
    """The report as HTML that needs no other file.

    Parameters
    ----------
    result : ClassResult
    course : iterable of Chapter, optional
        The chapters with their check cells: they say which messages explain a known mistake.
    rows : sequence of GradeRow, optional
        Where everybody stands in the gradebook: who is missing, who was late, and what people must grade.
    """
    result = replace(result, submissions=everybody(result.submissions, rows))
    summary = summarize(result, sentences_of(course))
    chapters = by_chapter(result)
    shares = {name: _shares(items) for name, items in chapters.items()}
    everything = [value for values in shares.values() for value in values]
    exercises = [exercise for exercise in summary.exercises if exercise.count]
    checks = summary.checks[:CHECKS_SHOWN]
    return render(
        "class_report.html",
        result=result,
        summary=summary,
        chapters=chapters,
        median=median(everything) if everything else None,
        engines=sorted({f"{item.engine} engine, {item.sandbox}" for item in result.submissions if item.engine}),
        distribution=_plot(plots.distribution, {name: values for name, values in shares.items() if values}),
        exercises=_plot(plots.exercise_bars, exercises),
        checks=_plot(plots.failing_checks, checks),
        checks_left=len(summary.checks) - len(checks),
        mistakes=[item for item in summary.misconceptions if item.known],
        others=[item for item in summary.misconceptions if not item.known],
        rows_shown=ROWS_SHOWN,
        names_shown=NAMES_SHOWN,
        first_trouble=first_trouble,
        handing_in=handing_in(result.submissions, rows),
        waiting=waiting(rows),
    )


def write_class_report(
    result: ClassResult, path: Path, course: Iterable[Chapter] = (), rows: Sequence[GradeRow] = ()
) -> Path:
    """Write the report."""
    return write(path, class_report_page(result, course, rows))


def _shares(items: Iterable[SubmissionResult]) -> list[float]:
    return [share(item.score, item.max_score) for item in items if item.score is not None]


def _plot(draw: object, data: object) -> Markup:
    """A plot, or nothing where there is nothing to plot. matplotlib escapes the text in it."""
    return Markup(draw(data)) if data else Markup("")  # type: ignore[operator]
