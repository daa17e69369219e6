"""Prove the checks by mutation: python -m tests.mutants [CHAPTER ...]; `make mutants CHAPTER=01`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from autograder.engine import open_engine
from autograder.grading.course import chapter_called
from autograder.pipeline import cores, open_course
from tests.bank_lib import SEED
from tests.mini_course import ROOT
from tests.mutants.make import Mutant, mutants, sample
from tests.mutants.prove import provable, prove
from tests.mutants.report import as_json, show, write_page

CHAPTERS = ("01", "02", "03", "04", "05", "06", "07")  #: 00 is a prediction with nothing to change


@click.command(help=__doc__)
@click.argument("names", nargs=-1, metavar="[CHAPTER ...]")
@click.option("--exercise", default=None, help="One exercise alone.")
@click.option("--most", type=int, default=80, show_default=True, help="Of an exercise, chosen by the seed.")
@click.option("--all", "everything", is_flag=True, help="Every mutant there is.")
@click.option("--seed", type=int, default=SEED, show_default=True, help="Of the run, and of the choice.")
@click.option("--html", "page", type=click.Path(path_type=Path), default=None, help="Write survivors as diffs.")
@click.option("--json", "file", type=click.Path(path_type=Path), default=None, help="Write the counts.")
def main(
    names: tuple[str, ...],
    exercise: str | None,
    most: int,
    everything: bool,
    seed: int,
    page: Path | None,
    file: Path | None,
) -> None:
    console, begun = Console(width=None if sys.stdout.isatty() else 120), time.monotonic()
    known = sorted(path.stem for path in (ROOT / "source").glob("[0-9][0-9]-*.py"))
    chosen = [chapter_called(name, known) for name in names or [name for name in known if name[:2] in CHAPTERS]]
    with open_engine(jobs=cores()) as engine:
        chapters = dict(open_course(ROOT, chosen).chapters)
        every: list[Mutant] = []
        for chapter in chapters.values():
            for name in provable(chapter):
                if exercise in (None, name):
                    found = mutants(chapter, name)
                    every += found if everything else sample(found, most, seed)
        judged = prove(engine, chapters, every, seed)
        verdicts = list(track(judged, "judging", len(every), console=console, disable=not console.is_terminal))
    verdicts.sort(key=lambda verdict: verdict.mutant.key)
    show(verdicts, console)
    console.print(f"{len(verdicts)} mutants in {time.monotonic() - begun:.0f} s")
    if page is not None:
        write_page(verdicts, page)
    if file is not None:
        file.write_text(as_json(verdicts, seed=seed), encoding="utf-8")
    sys.exit(any(verdict.fate == "survived" for verdict in verdicts))


if __name__ == "__main__":
    main()
