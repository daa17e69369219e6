"""Triton on whatever machine this is: compiled on a GPU, interpreted on a CPU, a stand-in that says so elsewhere."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import torch

MISSING = "Triton is not installed here, so this kernel cannot run. It has wheels for Linux: pip install triton."


class _Missing:
    """Takes every decorator and call, so that kernels can be defined, and refuses to launch them."""

    def __getattr__(self, name: str) -> _Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> _Missing:
        return self

    def __getitem__(self, grid: Any) -> Any:
        raise RuntimeError(MISSING)


def has_triton() -> bool:
    """Whether Triton can be imported here; imports nothing."""
    return importlib.util.find_spec("triton") is not None


def load_triton() -> tuple[Any, Any]:
    """Import Triton and its language, for the interpreter where there is no CUDA device.

    Triton decides when it is imported whether kernels are compiled or interpreted, by the environment variable
    TRITON_INTERPRET. So this must run before anything else imports it.

    Returns
    -------
    triton, tl
        The modules, or two stand-ins on which kernels can be defined but not launched.

    Raises
    ------
    RuntimeError
        Where Triton was imported before, for compiling, and there is no GPU to compile for.
    """
    if not has_triton():
        return _Missing(), _Missing()
    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"
    import triton
    import triton.language as tl

    if not torch.cuda.is_available() and isinstance(tl.sigmoid, triton.runtime.JITFunction):
        raise RuntimeError("Triton was imported earlier and cannot interpret now. Restart the kernel and run again.")
    return triton, tl
