"""Judge a chapter's bank: python tests/bank_tool.py 01-graph [exercise [file]]."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from autograder.authoring.build import release, write_source_notebook
from autograder.authoring.verify import verify
from autograder.grading.course import load_chapter
from tests.bank_lib import entries, faults
from tests.fork_engine import ForkEngine

ROOT = Path(__file__).parents[1]


def main(name: str, exercise: str | None = None, file: str | None = None) -> int:
    write_source_notebook(ROOT, name)
    release(ROOT, name)
    chapter = load_chapter(ROOT, name)
    bad = 0
    with ForkEngine() as engine:
        found = verify(chapter, engine)
        for sentence in found.broken:
            print("BROKEN", sentence)
        for key, share in found.constant.items():
            print(f"{key}: {share:.0%} of the points rest on values that do not change with the seed")
        if found.broken:
            return 1
        chosen = [e for e in entries(name) if exercise in (None, e.exercise) and file in (None, e.path.name)]
        for entry, result, problems in faults(chapter, chosen, engine):
            bad += bool(problems)
            print(
                f"{'BAD ' if problems else 'ok  '} {entry.path.relative_to(ROOT)}  {result.score:g}/{result.max_score:g}"
            )
            if problems or file:
                for check in result.checks:
                    print(f"        {'pass' if check.passed else 'FAIL'} {check.label}  {check.message}")
            for problem in problems:
                print("     ->", problem)
    print(f"{len(chosen)} answers, {bad} not as they should be")
    return bool(bad)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
