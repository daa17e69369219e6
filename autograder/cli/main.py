"""The command line. Exit 0: done. 1: done, but something needs a person, and it is listed. 2: wrong usage or a broken course."""

from __future__ import annotations

import click

from autograder import __version__
from autograder.cli.commands.build import build
from autograder.cli.commands.check import check
from autograder.cli.commands.collect import collect
from autograder.cli.commands.compare import compare
from autograder.cli.commands.doctor import doctor
from autograder.cli.commands.grade import grade
from autograder.cli.commands.reports import export, feedback, report


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="autograder")
@click.option("-v", "--verbose", is_flag=True, help="Say on standard error what is done, and how long it takes.")
def main(verbose: bool) -> None:
    """Build, check and grade a course of notebooks."""
    if verbose:
        from autograder.cli.logs import show_log

        show_log()


for command in (build, check, collect, compare, doctor, export, feedback, grade, report):
    main.add_command(command)
