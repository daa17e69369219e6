"""What a run sees of the environment: nothing that is anybody's."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def environment(home: str, device: str = "cpu") -> dict[str, str]:
    """All environment variables of a run whose home is `home`. On "cpu" it sees no GPU, on "cuda" those that we see."""
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": home,
        "LANG": "C.UTF-8",
        "IPYTHONDIR": home,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "MPLCONFIGDIR": _matplotlib_folder(),
        "TORCHINDUCTOR_CACHE_DIR": home + "/.torchinductor",  # torch would name the user in it
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"),
        **({"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else _cuda()),
    }


def _cuda() -> dict[str, str]:
    """Which GPUs there are and where the driver's libraries lie, as we were told."""
    return {name: os.environ[name] for name in ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH") if name in os.environ}


def _matplotlib_folder() -> str:
    """Where matplotlib keeps its list of fonts, so that the parent need not make one at every start."""
    own = os.environ.get("MPLCONFIGDIR")
    return own or os.path.join(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "matplotlib")
