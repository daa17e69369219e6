"""The bank of right and wrong answers: reading it, and saying where a verdict is not what its head promises."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.grading.jobs import imports, missing_package, parsed, reference_job
from autograder.grading.judge import judge

BANK = Path(__file__).parent / "bank"
SEED = 2024
_HEAD = re.compile(r"#\s*(misconception|fails|message)\s*:\s*(.*)")


@dataclass(frozen=True)
class Entry:
    chapter: str
    exercise: str
    path: Path
    source: str
    misconception: str
    fails: tuple[str, ...]
    message: str

    @property
    def right(self):
        return self.path.name.startswith("right_")


def entries(chapter=None):
    found = []
    for path in sorted(BANK.glob("*/*/*.py")):
        name, exercise = path.parts[-3:-1]
        if chapter not in (None, name):
            continue
        source = path.read_text(encoding="utf-8")
        head = {"misconception": [], "fails": [], "message": []}
        for line in source.split("\n"):
            if not line.startswith("#"):
                break
            if match := _HEAD.match(line):
                head[match[1]].append(match[2].strip())
        found.append(
            Entry(
                name,
                exercise,
                path,
                source,
                " ".join(head["misconception"]),
                tuple(head["fails"]),
                " ".join(head["message"]),
            )
        )
    return found


def faults(chapter, chosen, engine, seed=SEED):
    """Yield (entry, result, list of sentences) per bank answer; no sentences where all is as its head says."""
    checks = {cell.exercise: cell for cell in chapter.checks if missing_package(cell) is None}
    chosen = [entry for entry in chosen if entry.exercise in checks]
    engine.expect(imports([chapter]))
    reference = next(iter(engine.run([reference_job(chapter, seed)])))
    observed = {cell.id: cell.observed for cell in reference.cells}
    by_key = {str(entry.path): entry for entry in chosen}
    jobs = (
        replace(reference_job(chapter, seed, answers={e.exercise: e.source}, only=e.exercise), key=key)
        for key, e in by_key.items()
    )
    for run in engine.run(jobs):
        entry = by_key[run.key]
        cell = checks[entry.exercise]
        cell_run = next(item for item in run.cells if item.id == cell.id)
        result = judge(cell.id, parsed(cell.source), cell_run, observed[cell.id], max_score=cell.points)
        yield entry, result, list(problems(entry, result))


def problems(entry, result):
    failed = {check.label: check for check in result.checks if not check.passed}
    if entry.right:
        if result.score != result.max_score:
            yield f"a right answer loses at: {', '.join(failed)}"
        return
    if not (entry.misconception and entry.fails and entry.message):
        yield "its head lacks misconception, fails or message"
    for label in entry.fails:
        if label not in {check.label for check in result.checks}:
            yield f"there is no check {label!r}"
        elif label not in failed:
            yield f"it passes {label!r}"
        elif entry.message not in failed[label].message:
            yield f"at {label!r} the message is {failed[label].message!r}"
