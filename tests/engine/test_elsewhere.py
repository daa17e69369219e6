"""Answers written where somebody sat at a debugger and where other packages are, in a fork and in a kernel."""

from __future__ import annotations

import pytest

from autograder.engine.api import Cell, Job
from autograder.engine.births import bubblewrap
from autograder.engine.births.cold import ColdEngine
from tests.engine.helpers import LIMITS, cells, text

CALL = "check('v', lambda: f(), limit=5)"


def run(engine, *made: Cell):
    (done,) = engine.run([Job("job", made, seed=7)])
    return cells(done)


def value(engine, source: str, role: str = "answer", call: str = CALL):
    """What the check observes, and what the answer cell showed."""
    done = run(engine, Cell("answer", source, role, "f", 10.0), Cell("check", call, "check", "f", 9.0))
    return done["check"].observations.get("v"), done["answer"]


IMPORTS = {
    "a name": "from no_such_package import thing",
    "a module": "import no_such_package",
    "a module, under another name": "import no_such_package.inner as thing",
    "one of several": "import math, no_such_package, json",
    "everything": "from no_such_package import *",
    "in a function": "import math\ndef g():\n    from no_such_package import thing\ng()",
    "as an annotation": "from no_such_package import Float\ndef g(x: Float[int, 'n'] | None) -> Float: ...",
}


@pytest.mark.parametrize("kind", IMPORTS)
def test_an_import_of_what_is_not_installed_costs_nothing_by_itself(engine, kind):
    observed, cell = value(engine, f"{IMPORTS[kind]}\ndef f():\n    return 3")
    assert (observed, cell.status) == (3, "ran")
    assert text(cell) == (
        "autograder: the module no_such_package is not installed here; what was imported from it fails when it is used.\n"
    )


@pytest.mark.parametrize(
    "use", ["thing()", "thing.part(3)", "[x for x in thing]", "thing + 1", "bool(thing)", "isinstance(3, thing)"]
)
def test_a_name_of_it_fails_when_it_is_used_and_says_why(engine, use):
    observed, _ = value(engine, f"from no_such_package import thing\ndef f():\n    return {use}")
    assert observed["error"]["type"] == "ModuleNotFoundError"
    assert "the module no_such_package is not installed here" in observed["error"]["text"]


@pytest.mark.parametrize(
    "source",
    [
        "from google.colab import drive, output\ndrive.mount('/content/drive')\noutput.clear()",
        "import google.colab\nfor name in google.colab.files.upload(): print(name)",
        "import google.colab.userdata as keys\nkey = keys.get('KEY')",
        "import ipdb\nipdb.set_trace()",
        "import pdb; pdb.set_trace()",
        "breakpoint()",
        "from IPython.core.debugger import set_trace\nset_trace()",
        "%debug",
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    import pdb\n    pdb.post_mortem()",
    ],
)
def test_colab_s_own_and_debuggers_do_nothing(engine, source):
    observed, cell = value(engine, f"{source}\ndef f():\n    return 3")
    assert (observed, cell.status) == (3, "ran"), cell.outputs


def test_a_debugger_in_a_function_does_nothing(engine):
    source = "import pdb\ndef f():\n    breakpoint()\n    pdb.set_trace()\n    return 3"
    assert value(engine, source)[0] == 3


def test_who_has_thought_of_a_missing_module_is_obeyed(engine):
    source = "try:\n    import google.colab\n    here = 'Colab'\nexcept ImportError:\n    here = 'home'\ndef f(): return here"
    assert value(engine, source)[0] == "home"


def test_a_cell_of_the_course_is_not_helped(engine):
    observed, cell = value(engine, "import no_such_package\ndef f(): return 3", "course")
    assert cell.status == "error" and observed["error"]["type"] == "NameError"


def test_a_cell_of_the_course_has_python_s_own_builtins(engine):
    done = run(
        engine,
        Cell("star", "from torch import *", "student"),
        Cell("course", "links = [link for link in range(3)]\nhighest = max(1, 2)", "course"),
        Cell("answer", "def f():\n    return range(0, 1).tolist()", "answer", "f"),
        Cell("check", f"{CALL}\ncheck('links', lambda: links)", "check", "f", 9.0),
    )
    assert done["course"].status == "ran" and done["check"].observations["links"] == {"list": [0, 1, 2]}
    assert done["check"].observations["v"] == {"list": [0.0, 1.0]}  # the answer keeps torch's
    assert text(done["star"]).startswith("autograder: import * hides Python's own abs, all, any, ")


def test_a_kernel_does_the_same():
    wall = bubblewrap.find() if bubblewrap.refusal() is None else None
    source = "from tqdm_not_here import tqdm\nfrom google.colab import output\nbreakpoint()\ndef f():\n    return 3"
    with ColdEngine(wall, 1, LIMITS) as engine:
        observed, cell = value(engine, source)
    assert (observed, cell.status) == (3, "ran")
    assert text(cell).startswith("autograder: the module tqdm_not_here is not installed here; ")
