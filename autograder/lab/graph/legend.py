"""What stands under a drawing: its caption, and what each of its colors means."""

from __future__ import annotations

from autograder.lab.graph.style import LEVELS, Style, bytes_text

_Chip = tuple[str, str, str]  # surface, line, words


def _rows(style: Style) -> list[list[_Chip]]:
    """What outlines and green mean, then what amber and gray mean; nothing that the drawing does not use."""
    nodes = style.facts.nodes
    strengths = [style.strength(number) for number in range(len(nodes))]
    kinds: list[_Chip] = [("page", "root_line", "backward begins here")]
    if any(node.kind == "custom" for node in nodes):
        kinds.append(("page", "custom_line", "custom Function"))
    if any(node.kind == "leaf" for node in nodes):
        kinds.append(("leaf", "leaf_line", "leaf"))
    bytes_: list[_Chip] = []
    if any(not strength and node.kind != "leaf" for strength, node in zip(strengths, nodes, strict=True)):
        lent = any(row.storage >= 0 for s, node in zip(strengths, nodes, strict=True) if not s for row in node.saved)
        bytes_.append(("op", "op_line", "keeps nothing of its own" if lent else "keeps no tensor"))
    for level in sorted(set(strengths) - {0}):
        words = f"keeps up to {bytes_text(style.largest * level // LEVELS)}"
        bytes_.append((f"memory{level}", "memory_line", words))
    return [row for row in (kinds, bytes_) if row]


def _chip(style: Style, chip: _Chip) -> str:
    surface, line, words = chip
    look = f'border="1" bgcolor="{style.palette[surface]}" color="{style.palette[line]}"'
    return f"<td {look}>{style.text(f' {words} ', 'ink', small=True)}</td>"


def caption_and_legend(style: Style) -> str:
    """The caption and, below it, the colors in use, as one HTML-like label."""
    rows = [f'<tr><td align="left">{style.text(style.caption(), "muted", small=True)}</td></tr>']
    for row in _rows(style):
        chips = "".join(_chip(style, chip) for chip in row)
        rows.append(
            f'<tr><td align="left"><table border="0" cellspacing="4" cellpadding="1"><tr>{chips}</tr></table></td></tr>'
        )
    return f'<<table border="0" cellspacing="0" cellpadding="1">{"".join(rows)}</table>>'
