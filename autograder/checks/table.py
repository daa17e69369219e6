"""The table that a check cell shows, in any front end down to plain text."""

from __future__ import annotations

import html
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.checks.compare import NOT_ANSWERED

# White on these is read on any page, light or dark: a mark brings its own ground.
_MARKS = {
    "pass": ("&#10003; pass", "#1a7f37"),
    "fail": ("&#10007; fail", "#cf222e"),
    "open": ("&#8211; open", "#57606a"),
}


@dataclass(frozen=True)
class Row:
    """One check: its label, whether it passed, and what to read when it did not."""

    label: str
    passed: bool
    message: str = ""
    hidden: bool = False


class CheckTable:
    """Renders itself as HTML or plain text, whichever the front end takes.

    Parameters
    ----------
    name : str
        The exercise.
    rows : sequence of Row
    points : float
        What the exercise is worth.
    score : float, optional
        What was earned, where every check ran. Without it the table is a notebook's own: there hidden checks may be
        missing, so it counts checks and promises no points.
    progress : tuple of int, optional
        How many exercises of the chapter pass, and how many there are.
    """

    def __init__(
        self,
        name: str,
        rows: Sequence[Row],
        points: float,
        score: float | None = None,
        progress: tuple[int, int] | None = None,
    ) -> None:
        self.name, self.rows, self.points, self.score, self.progress = name, rows, points, score, progress

    @property
    def unanswered(self) -> bool:
        """Whether every check met a stub or an empty form. One row says so."""
        return bool(self.rows) and all(not row.passed and row.message.startswith(NOT_ANSWERED) for row in self.rows)

    @property
    def footing(self) -> str:
        """How far one is in the chapter."""
        return "" if self.progress is None else "{} of {} exercises pass.".format(*self.progress)

    @property
    def heading(self) -> str:
        checks = f"{self.name}: {sum(row.passed for row in self.rows)} of {len(self.rows)} checks"
        worth = f"{points(self.points)} point{'' if self.points == 1 else 's'}"
        if self.score is None:
            return f"{checks} pass. Worth {worth}; grading may add hidden checks."
        return f"{checks}, {points(self.score)} of {worth}"

    def __repr__(self) -> str:
        lines = [self.heading]
        if self.unanswered:
            lines.append(f"  open  {NOT_ANSWERED}")
        for row in () if self.unanswered else self.rows:
            hidden = " (hidden)" if row.hidden else ""
            lines.append(f"  {'pass' if row.passed else 'FAIL'}  {_visible(row.label)}{hidden}")
            for line in textwrap.wrap(_visible(row.message), 92) if not row.passed else ():
                lines.append(f"        {line}")
        return "\n".join([*lines, self.footing] if self.footing else lines)

    def _repr_html_(self) -> str:
        if self.unanswered:
            body = _html_cells("open", NOT_ANSWERED, "")
        else:
            body = "".join(_html_row(row) for row in self.rows)
        if self.footing:
            body += f'<tr><td colspan="3" style="text-align:left;padding:.4em 0">{self.footing}</td></tr>'
        return (
            '<table style="border-collapse:collapse;font-size:90%;margin:.4em 0">'
            f'<caption style="caption-side:top;text-align:left;font-weight:bold;padding:.2em 0;white-space:nowrap">'
            f"{html.escape(self.heading)}</caption>{body}</table>"
        )


def points(value: float | None) -> str:
    """Points as people write them everywhere: 2, 2.5, 6.58; a dash for none."""
    return "\N{EN DASH}" if value is None else f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def shows_html() -> bool:
    """Whether the front end shows the HTML of a cell's value: a notebook does, a terminal does not."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "text/html" in shell.display_formatter.active_types


def _html_row(row: Row) -> str:
    label = html.escape(_visible(row.label)) + (" <i>(hidden)</i>" if row.hidden else "")
    message = "" if row.passed else html.escape(_visible(row.message))
    return _html_cells("pass" if row.passed else "fail", label, message)


def _html_cells(kind: str, label: str, message: str) -> str:
    cell = 'style="text-align:left;vertical-align:top;padding:.15em .8em .15em 0;{}"'
    text, ground = _MARKS[kind]
    mark = f'<span style="background:{ground};color:#ffffff;border-radius:.3em;padding:.05em .45em">{text}</span>'
    return (
        f"<tr><td {cell.format('white-space:nowrap')}>{mark}</td>"
        f"<td {cell.format('')}>{label}</td><td {cell.format('max-width:46em')}>{message}</td></tr>"
    )


def _visible(text: str) -> str:
    """The text on one line, control characters shown as such."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else f"\\x{ord(c):02x}" for c in text)
