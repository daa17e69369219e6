"""`autograder doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from autograder.commands.shared import ROOT, console, examples, one_sentence


@click.command(help="Say what this machine offers, and what is missing." + examples("autograder doctor"))
@ROOT
@one_sentence
def doctor(root: Path) -> None:
    from autograder.doctor import findings

    trouble = False
    for finding in findings(root):
        console.print(f"{'ok  ' if finding.fine else 'look'}  {finding.subject}: {finding.text}", markup=False)
        trouble = trouble or not finding.fine
    if trouble:
        raise SystemExit(1)
