"""What a cell replaces or leaves behind is put back before the next exercise; what an answer replaces stays for its own check."""

from __future__ import annotations

import sys
import types

import pytest

from autograder.engine.api import Cell, Engine, Job
from autograder.engine.inside import kept
from autograder.engine.inside.kept import Kept
from tests.engine.helpers import cells

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the warm engine needs Linux")

MEDDLERS = {
    "functions of torch and of tensors": (
        "for name in ('ones', 'randn', 'exp', 'sum', 'tensor'): setattr(torch, name, lambda *a, **k: 1 / 0)\n"
        "for name in ('backward', 'sum', 'detach', 'clone', '__add__'): setattr(torch.Tensor, name, lambda *a, **k: 1 / 0)"
    ),
    "the calls of modules and of functions": (
        "torch.nn.Module.__call__ = lambda *a, **k: 0\ntorch.autograd.Function.apply = lambda *a: 0"
    ),
    "modules that are None": "import sys\nsys.modules['torch'] = sys.modules['json'] = sys.modules['numpy'] = None",
    "numpy's seed": "import numpy\nnumpy.random.seed = None",
    "properties of tensors": (
        "torch.Tensor.shape = torch.Tensor.dtype = property(lambda self: (7,))\n"
        "torch.Tensor.tolist = lambda self: [0]\ntorch.Tensor.size = torch.Tensor.numel = lambda self: 3"
    ),
    "builtins of the cells": "globals()['__builtins__'] = {'print': print, 'len': lambda *a: 0}",
    "a dispatch mode": (
        "from torch.utils._python_dispatch import TorchDispatchMode\nclass Zero(TorchDispatchMode):\n"
        "    def __torch_dispatch__(self, func, types, args=(), kwargs=None):\n"
        "        return func(*args, **(kwargs or {})) * 0\nZero().__enter__()"
    ),
    "what runs a cell": (
        "from IPython.core.interactiveshell import InteractiveShell\nasync def nothing(*a, **k): return False\n"
        "InteractiveShell.run_code = nothing"
    ),
    "what runs a cell, in the shell itself": (
        "shell = get_ipython()\nshell.run_code = shell.run_cell_async = shell.transform_cell = lambda *a, **k: None"
    ),
    "what the course's package has": (
        "import autograder.lab.memory.ledger as ledger\n"
        "for name, value in list(vars(ledger).items()):\n"
        "    if callable(value) and not name.startswith('__'): setattr(ledger, name, None)"
    ),
    "deleted functions": "del torch.Tensor.backward, torch.nn.Module.forward, torch.ones",
    "three thousand files": "import os\nos.mkdir('many')\nfor n in range(3000): open(f'many/{n}', 'w').write('x')",
    "a path of long names": (
        "import os\nfor n in range(15):\n    os.mkdir('n' * 250)\n    os.chdir('n' * 250)\nopen('f', 'w').write('x')"
    ),
    "a pipe": "import os\nos.mkfifo('pipe')",
    "links": "import os\nos.symlink('loop', 'loop'); os.mkdir('d'); os.symlink('../d', 'd/again'); os.symlink('/dev/zero', 'zero')",
    "a folder without permissions": "import os\nos.mkdir('closed')\nopen('closed/f', 'w').write('x')\nos.chmod('closed', 0)",
}  # fmt: skip
SETUP = Cell(
    "setup", "import torch, numpy\nfrom autograder.lab import saved_ledger\nx = torch.tensor([1.0, 2.0])", "course"
)
ANSWER = """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v): return v * 2
    @staticmethod
    def backward(ctx, g): return g * 2

def good(v):
    w = v.clone().requires_grad_()
    y = Twice.apply(w)
    y.sum().backward()
    return [y, w.grad, list(torch.nn.Linear(2, 3)(v).shape), torch.ones(2) - 0.5, len(saved_ledger(lambda: w.exp()))]
"""
GOOD = (
    Cell("good", ANSWER, "answer", "good", 20.0),
    Cell("check-good", "check('seen', lambda: good(x))", "check", "good", 20.0,
         "z = torch.randn(2)\ncheck('hidden', lambda: good(z))\ncheck('inputs', lambda: [z, numpy.random.rand()])", 2),
)  # fmt: skip


