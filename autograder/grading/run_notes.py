"""An answer that did not even run: its own error, said once, before its checks fail one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from autograder.engine.api import CellRun
from autograder.grading.results import Note

_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_LINE = re.compile(r"\bIn ?\[\d+\], line (\d+)")
_CELL_FILE = re.compile(r" \(\d+\.py, line \d+\)$")  #: the name that IPython gives to a cell in a syntax error


def error_notes(runs: Iterable[CellRun], answers: Iterable[str], file: str = "") -> list[Note]:
    """A note for each answer cell that ended with an error, and the line where it did.

    Parameters
    ----------
    runs : iterable of CellRun
    answers : iterable of str
        Ids of answer cells.
    file : str
        The .py file that the answer cell is, where it is one.
    """
    wanted = set(answers)
    notes = []
    for run in runs:
        if run.id not in wanted or run.status != "error":
            continue
        for output in run.outputs:
            if output.get("output_type") == "error":
                text = " ".join(_CELL_FILE.sub("", f"{output.get('ename')}: {output.get('evalue')}").split())[:300]
                line = _line(output)
                where = f"{line}{file or f'the cell {run.id}'}"
                if line or not file:  # a file's name stays as it is
                    where = where[0].upper() + where[1:]
                notes.append(Note("answer-stopped", f"{where} stopped with {text}", cell=run.id))
                break
    return notes


def _line(error: dict[str, Any]) -> str:
    """Such as "line 3 of ", from the outermost frame of the traceback; nothing where it names none."""
    traceback = error.get("traceback")
    found = _LINE.search(_COLOR.sub("", "\n".join(map(str, traceback)))) if isinstance(traceback, list) else None
    return f"line {found[1]} of " if found else ""
