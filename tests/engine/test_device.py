"""`device="cuda"`: what is asked for, refused and said; runs with it, as far as a machine without a GPU can show."""

from __future__ import annotations

import os
import sys

import pytest
import torch
from click.testing import CliRunner

from autograder.cli.main import main
from autograder.engine import Cell, EngineUnavailable, Job, bubblewrap, open_engine
from autograder.engine.cold import ColdEngine
from autograder.engine.environment import environment
from autograder.engine.inside.here import Here
from tests import mini_course
from tests.engine.helpers import code_job, text

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


def test_the_wall_lets_the_driver_in_only_when_asked(monkeypatch, tmp_path):
    plain = bubblewrap.command("bwrap", str(tmp_path), {}, 1)
    with_gpu = bubblewrap.command("bwrap", str(tmp_path), {}, 1, None, "cuda")
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


ORDER = {"id": "check-x", "exercise": "x", "seed": 1}


def observed(program, space, work):
    found = []
    fine = Here(ORDER, space, found.append, str(work)).run({"source": program})
    return fine, {message["label"]: message["value"] for message in found if message["type"] == "observation"}


def test_once_cuda_is_used_checks_run_in_the_process_itself_and_put_back_what_they_can(monkeypatch, tmp_path, capfd):
    program = (
        "import os\nname = 2\nopen('left.txt', 'w').close()\nprint('noise')\ncheck('a', lambda: (name, os.getpid()))"
    )
    space, streams = {"name": 1}, (sys.stdin, sys.stdout, sys.stderr)
    monkeypatch.chdir(tmp_path)
    fine, found = observed(program, space, tmp_path)
    assert fine and found == {"a": {"tuple": [2, os.getpid()]}}
    assert space == {"name": 1} and (sys.stdin, sys.stdout, sys.stderr) == streams
    assert not list(tmp_path.iterdir())
    os.write(1, b"descriptor\n")
    assert capfd.readouterr().out == "descriptor\n"


def test_a_check_cell_that_raises_there_is_an_error_and_the_next_one_runs(tmp_path):
    assert observed("1 / 0", {}, tmp_path) == (False, {})
    assert observed("raise SystemExit", {}, tmp_path) == (False, {})
    assert observed("check('a', lambda: 5)", {}, tmp_path) == (True, {"a": 5})


@pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")
def test_a_run_that_has_used_cuda_goes_on_after_a_check():
    cells = (
        Cell("setup", "import os, torch\ntorch.cuda.is_initialized = lambda: True\nhere = os.getpid()", "course"),
        Cell("check-x", "left = 1\ncheck('same process', lambda: os.getpid() == here)", "check", "x"),
        Cell("after", "import asyncio\nawait asyncio.sleep(0.01)\nprint('left' in globals(), 'goes on')"),
        Cell("check-y", "check('again', lambda: 6)", "check", "y"),
    )
    with ColdEngine(None, 1, why="a test", device="cuda") as engine:
        (run,) = engine.run([Job("k", cells)])
    assert [cell.status for cell in run.cells] == ["ran"] * 4
    assert [cell.observations for cell in run.cells if cell.id.startswith("check")] == [
        {"same process": True},
        {"again": 6},
    ]
    assert text(run.cells[2]) == "False goes on\n"


def test_a_hidden_part_there_finds_the_names_as_they_were(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    space, found = {"n": 1}, []
    exec("def f(): return n", space)
    here = Here(ORDER, space, found.append, str(tmp_path))
    assert here.run({"source": "mine = 5\ncheck('a', lambda: f())"})
    exec("n = 2\ndef f(): return 'rebound'", space)
    assert here.run({"source": "check('b', lambda: (f(), mine))"}, hidden=True)
    assert {m["label"]: m["value"] for m in found} == {"a": 1, "b": {"tuple": [1, 5]}}
    assert space["n"] == 2 and space["f"]() == "rebound" and "mine" not in space


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_the_command_line_says_why_and_ends_with_2(course, tmp_path):
    mini_course.hand_in(course, "s01", mini_course.filled(course, mini_course.RIGHT))
    line = ["grade", "--submitted", str(course / "submitted"), "--root", str(course), "--out", str(tmp_path)]
    done = CliRunner().invoke(main, [*line, "--device", "cuda"])
    assert done.exit_code == 2 and "--device cpu" in done.output
    assert CliRunner().invoke(main, [*line, "--device", "tpu"]).exit_code == 2
    assert not list(tmp_path.glob("*.db"))
