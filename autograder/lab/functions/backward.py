"""A backward seen from outside: its gradients, the work it does, the tensors it keeps.

Everything here returns raw observations. `contract` turns them into verdicts for a reader; a check cell compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, SimpleNamespace
from typing import Any

import torch
import torch.fx.experimental.symbolic_shapes  # torch.autograd imports it, and sympy, at the first gradient given; no check has to wait
from torch.utils._pytree import tree_leaves

from autograder.lab.functions.dispatch import LightMode

Apply = Callable[..., Any]


def same_layout(tensor: torch.Tensor) -> torch.Tensor:
    """A detached copy with the same sizes, strides and offset, in a storage of its own."""
    storage = tensor.detach().untyped_storage().clone()
    copy = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return copy.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())


def as_leaves(inputs: Sequence[Any], needs: Sequence[bool] | None = None) -> list[Any]:
    """Copy `inputs`; its floating tensors become leaves that require a gradient where `needs` says so.

    Parameters
    ----------
    inputs : sequence
        Arguments for one call; what is not a floating tensor passes unchanged.
    needs : sequence of bool, optional
        One per input; all True by default.
    """
    leaves = []
    for position, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            value = same_layout(value)
            if value.is_floating_point() and (needs is None or needs[position]):
                value.requires_grad_(True)
        leaves.append(value)
    return leaves


def first_output(outputs: Any) -> torch.Tensor:
    """The output that gradients enter by: the first that requires one, else the first."""
    if isinstance(outputs, torch.Tensor):
        return outputs
    return next((o for o in outputs if isinstance(o, torch.Tensor) and o.requires_grad), outputs[0])


def vjp(
    apply: Apply,
    inputs: Sequence[Any],
    grad: torch.Tensor | None = None,
    needs: Sequence[bool] | None = None,
) -> list[torch.Tensor | None]:
    """Vector-Jacobian product: the gradients that `apply` sends back for one incoming gradient.

    Parameters
    ----------
    apply : callable
        A Function's `apply`, or any differentiable function; of several outputs the first that
        requires a gradient counts.
    inputs : sequence
        The arguments. They are copied, strides included, so nothing that `apply` does reaches them.
    grad : tensor, optional
        Incoming gradient, of the output's shape; ones by default.
    needs : sequence of bool, optional
        Which inputs require a gradient; by default every floating tensor does.

    Returns
    -------
    list of tensor or None
        One per input, None where an input needs no gradient or receives none.
    """
    leaves = as_leaves(inputs, needs)
    output = first_output(apply(*leaves))
    return pull(output, leaves, torch.ones_like(output) if grad is None else grad)


def pull(output: torch.Tensor, leaves: Sequence[Any], grad: torch.Tensor, **options: Any) -> list[torch.Tensor | None]:
    """`torch.autograd.grad` with one entry per leaf, None for those that require no gradient."""
    wanted = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    found = iter(torch.autograd.grad(output, wanted, grad, allow_unused=True, **options))
    return [next(found) if isinstance(leaf, torch.Tensor) and leaf.requires_grad else None for leaf in leaves]


def incoming(layout: str, like: torch.Tensor) -> torch.Tensor:
    """Draw an incoming gradient of `like`'s shape in one of the layouts that autograd really sends.

    Parameters
    ----------
    layout : {"contiguous", "expanded", "transposed", "sliced"}
        "expanded" has stride 0 everywhere, as `.sum()` sends it; "transposed" has its dimensions stored in reverse;
        "sliced" is a block of columns of a wider tensor, as `torch.cat` sends it.
    like : tensor
        Gives shape, dtype and device.
    """
    shape = tuple(like.shape)
    options: dict[str, Any] = {"dtype": like.dtype, "device": like.device}
    if layout == "expanded":
        return torch.randn((), **options).expand(shape)
    if layout == "transposed" and shape:
        return torch.randn(shape[::-1], **options).permute(*range(len(shape))[::-1])
    if layout == "sliced" and shape:
        return torch.randn(*shape[:-1], 2 * shape[-1] + 1, **options)[..., 1 : shape[-1] + 1]
    return torch.randn(shape, **options)


@dataclass
class Work:
    """What PyTorch's operators did.

    Attributes
    ----------
    ops : list of str
        Operator names ("mul", "sigmoid") in order, views left out.
    elements : int
        Elements that they allocated or wrote, the measure of work: a backward that skips an input writes fewer.
    """

    ops: list[str] = field(default_factory=list)
    elements: int = 0


class _WorkMode(LightMode):
    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        aliases = [r.alias_info for r in func._schema.returns]
        if not any(alias is not None and not alias.is_write for alias in aliases):
            self.work.ops.append(func._schema.name.removeprefix("aten::"))
            values = result if isinstance(result, (tuple, list)) else [result]
            self.work.elements += sum(v.numel() for v in values if isinstance(v, torch.Tensor))
        return result


@contextmanager
def count_work() -> Iterator[Work]:
    """Count what PyTorch's operators do inside, backward included. Hand-launched kernels show by what they allocate."""
    work = Work()
    with _WorkMode(work):
        yield work


