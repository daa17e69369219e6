"""A notebook as Colab writes it: nbformat 4.0, ids in the metadata, marks of its own on every cell and output."""

from __future__ import annotations

import copy
import hashlib
from typing import Any


def as_colab_saves(notebook: dict[str, Any]) -> dict[str, Any]:
    """Rewrite `notebook` the way Colab does when it saves to Drive or downloads an .ipynb.

    Parameters
    ----------
    notebook : dict
        nbformat 4 as plain JSON, run or not. It is left as it is.

    Returns
    -------
    dict
        nbformat 4.0: a cell's id goes to its metadata, sources become lists of lines, code cells with output get an
        `outputId` and a `base_uri`, the notebook gets `colab` metadata and a kernelspec of two fields. Metadata of
        nbgrader stays, as Colab keeps what it does not know.
    """
    found = copy.deepcopy(notebook)
    cells = []
    for number, cell in enumerate(found["cells"]):
        identity = _short(f"{number} {cell.pop('id', '')}")
        metadata = {**cell["metadata"], "id": identity}
        metadata.pop("execution", None)
        saved = {"cell_type": cell["cell_type"], "metadata": metadata, "source": _lines(cell["source"])}
        if cell["cell_type"] == "code":
            saved |= {"execution_count": cell.get("execution_count"), "outputs": cell.get("outputs", [])}
            if saved["outputs"]:
                metadata["colab"] = {"base_uri": "https://localhost:8080/", "height": 35}
                metadata["outputId"] = f"{_short(identity + 'a')}-{_short(identity + 'b')}"
        cells.append(saved)
    return {
        "nbformat": 4,
        "nbformat_minor": 0,
        "metadata": {
            "colab": {"provenance": [], "gpuType": "T4", "toc_visible": True},
            "kernelspec": {"name": "python3", "display_name": "Python 3"},
            "language_info": {"name": "python"},
            "accelerator": "GPU",
        },
        "cells": cells,
    }


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _lines(source: str | list[str]) -> list[str]:
    return ("".join(source) if isinstance(source, list) else source).splitlines(keepends=True)
