"""Late submissions: how late, and what nbgrader's own plugin takes off for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

Penalty = Callable[[str, float, float], float | None]


def read_config(folder: Path) -> Config:
    """The course's `nbgrader_config.py`, as nbgrader reads it; empty where the folder has none."""
    if not (folder / "nbgrader_config.py").is_file():
        return Config()
    return PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config()


def utc(moment: datetime) -> datetime:
    """A moment in UTC without a zone; a moment without one is UTC already."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def seconds_late(handed_in: datetime | None, due: datetime | None, extension: timedelta | None) -> float:
    """Seconds after the due date, the student's extension included; 0 where either is unknown."""
    if handed_in is None or due is None:
        return 0.0
    return max(0.0, (handed_in - due - (extension or timedelta())).total_seconds())


def penalty_rule(config: Config | None = None) -> Penalty:
    """The rule that the course's nbgrader configuration names: (student, score, seconds late) -> points to take off.

    It is nbgrader's own: `AssignLatePenalties.plugin_class`, by default `LateSubmissionPlugin`, whose answer nbgrader's
    preprocessor keeps between 0 and the score.
    """
    stage = AssignLatePenalties(config=config or Config())
    stage.init_plugin()

    def rule(student: str, score: float, late: float) -> float | None:
        if late <= 0:
            return None
        penalty = stage.plugin_inst.late_submission_penalty(student, score, late)
        return None if penalty is None else float(stage._check_late_penalty(SimpleNamespace(score=score), penalty))

    return rule
