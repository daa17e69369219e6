"""Run a notebook top to bottom in a kernel of the environment whose Python runs this file: python run_notebook.py IN OUT."""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def main(source: str, target: str) -> None:
    """Write the notebook with its outputs and each cell's times; a cell that raises ends it, after writing."""
    notebook = nbformat.read(source, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        record_timing=True,
        resources={"metadata": {"path": str(Path(target).parent)}},
    )
    try:
        client.execute()
    finally:
        nbformat.write(notebook, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
