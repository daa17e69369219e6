"""The class report: one page that shows how a class did, what it misunderstood, and who needs a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from autograder.grading.book.gradebook import GradeRow
from autograder.grading.course import Chapter
from autograder.grading.results import ClassResult, SubmissionResult
from autograder.reporting.matrix import Links, feedback_links, matrix
from autograder.reporting.pages import render, share, write
from autograder.reporting.summary import by_chapter, everybody, sentences_of, summarize
from autograder.reporting.table import first_trouble, handing_in, waiting

CHECKS_SHOWN = 20  #: bars in the chart of failing checks
ROWS_SHOWN = 80  #: lines in each table of sentences
NAMES_SHOWN = 8  #: students named beside a misconception
BINS = 10  #: columns of a histogram


def class_report_page(
    result: ClassResult, course: Iterable[Chapter] = (), rows: Sequence[GradeRow] = (), links: Links | None = None
) -> str:
    """The report as HTML that needs no other file.

    Parameters
    ----------
    result : ClassResult
    course : iterable of Chapter, optional
        The chapters with their check cells: they say which messages explain a known mistake.
    rows : sequence of GradeRow, optional
        Where everybody stands in the gradebook: the final scores, who is missing, who was late, and what people must
        grade.
    links : mapping, optional
        (student, chapter) to the address of the feedback page.
    """
    result = replace(result, submissions=everybody(result.submissions, rows))
    summary = summarize(result, sentences_of(course))
    chapters = by_chapter(result)
    late = handing_in(result.submissions, rows)
    shares = {name: _shares(items) for name, items in chapters.items()}
    everything = [value for values in shares.values() for value in values]
    lines = matrix(result.submissions, rows, late, links or {})
    return render(
        "class_report.html",
        "class_report.js",
        result=result,
        summary=summary,
        chapters=chapters,
        lines=lines,
        cells={(line.student, cell.result.chapter): cell for line in lines for cell in line.cells if cell.result},
        worth={name: _worth(name, items, rows) for name, items in chapters.items()},
        linked=bool(links),
        median=median(everything) if everything else None,
        engines=sorted({f"{item.engine} engine, {item.sandbox}" for item in result.submissions if item.engine}),
        histograms={name: (_histogram(values), median(values)) for name, values in shares.items() if values},
        exercises=[exercise for exercise in summary.exercises if exercise.count],
        checks=summary.checks[:CHECKS_SHOWN],
        checks_left=len(summary.checks[CHECKS_SHOWN:]),
        mistakes=[item for item in summary.misconceptions if item.known],
        others=[item for item in summary.misconceptions if not item.known],
        rows_shown=ROWS_SHOWN,
        names_shown=NAMES_SHOWN,
        first_trouble=first_trouble,
        waiting=waiting(rows),
    )


def write_class_report(
    result: ClassResult,
    path: Path,
    course: Iterable[Chapter] = (),
    rows: Sequence[GradeRow] = (),
    feedback: Path | None = None,
) -> Path:
    """Write the report; it links to the pages that lie in the folder `feedback` now."""
    links = feedback_links(result.submissions, path, feedback) if feedback else {}
    return write(path, class_report_page(result, course, rows, links))


def _shares(items: Iterable[SubmissionResult]) -> list[float]:
    return [share(item.score, item.max_score) for item in items if item.score is not None]


def _worth(name: str, items: Iterable[SubmissionResult], rows: Iterable[GradeRow]) -> tuple[float, float | None]:
    """What a chapter's checks are worth, and all of it, where a gradebook says so."""
    whole = max((row.max_score for row in rows if row.chapter == name), default=None)
    return max(item.max_score for item in items), whole


def _histogram(shares: Iterable[float]) -> list[int]:
    """How many lie in each tenth of 0 to 1; 1 itself lies in the last."""
    columns = [0] * BINS
    for value in shares:
        columns[min(BINS - 1, int(value * BINS + 1e-9))] += 1
    return columns
