"""What the warm engine promises of an honest notebook."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.engine.api import Cell, Job
from autograder.engine.births.warm import WarmEngine
from autograder.engine.processes import descendants
from tests.engine.helpers import DOUBLES, GOOD, LIMITS, SETUP, cells, code_job, error, text

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the warm engine needs Linux")


def values(warm: WarmEngine, *made: Cell, seed: int = 7) -> dict:
    (run,) = warm.run([Job("job", made, seed=seed)])
    return cells(run)


# ------------------------------------------------------------------------------------------------ names, modes, seeds


def test_names_of_course_cells_come_back(warm: WarmEngine) -> None:
    got = values(
        warm,
        Cell("set-up", "x = 1\ndef helper(): return 'course'", "course"),
        Cell("answer", "def answer(): return helper()", "answer", "answer"),
        Cell("shadows", "x = 99\ndel helper\ndef answer2(): pass", "student"),
        Cell("reset", "%reset -f", "student"),
        Cell("sees", "x, answer()", "student"),
        Cell("check", "check('v', lambda: (x, answer()))", "check", "answer"),
    )
    assert got["check"].observations == {"v": {"tuple": [1, "course"]}}
    assert got["sees"].outputs[0]["data"] == {"text/plain": "(1, 'course')"}


def test_names_of_a_check_cell_hide_nothing_from_an_answer(engine) -> None:
    """The hidden part may bind a name that an answer has for a helper of its own; students cannot see it."""
    cells = (
        Cell("answer", "def base(): return 1\ndef stack(): return 1\ndef f(): return base() + stack()", "answer", "f"),
        Cell("check", "base = 10\ncheck('v', lambda: [f(), base])", "check", "f", 9.0,
             "stack = 20\ncheck('h', lambda: [f(), base, stack])", 1),
    )  # fmt: skip
    (run,) = engine.run([Job("j", cells, 1)])
    assert run.cells[1].observations == {"v": {"list": [2, 10]}}
    assert run.cells[1].hidden == {"h": {"list": [2, 10, 20]}}


def test_a_name_that_hides_a_builtin_costs_the_checks_nothing(warm: WarmEngine) -> None:
    got = values(
        warm,
        Cell("own", "sorted = [3, 1]\nlen = 4", "student"),
        Cell("answer", "def f(): return sorted", "answer", "f"),
        Cell("check", "check('v', lambda: [sorted(f()), len(f())])", "check", "f"),
    )
    assert got["check"].observations == {"v": {"list": [{"list": [1, 3]}, 2]}}


def test_a_rebound_answer_stays_rebound(warm: WarmEngine) -> None:
    got = values(
        warm,
        Cell("answer", "def f(): return 'answer'", "answer", "f"),
        Cell("again", "def f(): return 'rebound'", "student"),
        Cell("check", "check('v', lambda: f())", "check", "f"),
    )
    assert got["check"].observations == {"v": "rebound"}


def test_an_answer_may_build_on_an_earlier_one_of_the_same_name(warm: WarmEngine) -> None:
    got = values(
        warm,
        Cell("first", "def f(): return 1", "answer", "f"),
        Cell("second", "g = f\ndef f(): return g() + 1", "answer", "f"),
        Cell("check", "check('v', lambda: f())", "check", "f"),
    )
    assert got["check"].observations == {"v": 2}


def test_modes_come_back(warm: WarmEngine) -> None:
    disturb = (
        "import torch, os, sys, numpy\ntorch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\n"
        "torch.autograd.set_detect_anomaly(True)\ntorch.set_num_threads(3)\ntorch.set_default_device('meta')\n"
        "torch.inference_mode().__enter__()\ntorch.autograd.graph.save_on_cpu().__enter__()\n"
        "torch.set_printoptions(precision=1)\nos.mkdir('d'); os.chdir('d')\nsys.setrecursionlimit(100)\nnumpy.seterr(all='raise')"
    )
    look = (
        "import torch, os, sys, numpy\ntorch.get_default_dtype(), torch.is_grad_enabled(), torch.is_anomaly_enabled(), "
        "torch.get_num_threads(), torch.is_inference_mode_enabled(), torch.ones(1).device, os.path.basename(os.getcwd()), "
        "sys.getrecursionlimit() > 500, torch.tensor(1.23456), numpy.geterr()['divide'], "
        "torch._C._autograd._top_saved_tensors_default_hooks(True)"
    )
    before, _, after = (run for run in values(warm, Cell("a", look), Cell("b", disturb), Cell("c", look)).values())
    assert before.outputs[0]["data"] == after.outputs[0]["data"]


def test_numbers_follow_from_the_seed_and_the_cell(warm: WarmEngine) -> None:
    draw = "import torch, random, numpy\ntorch.rand(2).tolist(), random.random(), numpy.random.rand()"
    made = (Cell("a", draw), Cell("noise", "torch.rand(9)"), Cell("b", draw))
    one, two, other = values(warm, *made), values(warm, *made[:1], made[2]), values(warm, *made, seed=8)
    shown = [[run[key].outputs[0]["data"]["text/plain"] for key in "ab"] for run in (one, two, other)]
    assert shown[0] == shown[1]
    assert len({*shown[0], *shown[2]}) == 4


def test_a_check_sees_the_run_and_leaves_nothing(warm: WarmEngine) -> None:
    got = values(
        warm,
        SETUP,
        Cell("state", "calls = []\ndef f():\n    calls.append(1)\n    open('made', 'w').write('x')\n    return len(calls)", "answer", "f"),
        Cell("file", "open('kept', 'w').write('before')", "student"),
        Cell("check", "open('kept', 'w').write('after')\nmine = 5\nx += 1\ncheck('n', lambda: f())\ncheck('x', lambda: x)", "check", "f"),
        Cell("after", "import os\nprint(calls, 'mine' in globals(), x.tolist(), sorted(os.listdir()), open('kept').read())"),
    )  # fmt: skip
    assert got["check"].observations["n"] == 1
    assert got["check"].observations["x"]["tensor"]["data"] == [2.0, 3.0]
    assert text(got["after"]) == "[] False [1.0, 2.0] ['kept'] before\n"


def test_backward_works_in_the_run_and_in_its_snapshot(warm: WarmEngine) -> None:
    got = values(
        warm,
        Cell("a", "import torch\nw = torch.ones(2, requires_grad=True)\n(w * 3).sum().backward()", "course"),
        Cell("check", "(w * 2).sum().backward()\ncheck('g', lambda: w.grad)", "check", "e"),
        Cell("b", "(w * 1).sum().backward()\nprint(w.grad.tolist())"),
    )
    assert got["check"].observations["g"]["tensor"]["data"] == [5.0, 5.0]
    assert text(got["b"]) == "[4.0, 4.0]\n"


def test_only_check_cells_observe(warm: WarmEngine) -> None:
    got = values(
        warm,
        Cell("c", "check('v', lambda: 1)"),
        Cell("d", "check('v', lambda: 1)\ncheck('v', lambda: 2)", "check", "e"),
    )
    assert "NameError" in error(got["c"]) and not got["c"].observations
    assert got["d"].observations == {"v": 1}  # the first per label


# ------------------------------------------------------------------------------------------------ outputs that are cut


def test_one_long_line_is_cut(warm: WarmEngine) -> None:
    (run,) = warm.run([code_job("print('x' * 50_000_000)", "print('after')")])
    first, last = run.cells[0].outputs
    assert run.cells[0].status == "ran"
    assert len(first["text"]) == 1_000_000
    assert last["text"] == "\n[49,000,001 characters of output were cut]\n"
    assert text(run.cells[1]) == "after\n"


def test_tiny_writes_all_arrive(warm: WarmEngine) -> None:
    (run,) = warm.run([code_job("import sys\nfor i in range(100_000):\n    n = sys.stdout.write('ab'[i % 2])")])
    assert text(run.cells[0]) == "ab" * 50_000


def test_endless_print_is_bounded(warm: WarmEngine) -> None:
    (run,) = warm.run([code_job("while True:\n    print('y' * 100)", "print('after')", limit=1.0)])
    assert run.cells[0].status == "timed-out"
    assert len(text(run.cells[0])) < 1_000_100
    assert text(run.cells[1]) == "after\n"


def test_endless_displays_are_bounded(warm: WarmEngine) -> None:
    (run,) = warm.run([code_job("from IPython.display import display\nfor i in range(5000):\n    display(i)")])
    assert len(run.cells[0].outputs) <= 2001 and "were cut" in run.cells[0].outputs[-1]["text"]


def test_descriptor_output_is_bounded(warm: WarmEngine) -> None:
    (run,) = warm.run([code_job("import os\nfor _ in range(200):\n    try: os.write(1, b'z' * 1_000_000)\n    except OSError: pass", "print('after')")])  # fmt: skip
    assert len(text(run.cells[0])) < 1_000_100
    assert text(run.cells[1]) == "after\n"


def test_what_was_printed_before_a_kill_is_kept(warm: WarmEngine) -> None:
    (run,) = warm.run([code_job("import os\nprint('before the end')\nos._exit(3)")])
    assert run.cells[0].status == "died" and text(run.cells[0]) == "before the end\n"


def test_half_a_surrogate_is_written_as_a_question_mark(warm: WarmEngine) -> None:
    (run,) = warm.run([code_job("print('a\\ud800b')\n'c\\udfffd'")])
    shown = text(run.cells[0]) + str(run.cells[0].outputs)
    shown.encode()  # or it raises
    assert text(run.cells[0]) == "a?b\n"


# ------------------------------------------------------------------------------------------------ leftovers of elsewhere


@pytest.mark.parametrize(
    "source",
    ["%pip install nothing-at-all-xyz", "!pip install nothing-at-all-xyz", "!curl -s http://example.org", "input()",
     "from google.colab import drive\ndrive.mount('/content/drive')", "exit()", "quit()",
     "import ipywidgets\ndisplay(ipywidgets.IntSlider())", "%load_ext autoreload\n%autoreload 2", "%matplotlib notebook",
     "import torch.utils.data as d\nlist(d.DataLoader(range(4), num_workers=2))"],
)  # fmt: skip
def test_leftovers_are_harmless(warm: WarmEngine, source: str) -> None:
    (run,) = warm.run([Job("left", (SETUP, Cell("left", source, "student", None, 20.0), *GOOD))])
    assert cells(run)["check-good"].observed == DOUBLES, run
    assert not run.notes


# ------------------------------------------------------------------------------------------------ files


def test_plain_files_are_copied_and_links_are_not(warm: WarmEngine, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("numbers")
    (tmp_path / "link.txt").symlink_to("/etc/hostname")
    (tmp_path / "big.bin").write_bytes(bytes(11 * 2**20))
    files = tuple(
        (name, tmp_path / source)
        for name, source in [("data.txt", "data.txt"), ("sub/data.txt", "data.txt"), ("link.txt", "link.txt"), ("big.bin", "big.bin"),
                             ("../out.txt", "data.txt"), ("/abs.txt", "data.txt"), ("folder", "."), ("gone", "gone")]
    )  # fmt: skip
    source = (
        "import os\nfor f, _, names in sorted(os.walk('.')):\n    print(f, names)\nprint(open('sub/data.txt').read())"
    )
    (run,) = warm.run([code_job(source, files=files)])
    assert text(run.cells[0]) == ". ['data.txt']\n./sub ['data.txt']\nnumbers\n"
    assert len(run.notes) == 6


# ------------------------------------------------------------------------------------------------ time


def test_a_job_ends_with_its_deadline(warm: WarmEngine) -> None:
    start = time.monotonic()
    job = code_job("print(1)", "import time\ntime.sleep(100)", "print(2)", limit=90.0, deadline=1.5)
    (run,) = warm.run([job])
    assert time.monotonic() - start < 15
    assert [cell.status for cell in run.cells] == ["ran", "timed-out", "not-run"]
    assert any("was over" in note for note in run.notes)


def test_a_slow_check_cell_goes_on_while_it_observes(warm: WarmEngine) -> None:
    program = "import time\n" + "\n".join(f"check('{n}', lambda: time.sleep(0.4))" for n in range(6))
    got = values(warm, Cell("check", program, "check", "e", 1.5))
    assert len(got["check"].observations) == 6 and got["check"].status == "ran"


def test_a_check_that_times_out_is_the_last(warm: WarmEngine) -> None:
    program = (
        "def loop():\n    while True: pass\ncheck('a', lambda: 1)\ncheck('b', loop, limit=0.3)\ncheck('c', lambda: 1)"
    )
    (run,) = warm.run([Job("slow", (Cell("check", program, "check", "e", 5.0), SETUP, *GOOD))])
    got = cells(run)
    assert got["check"].observations == {"a": 1, "b": {"timeout": 0.3}}
    assert got["check-good"].observed == DOUBLES


# ------------------------------------------------------------------------------------------------ many jobs, and the end


def test_jobs_are_read_a_few_ahead(warm: WarmEngine) -> None:
    read = itertools.count()

    def jobs() -> Iterator[Job]:
        for _ in range(40):
            next(read)
            yield code_job("1")

    runs = warm.run(jobs())
    next(runs)
    assert next(read) <= 6
    runs.close()
    (run,) = warm.run([code_job("print('still works')")])
    assert text(run.cells[0]) == "still works\n"


def test_an_empty_job_and_no_job(warm: WarmEngine) -> None:
    assert list(warm.run([])) == []
    (run,) = warm.run([Job("empty", ())])
    assert run.cells == [] and run.key == "empty"


def test_nothing_is_left() -> None:
    before = descendants(os.getpid())
    with WarmEngine(isolated=True, jobs=2, limits=LIMITS) as engine:
        bomb = (
            "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(600)"
        )
        list(engine.run([code_job("1"), code_job(bomb), code_job("open('/tmp/x', 'w').write('x')")]))
        scratch = engine._parent.scratch
        assert Path(scratch).exists() and len(descendants(os.getpid())) > len(before)
    assert not set(descendants(os.getpid())) - set(before)
    assert not Path(scratch).exists()
    assert scratch not in Path("/proc/self/mounts").read_text()


def test_a_dead_parent_is_replaced() -> None:
    with WarmEngine(isolated=True, jobs=1, limits=LIMITS) as engine:
        (run,) = engine.run([code_job("1")])
        engine._parent.process.kill()
        engine._parent.process.wait()
        (run,) = engine.run([code_job("print('again')")])
        assert text(run.cells[0]) == "again\n"


def test_a_hidden_part_goes_on_in_its_cells_copy_after_every_cell(warm: WarmEngine) -> None:
    made = (
        Cell("answer", "import os, time\nnames = []\ndef grow(n):\n    names.append(n)\n    return list(names)", "answer", "e"),
        Cell("check", "mine = 1\ncheck('seen', lambda: grow('seen'))", "check", "e", 5.0,
             "check('hidden', lambda: grow('hidden') + [mine, round(time.time(), 1) >= round(began, 1)])"),
        Cell("later", "names.append('later')\ndef grow(n): return 'rebound'\nprint('mine' in globals())", "student"),
        Cell("other", "check('names', lambda: names)", "check", "f", 5.0, "check('again', lambda: names + [grow(1)])"),
    )  # fmt: skip
    began = Cell("began", "import time\nbegan = time.time()", "student")
    got = values(warm, began, *made)
    assert got["check"].observations == {"seen": {"list": ["seen"]}}
    assert got["check"].hidden == {"hidden": {"list": ["seen", "hidden", 1, True]}}
    assert got["other"].observations == {"names": {"list": ["later"]}}
    assert got["other"].hidden == {"again": {"list": ["later", "rebound"]}}
    assert text(got["later"]) == "False\n"


def test_after_a_time_out_the_hidden_part_does_not_run(warm: WarmEngine) -> None:
    made = (
        Cell("a", "def f(): \n    while True: pass", "answer", "e"),
        Cell("check", "check('one', lambda: f(), limit=0.3)", "check", "e", 5.0, "check('two', lambda: 1)"),
    )
    got = values(warm, *made)
    assert got["check"].observed == {"one": {"timeout": 0.3}} and got["check"].timed_out


def test_a_visible_part_that_fails_ends_the_cell(warm: WarmEngine) -> None:
    got = values(warm, Cell("check", "1 / 0\ncheck('one', lambda: 1)", "check", "e", 5.0, "check('two', lambda: 1)"))
    assert got["check"].status == "error" and not got["check"].observed


def test_a_slow_cell_does_not_cost_the_hidden_parts_of_earlier_ones(warm: WarmEngine) -> None:
    slow = Cell("slow", "import time\ntime.sleep(100)", "student", None, 90.0)
    (run,) = warm.run([Job("job", (SETUP, *GOOD, slow), seed=7, deadline=4.0)])
    got = cells(run)
    assert got["check-good"].observed == DOUBLES and got["slow"].status == "timed-out", run


#: honest work around a check: (cell before, answer, thunk of both parts, cell after, what both parts observe)
HONEST = {
    "draws numbers": ("", "def f(): return torch.rand(1).shape", "f()", "", {"tuple": [1]}),
    "a file that the visible part made": (
        "",
        "import os\ndef f():\n    if not os.path.exists('kept'): open('kept', 'w').write('x')\n    return len(os.listdir('.'))",
        "f()",
        "",
        1,
    ),
    "a file that a later cell changes": (
        "open('data', 'w').write('one')",
        "def f(): return open('data').read()",
        "f()",
        "open('data', 'w').write('two')",
        "one",
    ),
    "inference mode entered, kept and not left": (
        "mode = torch.inference_mode()\nmode.__enter__()",
        "def f(): return [torch.is_inference_mode_enabled(), torch.ones(1, requires_grad=True).requires_grad]",
        "f()",
        "",
        {"list": [False, True]},
    ),
    "children are nobody's": ("import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)", "def f(): return 1", "f()", "", 1),
    "an odd handler": (
        "import signal\nsignal.signal(signal.SIGCONT, lambda *_: 1 / 0)",
        "def f(): return 1",
        "f()",
        "",
        1,
    ),
    "a server on this host": (
        "import socket\nserver = socket.create_server(('127.0.0.1', 0))",
        "def f():\n    with socket.create_connection(server.getsockname(), timeout=2): return 'fine'",
        "f()",
        "",
        "fine",
    ),
    "locks": (
        "import fcntl, sqlite3",
        "def f():\n    with open('lock', 'w') as file: fcntl.flock(file, fcntl.LOCK_EX); fcntl.lockf(file, fcntl.LOCK_EX)\n"
        "    with sqlite3.connect('data.db') as book: return book.execute('select 5').fetchone()[0]",
        "f()",
        "",
        5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_finds_the_same_in_both_parts(warm: WarmEngine, name: str) -> None:
    before, answer, thunk, after, expected = HONEST[name]
    made = (
        SETUP,
        Cell("before", before, "student", None, 5.0),
        Cell("f", answer, "answer", "f", 5.0),
        Cell("check", f"check('seen', lambda: {thunk})", "check", "f", 5.0, f"check('hidden', lambda: {thunk})"),
        Cell("after", after, "student", None, 5.0),
    )
    got = values(warm, *made)
    assert got["check"].observed == {"seen": expected, "hidden": expected}, got


def test_what_a_hidden_part_draws_depends_on_no_answer(warm: WarmEngine) -> None:
    def drawn(answer: str) -> object:
        check = Cell("check", "check('a', lambda: f())", "check", "f", 5.0, "x = torch.rand(3)\ncheck('b', lambda: x)")
        return values(warm, SETUP, Cell("f", answer, "answer", "f", 5.0), check)["check"].hidden["b"]

    assert drawn("def f(): return 1") == drawn("def f(): return torch.rand(1000).shape and 1")
