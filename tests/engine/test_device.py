"""`device="cuda"`: what is asked for, refused and said; runs with it, as far as a machine without a GPU can show."""

from __future__ import annotations

import os
import sys

import pytest
import torch
from click.testing import CliRunner

from autograder.cli.main import main
from autograder.engine import Cell, EngineUnavailable, Job, open_engine
from autograder.engine.births import bubblewrap
from autograder.engine.births.cold import ColdEngine
from autograder.engine.births.environment import environment
from tests import mini_course
from tests.engine.helpers import cells, code_job, text

LIMIT = (
    "import os, resource\nprint(os.environ.get('CUDA_VISIBLE_DEVICES'), resource.getrlimit(resource.RLIMIT_AS)[0] > 0)"
)


def test_on_the_cpu_a_run_sees_no_gpu_and_on_cuda_those_that_we_see(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setenv("SECRET", "x")
    assert environment("/x")["CUDA_VISIBLE_DEVICES"] == ""
    found = environment("/x", "cuda")
    assert found["CUDA_VISIBLE_DEVICES"] == "3" and "SECRET" not in found
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert "CUDA_VISIBLE_DEVICES" not in environment("/x", "cuda")


def test_the_wall_lets_the_driver_in_only_when_asked():
    plain = bubblewrap.command("bwrap", {}, 1)
    with_gpu = bubblewrap.command("bwrap", {}, 1, device="cuda")
    assert "/sys" not in plain and not any("nvidia" in word for word in plain)
    assert with_gpu[with_gpu.index("/sys") - 1] == "--ro-bind"


def test_the_warm_engine_refuses_cuda():
    with pytest.raises(EngineUnavailable, match="fork cannot use CUDA"):
        open_engine("warm", device="cuda")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_cuda_is_refused_in_a_sentence():
    with pytest.raises(EngineUnavailable, match="grade with --device cpu"):
        open_engine(device="cuda")


@pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")
def test_cuda_runs_one_after_another_without_a_limit_on_address_space():
    with ColdEngine(None, 4, why="a test", device="cuda") as engine:
        assert engine.jobs == 1 and "not protected" in engine.describe()
        (run,) = engine.run([code_job(LIMIT)])
    assert text(run.cells[0]) == f"{os.environ.get('CUDA_VISIBLE_DEVICES')} False\n"
    with ColdEngine(None, 4, why="a test") as engine:
        (run,) = engine.run([code_job(LIMIT)])
    assert text(run.cells[0]) == " True\n"


CELLS = (
    Cell("setup", "import os\nhere, n, name = os.getpid(), 1, 1\ndef f(): return n", "course"),
    Cell("a", "check('same process', lambda: os.getpid() == here)", "check", "a", 9.0, "check('still', lambda: os.getpid() == here)"),
    Cell("traces", "name = 2\nleft = 3\nopen('left.txt', 'w').close()\nos.write(1, b'noise')\nprint('noise')\n"
         "check('name', lambda: (name, f()))", "check", "traces", 9.0, "check('hidden', lambda: (name, left, f()))"),
    Cell("after", "import asyncio\nawait asyncio.sleep(0.01)\nos.write(1, b'descriptor ')\n"
         "print('left' in globals(), name, os.listdir())\nn = 2"),
    Cell("raises", "1 / 0", "check", "raises"),
    Cell("exits", "raise SystemExit", "check", "exits"),
    Cell("loops", "def loop():\n    while True: pass\ncheck('loop', loop, limit=0.3)", "check", "loops", 9.0, "check('never', lambda: 1)"),
    Cell("goes on", "check('five', lambda: 5)", "check", "goes on"),
)  # fmt: skip


@pytest.fixture(scope="module")
def on_cuda():
    """A run as on a GPU: nothing is forked. Here torch computes on the CPU all the same."""
    with ColdEngine(None, 1, why="a test", device="cuda") as engine:
        (run,) = engine.run([Job("k", CELLS)])
    return cells(run)


def test_on_cuda_checks_run_in_the_process_itself(on_cuda):
    assert on_cuda["a"].observed == {"same process": True, "still": True}
    assert not on_cuda["a"].threads


def test_there_names_streams_and_files_are_put_back(on_cuda):
    assert on_cuda["traces"].observations == {"name": {"tuple": [2, 1]}}
    assert text(on_cuda["after"]) == "descriptor False 1 []\n"


def test_a_hidden_part_there_finds_the_names_as_they_were(on_cuda):
    assert on_cuda["traces"].hidden == {"hidden": {"tuple": [2, 3, 1]}}


def test_a_check_cell_that_ends_badly_there_is_an_error_and_the_next_one_runs(on_cuda):
    assert [on_cuda[name].status for name in ("raises", "exits", "goes on")] == ["error", "error", "ran"]
    assert on_cuda["loops"].observed == {"loop": {"timeout": 0.3}}
    assert on_cuda["goes on"].observed == {"five": 5}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_the_command_line_says_why_and_ends_with_2(course, tmp_path):
    mini_course.hand_in(course, "s01", mini_course.filled(course, mini_course.RIGHT))
    line = ["grade", "--submitted", str(course / "submitted"), "--root", str(course), "--out", str(tmp_path)]
    done = CliRunner().invoke(main, [*line, "--device", "cuda"])
    assert done.exit_code == 2 and "--device cpu" in done.output
    assert CliRunner().invoke(main, [*line, "--device", "tpu"]).exit_code == 2
    assert not list(tmp_path.glob("*.db"))
