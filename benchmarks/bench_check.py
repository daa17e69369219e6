"""How long a learner waits for `autograder check`: python -m benchmarks.bench_check [CHAPTER ...] [--runs N].

Each chapter with the reference answers filled in, as a notebook and as a bare .py file of answers; whole processes, from
the command to its end, with warm caches. Writes benchmarks/results/check.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from autograder.grading.course import Chapter
from autograder.pipeline import open_course
from benchmarks.machine import provenance
from tests.sample_class import fill

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PROMISE = 3.0  #: seconds
_TICK = os.sysconf("SC_CLK_TCK")


def answered(chapter: Chapter, folder: Path) -> list[Path]:
    """Write the chapter with the reference answers, as a notebook and as a file of answers."""
    answers: dict[str, Any] = {cell.id: cell.source for cell in chapter.cells if cell.role == "answer"}
    release = json.loads((ROOT / "notebooks" / chapter.name / f"{chapter.name}.ipynb").read_text(encoding="utf-8"))
    notebook, file = folder / f"{chapter.name}.ipynb", folder / f"{chapter.name}.py"
    notebook.write_text(json.dumps(fill(release, answers)), encoding="utf-8")
    file.write_text("\n\n".join(answers.values()) + "\n", encoding="utf-8")
    return [notebook, file]


def timed(path: Path) -> tuple[float, float]:
    """Seconds and CPU seconds of one `autograder check`, all its processes together."""
    command = [sys.executable, "-m", "autograder", "check", str(path), "--root", str(ROOT)]
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    used: dict[int, float] = {}
    while process.poll() is None:
        used |= cpu_of_tree(process.pid)
        time.sleep(0.01)
    seconds = time.perf_counter() - begun
    assert process.stdout is not None
    output = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{path.name} does not pass every check:\n{output}")
    return seconds, sum(used.values())


def cpu_of_tree(root: int) -> dict[int, float]:
    """CPU seconds by process, of those that run now. Their ended children count for themselves, as they were seen last."""
    found: dict[int, float] = {}
    todo = [root]
    while todo:
        pid = todo.pop()
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            for task in Path(f"/proc/{pid}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
        except (OSError, ValueError):
            continue
        if fields[0] != "Z":
            found[pid] = sum(map(int, fields[11:13])) / _TICK
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chapters", nargs="*")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    course = open_course(ROOT, options.chapters or sorted(path.stem for path in (ROOT / "source").glob("*.py")))
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        for number, chapter in enumerate(course.chapters.values()):
            for path in answered(chapter, Path(place)):
                if not number:
                    timed(path)  # the caches are warm from here on
                runs = [timed(path) for _ in range(options.runs)]
                wall, cpu = (statistics.median(values) for values in zip(*runs, strict=True))
                rows.append({
                    "chapter": chapter.name, "form": path.suffix.lstrip("."), "seconds": round(wall, 2),
                    "seconds_each": [round(seconds, 2) for seconds, _ in runs], "cpu_seconds": round(cpu, 2),
                })  # fmt: skip
                print(f"{path.name:28} {wall:5.2f} s, {cpu:5.2f} s of CPU", flush=True)
    slowest = max(row["seconds"] for row in rows)
    print(f"slowest: {slowest:.2f} s; promised: {PROMISE:g} s")
    if not options.chapters:
        RESULTS.mkdir(exist_ok=True)
        result = {"machine": provenance(), "runs": options.runs, "slowest_s": slowest, "checks": rows}
        (RESULTS / "check.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(f"written to {(RESULTS / 'check.json').relative_to(ROOT)}")


if __name__ == "__main__":
    main()
