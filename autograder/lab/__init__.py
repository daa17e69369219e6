"""What a notebook imports: checks, drawings, ledgers. Needs torch, matplotlib and graphviz only.

Names are loaded when they are first used, so that `autograder.lab.compare` can be imported where there is no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Block": "transformer",
    "Check": "check",
    "device": "runtime",
    "draw_graph": "graph",
    "find_dot": "runtime",
    "record": "recordings",
    "recorded": "recordings",
    "runtime_report": "runtime",
    "show_recording": "recordings",
}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
