"""Mutants through the ordinary engine and judge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from autograder.checks.grammar import CheckCell
from autograder.engine.api import Cell, Engine, Job
from autograder.grading.course import Chapter
from autograder.grading.jobs import imports, missing_package, parsed, reference_job
from autograder.grading.judge import judge
from autograder.grading.results import ExerciseResult
from tests.mutants.make import Mutant, equivalents

LIMIT = 2.0  #: seconds for a check: what runs longer here would run for ever
DEADLINE = 40.0  #: seconds for a mutant
_LIMIT = re.compile(r"\blimit=([0-9.]+)\)")

Fate = Literal["caught", "equivalent", "survived", "no program"]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    Attributes
    ----------
    fate : {"caught", "equivalent", "survived", "no program"}
        "no program" ended with an exception where it was defined, so it never met a check.
    by : str
        The label of the first check that noticed.
    told : bool
        Whether a failed check said a sentence that was written for a mistake, not only how values differ.
    why : str
        Why an equivalent one breaks no promise.
    """

    mutant: Mutant
    fate: Fate
    by: str = ""
    told: bool = False
    why: str = ""


def prove(engine: Engine, chapters: Mapping[str, Chapter], mutants: Iterable[Mutant], seed: int) -> Iterator[Verdict]:
    """Judge mutants, in any order."""
    engine.expect(imports(chapters.values()), 10_000)
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
    written = {call.label: [call.hint, *(sentence for _, sentence in call.wrong)] for call in cell.calls}
    told = any(
        "return" in message or any(sentence and sentence in message for sentence in written[label])
        for label, message in failed.items()
    )
    return Verdict(mutant, "caught", next(iter(failed)), told)
