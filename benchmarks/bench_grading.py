"""How fast a class is graded, beside stock nbgrader: python -m benchmarks.bench_grading [CHAPTER] [--quick].

Stock and ours run in turns on the same submissions, whole processes with their start-up. Then the time per submission at 10,
100 and 1,000, the peak memory, and where the time goes. Writes benchmarks/results/grading.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from autograder.engine import open_engine
from autograder.grading import campaign
from autograder.grading.book.gradebook import Book
from autograder.grading.references import observe_references
from autograder.pipeline import cores, open_course
from benchmarks.machine import provenance
from tests.bank_lib import entries
from tests.sample_class import fill

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def make_class(folder: Path, chapter: str, count: int) -> None:
    """Write `count` different submissions: right answers, with a wrong one here and there, none that times out."""
    release = json.loads((ROOT / "notebooks" / chapter / f"{chapter}.ipynb").read_text())
    bank = entries(chapter)
    right = {name: [e for e in bank if e.right and e.exercise == name] for name in {e.exercise for e in bank}}
    for number in range(count):
        answers: dict[str, Any] = {}
        for index, (name, choices) in enumerate(sorted(right.items())):
            answer = choices[(number + index) % len(choices)].source
            if (number + index) % 7 == 0:
                answer = f"# not done\n{name} = None\n"
            answers[name] = f"{answer}\n# submission {number}\n"
        path = folder / f"s{number:04}" / chapter / f"{chapter}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(fill(release, answers)))


class Peak:
    """Samples the memory of a process and its children: proportional set size, bytes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.bytes = psutil.Process(process.pid), 0
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        while self.process.is_running() and self.process.status() != psutil.STATUS_ZOMBIE:
            total = 0
            try:
                for one in [self.process, *self.process.children(recursive=True)]:
                    try:
                        total += one.memory_full_info().pss
                    except (psutil.Error, OSError):
                        continue
            except psutil.Error:
                return
            self.bytes = max(self.bytes, total)
            time.sleep(0.5)


def ours(folder: Path, chapter: str, *, memory: bool = False) -> tuple[float, int]:
    """Seconds and peak bytes of one `autograder grade`, whole process, into a fresh gradebook."""
    out = folder.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "autograder",
        "grade",
        chapter,
        "--submitted",
        str(folder),
        "--out",
        str(out),
        "--root",
        str(ROOT),
    ]
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    peak = Peak(process) if memory else None
    output, _ = process.communicate()
    seconds = time.perf_counter() - begun
    if process.returncode not in (0, 1):
        raise SystemExit(output)
    return seconds, peak.bytes if peak else 0


class Stock:
    """A copy of the course in which stock nbgrader grades."""

    def __init__(self, root: Path, chapter: str, submissions: Path) -> None:
        self.root, self.chapter = root, chapter
        for file in ("nbgrader_config.py", "pyproject.toml"):
            shutil.copy(ROOT / file, root / file)
        shutil.copytree(ROOT / "source" / chapter, root / "source" / chapter)
        shutil.copytree(submissions, root / "submitted")
        self.run("generate_assignment", chapter, "--force")

    def run(self, *words: str) -> float:
        environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        begun = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *words], cwd=self.root, env=environment, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(done.stderr[-3000:])
        return time.perf_counter() - begun

    def grade(self, students: list[str]) -> float:
        """Seconds of one `nbgrader autograde` over these students, whole process."""
        pattern = f"s[0-9][0-9][0-9][{''.join(sorted({name[-1] for name in students}))}]"
        return self.run("autograde", self.chapter, "--force", f"--student={pattern}", "--create")


def versus(scratch: Path, chapter: str, count: int, rounds: int, sample: int) -> dict[str, Any]:
    """Stock and ours in turns."""
    submissions = scratch / "class" / "submitted"
    make_class(submissions, chapter, count)
    few = scratch / "few"
    names = [f"s{number:04}" for number in range(sample)]
    for name in names:
        shutil.copytree(submissions / name, few / name)
    (scratch / "stock").mkdir()
    stock = Stock(scratch / "stock", chapter, few)
    pairs = []
    for turn in range(rounds):
        slow = stock.grade(names) / sample
        fast = ours(submissions, chapter)[0] / count
        pairs.append((slow, fast))
        print(
            f"  turn {turn + 1}: stock {slow:.2f} s, ours {fast * 1000:.1f} ms a submission, ratio {slow / fast:.0f}",
            flush=True,
        )
    ratios = [slow / fast for slow, fast in pairs]
    return {
        "submissions": count,
        "stock_submissions_per_turn": sample,
        "stock_s": [round(slow, 3) for slow, _ in pairs],
        "ours_ms": [round(fast * 1000, 2) for _, fast in pairs],
        "ratio_median": round(statistics.median(ratios), 1),
        "ratio_min": round(min(ratios), 1),
        "ratio_max": round(max(ratios), 1),
    }


