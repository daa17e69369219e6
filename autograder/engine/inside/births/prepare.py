"""What a process imports before it runs a notebook, or is copied for one."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the shell imports IPython; a parent tries its wall before
    from autograder.engine.inside.cells.shell import Shell

_USUAL = (
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "torch.fx.experimental.symbolic_shapes",  # sympy: a backward with an explicit gradient imports it
    "torch.utils.serialization.config",  # torch.save imports it
)
_TRITON = ("triton.compiler.code_generator", "triton.experimental")  # the interpreter's first launch imports them


def prepare(ipython_dir: str, device: str = "cpu") -> Shell:
    """Import what every notebook needs, and build the shell that its cells run in.

    Parameters
    ----------
    ipython_dir : str
        An empty folder.
    device : {"cpu", "cuda"}
        On "cpu" Triton's kernels run in its interpreter.
    """
    gc.disable()  # nothing that is imported goes away, so looking through it takes time only; put_back turns it on
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"  # Triton reads this once, when it is imported
    import matplotlib.font_manager  # noqa: F401  # the list of fonts is read here, where it can be found
    import numpy.random  # noqa: F401  # the first seed imports it
    import torch

    import autograder.engine.inside.session  # noqa: F401
    from autograder.engine.inside.cells import shell

    torch.set_num_threads(1)
    with contextlib.suppress(RuntimeError):
        torch.set_num_interop_threads(1)
    built = shell.build(ipython_dir)
    gc.freeze()
    return built


def import_ahead(modules: Iterable[str]) -> None:
    """Import what many notebooks are about to import.

    Parameters
    ----------
    modules : iterable of str
        What their cells import, beyond what nearly all do.
    """
    gc.disable()
    import autograder.lab

    lab = [module.name for module in pkgutil.walk_packages(autograder.lab.__path__, "autograder.lab.")]
    for name in (*_USUAL, "autograder.checks.check", *lab, *modules, *(_TRITON if "triton" in modules else ())):
        with contextlib.suppress(Exception):  # a cell that imports it meets the error itself
            importlib.import_module(name)
    gc.freeze()


def live_in(home: str, temporary: str) -> None:
    """Let every library write below `home` and `temporary` from now on."""
    os.environ.update(HOME=home, IPYTHONDIR=home, MPLCONFIGDIR=home + "/.matplotlib", TMPDIR=temporary)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = home + "/.torchinductor"
    tempfile.tempdir = None
