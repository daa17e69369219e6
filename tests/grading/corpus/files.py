"""The file: encodings, formats, wrappings, and what is no notebook at all."""

from __future__ import annotations

import json

from tests.grading.corpus.damages import (
    damage,
    encode,
)
from tests.grading.small_chapter import (
    ANSWERS,
    another_chapter,
    code_cell,
    find_cell,
)


@damage("UTF-8 with BOM", "graded")
def _(nb):
    return b"\xef\xbb\xbf" + encode(nb)


@damage("UTF-16 with BOM", "graded", "encoding")
def _(nb):
    return encode(nb).decode().encode("utf-16")


@damage("UTF-16 big-endian without BOM", "graded", "encoding")
def _(nb):
    return encode(nb).decode().encode("utf-16-be")


@damage("Latin-1", "graded", "encoding")
def _(nb):
    find_cell(nb, "double")["source"] += "\n# \xe9t\xe9"
    return json.dumps(nb, ensure_ascii=False).encode("latin-1")


@damage("CRLF line ends, in the file and in cells", "graded")
def _(nb):
    for cell in nb["cells"]:
        cell["source"] = cell["source"].replace("\n", "\r\n")
    return encode(nb).replace(b"\n", b"\r\n")


@damage("zeros at the end", "graded")
def _(nb):
    return encode(nb) + b"\0" * 4096


@damage("text after the end", "graded", "trailing-text")
def _(nb):
    return encode(nb) + b'\n ]}\n "left from a longer file"'


@damage("source as lists", "graded")
def _(nb):
    for cell in nb["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)


@damage("source as lists without line ends", "graded", "lines-joined")
def _(nb):
    for cell in nb["cells"]:
        cell["source"] = cell["source"].splitlines()


@damage("nbformat 3", "graded", "old-format")
def _(nb):
    cells = []
    for cell in nb["cells"]:
        old = {key: value for key, value in cell.items() if key not in ("source", "id")}
        old["input" if cell["cell_type"] == "code" else "source"] = cell["source"]
        cells.append(old)
    return {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": cells, "metadata": {}}],
    }


@damage("nbformat 4.0, no kernelspec", "graded")
def _(nb):
    nb.update(nbformat_minor=0, metadata={})
    for cell in nb["cells"]:
        cell.pop("id")


@damage("an unknown kernelspec", "graded")
def _(nb):
    nb["metadata"]["kernelspec"] = {"name": "julia-1.9", "display_name": None, "language": "julia"}


@damage("metadata null", "graded")
def _(nb):
    nb["metadata"] = None


@damage("Colab's metadata", "graded")
def _(nb):
    nb.update(nbformat_minor=0)
    nb["metadata"] = {
        "colab": {"provenance": [], "toc_visible": True},
        "kernelspec": {"name": "python3"},
        "accelerator": "GPU",
    }
    for cell in nb["cells"]:
        cell["metadata"] |= {
            "id": "x" + cell.pop("id"),
            "colab": {"base_uri": "https://localhost:8080/"},
            "outputId": "1f",
        }


@damage("VS Code's metadata", "graded")
def _(nb):
    for cell in nb["cells"]:
        cell["metadata"]["vscode"] = {"languageId": "python"}
        cell["id"] = "#VSC-" + cell["id"]


@damage("VS Code's own notebook form", "repaired", "metadata-lost")
def _(nb):
    cells = [
        {"kind": 2 if c["cell_type"] == "code" else 1, "language": "python", "value": c["source"].splitlines()}
        for c in nb["cells"]
    ]
    return {"cells": cells}


@damage("wrapped by the contents API", "graded", "wrapped")
def _(nb):
    return {"name": "x.ipynb", "path": "x.ipynb", "type": "notebook", "format": "json", "content": nb}


@damage("wrapped as a string", "graded", "wrapped")
def _(nb):
    return json.dumps(json.dumps(nb)).encode()


@damage("broken widget state", "graded")
def _(nb):
    nb["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {"a": None, "b": [{"c": 1}]}}}


@damage("NaN in the JSON", "graded")
def _(nb):
    nb["metadata"]["loss"] = float("nan")
    find_cell(nb, "demo-1")["metadata"]["score"] = float("-inf")


@damage("outputs of 30 MB", "graded")
def _(nb):
    for name in ANSWERS:
        find_cell(nb, name)["outputs"] = [
            {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBOR" * 2_000_000}},
            {"output_type": "stream", "name": "stdout", "text": ['a "quoted" [line]\n'] * 1000},
        ]


@damage("broken outputs", "graded")
def _(nb):
    find_cell(nb, "double")["outputs"] = {"not": "a list"}
    find_cell(nb, "total")["outputs"] = [None, 3, "text"]
    find_cell(nb, "guess")["execution_count"] = "three"


@damage("lone surrogates", "graded", "broken-characters")
def _(nb):
    find_cell(nb, "double")["source"] += "\n# \ud83d and \udc00"


@damage("cells that are no cells", "graded", "broken-cells")
def _(nb):
    nb["cells"][3:3] = [None, 5, "text", []]


@damage("unknown cell types", "graded")
def _(nb):
    nb["cells"][2:2] = [
        {"cell_type": "heading", "level": 2, "metadata": {}, "source": "My heading"},
        {"cell_type": "sql"},
    ]


@damage("nbformat as text", "graded")
def _(nb):
    nb["nbformat"] = "4"


@damage("empty file", "unreadable", "unreadable")
def _(nb):
    return b""


@damage("file of zeros", "unreadable", "unreadable")
def _(nb):
    return b"\0" * 1000


@damage("an empty list", "unreadable", "unreadable")
def _(nb):
    return b"[]"


@damage("an empty object", "unreadable", "unreadable")
def _(nb):
    return b"{}"


@damage("no cells", "unreadable", "unreadable")
def _(nb):
    nb["cells"] = []


@damage("a web page saved as .ipynb", "unreadable", "unreadable")
def _(nb):
    return b"<!DOCTYPE html>\n<html><body>01-small.ipynb</body></html>"


@damage("conflict marks of a merge", "unreadable", "unreadable")
def _(nb):
    lines = encode(nb).splitlines()
    return b"\n".join(
        [*lines[:20], b"<<<<<<< HEAD", *lines[20:22], b"=======", *lines[20:22], b">>>>>>> theirs", *lines[22:]]
    )


@damage("truncated", "unreadable", "unreadable")
def _(nb):
    data = encode(nb)
    return data[: len(data) // 2]


@damage("nbformat 5", "unreadable", "unreadable")
def _(nb):
    nb["nbformat"] = 5


@damage("nested too deeply", "unreadable", "unreadable")
def _(nb):
    return b"[" * 200_000


@damage("a PDF called .ipynb", "unreadable", "unreadable")
def _(nb):
    return b"%PDF-1.7\n..."


@damage("a script called .ipynb", "unreadable", "unreadable")
def _(nb):
    return b"# %%\nimport math\ndef double(x):\n    return 2 * x\n"


@damage("another chapter's notebook", "unreadable", "unreadable")
def _(nb):
    return another_chapter()


@damage("another chapter's notebook, marks stripped", "unreadable", "unreadable")
def _(nb):
    other = another_chapter()
    for cell in other["cells"]:
        cell["metadata"] = {}
        cell.pop("id")
    return other


@damage("somebody's own notebook", "unreadable", "unreadable")
def _(nb):
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [code_cell("print('hello')"), code_cell("x = 1")],
    }
