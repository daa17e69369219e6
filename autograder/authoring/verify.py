"""The build's proof: the reference answers, run under two seeds, observe what the checks expect."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from autograder.authoring.stubs import is_prediction
from autograder.checks.grammar import CheckCell
from autograder.engine.api import CellRun, Engine, Job, Run
from autograder.grading.course import Chapter
from autograder.grading.jobs import imports, missing_package, parsed, reference_job
from autograder.grading.judge import broken_checks

SEEDS = (11, 12)
HIDDEN_SHARE = 0.5


@dataclass
class Verification:
    """What the build found.

    Attributes
    ----------
    broken : list of str
        Sentences; any of them makes the chapter unfit for release.
    constant : dict
        Exercise to the part of its points (0 to 1) that rests on values that are the same under both seeds.
    """

    chapter: str
    broken: list[str] = field(default_factory=list)
    constant: dict[str, float] = field(default_factory=dict)


def verify(chapter: Chapter, engine: Engine) -> Verification:
    """Run a chapter's reference answers under two seeds and compare."""
    found = Verification(chapter.name)
    engine.expect(imports([chapter]))
    runs = {run.key: run for run in engine.run([_job(chapter, seed) for seed in SEEDS])}
    first, second = (runs[str(seed)] for seed in SEEDS)
    for run in (first, second):
        found.broken += _broken_cells(chapter, run)
    if found.broken:
        found.broken = list(dict.fromkeys(found.broken))
        return found
    for cell in chapter.cells:
        if cell.role != "check" or missing_package(cell):
            continue
        grammar = parsed(cell.source)
        one, two = _cell(first, cell.id), _cell(second, cell.id)
        where = f"{chapter.name}, cell {cell.id}"
        for observed in (one, two):
            found.broken += [
                f"{where}, check {call.label!r}: {why}" for call, why in broken_checks(grammar, observed.observed)
            ]
        found.constant[grammar.exercise] = _constant_share(grammar, one, two)
        if not _is_prediction(chapter, grammar.exercise) and grammar.hidden_share < HIDDEN_SHARE:
            found.broken.append(
                f"{where}: hidden checks carry {grammar.hidden_share:.0%} of the points, at least half is asked."
            )
    found.broken = list(dict.fromkeys(found.broken))
    return found


def _job(chapter: Chapter, seed: int) -> Job:
    return replace(reference_job(chapter, seed, expected=True), key=str(seed))


def _cell(run: Run, cell_id: str) -> CellRun:
    return next(cell for cell in run.cells if cell.id == cell_id)


def _broken_cells(chapter: Chapter, run: Run) -> list[str]:
    sentences = []
    for cell in run.cells:
        if cell.status != "ran":
            errors = [output for output in cell.outputs if output.get("output_type") == "error"]
            why = f"{errors[-1].get('ename')}: {errors[-1].get('evalue')}" if errors else cell.status
            sentences.append(f"{chapter.name}, cell {cell.id}: the reference does not run ({why}).")
    return sentences


def _constant_share(grammar: CheckCell, one: CellRun, two: CellRun) -> float:
    same = sum(c.weight for c in grammar.calls if one.observed.get(c.label) == two.observed.get(c.label))
    return same / grammar.total_weight


def _is_prediction(chapter: Chapter, exercise: str) -> bool:
    answer = next(cell for cell in chapter.cells if cell.role == "answer" and cell.exercise == exercise)
    return is_prediction(answer.released)
