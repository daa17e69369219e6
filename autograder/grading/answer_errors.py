"""An answer that did not even run: its own error, said once, before its checks fail one by one."""

from __future__ import annotations

from collections.abc import Iterable

from autograder.engine.api import CellRun
from autograder.grading.results import Note


def error_notes(runs: Iterable[CellRun], answers: Iterable[str]) -> list[Note]:
    """A note for each answer cell that ended with an error.

    Parameters
    ----------
    runs : iterable of CellRun
    answers : iterable of str
        Ids of answer cells.
    """
    wanted = set(answers)
    notes = []
    for run in runs:
        if run.id not in wanted or run.status != "error":
            continue
        for output in run.outputs:
            if output.get("output_type") == "error":
                text = " ".join(f"{output.get('ename')}: {output.get('evalue')}".split())[:300]
                notes.append(Note("answer-stopped", f"The cell {run.id} stopped with an error, {text}", cell=run.id))
                break
    return notes
