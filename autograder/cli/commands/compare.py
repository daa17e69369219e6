"""`autograder compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.cli.commands.shared import console, examples, one_sentence

if TYPE_CHECKING:
    from autograder.grading.results import ClassResult


@click.command(
    help="List whose grade changed between two runs. BEFORE and AFTER are what `grade --json` wrote."
    + examples("autograder compare before.json after.json")
)
@click.argument("before", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("after", type=click.Path(path_type=Path, dir_okay=False))
@one_sentence
def compare(before: Path, after: Path) -> None:
    from autograder.reporting.compare import compare as changes_between
    from autograder.reporting.compare import compare_table, summary

    first, second = _results(before), _results(after)
    changes = changes_between(first, second)
    for line in summary(first, second, changes):
        console.print(line, markup=False)
    table = compare_table(changes)
    if table.row_count:
        console.print(table)


def _results(path: Path) -> ClassResult:
    from autograder.grading.results import ClassResult

    try:
        return ClassResult.read(path)
    except FileNotFoundError:
        raise click.UsageError(f"There is no file {path}: name what `autograder grade --json` wrote.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise click.UsageError(f"{path} is not what `autograder grade --json` writes.") from None
