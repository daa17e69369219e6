"""silu(gate) * up: how near to a plain copy eager PyTorch, torch.compile and chapter 04's kernels come."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.gpu.machine import Machine

ROOT = Path(__file__).parents[2]
WHAT = (
    "Bytes that have to move over time, in GB/s, for silu(gate) * up: forward reads two tensors and writes one, backward "
    "reads three and writes two; a copy reads one and writes one. Shares are of the copy's figure. The kernels are the chapter's "
    "reference answer."
)
_HEADER = """\
import torch
from torch.autograd.function import once_differentiable
from autograder.lab import load_triton
triton, tl = load_triton()
"""


def measure(machine: Machine) -> dict[str, dict[str, Any]]:
    """One row per contender."""
    elements = _elements(machine)
    gate, up, grad = (torch.randn(elements, dtype=machine.half, device=machine.device) for _ in range(3))
    gate.requires_grad_(), up.requires_grad_()
    nbytes, copy = grad.nbytes, _copy(machine, grad)
    rows: dict[str, dict[str, Any]] = {"copy": {"forward, GB/s": copy}}
    contenders = {"eager": silu_mul, "torch.compile": _compiled(machine), "chapter 04's kernels": reference().apply}
    right = [t.float() for t in _run(silu_mul, gate[:4096], up[:4096], grad[:4096])]
    for name, fn in contenders.items():
        for mine, theirs in zip(_run(fn, gate[:4096], up[:4096], grad[:4096]), right, strict=True):
            torch.testing.assert_close(mine.float(), theirs, rtol=2e-2, atol=2e-2)
        forward, backward = _times(machine, fn, gate, up, grad)
        rows[name] = {
            "forward, GB/s": 3 * nbytes / forward / 1e6,
            "backward, GB/s": 5 * nbytes / backward / 1e6,
            "forward, % of copy": 100 * 3 * nbytes / forward / 1e6 / copy,
            "backward, % of copy": 100 * 5 * nbytes / backward / 1e6 / copy,
        }
        machine.clear()
    return {
        f"{name} ({nbytes >> 20} MiB, {str(machine.half).removeprefix('torch.')})": row for name, row in rows.items()
    }


def _copy(machine: Machine, source: Tensor) -> float:
    target = torch.empty_like(source)
    return 2 * source.nbytes / machine.milliseconds(lambda: target.copy_(source)) / 1e6


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    return F.silu(gate) * up


def reference() -> Any:
    """The class TritonSiluMul of chapter 04's reference answer.

    Triton reads a kernel's source from its file, so the answer is written to one.
    """
    text = (ROOT / "source" / "04-custom-function.py").read_text(encoding="utf-8")
    cells = [cell for cell in text.split("\n# %%") if '"grade_id": "TritonSiluMul"' in cell.partition("\n")[0]]
    if len(cells) != 1:
        raise RuntimeError("source/04-custom-function.py has no answer cell TritonSiluMul; measure another kernel.")
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False, encoding="utf-8") as file:
        file.write(_HEADER + cells[0].partition("\n")[2])
    spec = importlib.util.spec_from_file_location("chapter_04_answer", file.name)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        Path(file.name).unlink()
    return module.TritonSiluMul


def _elements(machine: Machine) -> int:
    """A gibibyte per tensor; less where twelve of them do not fit (eager keeps intermediates). Tiny in a dry run."""
    sizes = [2**30 >> n for n in range(7)]
    return 2**13 if machine.dry else machine.largest(sizes, lambda size: 12 * size) // machine.half.itemsize


def _compiled(machine: Machine) -> Callable[..., Tensor]:
    from torch._functorch import config

    if hasattr(config, "donated_buffer"):
        config.donated_buffer = False  # backward is timed with retain_graph
    return torch.compile(silu_mul, backend="aot_eager" if machine.dry else "inductor", dynamic=False)


def _run(fn: Callable[..., Tensor], gate: Tensor, up: Tensor, grad: Tensor) -> list[Tensor]:
    gate, up = gate.detach().requires_grad_(), up.detach().requires_grad_()
    out = fn(gate, up)
    return [out.detach(), *torch.autograd.grad(out, (gate, up), grad)]


def _times(machine: Machine, fn: Callable[..., Tensor], gate: Tensor, up: Tensor, grad: Tensor) -> tuple[float, float]:
    forward = machine.milliseconds(lambda: fn(gate, up))
    out = fn(gate, up)
    backward = machine.milliseconds(lambda: torch.autograd.grad(out, (gate, up), grad, retain_graph=True))
    return forward, backward
