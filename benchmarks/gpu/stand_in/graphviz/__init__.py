"""A stand-in for the graphviz package, on a machine that has none: drawings are DOT text, and nothing renders it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any


class CalledProcessError(Exception):
    """What the real package raises when `dot` fails."""


def _quoted(text: str) -> str:
    if re.fullmatch(r"<.*>", text, re.DOTALL):  # an HTML label
        return text
    return '"' + text.replace('"', '\\"') + '"'


def _attributes(label: str | None, attrs: Mapping[str, Any]) -> str:
    pairs = {**({} if label is None else {"label": label}), **attrs}
    inner = " ".join(f"{key}={_quoted(str(value))}" for key, value in pairs.items())
    return f" [{inner}]" if inner else ""


class Digraph:
    """As `graphviz.Digraph`, as far as the course draws with it."""

    def __init__(
        self,
        name: str | None = None,
        comment: str | None = None,
        *,
        graph_attr: Mapping[str, str] | None = None,
        node_attr: Mapping[str, str] | None = None,
        edge_attr: Mapping[str, str] | None = None,
        strict: bool = False,
        **_: Any,
    ) -> None:
        self.name, self.comment, self.strict, self.body = name, comment, strict, []
        self.graph_attr, self.node_attr, self.edge_attr = (
            dict(graph_attr or {}),
            dict(node_attr or {}),
            dict(edge_attr or {}),
        )

    def node(self, name: str, label: str | None = None, **attrs: Any) -> None:
        self.body.append(f"\t{_quoted(name)}{_attributes(label, attrs)}\n")

    def edge(self, tail: str, head: str, label: str | None = None, **attrs: Any) -> None:
        ends = [":".join(map(_quoted, end.split(":", 2))) for end in (tail, head)]
        self.body.append(f"\t{ends[0]} -> {ends[1]}{_attributes(label, attrs)}\n")

    def edges(self, pairs: Iterable[tuple[str, str]]) -> None:
        for tail, head in pairs:
            self.edge(tail, head)

    def attr(self, kind: str | None = None, **attrs: Any) -> None:
        if kind is None:
            self.body += [f"\t{key}={_quoted(str(value))}\n" for key, value in attrs.items()]
        else:
            self.body.append(f"\t{kind}{_attributes(None, attrs)}\n")

    @property
    def source(self) -> str:
        head = f"{'strict ' if self.strict else ''}digraph {_quoted(self.name) if self.name else ''}{{\n"
        defaults = (("graph", self.graph_attr), ("node", self.node_attr), ("edge", self.edge_attr))
        lines = [f"\t{kind}{_attributes(None, attrs)}\n" for kind, attrs in defaults if attrs]
        return "".join([head, *lines, *self.body, "}\n"])

    def pipe(self, *_: Any, **__: Any) -> str:
        raise CalledProcessError("The graphviz package is not installed, so nothing can be rendered.")
