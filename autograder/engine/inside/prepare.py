"""What a session needs before its first cell: imports, and the shell. A parent does it once for many, a cold start for itself."""

from __future__ import annotations

import contextlib
import gc
import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the shell imports IPython; a wall is tried before
    from autograder.engine.inside.shell import Shell


def prepare(ipython_dir: str, device: str = "cpu") -> Shell:
    """Import what every notebook needs, and build the shell.

    Parameters
    ----------
    ipython_dir : str
        An empty folder.
    device : {"cpu", "cuda"}
        On "cpu" Triton interprets its kernels.
    """
    gc.disable()  # nothing that is imported goes away, so looking through it takes time only; put_back turns it on
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"  # a run sees no GPU; Triton reads this once, when it is imported
    import matplotlib.font_manager  # noqa: F401  # the list of fonts is read here, where it can be found
    import numpy.random  # noqa: F401  # the first seed imports it
    import torch

    import autograder.engine.inside.session  # noqa: F401
    from autograder.engine.inside import shell

    torch.set_num_threads(1)
    with contextlib.suppress(RuntimeError):
        torch.set_num_interop_threads(1)
    built = shell.build(ipython_dir)
    gc.freeze()
    return built


def live_in(home: str, temporary: str) -> None:
    """From now on this is home, and temporary files go there."""
    os.environ.update(HOME=home, IPYTHONDIR=home, MPLCONFIGDIR=home + "/.matplotlib", TMPDIR=temporary)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = home + "/.torchinductor"
    tempfile.tempdir = None
