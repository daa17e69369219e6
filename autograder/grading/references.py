"""What the reference answers observe here, now, with this seed: the yardstick of a run of the grader."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace

from autograder.checks.observe import Observation
from autograder.engine.api import Engine
from autograder.grading.course import Chapter, CourseError
from autograder.grading.jobs import imports, parsed, reference_job
from autograder.grading.judge import broken_checks

log = logging.getLogger(__name__)

#: Chapter to check cell to label to observation.
References = Mapping[str, Mapping[str, Mapping[str, Observation]]]


def observe_references(engine: Engine, chapters: Iterable[Chapter], seed: int) -> References:
    """Run every chapter's reference answers through the engine.

    Parameters
    ----------
    engine : Engine
        The one that will run the submissions.
    chapters : iterable of Chapter
    seed : int
        The run's seed.

    Raises
    ------
    CourseError
        Where a reference does not run or fails its own checks here: then nobody is graded.
    """
    known = {chapter.name: chapter for chapter in chapters}
    engine.expect(imports(known.values()))
    found: dict[str, dict[str, dict[str, Observation]]] = {}
    jobs = (replace(reference_job(chapter, seed), key=name) for name, chapter in known.items())
    for run in engine.run(jobs):
        chapter = known[run.key]
        for cell in run.cells:
            if cell.status != "ran":
                errors = [
                    f"{o.get('ename')}: {o.get('evalue')}" for o in cell.outputs if o.get("output_type") == "error"
                ]
                why = errors[-1] if errors else cell.status
                raise CourseError(
                    f"The reference of {run.key} does not run here: cell {cell.id} ended with {why}. Nobody was graded; "
                    f"run `autograder build {run.key}` to see more."
                )
        by_id = {cell.id: cell.observed for cell in run.cells}
        checks = [check for check in chapter.checks if check.id in by_id]
        for check in checks:
            for call, why in broken_checks(parsed(check.source), by_id[check.id]):
                raise CourseError(
                    f"The reference of {run.key} fails its own check {call.label!r} in {check.id} here: {why} Nobody was graded."
                )
        log.info("the reference answers of %s ran in %.2f s", run.key, run.seconds)
        found[run.key] = {check.id: by_id[check.id] for check in checks}
    return found
