"""What every exercise stands on is put back, whoever has replaced it: an own cell costs the exercises after it nothing."""

from __future__ import annotations

import pytest

from autograder.engine.api import Cell, Engine, Job, Run
from autograder.engine.cold import ColdEngine
from tests.engine.helpers import BEFORE, LIMITS, SETUP

MEDDLERS = {
    "torch functions": "import torch\nfor n in ('randn','tensor','exp','equal','zeros','manual_seed','matmul','sum'): setattr(torch,n,lambda *a,**k: None)\nfor n in ('__mul__','__add__','tolist','sum','backward','numel'): setattr(torch.Tensor,n,lambda *a,**k: None)",
    "Module call": "import torch\ntorch.nn.Module.__call__=lambda *a,**k: None\ntorch.autograd.Function.apply=classmethod(lambda *a: None)",
    "sys.modules": "import sys\nfor n in ('torch','json','numpy'): sys.modules[n]=None",
    "numpy seed": "import numpy\nnumpy.random.seed=None",
    "files": "import os\nfor i in range(3000): open(f'f{i}','w').write('x')\np='.'\nfor i in range(15):\n    p+='/'+'d'*200\n    try: os.mkdir(p)\n    except OSError: break\nos.mkfifo('pipe')\nos.symlink('.','loop')\nos.symlink('nowhere','dangling')\nos.mkdir('locked'); open('locked/x','w').write('1'); os.chmod('locked',0)",
    "builtins": "globals()['__builtins__']={'print':None}",
    "dispatch": "from torch.utils._python_dispatch import TorchDispatchMode\nimport torch\nclass Z(TorchDispatchMode):\n    def __torch_dispatch__(self,f,t,a=(),k=None):\n        r=f(*a,**(k or {}))\n        return r*0 if isinstance(r,torch.Tensor) and r.is_floating_point() and 'mul' not in str(f) else r\nz=Z(); z.__enter__()",
    "props": "import torch\ntorch.Tensor.shape=property(lambda s: (9,))\ntorch.Tensor.tolist=lambda s: [0]\ntorch.Tensor.dtype=property(lambda s: torch.int8)\ntorch.Tensor.cpu=lambda s: 3\ntorch.Tensor.is_floating_point=lambda s: False",
    "run_code": "from IPython.core.interactiveshell import InteractiveShell\nasync def f(self,*a,**k): return False\nInteractiveShell.run_code=f",
    "run_code instance": "ip=get_ipython()\nasync def f(*a,**k): return False\nip.run_code=f",
    "run_cell_async": "ip=get_ipython()\nip.run_cell_async=None\nip.transform_cell=None",
    "show": "ip=get_ipython(); ip.display_formatter=None; ip.displayhook=None; ip.events=None",
    "Function fwd": "import torch\ntorch.nn.functional.silu=lambda *a: None\ntorch.autograd.grad=None\ntorch.autograd.backward=None\ntorch.no_grad=None",
}

LATE = """
def late(v):
    import json, numpy
    layer = torch.nn.Linear(2, 2)
    torch.nn.init.ones_(layer.weight), torch.nn.init.zeros_(layer.bias)
    v = v.clone().requires_grad_()
    layer(v).exp().sum().backward()
    return [list(v.shape), (v.grad / v.grad.max()).tolist(), len(range(3)), str(v.dtype), json.dumps(1), numpy.e]
"""
CHECK = "check('late', lambda: late(torch.ones(2)), limit=5)\ncheck('drawn', lambda: torch.randn(2), limit=5)"
HONEST = (
    Cell("late", LATE, "answer", "late", 10.0),
    Cell("check-late", CHECK, "check", "late", 10.0, "check('hidden', lambda: late(torch.zeros(2)), limit=5)", 1),
)


def jobs() -> list[Job]:
    named = {"honest": "pass", **MEDDLERS}
    return [
        Job(name, (SETUP, *BEFORE, Cell("own", source, "student"), *HONEST), 7, deadline=40.0)
        for name, source in named.items()
    ]


def observed(run: Run) -> list[dict]:
    return [cell.observed for cell in run.cells if cell.id != "own"]


@pytest.fixture(scope="module")
def runs(warm: Engine) -> dict[str, Run]:
    return {run.key: run for run in warm.run(jobs())}


@pytest.mark.parametrize("name", MEDDLERS)
def test_the_exercise_after_it_counts_in_full(runs: dict[str, Run], name: str) -> None:
    assert observed(runs[name]) == observed(runs["honest"])
    assert len(runs["honest"].cells[-1].observed) == 3


def test_the_same_in_a_fresh_process(runs: dict[str, Run]) -> None:
    chosen = [job for job in jobs() if job.key in ("torch functions", "sys.modules", "run_code", "builtins")]
    with ColdEngine(jobs=2, limits=LIMITS) as engine:
        for run in engine.run(chosen):
            assert observed(run) == observed(runs["honest"]), run.key


def test_a_method_of_its_own_on_a_class_of_torch_stays(warm: Engine) -> None:
    cells = (
        SETUP,
        Cell("own", "torch.Tensor.mine = lambda self: self.sum().item()", "student"),
        Cell("answer", "def f(v):\n    return v.mine()", "answer", "f"),
        Cell("check-f", "check('f', lambda: f(x), limit=5)", "check", "f"),
    )
    (run,) = warm.run([Job("own method", cells)])
    assert run.cells[-1].observed == {"f": 3.0}
