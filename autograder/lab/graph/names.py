"""Names for the tensors of a graph: what the caller calls them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

import torch

_MOST_ENTRIES = 1_000  # of one container in the caller; a data set in a list is no place to look for names


def identity(tensor: torch.Tensor) -> tuple[str, int]:
    """A key for the storage behind a tensor, valid while the tensor lives; a sparse tensor stands for itself."""
    try:
        return ("storage", tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return ("tensor", id(tensor))


def _tensors(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that `value` is or holds, each with the expression that reaches it."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, torch.nn.Module):
        for path, tensor in [*value.named_parameters(), *value.named_buffers()]:
            yield (re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", f"{name}.{path}") if name else path), tensor
    elif isinstance(value, list | tuple):
        for i, entry in enumerate(value[:_MOST_ENTRIES]):
            if isinstance(entry, torch.Tensor | torch.nn.Module):
                yield from _tensors(f"{name}[{i}]", entry)
    elif type(value) is dict and len(value) <= _MOST_ENTRIES:
        for key, entry in value.items():
            if isinstance(entry, torch.Tensor):
                yield f"{name}[{key!r}]", entry


def _public(variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Variables a person chose: without IPython's history and anything private."""
    for name, value in list(variables.items()):
        if not name.startswith("_") and name not in ("In", "Out"):
            yield name, value


class Names:
    """Looks tensors and nodes up by identity.

    Parameters
    ----------
    sources : iterable of (str, object)
        Name and value, the most telling first. A value is a tensor, a module, or a list, tuple or dict of tensors.
        A name that comes earlier wins; of one source, plain variables win over entries of containers.
    """

    def __init__(self, sources: Iterable[tuple[str, Any]]) -> None:
        self._tensors: dict[int, list[str]] = {}
        self._nodes: dict[Any, list[str]] = {}
        self._storages: dict[Any, str] = {}
        self._held: list[torch.Tensor] = []  # alive while names are in use, so that an id means one tensor
        plain: list[tuple[str, Any]] = []
        nested: list[tuple[str, Any]] = []
        for name, value in sources:
            (plain if isinstance(value, torch.Tensor) else nested).append((name, value))
        for name, value in plain + nested:
            for expression, tensor in _tensors(name, value):
                self._add(expression, tensor)

    def _add(self, name: str, tensor: torch.Tensor) -> None:
        known = self._tensors.setdefault(id(tensor), [])
        if known:
            return  # a second name says nothing more
        known.append(name)
        self._held.append(tensor)
        self._storages.setdefault(identity(tensor), name)
        if tensor.grad_fn is not None:
            self._nodes.setdefault(tensor.grad_fn, []).append(name)

    def of_tensor(self, tensor: torch.Tensor) -> list[str]:
        """Names of this very tensor, at most one."""
        return self._tensors.get(id(tensor), [])

    def of_node(self, node: Any) -> list[str]:
        """Names of the tensors that this node made, in the order of the caller's variables."""
        return self._nodes.get(node, [])

    def of_storage(self, tensor: torch.Tensor) -> str:
        """A name for the memory behind this tensor, "" when there is none."""
        return self._storages.get(identity(tensor), "")


def names_in(frame: FrameType | None, given: Mapping[str, Any] | torch.nn.Module | None) -> Names:
    """Names given by hand first, then the caller's locals, then its globals."""
    sources: list[tuple[str, Any]] = []
    if isinstance(given, torch.nn.Module):
        sources.append(("", given))
    elif given is not None:
        sources.extend(given.items())
    if frame is not None:
        variables = frame.f_locals
        sources.extend(_public(variables))
        if frame.f_globals is not variables:
            sources.extend(_public(frame.f_globals))
        if frame.f_code.co_flags & CO_OPTIMIZED and type(variables) is dict:
            variables.clear()  # before Python 3.13 a function's f_locals is a copy that would keep its tensors alive
    return Names(sources)