def growth(scratch: Path, chapter: str, sizes: list[int]) -> list[dict[str, Any]]:
    """Time per submission and peak memory as the class grows."""
    rows = []
    for size in sizes:
        folder = scratch / f"grow-{size}" / "submitted"
        make_class(folder, chapter, size)
        seconds, peak = ours(folder, chapter, memory=True)
        rows.append(
            {
                "submissions": size,
                "ms_each": round(seconds / size * 1000, 1),
                "seconds": round(seconds, 2),
                "peak_mib": peak // 2**20,
            }
        )
        print(f"  {size}: {seconds / size * 1000:.1f} ms each, peak {peak // 2**20} MiB", flush=True)
        shutil.rmtree(folder.parent)
    return rows


def breakdown(scratch: Path, chapter: str, count: int) -> dict[str, float]:
    """Milliseconds a submission by stage; with several jobs at once the run's stages overlap with the grader's."""
    folder = scratch / "breakdown" / "submitted"
    make_class(folder, chapter, count)
    spent: dict[str, float] = defaultdict(float)

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        spent[name] += time.perf_counter() - begun

    def wrap(owner: Any, attribute: str, stage: str) -> None:
        inner = getattr(owner, attribute)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with timed(stage):
                return inner(*args, **kwargs)

        setattr(owner, attribute, wrapper)

    for owner, attribute, stage in (
        (campaign, "read_notebook", "read"),
        (campaign, "restore", "restore"),
        (campaign, "judge", "judge"),
        (campaign, "autograded_notebook", "notebook to show"),
        (Book, "write", "gradebook and files"),
    ):
        wrap(owner, attribute, stage)
    course = open_course(ROOT, [chapter])
    begun = time.perf_counter()
    with open_engine(jobs=cores()) as engine:
        references = observe_references(engine, course.chapters.values(), 7)
        spent["start: torch imported, reference run"] = time.perf_counter() - begun
        inner = engine.run

        def watched(jobs: Any) -> Any:
            for run in inner(jobs):
                cells = sum(cell.seconds for cell in run.cells)
                spent["cells"] += cells
                spent["fork, isolate, talk"] += run.seconds - cells
                yield run

        engine.run = watched  # type: ignore[method-assign]
        with Book.open(
            f"sqlite:///{folder.parent}/gradebook.db", course.course_id, folder.parent / "autograded"
        ) as book:
            for one in course.chapters.values():
                book.register(one)
            begun = time.perf_counter()
            campaign.Campaign(course, engine, book, references, 7).run(folder)
            spent["wall"] = time.perf_counter() - begun
    return {stage: round(seconds / count * 1000, 2) for stage, seconds in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chapter", nargs="?", default="02-saved-tensors")
    parser.add_argument("--quick", action="store_true", help="small numbers, to see that it works")
    options = parser.parse_args()
    count, rounds, sample, sizes = (20, 1, 2, [10, 20]) if options.quick else (500, 2, 10, [10, 100, 1000])
    open_course(ROOT, [options.chapter])
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        print(f"stock nbgrader and ours in turns, {options.chapter}:", flush=True)
        result: dict[str, Any] = {"chapter": options.chapter, "machine": provenance()}
        result["versus"] = versus(scratch, options.chapter, count, rounds, sample)
        print("as the class grows:", flush=True)
        result["growth"] = growth(scratch, options.chapter, sizes)
        result["breakdown_ms"] = breakdown(scratch, options.chapter, min(count, 200))
    print("where the time goes, ms a submission:")
    for stage, milliseconds in sorted(result["breakdown_ms"].items(), key=lambda item: -item[1]):
        print(f"  {milliseconds:8.2f}  {stage}")
    if not options.quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "grading.json").write_text(json.dumps(result, indent=1) + "\n")
        print(f"written to {(RESULTS / 'grading.json').relative_to(ROOT)}")


if __name__ == "__main__":
    main()