def backward_work(
    apply: Apply, inputs: Sequence[Any], needs: Sequence[bool] | None = None, grad: torch.Tensor | None = None
) -> Work:
    """Count the work of one backward of `apply` alone, its forward left out."""
    leaves = as_leaves(inputs, needs)
    output = first_output(apply(*leaves))
    grad = torch.ones_like(output) if grad is None else grad
    with count_work() as work:
        pull(output, leaves, grad)
    return work


class _FlowMode(LightMode):
    """Notes which memory each operator read and wrote; what it saw stays alive, so that no address is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[str, int, set[int], set[int]]] = []
        self.kept: list[torch.Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = [v for v in tree_leaves((args, kwargs)) if isinstance(v, torch.Tensor)]
        made = [v for v in tree_leaves(result) if isinstance(v, torch.Tensor)]
        self.kept += given + made
        reads, writes = {_memory(v) for v in given}, {_memory(v) for v in made}
        if not made and func._schema.is_mutable:
            writes = reads  # an in-place operator over a list returns nothing
        self.steps.append((func._schema.name.removeprefix("aten::"), sum(v.numel() for v in made), reads, writes))
        return result


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def idle_work(
    apply: Apply, inputs: Sequence[Any], needs: Sequence[bool] | None = None, grad: torch.Tensor | None = None
) -> Work:
    """The part of one backward's work that no gradient needed: operators whose results reach none of them.

    An operator that gives Python a number (`.item()`, an assertion) counts as needed, and so does what led to it.
    """
    leaves = as_leaves(inputs, needs)
    output = first_output(apply(*leaves))
    grad = torch.ones_like(output) if grad is None else grad
    flow = _FlowMode()
    with flow:
        found = pull(output, leaves, grad)
    live = {_memory(g) for g in found if g is not None}
    idle = Work()
    for name, elements, reads, writes in reversed(flow.steps):
        if not writes or writes & live:
            live |= reads
        elif not writes <= reads:  # not a view, and not an edit of memory that is idle already
            idle.ops.insert(0, name)
            idle.elements += elements
    return idle


def packed(fn: Callable[[], Any]) -> tuple[Any, list[torch.Tensor]]:
    """Run `fn` and return its value with the tensors that it saved for backward, in order of packing."""
    kept: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        value = fn()
    return value, kept


def on_ctx(node: Any) -> list[str]:
    """Names of the ctx attributes of a custom Function's node that hold tensors outside `save_for_backward`.

    Looks into containers, namespaces, and what a function closes over.
    """
    seen: set[int] = {id(node)}

    def holds(value: Any) -> bool:
        if isinstance(value, torch.Tensor):
            return True
        if id(value) in seen:
            return False
        seen.add(id(value))
        if isinstance(value, (tuple, list, set)):
            return any(map(holds, value))
        if isinstance(value, dict):
            return any(map(holds, value.values()))
        if isinstance(value, FunctionType):
            return any(holds(cell.cell_contents) for cell in value.__closure__ or ())
        if isinstance(value, partial):
            return holds((value.args, value.keywords))
        return isinstance(value, SimpleNamespace) and holds(vars(value))

    return sorted(name for name, value in getattr(node, "__dict__", {}).items() if holds(value))
