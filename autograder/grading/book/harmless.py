"""What a student wrote and printed, made fit to be shown in an instructor's browser: nothing of it runs there.

nbgrader's formgrader and feedback put Markdown and rich outputs into their pages as they stand. A script in them would
run with the rights of the instructor who opens the page.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Any

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LINK = re.compile(r"\](?=[(:](?!\s*<?https?://))")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_BREAK = "\u200b"  #: has no width: the text looks the same and is no tag any more


def harmless_markdown(text: str) -> str:
    """Markdown in which no tag is a tag, and only a link to the web is a link. It reads the same, code in it too."""
    return _LINK.sub(f"]{_BREAK}", _TAG.sub(f"<{_BREAK}", text))


def harmless_outputs(outputs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Outputs as valid nbformat 4, reduced to text and pictures. HTML and scripts go; their plain text stays."""
    kept = (_harmless(output) for output in outputs)
    return [output for output in kept if output is not None]


def _harmless(output: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = output.get("output_type")
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return {"output_type": "stream", "name": name, "text": _text(output.get("text"))}
    if kind == "error":
        return {
            "output_type": "error",
            "ename": _text(output.get("ename")),
            "evalue": _text(output.get("evalue")),
            "traceback": [_text(line) for line in output.get("traceback") or ()],
        }
    if kind in ("display_data", "execute_result"):
        data = _data(output.get("data") or {})
        if data:
            return {"output_type": "display_data", "metadata": {}, "data": data}
    return None


def _data(data: Mapping[str, Any]) -> dict[str, str]:
    kept = {}
    if "text/plain" in data:
        kept["text/plain"] = _text(data["text/plain"])
    for kind in ("image/png", "image/jpeg"):
        if kind in data and _BASE64.fullmatch(picture := _text(data[kind])):
            kept[kind] = picture
    if "image/svg+xml" in data:
        # An SVG inside an img element may hold scripts, but no browser runs them.
        svg = base64.b64encode(_text(data["image/svg+xml"]).encode("utf-8", "replace")).decode()
        kept["text/html"] = f'<img alt="drawing" src="data:image/svg+xml;base64,{svg}">'
    return kept


def _text(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value if value is not None else "")
