"""Grade randomly edited notebooks and say whether each got the grade of the answers in it.

    python benchmarks/fuzz_submissions.py [--count 2000] [--seed 1] [--jobs 2] [--engine auto]

Every fuzzed notebook is a small chapter's, after up to eight edits of its cells, marks and encoding (tests/grading/fuzzing.py).
Between them stand honest submissions, which must get full marks. Exit 1 where anything is not as it should be.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parents[1]))

from autograder.engine import open_engine
from tests.grading.corpus import encode, write
from tests.grading.fuzzing import Fuzzed, submissions
from tests.grading.grading_small import grade
from tests.grading.small_chapter import FULL_MARKS, answered_notebook

HONEST_EVERY = 50


def fuzzed(count: int, number: int) -> list[Fuzzed]:
    """`count` fuzzed submissions, the same for the same number."""
    made: list[Fuzzed] = []

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(submissions())
    def collect(submission: Fuzzed) -> None:
        made.append(submission)

    collect()
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args()

    made = fuzzed(options.count, options.seed)
    violations: list[str] = []
    with tempfile.TemporaryDirectory() as folder, open_engine(options.engine, jobs=options.jobs) as engine:
        print(engine.describe())
        root = Path(folder)
        honest = encode(answered_notebook())
        for number, submission in enumerate(made):
            write(root / "submitted" / f"f{number:05}", submission.data)
            if number % HONEST_EVERY == 0:
                write(root / "submitted" / f"f{number:05}-honest", honest)
        start = time.perf_counter()
        results = grade(engine, root / "submitted", root / "out")
        seconds = time.perf_counter() - start
        for number, submission in enumerate(made):
            result = results[f"f{number:05}"]
            right = {e.id.removeprefix("check-") for e in result.exercises if e.score == e.max_score}
            if result.status not in ("graded", "repaired") or right != submission.right:
                violations.append(f"{submission.edits}: {result.status}, right {right}, not {set(submission.right)}")
        neighbors = [result for name, result in results.items() if name.endswith("-honest")]
        violations += [f"{r.student}: {r.score}" for r in neighbors if (r.status, r.score) != ("graded", FULL_MARKS)]
    edits = Counter(edit for submission in made for edit in set(submission.edits))
    print(
        f"{len(made)} fuzzed and {len(neighbors)} honest submissions in {seconds:.1f} s: {len(violations)} violations"
    )
    print("status:", dict(Counter(result.status for result in results.values())))
    print("edits:", dict(edits.most_common()))
    for violation in violations[:20]:
        print(violation)
    return 1 if violations or len(made) < options.count else 0


if __name__ == "__main__":
    sys.exit(main())
