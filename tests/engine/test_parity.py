"""Cells show what a stock kernel shows. The oracle is nbclient with a stock ipykernel; it knows nothing of this engine."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.engine.api import Cell, CellRun, Engine, Job
from autograder.engine.births.environment import environment
from autograder.engine.outputs import Collector
from autograder.grading.loading import load_course
from tests.engine.helpers import cells
from tests.engine.parity import difference, normal, with_demos
from tests.engine.parity_cells import CELLS
from tests.mini_course import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the warm engine needs Linux")
SEED = 11
#: A kernel knows of no seeds: this cell, which both run first, sets them before every cell.
SEEDS = """
from autograder.checks.seeds import seed_everything
import numpy, torch
torch.set_num_threads(1)
ids = iter({ids!r})
get_ipython().events.register("pre_run_cell", lambda info: seed_everything({seed}, next(ids, None)));
"""


def with_seeds(made: list[Cell]) -> list[Cell]:
    """The cells behind one that seeds them."""
    ids = [cell.id for cell in made]
    return [Cell("seeds", SEEDS.format(ids=ids, seed=SEED), "student", None, 60.0), *made]


def stock(made: list[Cell], folder: Path) -> dict[str, CellRun]:
    """The same cells in a stock kernel; its outputs are bounded as all are."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.source) for cell in made])
    client = NotebookClient(notebook, kernel_name="python3", allow_errors=True, timeout=120)
    variables = environment(str(folder)) | {"PYTHONPATH": str(ROOT), "TRITON_INTERPRET": "1"}
    client.execute(cwd=str(folder), env=variables)
    runs, collector = {}, Collector()
    for cell, executed in zip(made, notebook.cells, strict=True):
        # A magic that is used wrongly is an error to a kernel as well, but one that it only writes to stderr.
        failed = any(
            output.output_type == "error" or "UsageError" in output.get("text", "") for output in executed.outputs
        )
        runs[cell.id] = CellRun(cell.id, "error" if failed else "ran")
        collector.begin(runs[cell.id])
        for output in executed.outputs:
            collector.apply({**output, "type": output.output_type})
        collector.end()
    return runs


@pytest.fixture(scope="module")
def both(warm: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, CellRun], dict[str, CellRun]]:
    made = with_seeds([Cell(name, source, "student", None, 60.0) for name, source in CELLS.items()])
    (run,) = warm.run([Job("parity", tuple(made), seed=SEED)])
    return cells(run), stock(made, tmp_path_factory.mktemp("stock"))


@pytest.mark.parametrize("name", CELLS)
def test_outputs_are_a_stock_kernels(both: tuple[dict[str, CellRun], dict[str, CellRun]], name: str) -> None:
    ours, theirs = (runs[name] for runs in both)
    assert normal(ours.outputs) == normal(theirs.outputs)
    assert ours.status == theirs.status


def test_a_chapter_with_its_reference_answers_shows_what_a_stock_kernel_shows(warm: Engine, tmp_path: Path) -> None:
    (chapter,) = load_course(ROOT, ["05-inference-mode"]).chapters.values()
    job = with_demos(chapter, SEED)
    made = with_seeds([cell for cell in job.cells if cell.role != "check"])
    (run,) = warm.run([Job("chapter", tuple(made), seed=SEED)])
    theirs = stock(made, tmp_path)
    assert [
        line for cell, mine in zip(made, run.cells, strict=True) for line in difference(cell, mine, theirs[cell.id])
    ] == []
    assert sum(len(mine.outputs) for mine in run.cells) > 5
