"""What the command line shows while it works and when it is done."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.grading.collecting import Collected
from autograder.grading.results import ClassResult, SubmissionResult
from autograder.reporting.table import escape

TABLE_ROWS = 120  #: a larger class is summed up only; report and grades.csv have every row


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def print_summary(console: Console, result: ClassResult) -> None:
    counts = Counter(submission.status for submission in result.submissions)
    console.print(
        f"{len(result.submissions)} submissions: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items())),
        markup=False,
    )
    for submission in result.submissions:
        if submission.needs_person:
            reasons = [note.text for note in submission.notes if note.needs_person] or [submission.status]
            console.print(
                escape(f"  needs a person: {submission.student} {submission.chapter}: {' '.join(reasons)}"),
                markup=False,
            )


def collected_table(rows: Iterable[Collected]) -> Table:
    """What went where, and why."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("from", "student", "chapter", "to", "why"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(
            *(Text(escape(part or "-")) for part in (row.source, row.student, row.chapter, row.target, row.why))
        )
    return table
