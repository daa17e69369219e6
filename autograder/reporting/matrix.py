"""The class as a matrix: a line per student, a cell per chapter, and where each feedback page lies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from autograder.grading.book.autograded import folder_of
from autograder.grading.book.gradebook import GradeRow
from autograder.grading.results import SubmissionResult
from autograder.reporting.pages import share

#: (student, chapter) to the address of the feedback page, as a link in the report names it
Links = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Cell:
    """One student's chapter. `final` is what grades.csv says, None where no gradebook was asked."""

    result: SubmissionResult | None
    checks: float | None
    final: float | None
    max_score: float
    waits: bool
    late: str
    link: str

    @property
    def share(self) -> float:
        """The score to compare by, as a share of its maximum: the final one, else that of the checks."""
        return share(self.checks if self.final is None else self.final, self.max_score)

    @property
    def status(self) -> str:
        """As grading has it; empty where the chapter is not among the results."""
        return self.result.status if self.result else ""

    @property
    def words(self) -> set[str]:
        """What the report's filter can ask for."""
        found = {self.status} & {"repaired", "unreadable", "missing"}
        if self.waits or (self.result and self.result.needs_person):
            found.add("person")
        return found | ({"late"} if self.late else set())


@dataclass(frozen=True)
class Line:
    """One student: the cells in order of chapters, and the mean of their shares."""

    student: str
    cells: list[Cell]

    @property
    def mean(self) -> float:
        """Over the chapters that the student could have handed in, 0 to 1; what is missing counts as zero."""
        shares = [cell.share for cell in self.cells if cell.result]
        return sum(shares) / len(shares) if shares else 0.0

    @property
    def words(self) -> str:
        """What holds of one chapter at least."""
        return " ".join(sorted(set().union(*(cell.words for cell in self.cells))))


def matrix(
    results: Sequence[SubmissionResult],
    rows: Iterable[GradeRow],
    late: Mapping[tuple[str, str], str],
    links: Links,
) -> list[Line]:
    """A line per student of the results, in order of names; a cell per chapter of the results."""
    found = {(item.student, item.chapter): item for item in results}
    standing = {(row.student, row.chapter): row for row in rows}
    chapters = sorted({item.chapter for item in results})
    lines = []
    for student in sorted({item.student for item in results}):
        cells = []
        for chapter in chapters:
            key = (student, chapter)
            result, row = found.get(key), standing.get(key)
            final = None if row is None else row.score or 0.0
            most = row.max_score if row else result.max_score if result else 0.0
            waits = bool(row and row.waiting)
            score = result.score if result else None
            cells.append(Cell(result, score, final, most, waits, late.get(key, ""), links.get(key, "")))
        lines.append(Line(student, cells))
    return lines


def feedback_links(results: Iterable[SubmissionResult], report: Path, folder: Path) -> dict[tuple[str, str], str]:
    """The feedback pages that lie in `folder` now, as addresses relative to the report."""
    links = {}
    for item in results:
        page = folder_of(folder, item.student, item.chapter) / f"{item.chapter}.html"
        if page.is_file():
            links[item.student, item.chapter] = quote(os.fsencode(os.path.relpath(page, report.parent)))
    return links
