"""What a graph holds, read from its nodes into plain facts: no tensor and no node outlives the reading.

The walk is iterative and visits each node and edge once, so a chain of 20,000 nodes and a ladder of doublings are fine.
Nothing that was packed by a saved-tensor hook is unpacked: a drawing must not set off a recomputation.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.lab.graph.names import Names, identity


@dataclass
class Saved:
    """One thing that a node keeps for its backward.

    Attributes
    ----------
    label : str
        The attribute without ``_saved_``; ``name[i]`` for an entry of a tuple; ``[i]`` for a custom Function's
        i-th saved tensor; ``ctx.name`` for a tensor kept as an attribute on ctx.
    shape, dtype : str
        As PyTorch writes them, without ``torch.``.
    nbytes : int
        numel times element size.
    storage : int
        Which storage, counted from 0 in order of first meeting; -1 for what is no tensor.
    version, version_then : int or None
        The version counter now, and the one at saving time where the two differ.
    note : str
        What stands there instead of a tensor, for instance how a hook packed it.
    """

    label: str
    shape: str = ""
    dtype: str = ""
    nbytes: int = 0
    storage: int = -1
    version: int | None = None
    version_then: int | None = None
    note: str = ""


@dataclass
class NodeFacts:
    """One node: its kind, the tensors of the caller that it made, and what it saved."""

    title: str
    kind: str  # "op", "custom" or "leaf"
    names: list[str] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)  # of its outputs in the forward pass
    dtype: str = ""
    nbytes: int = 0
    storage: int = -1
    version: int | None = None
    frozen: bool = False
    released: bool = False
    saved: list[Saved] = field(default_factory=list)
    values: list[tuple[str, str]] = field(default_factory=list)
    note: str = ""  # the caller's own words
    edges: list[tuple[int | None, int]] = field(default_factory=list)  # (node, its output number); None for no gradient


@dataclass
class Storage:
    """A piece of memory: its size in bytes, the leaf it belongs to, and a name that the caller has for it."""

    nbytes: int
    leaf: int | None = None
    name: str = ""


@dataclass
class GraphFacts:
    """All nodes in breadth-first order, the root first, and the storages they share."""

    nodes: list[NodeFacts]
    storages: list[Storage]
    cut: bool = False

    @property
    def saved_bytes(self) -> int:
        """Bytes of the storages that nodes saved and that are no leaf's."""
        return sum(self.storages[i].nbytes for i in self.saved_storages() if self.storages[i].leaf is None)

    def saved_storages(self) -> set[int]:
        """Indices of the storages that some node saved."""
        return {saved.storage for node in self.nodes for saved in node.saved if saved.storage >= 0}


def shape_text(shape: Any) -> str:
    """A shape as a tuple's text: ``(64, 256)``, ``()`` for a 0-d tensor."""
    return str(tuple(int(n) if isinstance(n, int) else str(n) for n in shape)).replace("'", "")


def dtype_text(dtype: torch.dtype) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype).removeprefix("torch.")


