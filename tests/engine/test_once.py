"""A parent that expects no class imports little; what cells show is the same."""

import pytest

from autograder.engine import Cell, Job, open_engine

CELLS = (
    "import autograder.lab",  # from then on figures are SVG as well
    "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
    "[1.0, 2.0]",
    "def fail():\n    raise ValueError('no')\nfail()",
    "import asyncio\nawait asyncio.sleep(0, 7)",
    "%time None",
    "import torch\nx = torch.ones(2, requires_grad=True)\n(2 * x).backward(torch.ones(2))\nx.grad",
    "from torch.utils.checkpoint import checkpoint\ncheckpoint(torch.sin, x, use_reentrant=False)",
)


@pytest.fixture(scope="module")
def lean():
    with open_engine(jobs=1) as opened:
        if opened.name != "warm":
            pytest.skip("no warm engine here")
        yield opened


def shown(engine, *sources):
    """Status of every cell, and what of its outputs does not differ from run to run."""
    (run,) = engine.run([Job("j", tuple(Cell(f"c{n}", source) for n, source in enumerate(sources)), 1)])
    return [(cell.status, [facts(output) for output in cell.outputs]) for cell in run.cells]


def facts(output):
    data = output.get("data", {})
    plain = None if "image/png" in data or output["output_type"] == "error" else data.get("text/plain")
    return output["output_type"], sorted(data), plain, output.get("evalue"), len(output.get("traceback", ()))


def test_cells_show_the_same(engine, lean):
    few, all_of_them = shown(lean, *CELLS), shown(engine, *CELLS)
    assert few == all_of_them
    assert [status for status, _ in few] == ["ran", "ran", "ran", "error", "ran", "ran", "ran", "ran"]


def test_only_what_every_notebook_needs_is_imported(engine, lean):
    for name in ("torch._dynamo", "sympy", "matplotlib.pyplot", "autograder.lab.functions.backward"):
        source = f"import sys\n{name!r} in sys.modules"
        assert shown(lean, source)[0][1][0][2] == "False", name
    engine.expect(["torch._dynamo", "no_such_module"])
    for name in ("torch._dynamo", "sympy", "matplotlib.pyplot", "autograder.lab.functions.backward"):
        assert shown(engine, f"import sys\n{name!r} in sys.modules")[0][1][0][2] == "True", name
