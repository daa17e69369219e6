"""What a learner finds where the answer was."""

from __future__ import annotations

from typing import Any

from nbgrader.preprocessors import ClearSolutions as NbgraderClearSolutions

_RAISE = "raise NotImplementedError()"


def is_prediction(stub: str) -> bool:
    """Whether what a learner finds is a form to fill in: it raises nothing."""
    return "raise NotImplementedError" not in stub


class ClearSolutions(NbgraderClearSolutions):
    """As nbgrader's, but a region at the left margin leaves no `raise`, so that Run All goes on past a prediction."""

    def _replace_solution_region(self, cell: Any, language: str) -> bool:
        replaced: bool = super()._replace_solution_region(cell, language)
        if replaced and cell.cell_type == "code":
            cell.source = "\n".join(line for line in cell.source.split("\n") if line != _RAISE)
        return replaced
