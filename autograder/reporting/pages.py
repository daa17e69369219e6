"""Pages from templates: everything that comes from a student is escaped, and a page needs no other file."""

from __future__ import annotations

import base64
import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from autograder.checks.table import points
from autograder.reporting.table import visible


def render(template: str, script: str = "", **values: Any) -> str:
    """A page from `templates/<template>`; control characters in texts are shown as such.

    `script` names a file beside the template. It is the only one that may run in the page: the page's policy holds its
    hash.
    """
    code = source_of(script) if script else ""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = f" script-src 'sha256-{digest}';" if script else ""
    return _templates().get_template(template).render(script=Markup(code), script_policy=policy, **values)


def source_of(name: str) -> str:
    """The text of a file among the templates."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


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
