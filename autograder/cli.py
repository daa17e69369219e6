"""The command line. Exit 0: done. 1: done, but something needs a person, and it is listed. 2: wrong usage or a broken course."""

from __future__ import annotations

import sys

import click

from autograder import __version__, interrupts
from autograder.commands.build import build
from autograder.commands.check import check
from autograder.commands.collect import collect
from autograder.commands.compare import compare
from autograder.commands.doctor import doctor
from autograder.commands.grade import grade
from autograder.commands.reports import export, feedback, report


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="autograder")
def main() -> None:
    """Build, check and grade a course of notebooks."""


for command in (build, check, collect, compare, doctor, export, feedback, grade, report):
    main.add_command(command)


if __name__ == "__main__":
    interrupts.listen()
    sys.exit(main())
