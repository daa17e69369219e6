"""A learner's notebook: filled with reference answers, run in the environment, and looked at."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.grading.course import Chapter
from benchmarks.colab.environment import PYTHON, Runtime

RUNNER = Path(__file__).with_name("run_notebook.py")
_TABLE = re.compile(r"<caption[^>]*>([^<]+?): (\d+) of (\d+) checks")
_MARK = re.compile(r"^[ \t]*### (?:BEGIN|END) SOLUTION[ \t]*\n?", re.MULTILINE)
_ADDRESS = re.compile(r"git\+https://github\.com/[^\"'\\\s]+")


class NotRun(Exception):
    """A notebook stopped at a cell; the text says where."""


def filled(release: dict[str, Any], chapter: Chapter) -> dict[str, Any]:
    """The release with the reference's answers typed in."""
    found = json.loads(json.dumps(release))
    for cell, ours in zip(found["cells"], chapter.cells, strict=True):
        if ours.role == "answer":
            cell["source"] = _MARK.sub("", ours.source)
    return found


def run(notebook: dict[str, Any], runtime: Runtime, folder: Path, checkout: Path) -> dict[str, Any]:
    """Run it top to bottom; the set-up cell installs `checkout` in place of the repository's address.

    Raises
    ------
    NotRun
    """
    text = json.dumps(notebook)
    address = next(iter(_ADDRESS.findall(text)), "")
    text = text.replace(address, str(checkout)) if address else text
    work = folder / "work"
    work.mkdir(exist_ok=True)
    source, target = folder / "in.ipynb", work / "out.ipynb"
    source.write_text(text)
    done = subprocess.run(
        [PYTHON, RUNNER, source, target],
        env=runtime.variables(folder),
        cwd=work,
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotRun(re.sub(r"\x1b\[[0-9;]*m", "", " | ".join(lines[-3:])))
    return dict(json.loads(target.read_text().replace(str(checkout), address)))  # as a learner has it


def faults(notebook: dict[str, Any], chapter: Chapter, runtime: Runtime) -> Iterator[str]:
    """What a run notebook should show and does not."""
    tables = {name: (good, total) for name, good, total in _tables(notebook)}
    for cell in chapter.checks:
        if "needs-triton" in cell.metadata.get("tags", ()) and not runtime.triton:
            continue
        good, total = tables.get(str(cell.exercise), (0, 0))
        if not total or good != total:
            yield f"{cell.exercise}: {good} of {total} checks shown as passed."
    drawn = any(_is_drawing(out) for cell in notebook["cells"] for out in cell.get("outputs", ()))
    text = json.dumps(notebook)
    if "draw_graph(" in text and drawn != runtime.dot:
        yield "no drawing was rendered." if runtime.dot else "a drawing was rendered without dot."


def summary(notebook: dict[str, Any]) -> str:
    """Counts of what is shown."""
    outputs = [out for cell in notebook["cells"] for out in cell.get("outputs", ())]
    drawings = sum(map(_is_drawing, outputs))
    plots = sum("image/png" in out.get("data", ()) for out in outputs)
    return f"{len(list(_tables(notebook)))} tables, {drawings} drawings, {plots} plots"


def setup_seconds(notebook: dict[str, Any]) -> float:
    """How long the cell `setup` took, from the kernel's own messages."""
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "setup":
            times = cell["metadata"]["execution"]
            begin, end = (
                datetime.fromisoformat(times[key].replace("Z", "+00:00"))
                for key in ("iopub.status.busy", "iopub.status.idle")
            )
            return (end - begin).total_seconds()
    raise ValueError("The notebook has no cell with the grade_id setup.")


def _is_drawing(output: dict[str, Any]) -> bool:
    """Whether it is a graph: a plot has a PNG beside its SVG."""
    kinds = output.get("data", {})
    return "image/svg+xml" in kinds and "image/png" not in kinds


def _tables(notebook: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Tables of checks that a browser would render: name, passed, all."""
    for cell in notebook["cells"]:
        for out in cell.get("outputs", ()):
            match = _TABLE.search("".join(out.get("data", {}).get("text/html", "")))
            if match:
                yield match[1], int(match[2]), int(match[3])
