"""`make colab-test`: every chapter in an environment as near to Colab's as registries allow, then graded.

A release with the reference answers typed in runs top to bottom there. Its set-up cell installs this checkout in place of
the repository's address. The result is rewritten as Colab saves it, and graded here: full marks.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from autograder.grading.course import load_chapter
from autograder.pipeline import open_course
from benchmarks.colab import environment, notebooks
from benchmarks.colab.environment import ROOT, Runtime
from benchmarks.colab.saves import as_colab_saves

SETUP_LIMIT = 10.0  #: seconds for the set-up cell that installs, with a warm cache
COLAB = Runtime("dot and Triton")
OTHERS = {Runtime("no dot", dot=False): "01-graph", Runtime("no Triton", triton=False): "04-custom-function"}


def main(arguments: list[str] | None = None) -> int:
    """Run; 0 when all is as it should be, else 1 with a list of what is not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.colab_test", description=__doc__.partition("\n")[0])
    parser.add_argument("chapters", nargs="*", help="these only")
    course = open_course(ROOT, parser.parse_args(arguments).chapters)  # brings source/*/*.ipynb up to date
    names = list(course.chapters)
    faults: list[str] = []
    environment.install()
    with tempfile.TemporaryDirectory(prefix="colab-test-") as scratch:
        folder = Path(scratch)
        checkout = environment.copy_checkout(folder / "checkout")
        before = environment.packages()
        faults += setup_cell(names[0], folder, checkout)
        for name in names:
            faults += chapter(name, COLAB, folder, checkout)
        for runtime, name in OTHERS.items():
            if name in names:
                faults += chapter(name, runtime, folder, checkout)
        after = environment.packages()
        changed = sorted(set(before.items()) ^ set(after.items()))
        faults += [f"The set-up cell changed what was installed: {changed}."] if changed else []
        print(f"{len(before)} packages were there; changed by the set-up cell: {len(changed)}", flush=True)
        faults += graded(names, folder)
    for fault in faults:
        print(f"FAULT  {fault}")
    return 1 if faults else 0


def setup_cell(name: str, folder: Path, checkout: Path) -> list[str]:
    """Run a chapter's set-up cell where this project is not installed yet, three times: the machine may be busy."""
    notebook = json.loads((ROOT / "notebooks" / name / f"{name}.ipynb").read_text(encoding="utf-8"))
    last = next(
        n for n, c in enumerate(notebook["cells"]) if c["metadata"].get("nbgrader", {}).get("grade_id") == "setup"
    )
    notebook["cells"] = notebook["cells"][: last + 1]
    times = []
    for _ in range(3):
        environment.uninstall()
        try:
            times.append(notebooks.setup_seconds(notebooks.run(notebook, COLAB, folder, checkout)))
        except notebooks.NotRun as error:
            return [f"The set-up cell of {name}: {error}"]
    print(f"set-up cell with the installation: {', '.join(f'{seconds:.1f}' for seconds in times)} s", flush=True)
    if min(times) <= SETUP_LIMIT:
        return []
    return [f"The set-up cell takes {min(times):.1f} s; at most {SETUP_LIMIT:.0f} s with a warm cache."]


def chapter(name: str, runtime: Runtime, folder: Path, checkout: Path) -> list[str]:
    """Run one chapter and hand it in; sentences about what is not as it should be."""
    loaded = load_chapter(ROOT, name)
    release = json.loads((ROOT / "notebooks" / name / f"{name}.ipynb").read_text(encoding="utf-8"))
    begin = time.monotonic()
    try:
        done = notebooks.run(notebooks.filled(release, loaded), runtime, folder, checkout)
    except notebooks.NotRun as error:
        return [f"{name} ({runtime.name}): {error}"]
    print(
        f"{name} ({runtime.name}): {time.monotonic() - begin:.0f} s, {notebooks.summary(done)}",
        flush=True,
    )
    found = [f"{name} ({runtime.name}), {fault}" for fault in notebooks.faults(done, loaded, runtime)]
    if runtime == COLAB:
        path = folder / "submitted" / "learner" / name / f"{name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(as_colab_saves(done)), encoding="utf-8")
    return found


def graded(names: Sequence[str], folder: Path) -> list[str]:
    """Grade what was handed in; sentences about what has not full marks."""
    if not (folder / "submitted").exists():
        return ["Nothing ran to its end, so nothing was graded."]
    result = folder / "grades.json"
    line = [sys.executable, "-m", "autograder", "grade", *names, "--submitted", folder / "submitted"]
    done = subprocess.run(
        [*line, "--out", folder / "graded", "--json", result], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    if not result.exists():
        return [f"Grading failed: {done.stdout} {done.stderr}"]
    faults = []
    for one in json.loads(result.read_text())["submissions"]:
        print(f"{one['chapter']} as Colab saves it: {one['status']}, {one['score']} of {one['max_score']}", flush=True)
        if one["status"] != "graded" or one["score"] != one["max_score"]:
            lost = [check["label"] for item in one["exercises"] for check in item["checks"] if not check["passed"]]
            notes = " ".join(note["text"] for note in one["notes"])
            faults.append(
                f"{one['chapter']} as Colab saves it: {one['status']}, {one['score']} of {one['max_score']}. "
                f"Lost at: {', '.join(lost) or 'nothing'}. {notes}"
            )
    return faults


if __name__ == "__main__":
    sys.exit(main())
