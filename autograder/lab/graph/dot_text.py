"""DOT text read back into nodes and edges, so that a check can look at a drawing without a `dot` program."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from itertools import pairwise

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^\#[^\n]*)
      | (?P<quoted>"(?:\\.|[^"\\])*")
      | (?P<edge>->|--)
      | (?P<mark>[{}\[\];,=:+])
      | (?P<word>-?(?:\.\d+|\d+(?:\.\d*)?)|[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@dataclass
class DotGraph:
    """What a DOT text draws.

    Attributes
    ----------
    directed, strict : bool
    labels : dict of str
        Text of each node's label by node name, in order of first mention; a node without a label shows its name.
    edges : list of (str, str)
        (tail, head) in order; a strict graph merges equal ones.
    """

    directed: bool = True
    strict: bool = False
    labels: dict[str, str] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)


def _html_end(source: str, start: int) -> int:
    """The index after the HTML string that begins at `start`."""
    depth = 0
    for i in range(start, len(source)):
        depth += (source[i] == "<") - (source[i] == ">")
        if depth == 0:
            return i + 1
    raise ValueError("An HTML label has no end.")


def _tokens(source: str) -> list[tuple[str, str]]:
    """Pairs (kind, text): "id" with its value, "html", "edge" or "mark"."""
    found, position = [], 0
    while position < len(source):
        if source[position] == "<":
            end = _html_end(source, position)
            found.append(("html", source[position + 1 : end - 1]))
            position = end
            continue
        match = _TOKEN.match(source, position)
        if match is None:
            raise ValueError(f"This is no DOT text at {source[position : position + 20]!r}.")
        position = match.end()
        if match.lastgroup == "quoted":
            found.append(("id", re.sub(r"\\\n", "", match[0][1:-1]).replace('\\"', '"')))
        elif match.lastgroup == "word":
            found.append(("word", match[0]))
        elif match.lastgroup != "skip":
            found.append((str(match.lastgroup), match[0]))
    return found


def _label_text(kind: str, value: str, name: str) -> str:
    """The text that a label shows: escapes and tags resolved, lines joined by a newline."""
    if kind == "html":
        return html.unescape(re.sub(r"<[^>]*>", " ", value))
    value = value.replace("\\N", name)
    return html.unescape(re.sub(r"\\([nlr\\])", lambda m: "\\" if m[1] == "\\" else "\n", value))


class _Parser:
    def __init__(self, source: str) -> None:
        self.tokens = _tokens(source)
        self.at = 0
        self.graph = DotGraph()
        self.default: tuple[str, str] | None = None

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def take(self) -> tuple[str, str]:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, kind: str, text: str) -> bool:
        kind_now, now = self.peek()
        found = kind_now == kind and (now.lower() if kind == "word" else now) == text
        self.at += found
        return found

    def name(self) -> str:
        kind, text = self.take()
        if kind not in ("id", "word", "html"):
            raise ValueError(f"A name was expected in the DOT text, not {text!r}.")
        while self.accept("mark", "+"):
            text += self.take()[1]
        return text

    def read(self) -> DotGraph:
        self.graph.strict = self.accept("word", "strict")
        self.graph.directed = self.accept("word", "digraph")
        if not self.graph.directed and not self.accept("word", "graph"):
            raise ValueError("This is no DOT text: it begins with neither graph nor digraph.")
        if self.peek() != ("mark", "{"):
            self.name()
        self.block()
        return self.graph

    def block(self) -> list[str]:
        """Read `{...}`; returns the nodes named in it."""
        if not self.accept("mark", "{"):
            raise ValueError("The DOT text lacks a {.")
        default, named = self.default, []
        while not self.accept("mark", "}"):
            if self.peek()[0] == "end":
                raise ValueError("The DOT text lacks a }.")
            if not (self.accept("mark", ";") or self.accept("mark", ",")):
                named += self.statement()
        self.default = default
        return named

    def statement(self) -> list[str]:
        kind, text = self.peek()
        if kind == "word" and text.lower() in ("graph", "node", "edge"):
            self.take()
            attributes = self.attributes()
            if text.lower() == "node" and "label" in attributes:
                self.default = attributes["label"]
            return []
        if kind in ("id", "word") and self.tokens[self.at + 1 : self.at + 2] == [("mark", "=")]:
            self.at += 3
            return []
        groups = [self.operand()]
        while self.peek()[0] == "edge":
            self.take()
            groups.append(self.operand())
        attributes = self.attributes()
        if len(groups) == 1 and len(groups[0]) == 1 and "label" in attributes:
            name = groups[0][0]
            self.graph.labels[name] = _label_text(*attributes["label"], name)
        for tails, heads in pairwise(groups):
            for edge in [(tail, head) for tail in tails for head in heads]:
                if not (self.graph.strict and edge in self.graph.edges):
                    self.graph.edges.append(edge)
        return [name for group in groups for name in group]

    def operand(self) -> list[str]:
        """A node, or all nodes of a subgraph."""
        if self.accept("word", "subgraph"):
            if self.peek() != ("mark", "{"):
                self.name()
            return self.block()
        if self.peek() == ("mark", "{"):
            return self.block()
        name = self.name()
        while self.accept("mark", ":"):
            self.name()  # a port
        if name not in self.graph.labels:
            self.graph.labels[name] = _label_text(*self.default, name) if self.default else name
        return [name]

    def attributes(self) -> dict[str, tuple[str, str]]:
        found = {}
        while self.accept("mark", "["):
            while not self.accept("mark", "]"):
                if self.accept("mark", ";") or self.accept("mark", ","):
                    continue
                key = self.name()
                value = ("id", "true")
                if self.accept("mark", "="):
                    kind = self.peek()[0]
                    value = ("html" if kind == "html" else "id", self.name())
                found[key] = value
        return found


def read_dot(source: str) -> DotGraph:
    """Read DOT text.

    Parameters
    ----------
    source : str
        A whole graph, for instance the ``source`` of a `graphviz.Digraph`.

    Returns
    -------
    DotGraph

    Raises
    ------
    ValueError
        If the text is not DOT.
    """
    return _Parser(source).read()
