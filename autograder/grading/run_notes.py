"""What a run tells of a submission besides its points: an answer that stopped, a module that is not here, an input() that waits.

A score alone does not say it: where an answer cell did not even run, its checks fail one by one, each with a hint that misleads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from autograder.checks.verdict import NO_INPUT, asks_for_input
from autograder.engine.api import CellRun
from autograder.grading.course import Chapter
from autograder.grading.results import Note
from autograder.grading.signs import advice_on

_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_LINE = re.compile(r"\bIn ?\[\d+\], line (\d+)")
_CELL_FILE = re.compile(r" \(\d+\.py, line \d+\)$")  #: the name that IPython gives to a cell in a syntax error
# Lines that `engine.inside.elsewhere` writes to a cell's stderr. A cell can write them too, so nothing but names is believed.
_NOT_HERE = re.compile(r"^autograder: the module ([\w.]{1,80}) is not installed here;", re.MULTILINE)
_HIDES = re.compile(
    r"^autograder: import \* hides Python's own ([a-z, ]{1,300}) from every answer below\.$", re.MULTILINE
)
_MISSING = re.compile(r"the module ([\w.]{1,80}) is not installed here$|^No module named '([\w.]{1,80})'$")


def run_notes(
    runs: Sequence[CellRun], chapter: Chapter, *, answers: Iterable[str] | None = None, file: str = ""
) -> list[Note]:
    """Notes on what became of a submission's cells.

    Parameters
    ----------
    runs : sequence of CellRun
    chapter : Chapter
        Says which of them are cells of the course, and which are checks.
    answers : iterable of str, optional
        Ids of answer cells, where they are not the chapter's own.
    file : str
        The .py file that the answer cell is, where it is one.

    Returns
    -------
    list of Note
        "answer-stopped" for an answer cell that ended with an error, "course-stopped" for a cell of the course that did,
        "module-missing" for a module that is not installed here, "builtins-hidden" for what `import *` has put over
        Python's own names, "asks-input" for an answer that calls input() in a check.
    """
    wanted = set(chapter.exercises if answers is None else answers)
    notes: list[Note] = []
    for run in runs:
        cell = chapter.by_id.get(run.id)
        where = file or f"the cell {run.id}"
        notes += _told(run, where)
        if run.status == "error" and run.id in wanted:
            notes += _stopped(run, where, named=bool(file))
        elif run.status == "error" and cell is not None and cell.role == "course":
            notes += _course_stopped(run, locked=cell.locked)
        if cell is not None and cell.role == "check":
            notes += _observed(run, cell.exercise or run.id)
    return _once(notes)


def _told(run: CellRun, where: str) -> Iterator[Note]:
    """What the cell's own stderr says of this machine."""
    text = "".join(str(o.get("text")) for o in run.outputs if o.get("name") == "stderr")
    for found in _NOT_HERE.finditer(text):
        yield _module(found[1], f"{_capital(where)} imports the module {found[1]}", run.id)
    for found in _HIDES.finditer(text):
        sentence = f"{_capital(where)} imports everything from a module, which hides Python's own {found[1]} from the answers below it; import by name instead."
        yield Note("builtins-hidden", sentence, cell=run.id)


def _module(name: str, beginning: str, cell: str) -> Note:
    return Note(
        "module-missing",
        f"{beginning}, which is not installed here; whatever uses it fails, the rest was run.",
        cell=cell,
    )


def _stopped(run: CellRun, where: str, named: bool) -> Iterator[Note]:
    error = _error(run)
    if error is None:
        return
    line = _line(error)
    name, text = str(error.get("ename")), _CELL_FILE.sub("", str(error.get("evalue")))
    place = f"{line}{where}"
    if line or not named:  # a file's name stays as it is
        place = _capital(place)
    if name == "StdinNotImplementedError":
        yield Note("answer-stopped", f"{place} stopped at input(). {NO_INPUT}", cell=run.id)
    elif name == "SyntaxError" and (advice := advice_on(text, _shown(error))) is not None:
        yield Note("answer-stopped", f"{place} holds {advice}", cell=run.id)
    else:
        yield Note("answer-stopped", f"{place} stopped with {' '.join(f'{name}: {text}'.split())[:300]}", cell=run.id)


def _course_stopped(run: CellRun, locked: bool) -> Iterator[Note]:
    error = _error(run)
    if error is not None:
        text = " ".join(f"{error.get('ename')}: {error.get('evalue')}".split())[:300]
        sentence = f"The course's cell {run.id} stopped with {text}. With the course's own answers it runs, so a cell above it in this notebook must be the cause; checks that need it fail."
        if not locked:
            sentence = f"The course's cell {run.id}, as it stands in this notebook, stopped with {text}; checks that need it fail."
        yield Note("course-stopped", sentence, cell=run.id, needs_person=locked)


def _observed(run: CellRun, exercise: str) -> Iterator[Note]:
    """What checks observed. Of hidden ones only which kind of error it was: nobody is to read their inputs in a note."""
    for value in run.observations.values():
        error = value.get("error") if isinstance(value, dict) else None
        if isinstance(error, dict) and error.get("type") == "ModuleNotFoundError":
            found = _MISSING.search(str(error.get("text")))
            if found is not None:
                name = found[1] or found[2]
                yield _module(name, f"The answer to {exercise} needs the module {name}", run.id)
    if any(map(asks_for_input, (*run.observations.values(), *run.hidden.values()))):
        yield Note("asks-input", f"The answer to {exercise} calls input(). {NO_INPUT}", cell=run.id)


def _once(notes: list[Note]) -> list[Note]:
    """The notes, less what repeats the sentence of an earlier one."""
    return list({note.text: note for note in reversed(notes)}.values())[::-1]


def _error(run: CellRun) -> dict[str, Any] | None:
    return next((output for output in run.outputs if output.get("output_type") == "error"), None)


def _shown(error: dict[str, Any]) -> str:
    traceback = error.get("traceback")
    return _COLOR.sub("", "\n".join(map(str, traceback))) if isinstance(traceback, list) else ""


def _line(error: dict[str, Any]) -> str:
    """Such as "line 3 of ", from the outermost frame of the traceback; nothing where it names none."""
    found = _LINE.search(_shown(error))
    return f"line {found[1]} of " if found else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
