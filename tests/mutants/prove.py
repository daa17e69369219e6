"""Mutants through the ordinary engine and judge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from autograder.checks.grammar import CheckCell
from autograder.checks.verdict import MISSING_RETURN
from autograder.engine.api import Cell, Engine, Job
from autograder.grading.course import Chapter
from autograder.grading.jobs import imports, missing_package, parsed, reference_job
from autograder.grading.judge import judge
from autograder.grading.results import ExerciseResult
from tests.mutants.make import Mutant, equivalents

LIMIT = 1.0  #: seconds for a check: what runs longer here would run for ever
DEADLINE = 20.0  #: seconds for a mutant
MANY = 10_000  #: jobs: enough to prepare for
_LIMIT = re.compile(r"\blimit=([0-9.]+)\)")

Fate = Literal["caught", "equivalent", "survived", "no program"]
Told = Literal["", "mistake", "hint", "value"]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    Attributes
    ----------
    fate : {"caught", "equivalent", "survived", "no program"}
        "no program" ended with an exception where it was defined, so it never met a check.
    by : str
        The label of the first check that noticed.
    told : {"", "mistake", "hint", "value"}
        The most that a failed check said: a sentence of `wrong` that knows this mistake (or that a return is missing), the
        check's hint, which fits every answer that gets it, or only how the values differ.
    why : str
        Why an equivalent one breaks no promise.
    """

    mutant: Mutant
    fate: Fate
    by: str = ""
    told: Told = ""
    why: str = ""


def prove(engine: Engine, chapters: Mapping[str, Chapter], mutants: Iterable[Mutant], seed: int) -> Iterator[Verdict]:
    """Judge mutants, in any order."""
    engine.expect(imports(chapters.values()), MANY)
    observed = {}
    for run in engine.run(replace(reference_job(chapter, seed), key=name) for name, chapter in chapters.items()):
        observed[run.key] = {cell.id: cell.observed for cell in run.cells}
    waiting: dict[str, Mutant] = {}
    known: dict[tuple[str, str], dict[tuple[str, str, str], str]] = {}

    def jobs() -> Iterator[Job]:
        for mutant in mutants:
            waiting[mutant.key] = mutant
            yield _job(chapters[mutant.chapter], mutant, seed)

    for run in engine.run(jobs()):
        mutant = waiting.pop(run.key)
        chapter = chapters[mutant.chapter]
        runs = {cell.id: cell for cell in run.cells}
        if runs[mutant.exercise].status == "error":
            yield Verdict(mutant, "no program")
            continue
        check = next(cell for cell in chapter.checks if cell.exercise == mutant.exercise)
        cell = parsed(check.source)
        result = judge(check.id, cell, runs[check.id], observed[chapter.name][check.id], max_score=check.points)
        place = (mutant.chapter, mutant.exercise)
        listed = known.setdefault(place, equivalents(*place))
        yield _verdict(mutant, cell, result, listed.get((mutant.answer, mutant.what, mutant.change)))


def provable(chapter: Chapter) -> list[str]:
    """The exercises of a chapter that this machine can check."""
    return [cell.exercise for cell in chapter.checks if cell.exercise and missing_package(cell) is None]


def _job(chapter: Chapter, mutant: Mutant, seed: int) -> Job:
    job = reference_job(chapter, seed, answers={mutant.exercise: mutant.source}, only=mutant.exercise)
    return replace(job, key=mutant.key, cells=tuple(map(_hurried, job.cells)), deadline=DEADLINE)


def _hurried(cell: Cell) -> Cell:
    if cell.role != "check":
        return cell
    source, hidden = (
        _LIMIT.sub(lambda found: f"limit={min(LIMIT, float(found[1]))})", text) for text in (cell.source, cell.hidden)
    )
    return replace(cell, source=source, hidden=hidden, limit=2 * LIMIT)


def _verdict(mutant: Mutant, cell: CheckCell, result: ExerciseResult, why: str | None) -> Verdict:
    failed = {check.label: check.message for check in result.checks if not check.passed}
    if not failed:
        return Verdict(mutant, "survived" if why is None else "equivalent", why=why or "")
    return Verdict(mutant, "caught", next(iter(failed)), _told(cell, failed))


def _told(cell: CheckCell, failed: Mapping[str, str]) -> Told:
    said: set[Told] = {"value"}
    for call in cell.calls:
        message = failed.get(call.label, "")
        if MISSING_RETURN in message or any(sentence in message for _, sentence in call.wrong):
            said.add("mistake")
        elif call.hint and call.hint in message:
            said.add("hint")
    kinds: tuple[Told, ...] = ("mistake", "hint", "value")
    return next(kind for kind in kinds if kind in said)