@pytest.fixture(scope="module")
def runs(warm: Engine) -> dict[str, dict]:
    """An honest exercise after each meddler, who is an own cell or an answer; and without any."""
    jobs = [Job("nobody", (SETUP, *GOOD), 7)]
    for name, source in MEDDLERS.items():
        jobs.append(Job(f"own: {name}", (SETUP, Cell("m", source, "student", None, 20.0), *GOOD), 7))
        jobs.append(Job(f"answer: {name}", (SETUP, Cell("m", source, "answer", "m", 20.0), *GOOD), 7))
    return {run.key: cells(run) for run in warm.run(jobs)}


@pytest.mark.parametrize("author", ["own", "answer"])
@pytest.mark.parametrize("name", MEDDLERS)
def test_the_exercise_after_it_loses_nothing(runs: dict[str, dict], name: str, author: str) -> None:
    honest, got = runs["nobody"], runs[f"{author}: {name}"]
    assert len(honest["check-good"].observed) == 3
    assert got["check-good"].observed == honest["check-good"].observed
    assert got["m"].status == "ran"


def test_an_answer_keeps_what_it_replaced_until_its_check_has_run(warm: Engine) -> None:
    """As in the notebook of its author, where nobody puts anything back."""
    count = (
        "calls = []\nplain = torch.Tensor.exp\ndef counted(self):\n    calls.append(1)\n    return plain(self)\n"
        "torch.Tensor.exp = counted\ndef count(v):\n    v.exp().exp()\n    return len(calls)"
    )
    check = Cell("check", "check('calls', lambda: count(x))", "check", "count", 9.0, "check('again', lambda: count(x))")
    made = (SETUP, Cell("count", count, "answer", "count"), check)
    after = Cell("after", "print(torch.Tensor.exp is plain)")
    (run,) = warm.run([Job("j", (*made, after), 7)])
    assert cells(run)["check"].observed == {"calls": 2, "again": 4}
    assert cells(run)["after"].outputs[0]["text"] == "True\n"


def test_a_method_that_hides_nothing_stays(warm: Engine) -> None:
    made = (
        SETUP,
        Cell("own", "torch.Tensor.twice = lambda self: self * 2"),
        Cell("after", "print(x.twice().tolist())"),
    )
    (run,) = warm.run([Job("j", made, 7)])
    assert cells(run)["after"].outputs[0]["text"] == "[2.0, 4.0]\n"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    made = types.ModuleType("some_module")
    exec("def function(): pass\nclass Kind:\n    limit = 1\n    def method(self): pass\ndata = [1]", vars(made))
    made.Kind.__module__ = "some_module"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "some_module", made)
    return made


@pytest.mark.parametrize("is_known", [True, False], ids=["by their memory", "one by one"])
def test_functions_and_methods_come_back_and_data_stays(
    module: types.ModuleType, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_is_laid_out_as_expected", lambda: is_known)
    function, method = module.function, module.Kind.method
    held = Kept(["some_module"])
    for _ in range(2):
        module.function, module.data, module.Kind.method, module.Kind.limit = None, [2], None, 2  # type: ignore[attr-defined]
        module.Kind.__eq__ = lambda *a: True
        for number in range(100):  # so many that their dict moves
            setattr(module, f"later_{number}", number)
        held.put_back()
        assert module.function is function and module.Kind.method is method
        assert module.data == [2] and module.Kind.limit == 2 and module.later_99 == 99  # type: ignore[attr-defined]
        assert module.Kind() != module.Kind()


def test_to_look_at_them_calls_nothing_of_theirs(module: types.ModuleType) -> None:
    held = Kept(["some_module"])
    assert held.tables.is_known and not held.tables.changed()
    seen = []

    class Spy:
        def __eq__(self, other: object) -> bool:
            seen.append(other)
            return True

        __hash__ = None  # type: ignore[assignment]

    module.data = Spy()
    held.put_back()
    assert not held.tables.changed() and not seen
