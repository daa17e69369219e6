"""What the command line shows while it works and when it is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.grading.intake.collecting import Collected
from autograder.grading.results import ClassResult, SubmissionResult
from autograder.reporting.table import escape, handing_in, waiting

if TYPE_CHECKING:  # it imports nbgrader
    from autograder.grading.book.standing import GradeRow

FORMGRADER = "jupyter lab --LabApp.default_url=/formgrader"  #: in the course's root; nbgrader has no command for it
NAMES = 8  #: students named beside a free answer that waits
TABLE_ROWS = 120  #: a larger class is summed up only; report and grades.csv have every row


@contextmanager
def progress(console: Console, total: int) -> Iterator[Callable[[SubmissionResult], None]]:
    """A bar with rate and time left on a terminal; elsewhere a line now and then."""
    done = 0
    if not console.is_terminal:

        def count(result: SubmissionResult) -> None:
            nonlocal done
            done += 1
            if done % 100 == 0:
                console.print(f"{done} of {total} submissions graded")

        yield count
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("grading"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    ) as bar:
        task = bar.add_task("", total=total, rate="")

        def advance(result: SubmissionResult) -> None:
            bar.advance(task)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed:.1f}/s" if speed else "")

        yield advance


def print_summary(console: Console, result: ClassResult, rows: Iterable[GradeRow] = ()) -> None:
    """How many of each status, what waits for people, and who needs a person now; `rows` as the gradebook has them."""
    if not result.submissions:
        console.print("Nothing was handed in: there is no student's folder.")
        return
    counts = Counter(submission.status for submission in result.submissions)
    console.print(
        f"{len(result.submissions)} submissions: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items())),
        markup=False,
    )
    console.print(
        "checks: what the automatic checks gave. final: with what people gave and less what is late, as in grades.csv."
    )
    graded = {(submission.student, submission.chapter) for submission in result.submissions}
    if broken := handing_in(result.submissions, ()):
        names = [escape(f"{student} {chapter}") for student, chapter in broken]
        console.print(f"timestamp.txt could not be read, so no late penalty: {_some(names)}.", markup=False)
    for submission in result.submissions:
        if submission.needs_person:
            reasons = [note.text for note in submission.notes if note.needs_person] or [submission.status]
            console.print(
                escape(f"needs a person: {submission.student} {submission.chapter}: {' '.join(reasons)}"),
                markup=False,
            )
    open_answers = waiting(row for row in rows if (row.student, row.chapter) in graded)
    for (chapter, cell), students in open_answers.items():
        verb = "waits" if len(students) == 1 else "wait"
        who = f"{_count(len(students), 'free answer')} {verb}: {_some(students, NAMES)}"
        console.print(escape(f"needs a person: {chapter} {cell}: {who}"), markup=False)
    if open_answers:
        console.print(f"Give points to free answers in formgrader: {FORMGRADER}", markup=False)


def print_collected(console: Console, source: Path, rows: Sequence[Collected]) -> None:
    """What went to whom, and why: a table on a terminal, elsewhere one line per file; then how many of each."""
    if not rows:
        console.print(f"{escape(str(source))} holds no notebook and no archive.", markup=False)
        return
    console.print(collected_table(rows, console.width) if console.is_terminal else Text(_lines(rows)))
    console.print(collected_summary(rows), markup=False, soft_wrap=not console.is_terminal)


def collected_table(rows: Iterable[Collected], width: int) -> Table:
    """The table for a terminal of so many columns; long names are cut in the middle."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("from", "student", "chapter"):
        table.add_column(name, no_wrap=True)
    table.add_column("why", overflow="fold")
    for row in rows:
        source, student, chapter, why = _cells(row)
        table.add_row(
            *map(Text, (cut(source, width * 3 // 10), cut(student, width // 5), cut(chapter, width // 5), why))
        )
    return table


def collected_summary(rows: Sequence[Collected]) -> str:
    """One line: how many notebooks lie in their chapter's folder now, and what became of the others."""
    others: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.settled:
            continue
        if not row.notebook:
            what = "is no notebook", "are no notebooks"
        elif row.student is None:
            what = "names no student", "name no student"
        elif row.chapter is None:
            what = "names no chapter", "name no chapter"
        else:
            what = "was not copied", "were not copied"
        others.setdefault(what, []).append(escape(row.source))
    settled = [row for row in rows if row.settled]
    students = len({row.student for row in settled})
    files = f"{len(settled)} of {_count(len(rows), 'file')} sorted for {_count(students, 'student')}"
    parts = [f"{len(names)} {what[len(names) > 1]}: {_some(names)}" for what, names in others.items()]
    return "; ".join([files, *parts]) + "."


def cut(text: str, width: int) -> str:
    """At most `width` characters, the middle left out where there are more."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def _cells(row: Collected) -> tuple[str, str, str, str]:
    source, student, chapter, why = (escape(part or "-") for part in (row.source, row.student, row.chapter, row.why))
    return source, student, chapter, why


def _lines(rows: Iterable[Collected]) -> str:
    cells = [("from", "student", "chapter", "why"), *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-1]
    return "\n".join("  ".join([*map(str.ljust, line, widths), line[-1]]) for line in cells)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _some(names: list[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
