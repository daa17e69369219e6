"""The bytes of a submission become a notebook, whatever tool saved it, or a sentence that says why not."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass, field
from typing import Any

from autograder.grading.reading.slimming import drop_outputs
from autograder.grading.reading.unreadable import AGAIN, Unreadable, refuse_other_files, why_not_json
from autograder.grading.results import Note

__all__ = ["Reading", "Unreadable", "read_notebook"]

MAX_BYTES = 256 << 20  #: a larger file is not opened
MAX_TEXT = 64 << 20  #: characters that may be left when outputs are gone
SLIM_FROM = 16 << 20  #: below this parsing all of it, outputs too, is quicker and small enough
MAX_CELLS = 20_000


@dataclass
class Reading:
    """A notebook as it was handed in, without its outputs.

    Attributes
    ----------
    cells : list of dict
        Each with cell_type ("code", "markdown" or "raw"), source (str), metadata (its `nbgrader` and `tags` alone) and
        id (str or None).
    notes : list of Note
        What was odd about the file.
    """

    cells: list[dict[str, Any]]
    notes: list[Note] = field(default_factory=list)


def read_notebook(data: bytes) -> Reading:
    """Read a notebook of nbformat 2, 3 or 4 in any encoding that students' tools write; outputs are dropped.

    Raises
    ------
    Unreadable
        The bytes are no notebook.
    """
    notes: list[Note] = []
    text = _decode(data, notes)
    if len(text) > SLIM_FROM:
        text = drop_outputs(text)
        if len(text) > MAX_TEXT:
            raise Unreadable(
                "The notebook holds more than 64 MB besides its outputs; it is needed again, without what was pasted into it."
            )
    notebook = _unwrap(_parse(text, notes), notes)
    cells = _cells(notebook, notes)
    return Reading(cells, notes)


def _decode(data: bytes, notes: list[Note]) -> str:
    if not data:
        raise Unreadable(f"The file is empty; {AGAIN}.")
    if len(data) > MAX_BYTES:
        raise Unreadable("The file is larger than 256 MB; it is needed again, saved with all outputs cleared.")
    refuse_other_files(data)
    for bom, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(bom):
            if encoding != "utf-8":
                notes.append(Note("encoding", f"The file was saved as {encoding.upper()[:6]}, and was read as that."))
            return data[len(bom) :].decode(encoding, "replace")
    head = data[:4]
    if len(head) == 4 and not head.rstrip(b"\0"):
        raise Unreadable(f"The file holds nothing but zeros, as after a disk or a download failed; {AGAIN}.")
    if head[1:2] == b"\0" or head[:1] == b"\0":
        encoding = "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
        notes.append(Note("encoding", "The file was saved as UTF-16, and was read as that."))
        return data.decode(encoding, "replace")
    data = data.rstrip(b"\0")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        return data.decode("utf-8", "surrogatepass")  # cleaned cell by cell
    except UnicodeDecodeError:
        pass
    notes.append(
        Note(
            "encoding",
            "The file is not UTF-8 and was read as Windows-1252 (Latin-1): accented letters may have changed.",
        )
    )
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _parse(text: str, notes: list[Note]) -> Any:
    text = text.strip(" \t\r\n\0\ufeff")
    if not text:
        raise Unreadable(f"The file holds nothing but blanks; {AGAIN}.")
    try:
        try:
            return json.loads(text, strict=False)
        except json.JSONDecodeError:
            raise
        except ValueError:  # an integer of thousands of digits, which Python does not read
            notes.append(Note("long-number", "A number of thousands of digits in the file was read as 0."))
            return json.loads(text, strict=False, parse_int=_bounded)
    except RecursionError:
        raise Unreadable(f"The file's JSON is nested too deeply for any notebook; {AGAIN}.") from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            value, end = json.JSONDecoder(strict=False).raw_decode(text)
            if isinstance(value, dict):
                notes.append(
                    Note(
                        "trailing-text",
                        f"{len(text) - end:,} characters after the end of the notebook were ignored.",
                        needs_person=True,
                    )
                )
                return value
        raise Unreadable(why_not_json(text, error)) from None


def _bounded(digits: str) -> int:
    return int(digits) if len(digits) < 1000 else 0


def _unwrap(value: Any, notes: list[Note]) -> dict[str, Any]:
    """The notebook inside what the contents API, a double encoding or a download tool put round it."""
    for layer in range(4):
        if isinstance(value, str):
            try:
                value = json.loads(value, strict=False)
            except (ValueError, RecursionError):
                break
        elif isinstance(value, dict) and not _has_cells(value):
            inner = next(
                (value[key] for key in ("content", "notebook", "data") if isinstance(value.get(key), dict | str)), None
            )
            if inner is None:
                break
            value = inner
        else:
            break
        if layer == 0:
            notes.append(Note("wrapped", "The notebook was wrapped in another document, and was taken out of it."))
    if isinstance(value, list):
        raise Unreadable(f"The file is a JSON list, not a notebook; {AGAIN}.")
    if not isinstance(value, dict):
        raise Unreadable(f"The file is JSON, but no notebook; {AGAIN}.")
    if _has_cells(value):
        _refuse_version(value)
        return value
    _refuse_version(value)
    raise Unreadable(f"The file is JSON, but has no cells: it is no notebook; {AGAIN}.")


def _has_cells(value: dict[str, Any]) -> bool:
    return isinstance(value.get("cells"), list) or isinstance(value.get("worksheets"), list)


def _refuse_version(notebook: dict[str, Any]) -> None:
    version = notebook.get("nbformat", 4)
    try:
        newer = float(version) >= 5
    except (TypeError, ValueError, OverflowError):
        newer = False  # the cells say what it is
    if newer:
        raise Unreadable(
            f"The notebook is of format {str(version)[:10]}, which is newer than this grader reads; "
            "it is needed in format 4 (the classic .ipynb)."
        )


def _cells(notebook: dict[str, Any], notes: list[Note]) -> list[dict[str, Any]]:
    raw = notebook.get("cells")
    if not isinstance(raw, list):
        raw = []
        for sheet in notebook["worksheets"]:
            if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list):
                raw.extend(sheet["cells"])
        notes.append(
            Note("old-format", "The notebook was saved in an old format (nbformat 2 or 3), and was converted.")
        )
    if len(raw) > MAX_CELLS:
        raise Unreadable(
            f"The notebook has {len(raw):,} cells; the chapter's own notebook is needed, with the answers in it."
        )
    reader = _CellReader()
    cells = [cell for cell in map(reader.read, raw) if cell is not None]
    if not cells:
        raise Unreadable(f"The notebook has no cells; {AGAIN}.")
    if reader.broken:
        notes.append(
            Note("broken-cells", f"{reader.broken} cells were no cells at all and were left out.", needs_person=True)
        )
    if reader.joined:
        text = f"{reader.joined} cells were stored line by line without line ends; their lines were put together again."
        notes.append(Note("lines-joined", text))
    if reader.surrogates:
        notes.append(
            Note("broken-characters", "Characters that are no valid Unicode were replaced by a question mark.")
        )
    return cells


_SURROGATE = re.compile("[\ud800-\udfff]")


class _CellReader:
    """Brings one cell after the other into one shape, and counts what could not be kept."""

    def __init__(self) -> None:
        self.broken = self.joined = 0
        self.surrogates = False

    def read(self, raw: Any) -> dict[str, Any] | None:
        if not isinstance(raw, dict):
            self.broken += 1
            return None
        metadata = raw.get("metadata")
        if not isinstance(metadata, dict):
            metadata = {}
        kind = self._kind(raw)
        source = self._source(raw)
        if raw.get("cell_type") == "heading" and isinstance(level := raw.get("level", 1), int):
            source = f"{'#' * max(1, min(level, 6))} {source}"
        identity = raw.get("id")
        if not isinstance(identity, str) or not identity:
            identity = metadata.get("id")  # where Colab keeps it
            if not isinstance(identity, str) or not identity:
                identity = None
        return {
            "cell_type": kind,
            "source": source,
            "metadata": self._metadata(metadata),
            "id": identity,
        }

    @staticmethod
    def _kind(raw: dict[str, Any]) -> str:
        kind = raw.get("cell_type")
        if kind in ("code", "markdown", "raw"):
            return kind
        if kind is None and "kind" in raw:  # VS Code's own notebook data
            return "code" if raw["kind"] == 2 else "markdown"
        if kind is None and ("outputs" in raw or "execution_count" in raw or "input" in raw):
            return "code"
        return "markdown"

    def _source(self, raw: dict[str, Any]) -> str:
        source = next((raw[key] for key in ("source", "input", "value") if raw.get(key) is not None), "")
        if isinstance(source, list):
            lines = [line for line in source if isinstance(line, str)]
            bare = len(lines) > 1 and not any(line.endswith(("\n", "\r")) for line in lines[:-1])
            self.joined += bare
            source = ("\n" if bare else "").join(lines)
        if not isinstance(source, str):
            self.broken += 1
            return ""
        if "\r" in source:
            source = source.replace("\r\n", "\n").replace("\r", "\n")
        if "\0" in source:
            source = source.replace("\0", "")
        return self._clean(source)

    def _clean(self, text: str) -> str:
        """Join surrogate pairs; lone surrogates, which no file can hold, become question marks."""
        if text.isascii() or not _SURROGATE.search(text):
            return text
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        self.surrogates = self.surrogates or "\ufffd" in text
        return text.replace("\ufffd", "?")

    def _metadata(self, metadata: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        grader = metadata.get("nbgrader")
        if isinstance(grader, dict):
            kept["nbgrader"] = {
                key: self._clean(value) if isinstance(value, str) else value
                for key, value in grader.items()
                if value is None or isinstance(value, str | int | float)
            }
        tags = metadata.get("tags")
        if isinstance(tags, list):
            tags = [self._clean(tag) for tag in tags if isinstance(tag, str)]
            if tags:
                kept["tags"] = tags
        return kept
