"""`make gpu` as far as a CPU allows: in an environment of torch, triton and matplotlib alone, at the smallest sizes."""

import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import venv
from pathlib import Path

import graphviz
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.lab import read_dot
from autograder.lab.machine import recordings
from benchmarks.gpu import chapters
from benchmarks.gpu.machine import Machine, in_blocks
from benchmarks.gpu.step import SIZES, need

ROOT = Path(__file__).parents[1]
#: What chapters show, by the names in their sources.
SHOWN = {
    name
    for path in (ROOT / "source").glob("*.py")
    for name in re.findall(r'(?:show_recording|recorded)\("([^"]+)"', path.read_text(encoding="utf-8"))
}


def bare_environment(folder, roots=("torch", "triton", "matplotlib")):
    """Links to these packages and to what they require, and to nothing else that is installed here."""
    todo, seen = list(roots), set()
    while todo:
        name = todo.pop().lower().replace("_", "-")
        if name in seen:
            continue
        seen.add(name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        for requirement in found.requires or ():
            if "extra ==" not in requirement:
                todo.append(re.match(r"[A-Za-z0-9._-]+", requirement)[0])
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            target = folder / top
            if not target.exists():
                target.symlink_to(found.locate_file(top))
    return folder


@pytest.fixture(scope="module")
def dry(tmp_path_factory):
    """The whole dry run with one chapter: its output and its figures."""
    folder = tmp_path_factory.mktemp("gpu")
    bare = folder / "bare"
    bare.mkdir()
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", str(Path.home() / ".cache" / "matplotlib")),
        "PYTHONPATH": str(bare_environment(bare)),
        "OMP_NUM_THREADS": "1",
    }
    venv.create(folder / "env", symlinks=os.name != "nt")  # sees no package but those in PYTHONPATH
    python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    line = [str(python), "-m", "benchmarks.record_gpu", "--dry-run"]
    before = recordings.FILE.read_bytes() if recordings.FILE.exists() else None
    done = subprocess.run(
        [*line, "--chapters", "00-start", "--out", str(folder / "out")],
        cwd=ROOT, env=variables, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (recordings.FILE.read_bytes() if recordings.FILE.exists() else None) == before
    return done.stdout, json.loads((folder / "out" / "dry-run.json").read_text())


def test_it_needs_torch_triton_and_matplotlib_alone_and_keeps_no_figure(dry):
    text, found = dry
    assert "This is a dry run" in text
    assert "00-start: 1 exercises pass" in text
    assert "graphviz" not in found["versions"] and "ipython" not in found["versions"]
    assert found["device"].startswith("CPU")


def test_it_measures_everything_that_a_chapter_shows(dry):
    assert set(dry[1]["measurements"]) >= SHOWN >= {"01-launches", "05-modes"}


def test_predicted_seen_and_allocated_bytes_agree(dry):
    rows = dry[1]["measurements"]["02-saved-tensors"]["data"]
    for name in ("MLP", "block", "chain", "chain, 4 checkpoints"):
        assert rows[name]["by hand, bytes"] == rows[name]["hooks, bytes"]
    for name in ("MLP", "block", "block, autocast", "chain", "chain, 4 checkpoints"):
        assert rows[name]["unexplained, bytes"] == rows[name]["difference, %"] == 0


def test_the_sweep_and_the_step_have_their_rows(dry):
    measurements = dry[1]["measurements"]
    assert list(measurements["03-checkpointing"]["data"])[:2] == ["no checkpoint", "1 segment"]
    step = measurements["07-training-ledger"]["data"]
    assert list(step) == ["none", "selective", "full"]
    for row in step.values():
        assert row["peak by our account, bytes"] == pytest.approx(row["peak by the allocator, bytes"], rel=1e-3)
    assert len(measurements["04-silu-mul"]["data"]) == 4


def test_a_table_that_is_missing_or_shows_a_failure_is_a_fault():
    text = "walk: 6 of 6 checks pass. Worth 3\nnodes: 2 of 9 checks pass. Worth 3\na check that fails: 0 of 1 checks pass.\n"
    faults = chapters.read_tables("01-graph", ["walk", "nodes", "leaves"], text)
    assert faults == [
        "01-graph, nodes: 2 of 9 checks passed.",
        "01-graph, leaves: no table of checks was printed.",
    ]


def test_a_chapter_that_ends_early_or_late_is_a_fault(tmp_path, monkeypatch):
    (tmp_path / "source").mkdir()
    cell = '# %% nbgrader={"grade": true, "grade_id": "check-x", "points": 1}\n'
    (tmp_path / "source" / "01-a.py").write_text(cell + 'print("x: 1 of 1 checks pass.")\nraise SystemExit(3)')
    (tmp_path / "source" / "02-b.py").write_text(cell + "import time\ntime.sleep(60)")
    monkeypatch.setattr(chapters, "ROOT", tmp_path)
    early = chapters.run("01-a", tmp_path / "a.log", 30, gpu=False)
    assert early.passed == 1 and "exit code 3" in early.faults[0]
    late = chapters.run("02-b", tmp_path / "b.log", 1, gpu=False)
    assert late.passed == 0 and "more than 1 s" in late.faults[0] and "no table" in late.faults[1]


@given(st.integers(0, 2**40))
def test_a_block_holds_its_bytes_and_wastes_less_than_512(nbytes):
    block = in_blocks(nbytes)
    assert block % 512 == 0 and nbytes <= block and block - nbytes <= 512


def test_the_step_fits_a_device_of_15_gb_and_fills_gigabytes_on_a_large_one():
    def chosen(gigabytes):
        machine = Machine(torch.device("cuda"), int(0.6 * gigabytes * 1e9), torch.float16, dry=False)
        return need(machine.largest(SIZES, need)) / 1e9

    assert 4 < chosen(15) < 9
    assert 15 < chosen(139) < 84
    assert chosen(1) < 0.6


def stand_in():
    spec = importlib.util.spec_from_file_location("stand_in", chapters.STAND_IN / "graphviz" / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


names = st.text("abcnode019_", min_size=1, max_size=6)
#: graphviz's quoting of a newline differs between versions, and no drawing of the lab has one
labels = st.none() | st.text("ab \"(),:'", max_size=8) | st.just("<<b>bold</b>>")


@given(st.lists(st.tuples(names, labels)), st.lists(st.tuples(names, names)), st.booleans())
def test_the_stand_in_for_graphviz_draws_the_same_graph(boxes, arrows, strict):
    sources = []
    for module in (graphviz, stand_in()):
        drawing = module.Digraph("g", comment="c", strict=strict, node_attr={"shape": "box"})
        for name, label in boxes:
            drawing.node(name, label)
        for tail, head in arrows:
            drawing.edge(tail, head, style="dashed")
        drawing.attr(label="caption", labelloc="b")
        sources.append(read_dot(drawing.source))
    assert sources[0] == sources[1]
