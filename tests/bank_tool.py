"""Judge the bank: python -m tests.bank_tool [CHAPTER [EXERCISE [FILE]]]; every chapter by default."""

from __future__ import annotations

import sys

from autograder.authoring.build import release, write_source_notebook
from autograder.authoring.source import SourceError, source_names
from autograder.authoring.verify import verify
from autograder.engine import open_engine
from autograder.grading.course import CourseError, chapter_called, load_chapter
from tests.bank_lib import entries, faults
from tests.mini_course import ROOT


def judge_chapter(engine, name: str, exercise: str | None, file: str | None) -> int:
    """Print every verdict of a chapter's bank; returns how many are not as they should be."""
    write_source_notebook(ROOT, name)
    release(ROOT, name)
    chapter = load_chapter(ROOT, name)
    found = verify(chapter, engine)
    for sentence in found.broken:
        print("BROKEN", sentence)
    if found.broken:
        return len(found.broken)
    lost = {entry.exercise for entry in entries(name)} - set(chapter.exercises)
    for folder in sorted(lost):
        print(
            f"BAD  tests/bank/{name}/{folder}: the chapter has no exercise {folder!r}; it has {', '.join(chapter.exercises)}"
        )
    bare = [one for one in chapter.exercises if one not in {entry.exercise for entry in entries(name)}]
    for one in bare:
        print(f"BAD  tests/bank/{name}/{one}: the exercise has no answers in the bank")
    chosen = [e for e in entries(name) if exercise in (None, e.exercise) and file in (None, e.path.name)]
    bad = len(lost) + len(bare)
    for entry, result, problems in faults(chapter, chosen, engine):
        bad += bool(problems)
        print(f"{'BAD ' if problems else 'ok  '} {entry.path.relative_to(ROOT)}  {result.score:g}/{result.max_score:g}")
        if problems or file:
            for check in result.checks:
                print(f"        {'pass' if check.passed else 'FAIL'} {check.label}  {check.message}")
        for problem in problems:
            print("     ->", problem)
    print(f"{name}: {len(chosen)} answers, {bad} not as they should be")
    return bad


def main(name: str | None = None, exercise: str | None = None, file: str | None = None) -> int:
    try:
        known = source_names(ROOT)
        chosen = [chapter_called(name, known)] if name else known
        with open_engine() as engine:
            bad = sum(judge_chapter(engine, one, exercise, file) for one in chosen)
    except (SourceError, CourseError) as error:
        print(error, file=sys.stderr)
        return 2
    return bool(bad)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
