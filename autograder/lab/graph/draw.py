"""`draw_graph`: the graph behind a tensor, as a picture of its nodes and of the memory that they keep."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Literal

import graphviz
import torch

from autograder.lab.graph.fold import runs
from autograder.lab.graph.legend import caption_and_legend
from autograder.lab.graph.names import names_in
from autograder.lab.graph.read import GraphFacts, read_graph
from autograder.lab.graph.style import DARK, FONT, LIGHT, Options, Style, follow_page
from autograder.lab.machine.runtime import NO_DOT, find_dot

_MANY = 24  # nodes from which on the drawing gets tighter


class Drawing(graphviz.Digraph):
    """A `graphviz.Digraph` that shows itself in any front end, with or without a program to draw it."""

    follows_page = False  # light or dark as the page is

    def svg(self) -> str | None:
        """The drawing as SVG text, or None where no `dot` program works."""
        if find_dot() is None:
            return None
        try:
            text = self.pipe(format="svg", encoding="utf-8", quiet=True)
        except (OSError, RuntimeError, graphviz.CalledProcessError):
            return None
        if self.follows_page:
            text = follow_page(text)
        return text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str]:
        svg = self.svg()
        if svg is None:
            return {"text/plain": f"{NO_DOT}\n\n{self.source}"}
        return {"image/svg+xml": svg, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<drawing of {self.comment}>"


def _root(root: Any) -> Any:
    """The node to start from."""
    if isinstance(root, torch.Tensor):
        if root.grad_fn is not None:
            return root.grad_fn
        if root.requires_grad:
            return torch.autograd.graph.get_gradient_edge(root).node
        raise ValueError("This tensor has no graph: nothing it came from requires a gradient. Draw one that does.")
    if hasattr(root, "next_functions"):
        return root
    raise TypeError(
        f"draw_graph takes a tensor or its grad_fn, not {type(root).__name__}. Pass the loss, or loss.grad_fn."
    )


def _edges(drawing: Drawing, facts: GraphFacts, boxes: list[list[int]], color: str, none_edges: bool) -> None:
    """One edge per operand; the output's number stands at edges into a node of which several outputs are in use."""
    several = {to for node in facts.nodes for to, output in node.edges if to is not None and output > 0}
    for run in boxes:
        for place, (to, output) in enumerate(facts.nodes[run[-1]].edges):
            if to is not None:
                drawing.edge(f"n{run[0]}", f"n{to}", f" {output}" if to in several else None)
            elif none_edges:
                end = f"none{run[0]}_{place}"
                drawing.node(end, "None", shape="plaintext", fontcolor=color, fontsize="9", margin="0.02")
                drawing.edge(f"n{run[0]}", end, style="dashed", arrowhead="none")


def draw_graph(
    root: Any,
    *,
    names: Mapping[str, Any] | torch.nn.Module | None = None,
    notes: Mapping[Any, str] | None = None,
    theme: Literal["auto", "light", "dark"] = "auto",
    versions: bool = False,
    values: bool = False,
    none_edges: bool = False,
    fold: bool | None = None,
    rankdir: Literal["TB", "LR"] = "TB",
    caption: bool = True,
    max_nodes: int = 300,
) -> Drawing:
    """Draw the graph that the forward pass recorded, from `root` down to the leaves.

    An arrow goes from a node to a node in its ``next_functions``: the way the gradient goes. Under a node's name stand
    the variable that it made, where the caller has one, and the shape of its output. Below the line stands what it
    saved: attribute, shape, dtype, memory. A storage's bytes are written once; wherever it comes up again, ``= name``
    says whose it is. Amber nodes hold on to memory that is no leaf's, the stronger the more bytes; the legend under the
    drawing says how many. Drawing holds on to no tensor, unpacks nothing, and takes time linear in nodes and edges.

    Parameters
    ----------
    root : torch.Tensor or node
        A tensor with a graph, or a node (``tensor.grad_fn``).
    names : mapping or torch.nn.Module, optional
        Names that go before the caller's variables: name to tensor, module, list or dict of tensors; or a module, whose
        parameters are then named as in ``named_parameters()``. The caller's local and global variables serve otherwise.
    notes : mapping, optional
        A line of your own under the name of a node, by node.
    theme : {"auto", "light", "dark"}
        "auto" follows the page that shows the drawing and is light in files.
    versions : bool
        Show the version counter of each saved tensor and leaf. One that changed since it was saved is always shown.
    values : bool
        Show saved values that are no tensors, such as ``dim`` or ``alpha``.
    none_edges : bool
        Show the operands that need no gradient as None.
    fold : bool, optional
        Draw a run of unnamed nodes that save nothing, such as view after view, as one box. Unless given: from 24
        nodes on.
    rankdir : {"TB", "LR"}
        Downwards, or from left to right.
    caption : bool
        Say under the drawing how many nodes there are, what the graph keeps, and what its colors mean.
    max_nodes : int
        Nodes drawn at most, the nearest to the root; the caption says when there are more.

    Returns
    -------
    Drawing
        A `graphviz.Digraph`; ``.render()`` and ``.pipe()`` write files. Without a `dot` program it shows as DOT text.

    Raises
    ------
    TypeError
        If `root` is neither a tensor nor a node.
    ValueError
        If `root` is a tensor without a graph, or `theme` is unknown.
    """
    if theme not in ("auto", "light", "dark"):
        raise ValueError(f"theme is 'auto', 'light' or 'dark', not {theme!r}.")
    facts = read_graph(_root(root), names_in(sys._getframe(1), names), max_nodes, notes)
    palette = DARK if theme == "dark" else LIGHT
    small = len(facts.nodes) >= _MANY
    style = Style(facts, palette, Options(versions=versions, values=values, small=small))
    spacing = {"nodesep": "0.18", "ranksep": "0.26"} if small else {"nodesep": "0.3", "ranksep": "0.38"}
    drawing = Drawing(
        comment=f"{facts.nodes[0].title} and what lies below it, {len(facts.nodes)} nodes",
        graph_attr={"bgcolor": palette["page"], "rankdir": rankdir, "pad": "0.25", "fontname": FONT, **spacing},
        node_attr={"shape": "plain", "fontname": FONT},
        edge_attr={
            "color": palette["edge"],
            "arrowsize": "0.6",
            "fontname": FONT,
            "fontsize": "8",
            "fontcolor": palette["muted"],
        },
    )
    drawing.follows_page = theme == "auto"
    folded = len(facts.nodes) >= _MANY and not (values or none_edges) if fold is None else fold
    boxes = runs(facts) if folded else [[number] for number in range(len(facts.nodes))]
    for run in boxes:
        label = style.label(run[0]) if len(run) == 1 else style.run_label([facts.nodes[number] for number in run])
        drawing.node(f"n{run[0]}", label)
    _edges(drawing, facts, boxes, palette["muted"], none_edges)
    if caption:
        drawing.attr(label=caption_and_legend(style), labelloc="b", labeljust="l")
    return drawing