class _Reader:
    """Collects facts; holds the tensors it has met until the reading ends, so that no address is reused."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.held: list[Any] = []
        self.index: dict[Any, int] = {}
        self.storages: list[Storage] = []

    def storage(self, tensor: torch.Tensor, leaf: int | None = None) -> int:
        """The index of `tensor`'s storage, new or known."""
        key = identity(tensor)
        try:
            nbytes = tensor.untyped_storage().nbytes()
        except (NotImplementedError, RuntimeError):
            nbytes = tensor.numel() * tensor.element_size()
        self.held.append(tensor)
        if key not in self.index:
            self.index[key] = len(self.storages)
            self.storages.append(Storage(nbytes, name=self.names.of_storage(tensor)))
        found = self.storages[self.index[key]]
        if leaf is not None and found.leaf is None:
            found.leaf = leaf
        return self.index[key]

    def tensor(self, label: str, tensor: torch.Tensor, then: int | None = None) -> Saved:
        """The facts of one saved tensor."""
        version = None if tensor.is_inference() else tensor._version
        return Saved(
            label,
            shape_text(tensor.shape),
            dtype_text(tensor.dtype),
            tensor.numel() * tensor.element_size(),
            self.storage(tensor),
            version,
            then,
        )

    def packed(self, label: str, raw: Any) -> Saved | None:
        """The facts of one SavedTensor object, by its data alone; None where None was saved."""
        hooked = getattr(raw, "unpack_hook", None) is not None
        data = raw.data
        if hooked:
            what = type(data).__name__
            if isinstance(data, torch.Tensor):
                return self.tensor(label, data)
            return Saved(label, note=f"packed by a hook as {what.lstrip('_')}")
        return self.tensor(label, data) if isinstance(data, torch.Tensor) else None

    def saved(self, node: Any) -> tuple[list[Saved], bool]:
        """What `node` saved, in the order of its attributes, and whether it was released."""
        if (raws := getattr(node, "_raw_saved_tensors", None)) is not None:  # a custom Function
            groups = [("", "saved_tensors", raws)]
        else:
            groups = []
            for attribute in (name for name in dir(node) if name.startswith("_raw_saved_")):
                name = attribute.removeprefix("_raw_saved_")
                groups.append((name, f"_saved_{name}", getattr(node, attribute)))
        found: list[Saved] = []
        for name, attribute, raws in groups:
            several = isinstance(raws, tuple)
            raws = raws if several else (raws,)
            then = None
            if not any(getattr(raw, "unpack_hook", None) for raw in raws):
                try:
                    getattr(node, attribute)  # raises where the graph was released or the tensor changed in place
                except RuntimeError as error:
                    if (stale := re.search(r"expected version (\d+)", str(error))) is None:
                        return [], True
                    then = int(stale[1])
            for i, raw in enumerate(raws):
                row = self.packed(f"{name}[{i}]" if several else name, raw)
                if row is not None:
                    if then is not None and row.version != then:
                        row.version_then = then
                    found.append(row)
        return found, False

    def operation(self, node: Any, facts: NodeFacts) -> None:
        """Fill in a node that is no leaf."""
        try:
            for output in node._input_metadata:
                facts.shapes.append(shape_text(output.shape))
                facts.dtype = facts.dtype or dtype_text(output.dtype)
        except (AttributeError, RuntimeError, TypeError):
            pass  # this version, or a nested tensor, does not say
        facts.names = self.names.of_node(node)
        facts.saved, facts.released = self.saved(node)
        if facts.kind == "custom":
            attributes = vars(node) if hasattr(node, "__dict__") else {}
            for name, value in attributes.items():
                if isinstance(value, torch.Tensor):
                    facts.saved.append(self.tensor(f"ctx.{name}", value))
                elif not name.startswith("_"):
                    facts.values.append((f"ctx.{name}", _short(value)))
            return
        raw = {saved.partition("[")[0] for saved in (row.label for row in facts.saved)}
        for attribute in (name for name in dir(node) if name.startswith("_saved_")):
            name = attribute.removeprefix("_saved_")
            if name in raw or hasattr(node, f"_raw_saved_{name}"):
                continue
            try:
                facts.values.append((name, _short(getattr(node, attribute))))
            except RuntimeError:
                facts.released = True

    def leaf(self, leaf: torch.Tensor, facts: NodeFacts, number: int) -> None:
        """Fill in an AccumulateGrad node from the tensor it feeds."""
        facts.names = self.names.of_tensor(leaf)
        facts.shapes = [shape_text(leaf.shape)]
        facts.dtype = dtype_text(leaf.dtype)
        facts.nbytes = leaf.numel() * leaf.element_size()
        facts.storage = self.storage(leaf, leaf=number)
        facts.version = None if leaf.is_inference() else leaf._version
        facts.frozen = not leaf.requires_grad


def _short(value: Any, limit: int = 24) -> str:
    """A value as text of at most `limit` characters; the engine's "default" of 2**64 - 1 - i reads as -1 - i."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 2**63:
        value -= 2**64
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _title(node: Any) -> str:
    name = type(node).__name__
    return str(node.name()) if name == "CppFunction" else name


def read_graph(root: Any, names: Names, max_nodes: int, notes: Mapping[Any, str] | None = None) -> GraphFacts:
    """Read the graph below the node `root`, breadth first, at most `max_nodes` nodes of it."""
    reader = _Reader(names)
    numbers: dict[Any, int] = {root: 0}
    order = [root]
    facts: list[NodeFacts] = []
    cut = False
    queue = deque([root])
    while queue:
        node = queue.popleft()
        variable = getattr(node, "variable", None) if type(node).__name__ == "AccumulateGrad" else None
        custom = hasattr(node, "_forward_cls") or hasattr(node, "saved_tensors")
        kind = "leaf" if type(node).__name__ == "AccumulateGrad" else "custom" if custom else "op"
        current = NodeFacts(_title(node), kind, note=str((notes or {}).get(node, "")))
        facts.append(current)
        if variable is not None:
            reader.leaf(variable, current, len(facts) - 1)
        elif kind != "leaf":
            reader.operation(node, current)
        for target, output in node.next_functions:
            if target is None:
                current.edges.append((None, output))
                continue
            if target not in numbers:
                if len(order) >= max_nodes:
                    cut = True
                    continue
                numbers[target] = len(order)
                order.append(target)
                queue.append(target)
            current.edges.append((numbers[target], output))
    return GraphFacts(facts, reader.storages, cut)
