"""What a notebook imports: checks, drawings, ledgers. Needs torch, matplotlib and graphviz only.

May import `checks` and nothing else of this package. One room for each thing that the course looks at: `graph`, `memory`,
`functions`, `small_world`, the `models` that it measures, the `machine` that it runs on. Names are loaded when they are
first used, so that a notebook pays for what it draws alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from autograder.lab.figures import show_figures_as_svg

_HOME = {
    "backward_contract": "lab.functions.contract",
    "backward_work": "lab.functions.backward",
    "Block": "lab.models.transformer",
    "Check": "checks.check",
    "count_work": "lab.functions.backward",
    "counted_chain": "lab.small_world.counted",
    "steps_per_node": "lab.small_world.counted",
    "device": "lab.machine.runtime",
    "draw_graph": "lab.graph.draw",
    "draw_ready_queue": "lab.small_world.ready_queue",
    "fake_clock": "lab.machine.clock",
    "find_dot": "lab.machine.runtime",
    "has_triton": "lab.functions.kernels",
    "idle_work": "lab.functions.backward",
    "incoming": "lab.functions.backward",
    "launch_times": "lab.machine.launches",
    "load_triton": "lab.functions.kernels",
    "mode_costs": "lab.machine.modes",
    "on_ctx": "lab.functions.backward",
    "peak_bytes": "lab.memory.peak",
    "plot_sweep": "lab.memory.sweep",
    "plot_timeline": "lab.memory.timeline",
    "read_dot": "lab.graph.dot_text",
    "reconcile": "lab.memory.bill",
    "record": "lab.machine.recordings",
    "recorded": "lab.machine.recordings",
    "runtime_report": "lab.machine.runtime",
    "saved_ledger": "lab.memory.ledger",
    "sentinels": "lab.functions.guard",
    "short_stack": "lab.small_world.counted",
    "show_recording": "lab.machine.recordings",
    "sweep_segments": "lab.memory.sweep",
    "trace": "lab.memory.peak",
    "Tracer": "lab.memory.peak",
    "TruthTable": "lab.machine.modes",
    "vjp": "lab.functions.backward",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"autograder.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


show_figures_as_svg()
