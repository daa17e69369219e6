"""How a graph looks: two palettes, and the labels of nodes, storages and the caption.

The surface of a box says whose memory it stands for: green is a leaf; amber is memory that the graph holds on to
besides the leaves, the stronger the more bytes; gray is none. Its outline says what it is: blue is the root, violet a
custom Function.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from autograder.lab.graph.read import GraphFacts, NodeFacts, Saved
from autograder.lab.theme import DARK_PAGE, LIGHT_PAGE, adaptive

FONT = "Helvetica"
LEVELS = 4  # of amber
_MOST_TITLES = 8  # in a box of several nodes
_SIDE = " "  # room between text and line; a cell has no padding of one side only

# Roles and their colors. Every value of one palette is unique, so that the dark one can be laid over a light drawing.
LIGHT = {
    "page": LIGHT_PAGE,
    "ink": "#182230",
    "muted": "#4f5b6c",
    "edge": "#7b8798",
    "op": "#f4f6f9",
    "op_line": "#aab4c2",
    "memory1": "#fff6e3",
    "memory2": "#ffe9bf",
    "memory3": "#ffdb94",
    "memory4": "#ffcb66",
    "memory_line": "#cf8a1c",
    "memory_text": "#8a4b00",
    "leaf": "#e4f5e9",
    "leaf_line": "#37985a",
    "leaf_text": "#1b5e36",
    "custom_line": "#8361d6",
    "root_line": "#2458c5",
    "name": "#1f4fb4",
    "wrong": "#a81e13",
}
DARK = {
    "page": DARK_PAGE,
    "ink": "#eef2f7",
    "muted": "#c3ccd8",
    "edge": "#8c98a8",
    "op": "#222933",
    "op_line": "#566273",
    "memory1": "#2c2519",
    "memory2": "#40311a",
    "memory3": "#574017",
    "memory4": "#6f5012",
    "memory_line": "#d39a3a",
    "memory_text": "#ffc864",
    "leaf": "#16301f",
    "leaf_line": "#48b070",
    "leaf_text": "#8fe0ae",
    "custom_line": "#9f85e6",
    "root_line": "#6f9cf5",
    "name": "#aecbff",
    "wrong": "#ffbab1",
}


def bytes_text(nbytes: int) -> str:
    """Bytes for people: ``12 B``, ``64 KiB``, ``2.56 MiB``; powers of 1024, three figures."""
    size, unit = float(nbytes), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if size == int(size) or size >= 999.5 else f"{size:.3g} {unit}"


@dataclass(frozen=True)
class Options:
    """What to show besides the graph itself."""

    versions: bool = False
    values: bool = False
    small: bool = False  # tighter, for many nodes


class Style:
    """Writes the labels of one graph in one palette.

    A storage's bytes stand where it is first met, its name elsewhere.
    """

    def __init__(self, facts: GraphFacts, palette: dict[str, str], options: Options) -> None:
        self.facts, self.palette, self.options = facts, palette, options
        self.size = 9 if options.small else 11
        self.storage_names = self._name_storages()
        self.own = self._own_bytes()
        self.largest = max(self.own, default=0)
        self.shown: set[int] = set()

    def _name_storages(self) -> dict[int, str]:
        """A name for every storage met more than once: the leaf's, the caller's, else a number."""
        met: dict[int, int] = {}
        for node in self.facts.nodes:
            for index in [node.storage, *(row.storage for row in node.saved)]:
                if index >= 0:
                    met[index] = met.get(index, 0) + 1
        names, unnamed = {}, 0
        for index, times in met.items():
            storage = self.facts.storages[index]
            leaf = self.facts.nodes[storage.leaf] if storage.leaf is not None else None
            name = (leaf.names[0] if leaf is not None and leaf.names else "") or storage.name
            if not name and times > 1:
                unnamed += 1
                name = f"storage {unnamed}"
            names[index] = name
        return names

    def text(self, text: str, role: str, *, small: bool = False, bold: bool = False) -> str:
        """A piece of an HTML-like label. Graphviz knows no empty text, hence the blank."""
        body = escape(text, quote=False) or " "
        body = f"<b>{body}</b>" if bold else body
        return f'<font color="{self.palette[role]}" point-size="{self.size - 2 if small else self.size}">{body}</font>'

    def _own_bytes(self) -> list[int]:
        """Per node, the bytes of what it is the first to save, without leaves: where a storage's bytes are written."""
        met: set[int] = set()
        found = []
        for node in self.facts.nodes:
            own = {row.storage for row in node.saved if row.storage >= 0} - met
            met |= own
            found.append(sum(self.facts.storages[i].nbytes for i in own if self.facts.storages[i].leaf is None))
        return found

    def strength(self, number: int) -> int:
        """0 where the node holds no bytes, else 1 to 4: which quarter of the largest node's bytes it reaches."""
        own = self.own[number]
        return -(-LEVELS * own // self.largest) if own else 0

    def fill(self, number: int) -> tuple[str, str]:
        """Roles of a node's surface and line."""
        kind, strength = self.facts.nodes[number].kind, self.strength(number)
        if kind == "leaf":
            return "leaf", "leaf_line"
        surface, line = (f"memory{strength}", "memory_line") if strength else ("op", "op_line")
        return surface, "custom_line" if kind == "custom" else line

    def _memory(self, row: Saved) -> tuple[str, str]:
        """What stands in the last column of a saved tensor's row: its bytes, or whose memory it is."""
        if row.storage < 0:
            return "", "muted"
        storage, name = self.facts.storages[row.storage], self.storage_names.get(row.storage, "")
        if storage.leaf is not None or row.storage in self.shown:
            return f"= {name}" if name else "= leaf", "muted"
        self.shown.add(row.storage)
        size = bytes_text(storage.nbytes)
        if row.nbytes < storage.nbytes:
            size = f"{bytes_text(row.nbytes)} of {size}"
        return f"{name}: {size}" if name else size, "memory_text"

    def _row(self, row: Saved) -> str:
        """One table row: attribute, shape and dtype, memory."""
        memory, role = self._memory(row)
        what = row.note or f"{row.shape} {row.dtype}"
        if row.version_then is not None:
            memory, role = f"changed in place: saved at v{row.version_then}, now v{row.version}", "wrong"
        elif self.options.versions and row.version is not None:
            what += f" v{row.version}"
        cells = [
            f'<td align="left">{self.text(_SIDE + row.label, "muted", small=True)}</td>',
            f'<td align="left">{self.text(what, "ink", small=True)}</td>',
            f'<td align="right">{self.text(memory + _SIDE, role, small=True)}</td>',
        ]
        return f"<tr>{''.join(cells)}</tr>"

    def _wide(self, text: str) -> str:
        return f'<tr><td colspan="3">{text}</td></tr>'

    def _title(self, text: str, role: str) -> str:
        """The first row: it needs room above, and at its sides for the rounded corners."""
        body = self.text(2 * _SIDE + text + 2 * _SIDE, role, bold=True)
        return f'<tr><td colspan="3" height="{self.size + 8}" valign="bottom">{body}</td></tr>'

    def label(self, number: int) -> str:
        """The HTML-like label of a node; number 0 is the root."""
        node, (surface, line) = self.facts.nodes[number], self.fill(number)
        lines = self._leaf(node) if node.kind == "leaf" else self._operation(node)
        if node.note:
            lines.insert(2, self._wide(self.text(f" {node.note} ", "name", small=True)))
        return self._box(lines, surface, line if number else "root_line", border=1 if number else 2)

    def run_label(self, run: list[NodeFacts]) -> str:
        """The HTML-like label of several nodes that saved nothing, in the order of the gradient's way."""
        titles = [node.title for node in run]
        if len(titles) > _MOST_TITLES:
            titles[_MOST_TITLES // 2 : -_MOST_TITLES // 2] = [f"({len(run) - _MOST_TITLES:,} more)"]
        rows = [self._wide(self.text(f"{_SIDE}{title}{_SIDE}", "ink", small=True)) for title in titles]
        shapes = self._wide(self.text(" ".join(run[0].shapes), "muted", small=True))
        return self._box([*rows, shapes], "op", "op_line")

    def _box(self, rows: list[str], surface: str, line: str, border: int = 1) -> str:
        padding = 1 if self.options.small else 2
        table = (
            f'<table border="{border}" cellborder="0" cellspacing="0" cellpadding="{padding}" style="rounded"'
            f' bgcolor="{self.palette[surface]}" color="{self.palette[line]}">'
        )
        return f"<{table}{''.join(rows)}</table>>"

    def _operation(self, node: NodeFacts) -> list[str]:
        names = self.text(" = ".join(node.names[:2]), "name", bold=True) + self.text("  ", "ink") if node.names else ""
        shapes = ", ".join(node.shapes[:2]) + (", ..." if len(node.shapes) > 2 else "")
        lines = [
            self._title(node.title, "ink"),
            self._wide(names + self.text(shapes, "muted", small=True)) if names or shapes else "",
        ]
        rows = [self._row(row) for row in node.saved]
        if node.released:
            rows.append(self._wide(self.text(" saved tensors released ", "muted", small=True)))
        if self.options.values:
            rows += [self._value(name, value) for name, value in node.values]
        return [line for line in [*lines, "<hr/>" if rows else "", *rows] if line]

    def _value(self, name: str, value: str) -> str:
        left = f'<td align="left">{self.text(_SIDE + name, "muted", small=True)}</td>'
        return f'<tr>{left}<td align="left" colspan="2">{self.text(value, "muted", small=True)}</td></tr>'

    def _leaf(self, node: NodeFacts) -> list[str]:
        name = " ".join(node.names) or "leaf"
        facts = f"{', '.join(node.shapes)} {node.dtype}"
        if node.storage in self.shown:
            memory = f" = {self.storage_names[node.storage]}"
        else:
            self.shown.add(node.storage)
            memory = f"  {bytes_text(self.facts.storages[node.storage].nbytes)}" if node.storage >= 0 else ""
        if self.options.versions and node.version is not None:
            facts += f" v{node.version}"
        return [
            self._title(name, "leaf_text"),
            self._wide(self.text(f" {facts}", "ink", small=True) + self.text(f"{memory} ", "leaf_text", small=True)),
            self._wide(self.text(node.title + (", frozen" if node.frozen else ""), "muted", small=True)),
        ]

    def caption(self) -> str:
        """The sentences under the drawing: how many nodes, and what the graph keeps alive."""
        nodes, storages = self.facts.nodes, self.facts.storages
        leaves = sum(node.kind == "leaf" for node in nodes)
        saved = [i for i in self.facts.saved_storages() if storages[i].leaf is None]
        parts = [f"{_count(len(nodes), 'node')}, {leaves:,} of them {'a leaf' if leaves == 1 else 'leaves'}."]
        own = f"{bytes_text(self.facts.saved_bytes)} in {_count(len(saved), 'storage')}" if saved else ""
        borrowed = len(self.facts.saved_storages()) - len(saved)
        lent = f"{_count(borrowed, 'leaf', 'leaves')} by reference" if borrowed else ""
        if own or lent:
            parts.append(f"Saved: {', and '.join(part for part in (own, lent) if part)}.")
        if any(node.released for node in nodes):
            parts.append("It was released by a backward pass.")
        if self.facts.cut:
            parts.append("More nodes follow than are drawn.")
        return " ".join(parts)


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def follow_page(svg: str) -> str:
    """A light drawing that turns dark with its page."""
    selectors = (('[fill="{}"]', "fill"), ('[stroke="{}"]', "stroke"))
    return adaptive(svg, "autograd-graph", {color: DARK[role] for role, color in LIGHT.items()}, selectors)
