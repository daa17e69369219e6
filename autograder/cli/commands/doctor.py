"""`autograder doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from autograder.cli.commands.shared import ROOT, console, examples, one_sentence


@click.command(
    help="Say what this machine offers and what it lacks. Exit 1 where something needed is missing; advice alone is exit 0."
    + examples("autograder doctor")
)
@ROOT
@one_sentence
def doctor(root: Path) -> None:
    from autograder.cli.doctor import findings

    needed = False
    for finding in findings(root):
        console.print(f"{finding.verdict:6}  {finding.subject}: {finding.text}", markup=False)
        needed = needed or finding.verdict == "needed"
    if needed:
        raise SystemExit(1)
