"""What becomes of check and set-up cells in a release: folded, titled, and without the key of a prediction.

Steps of nbgrader's, listed in nbgrader_config.py. They come after the gradebook has kept the cells as they were written.
"""

from __future__ import annotations

import ast
from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.authoring.stubs import is_prediction
from autograder.checks.sealing import seal

_SCALARS = (type(None), bool, int, float, str)


class FoldCells(NbGraderPreprocessor):
    """Fold check cells and the set-up cell: one sees a title and, below it, what comes out.

    `jupyter.source_hidden` is read by JupyterLab, Notebook and VS Code, `cellView` and the title line by Colab.
    """

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        mark = cell.metadata.get("nbgrader", {})
        title = None
        if cell.cell_type == "code" and mark.get("grade"):
            title = f"Check: {mark['grade_id'].removeprefix('check-')}"
        elif cell.cell_type == "code" and mark.get("grade_id") == "setup":
            title = "Set-up"
        if title:
            cell.source = f"#@title {title}\n{cell.source}"
            cell.metadata["jupyter"] = {"source_hidden": True}
            cell.metadata["cellView"] = "form"
        return cell, resources


class FinishChecks(NbGraderPreprocessor):
    """Tell each check cell how many there are, and seal what a prediction's must not show."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        graders = [(cell, cell.metadata.get("nbgrader", {})) for cell in nb.cells if cell.cell_type == "code"]
        stubs = {mark["grade_id"]: cell.source for cell, mark in graders if mark.get("solution")}
        checks = [(cell, stubs[mark["grade_id"].removeprefix("check-")]) for cell, mark in graders if mark.get("grade")]
        for cell, stub in checks:
            cell.source = finished(cell.source, stub, len(checks))
        return nb, resources


def finished(check: str, stub: str, of: int) -> str:
    """A check cell as it is released.

    Parameters
    ----------
    check : str
        The cell's source, in the grammar of check cells.
    stub : str
        The answer cell as learners get it.
    of : int
        How many exercises the chapter has.
    """
    edits: list[tuple[ast.AST, str]] = []  # what is replaced, by which text
    ends: list[tuple[ast.Call, str]] = []  # what is added as a last argument
    for node in ast.parse(check).body:
        call = getattr(node, "value", None)
        if not isinstance(call, ast.Call):
            continue
        function = ast.unparse(call.func)
        if function == "Check":
            ends.append((call, f"of={of}"))
        elif function in ("check", "check.that") and is_prediction(stub):
            label = ast.literal_eval(call.args[0])
            secrets = [call.args[2]] if _is_literal(call.args[2]) or function == "check.that" else []
            secrets += [word.value for word in call.keywords if word.arg in ("wrong", "hint")]
            edits += [(secret, f'Check.sealed("{seal(ast.unparse(secret), label)}")') for secret in secrets]
            empty = _empty(call.args[1], stub)
            if empty is not None and function == "check":
                ends.append((call, f"empty={empty}"))
    return _edited(check, edits, ends)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _empty(thunk: ast.expr, stub: str) -> str | None:
    """What the thunk gives on the stub, as source; None where that is no plain value."""
    names: dict[str, Any] = {}
    try:
        exec(stub, names)  # the course's own text: an empty form
        value = eval(ast.unparse(thunk), names)()
    except Exception:
        return None
    return repr(value) if type(value) in _SCALARS else None


def _edited(source: str, edits: list[tuple[ast.AST, str]], ends: list[tuple[ast.Call, str]]) -> str:
    data = source.encode()  # columns of the syntax tree count bytes
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def at(line: int, column: int) -> int:
        return starts[line - 1] + column

    changes = [
        (at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset), text)  # type: ignore[attr-defined]
        for node, text in edits
    ]
    for call, text in ends:
        end = at(call.end_lineno or 0, (call.end_col_offset or 0) - 1)
        changes.append((end, end, f", {text}"))
    for start, end, text in sorted(changes, reverse=True):
        data = data[:start] + text.encode() + data[end:]
    return data.decode()
