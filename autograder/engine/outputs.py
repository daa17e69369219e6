"""From the messages of a run to the outputs of its cells, as a Jupyter client would write them into the notebook.

The messages come from a process that ran anybody's code: every field is checked before it is kept.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from typing import Any

from autograder.engine.api import CellRun

CELL_CHARACTERS = 1_000_000  #: of stream text that one cell keeps
CELL_BYTES = 8 * 2**20  #: of outputs that one cell keeps, images included
NOTEBOOK_BYTES = 32 * 2**20  #: of outputs that one notebook keeps
OBSERVATION_BYTES = 4 * 2**20  #: of observations that one check cell keeps
CELL_OUTPUTS = 2000  #: outputs of one cell, and observations of one check cell
DEPTH = 100  #: lists within lists of what is kept

Json = Any


def clean_text(text: str) -> str:
    """Text that can be written as UTF-8: half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def clean(value: Json, depth: int = DEPTH) -> Json:
    """The same for all strings in JSON. Numbers that no JSON file can hold become text.

    Raises
    ------
    RecursionError
        For a value nested deeper than `depth`.
    """
    if depth < 0:
        raise RecursionError
    if isinstance(value, str):
        return value if value.isascii() else clean_text(value)
    if isinstance(value, list):
        return [clean(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean(item, depth - 1) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _size(value: Json) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return 2 + sum(map(_size, value))
    if isinstance(value, dict):
        return 2 + sum(len(key) + _size(item) for key, item in value.items())
    return 8


def _bundle(message: dict[str, Json]) -> dict[str, Json]:
    data, metadata = message.get("data"), message.get("metadata")
    kept: dict[str, Json] = {}
    for kind, value in data.items() if isinstance(data, dict) else ():
        # nbformat: JSON types hold any JSON, all others text.
        if (
            isinstance(value, str)
            or kind == "application/json"
            or kind.endswith("+json")
            or (isinstance(value, list) and all(isinstance(line, str) for line in value))
        ):
            kept[kind] = value
    return {"data": clean(kept), "metadata": clean(metadata) if isinstance(metadata, dict) else {}}


@dataclass
class Collector:
    """Applies messages to the cells of one attempt.

    Attributes
    ----------
    room : int
        Bytes that the notebook's outputs may still take.
    """

    room: int = NOTEBOOK_BYTES
    _displays: dict[str, list[dict[str, Json]]] = field(default_factory=dict)

    def begin(self, run: CellRun, hidden: bool = False) -> None:
        """Take what comes for this cell; `hidden` for the hidden part of a check cell."""
        self.run, self.observations = run, run.hidden if hidden else run.observations
        self.cell_room, self.text_room = CELL_BYTES, CELL_CHARACTERS
        self.observation_room = OBSERVATION_BYTES
        self.cut = 0
        self.clear_next = False

    def apply(self, message: dict[str, Json]) -> None:
        """Take one message; whatever is malformed, or nested too deep, is left out."""
        with contextlib.suppress(RecursionError):
            self._apply(message)

    def _apply(self, message: dict[str, Json]) -> None:
        kind = message.get("type")
        if kind == "observation":
            self._observation(message)
        elif kind == "clear_output":
            if message.get("wait"):
                self.clear_next = True
            else:
                self._clear()
        elif kind == "update_display_data":
            self._update(message)
        elif kind in ("stream", "display_data", "execute_result", "error"):
            self._output(kind, message)

    def count_cut(self, cut: Json) -> None:
        """Take the run's word for how many characters it held back."""
        if isinstance(cut, int) and not isinstance(cut, bool) and 0 < cut < 2**63:
            self.cut += cut

    def end(self) -> None:
        """Close the cell: say how much of its output was cut."""
        if self.cut:
            self.run.outputs.append(
                {"output_type": "stream", "name": "stderr", "text": f"\n[{self.cut:,} characters of output were cut]\n"}
            )

    # ---------------------------------------------------------------------------------------------------- one kind each

    def _observation(self, message: dict[str, Json]) -> None:
        label = message.get("label")
        if not isinstance(label, str) or "value" not in message or label in self.observations:
            return
        value = clean(message["value"])
        size = len(label) + _size(value)
        if size <= self.observation_room and len(self.observations) < CELL_OUTPUTS:
            self.observation_room -= size
            self.observations[clean_text(label)] = value

    def _output(self, kind: str, message: dict[str, Json]) -> None:
        output: dict[str, Json] = {"output_type": kind}
        if kind == "stream":
            name, text = message.get("name"), message.get("text")
            if name not in ("stdout", "stderr") or not isinstance(text, str):
                return
            text, rest = text[: self.text_room], text[self.text_room :]
            self.text_room -= len(text)
            self.cut += len(rest)
            if not text:
                return
            output |= {"name": name, "text": clean(text)}
        elif kind == "error":
            lines = message.get("traceback")
            output |= {
                "ename": clean_text(str(message.get("ename", ""))),
                "evalue": clean_text(str(message.get("evalue", ""))),
                "traceback": [clean(line) for line in lines if isinstance(line, str)]
                if isinstance(lines, list)
                else [],
            }
        else:
            output |= _bundle(message)
            if kind == "execute_result":
                count = message.get("execution_count")
                output["execution_count"] = count if type(count) is int and 0 <= count < 2**31 else None
        if self.clear_next:
            self._clear()
        size = _size(output)
        outputs = self.run.outputs
        merges = kind == "stream" and outputs and outputs[-1].get("name") == output["name"]
        if size > min(self.room, self.cell_room) or (len(outputs) >= CELL_OUTPUTS and not merges):
            self.cut += size
            return
        self.room -= size
        self.cell_room -= size
        if merges:
            outputs[-1]["text"] += output["text"]
            return
        outputs.append(output)
        if kind in ("display_data", "execute_result") and isinstance(message.get("display_id"), str):
            self._displays.setdefault(message["display_id"], []).append(output)

    def _update(self, message: dict[str, Json]) -> None:
        bundle = _bundle(message)
        size = _size(bundle)
        for output in self._displays.get(str(message.get("display_id")), ()):
            if size > self.room:
                self.cut += size
                return
            self.room -= size
            output.update(bundle)

    def _clear(self) -> None:
        self.clear_next = False
        gone = {id(output) for output in self.run.outputs}
        self.run.outputs.clear()
        for shown in self._displays.values():
            shown[:] = [output for output in shown if id(output) not in gone]
