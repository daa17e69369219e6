"""What a notebook imports: checks, drawings, ledgers. Needs torch, matplotlib and graphviz only.

Names are loaded when they are first used, so that `autograder.lab.compare` can be imported where there is no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "backward_contract": "contract",
    "backward_work": "backward",
    "Block": "transformer",
    "Check": "check",
    "count_work": "backward",
    "counted_chain": "counted",
    "steps_per_node": "counted",
    "device": "runtime",
    "draw_graph": "graph",
    "draw_ready_queue": "ready_queue",
    "fake_clock": "clock",
    "find_dot": "runtime",
    "has_triton": "kernels",
    "idle_work": "backward",
    "incoming": "backward",
    "launch_times": "launches",
    "load_triton": "kernels",
    "mode_costs": "modes",
    "on_ctx": "backward",
    "peak_bytes": "peak",
    "plot_sweep": "sweep",
    "plot_timeline": "timeline",
    "read_dot": "dot_text",
    "reconcile": "bill",
    "record": "recordings",
    "recorded": "recordings",
    "runtime_report": "runtime",
    "saved_ledger": "ledger",
    "sentinels": "guard",
    "short_stack": "counted",
    "show_recording": "recordings",
    "sweep_segments": "sweep",
    "trace": "peak",
    "Tracer": "peak",
    "TruthTable": "modes",
    "vjp": "backward",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
