"""Pages from templates: everything that comes from a student is escaped, and a page needs no other file."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2

from autograder.checks.table import points
from autograder.reporting.table import visible


def render(template: str, **values: Any) -> str:
    """A page from `templates/<template>`; control characters in texts are shown as such."""
    return _templates().get_template(template).render(**values)


def write(path: Path, text: str) -> Path:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        beside.write_bytes(text.encode("utf-8", "replace"))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path


def share(part: float | None, whole: float) -> float:
    """A part of a whole, from 0 to 1; 0 of nothing is 0."""
    return min(1.0, max(0.0, (part or 0.0) / whole)) if whole > 0 else 0.0


@lru_cache(maxsize=1)
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("autograder.reporting", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(points=points, visible=visible)
    environment.globals["share"] = share
    return environment
