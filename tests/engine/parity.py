"""Are two runs of the same job equal? And jobs of real content to ask that of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from autograder.engine.api import Cell, CellRun, Job, Run
from autograder.grading.course import Chapter
from autograder.grading.jobs import reference_job
from tests.bank_lib import entries

#: what a demo cell calls whose figures are timings or addresses, and so never the same twice
_CHANCE = re.compile(r"data_ptr|sweep_segments\(|mode_costs\(|costs\.(plot|median)|perf_counter")

#: wrong answers whose results hang on chance: on which addresses are used again, or on how long an earlier call took
_BY_CHANCE = {
    "describe/wrong_remembers_by_id.py",
    "disk_hooks/wrong_named_by_id.py",
    "disk_hooks/wrong_named_by_id_of_the_object.py",
    "leaves/wrong_remembers_by_id.py",
    "ledger/wrong_address_without_holding.py",
    "measure/wrong_times_for_life.py",
    "to_training/wrong_memo_by_id_alone.py",
}


def packed(chapter: Chapter, seed: int) -> Iterator[Job]:
    """The whole chapter with its demo cells, then jobs with one answer of the bank per exercise until all have been in one.

    Where an exercise has no further answer the reference's stands.
    """
    yield with_demos(chapter, seed)
    bank = [entry for entry in entries(chapter.name) if "/".join(entry.path.parts[-2:]) not in _BY_CHANCE]
    columns = [[entry for entry in bank if entry.exercise == name] for name in chapter.exercises]
    for number, row in enumerate(zip_longest(*columns)):
        answers = {entry.exercise: entry.source for entry in row if entry is not None}
        yield replace(reference_job(chapter, seed, answers=answers), key=f"{chapter.name} packed {number}")


def with_demos(chapter: Chapter, seed: int) -> Job:
    """The reference's job and the cells that only show something: those have the outputs."""
    job = reference_job(chapter, seed)
    ran = {cell.id: cell for cell in job.cells}
    shown = {
        cell.id: Cell(cell.id, cell.source, "student", None, 60.0) for cell in chapter.cells if cell.role == "demo"
    }
    cells = tuple((ran | shown)[cell.id] for cell in chapter.cells if cell.id in ran or cell.id in shown)
    return replace(job, key=f"{chapter.name} demos", cells=cells)


def differences(job: Job, first: Run, second: Run) -> list[str]:
    """A sentence for each thing of a job's cells in which two runs differ."""
    pairs = zip(job.cells, first.cells, second.cells, strict=True)
    return [f"{job.key}, {line}" for cell, one, other in pairs for line in difference(cell, one, other)]


def difference(cell: Cell, one: CellRun, other: CellRun) -> list[str]:
    """A sentence for status, outputs and each observation in which two runs of a cell differ."""
    found = []
    if one.status != other.status:
        found.append(f"{one.id}: {one.status} and {other.status}")
    mine, theirs = normal(one.outputs), normal(other.outputs)
    if _CHANCE.search(cell.source):
        mine, theirs = _without_figures(mine), _without_figures(theirs)
    if mine != theirs:
        found.append(f"{one.id}: outputs {mine} and {theirs}")
    for label in one.observed.keys() | other.observed.keys():
        seen, also = (clean(run.observed.get(label, "nothing")) for run in (one, other))
        if seen != also:
            found.append(f"{one.id}, {label!r}: {seen} and {also}")
    return found


def normal(outputs: list[dict[str, Any]]) -> list[object]:
    """Outputs without addresses, the kernel's own file names, and library frames of a traceback.

    A kernel sends its two streams by turns of some milliseconds, so their order between two other outputs is chance.
    """
    made: list[object] = []
    streams: dict[str, str] = {}
    for output in [*outputs, {"output_type": "end"}]:
        if output["output_type"] == "stream":
            streams[output["name"]] = streams.get(output["name"], "") + output["text"].replace("\r\n", "\n")
            continue
        if streams:
            made.append(clean(dict(sorted(streams.items()))))
            streams = {}
        if output["output_type"] == "error":
            output = {**output, "traceback": _frames("\n".join(output["traceback"]))}
        made.append(clean(output))
    return made


def clean(value: object) -> object:
    """JSON without addresses, a kernel's file names and names of temporary files."""
    if isinstance(value, str):
        value = re.sub(r"0x[0-9a-f]{6,}", "0xADDRESS", value)
        value = re.sub(r"(/[\w/-]*/ipykernel_\d+/)?\b\d{6,}\.py", "CELL", value)
        return re.sub(r"/[\w/]*/tmp[a-z0-9_]{8}(/[\w.-]+)?", "TEMPORARY", value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    return value


def _without_figures(value: object) -> object:
    """JSON without the digits in its texts and without its images."""
    if isinstance(value, str):
        value = re.sub(r"(?<=on this machine: ).*", "one of them", value)  # which one has the most is a timing, too
        return re.sub(r"[\d.,]+", "N", re.sub(r" +", " ", value))
    if isinstance(value, list):
        return [_without_figures(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_figures(item) for key, item in value.items() if not key.startswith("image/")}
    return value


def _frames(text: str) -> str:
    """The traceback without frames of library files, whose inner lines differ."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    blocks = re.split(r"\n(?=File |Cell )", plain)
    return str(clean("\n".join(block for block in blocks if not block.startswith("File "))))
