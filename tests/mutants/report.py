"""What became of the mutants: a table, a page with the survivors as diffs, JSON."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from tests.mutants.prove import Verdict

_TOLD = {told: f"told {told}" for told in ("mistake", "hint", "value")}
_COLUMNS = ("mutants", "caught", *_TOLD.values(), "equivalent", "survived")


def counts(verdicts: Sequence[Verdict]) -> dict[str, dict[str, int]]:
    """Exercise ("01-graph/walk") to counts. Mutants that are no program do not count."""
    found: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        row = found.setdefault(f"{verdict.mutant.chapter}/{verdict.mutant.exercise}", Counter())
        if verdict.fate != "no program":
            row["mutants"] += 1
            row[verdict.fate] += 1
            if verdict.told:
                row[_TOLD[verdict.told]] += 1
    return {name: {column: row[column] for column in _COLUMNS} for name, row in sorted(found.items())}


def totals(rows: dict[str, dict[str, int]]) -> dict[str, int]:
    return {column: sum(row[column] for row in rows.values()) for column in _COLUMNS}


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    """The table, then every survivor."""
    rows = counts(verdicts)
    table = Table(Column("exercise", no_wrap=True), *_COLUMNS)
    for name, row in [*rows.items(), ("all", totals(rows))]:
        table.add_row(name, *(str(row[column]) for column in _COLUMNS), end_section=name != "all")
    console.print(table)
    for verdict in verdicts:
        if verdict.fate == "survived":
            console.print(f"survived: {verdict.mutant.key}\n", markup=False, highlight=False, soft_wrap=True)


def as_json(verdicts: Sequence[Verdict], **about: Any) -> str:
    rows = counts(verdicts)
    survivors = [verdict.mutant.key for verdict in verdicts if verdict.fate == "survived"]
    return json.dumps({**about, "exercises": rows, "all": totals(rows), "survivors": survivors}, indent=1) + "\n"


def write_page(verdicts: Sequence[Verdict], path: Path) -> None:
    """A page with each survivor as a diff."""
    parts = []
    for verdict in verdicts:
        if verdict.fate != "survived":
            continue
        mutant = verdict.mutant
        lines = "".join(
            f'<div class="{"gone" if line.startswith("-") else "new"}">{html.escape(line)}</div>'
            for line in mutant.change.splitlines()
        )
        parts.append(
            f"<h2>{mutant.chapter} / {mutant.exercise}</h2><p>{mutant.answer}: {html.escape(mutant.what)}</p><pre>{lines}</pre>"
        )
    body = "".join(parts) or "<p>No mutant survived.</p>"
    path.write_text(
        "<!doctype html><meta charset='utf-8'><title>Mutants that survived</title><style>"
        ":root{color-scheme:light dark}body{font:16px system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}"
        ".gone{background:#f8514933}.new{background:#2ea04333}pre{overflow-x:auto}</style>"
        f"<h1>Mutants that survived</h1>{body}",
        encoding="utf-8",
    )
