"""What was mended, in words for student and instructor."""

from __future__ import annotations

from autograder.grading.results import Note

_EACH = 3  #: up to so many cells get a note each; more share one

# code: (one cell, several cells); {cell} or {cells} is filled in
_TEXTS: dict[str, tuple[str, str]] = {
    "answer-copied": (
        "The answer cell {cell} stands there more than once; edited copies ran in order, so the last one counts.",
        "These answer cells stand there more than once; edited copies ran in order, so the last one counts: {cells}.",
    ),
    "answer-split": (
        "The answer cell {cell} had been split in two; its parts ran one after the other.",
        "These answer cells had been split; their parts ran one after the other: {cells}.",
    ),
    "answer-elsewhere": (
        "The answer to {cell} was found in a cell that is not marked as its answer cell, and was graded.",
        "The answers to these exercises were found in cells that are not marked as theirs, and were graded: {cells}.",
    ),
    "answer-joined": (
        "The answer cell {cell} had been split inside a definition; its parts were joined again.",
        "These answer cells had been split inside a definition; their parts were joined again: {cells}.",
    ),
    "fences-removed": (
        "The code of {cell} stood between Markdown fences; they were made comments, and the code was graded.",
        "The code of these cells stood between Markdown fences; they were made comments, and the code was graded: {cells}.",
    ),
    "answer-missing": (
        "The answer cell {cell} is missing and no other cell defines its name, so it counts as not answered.",
        "These answer cells are missing and no other cell defines their names, so they count as not answered: {cells}.",
    ),
    "check-missing": (
        "The check cell {cell} was missing; the course's own was used.",
        "These check cells were missing; the course's own were used: {cells}.",
    ),
    "check-edited": (
        "The check cell {cell} differs from this release; the course's own was used.",
        "These check cells differ from this release; the course's own were used: {cells}.",
    ),
    "check-copied": (
        "The check cell {cell} stands there more than once; the course's own ran once.",
        "These check cells stand there more than once; the course's own ran once each: {cells}.",
    ),
    "setup-missing": (
        "The cell {cell} of the course was missing and was put back.",
        "These cells of the course were missing and were put back: {cells}.",
    ),
    "setup-edited": (
        "The locked cell {cell} differs from this release; the course's own was used.",
        "These locked cells differ from this release; the course's own were used: {cells}.",
    ),
    "typed-in": (
        "Imports or definitions typed into the locked cell {cell} ran as a cell of their own before it.",
        "Imports or definitions typed into these locked cells ran as cells of their own before them: {cells}.",
    ),
    "locked-unclear": (
        "The locked cell {cell} was changed to something that is not Python; the course's own was used.",
        "These locked cells were changed to something that is not Python; the course's own were used: {cells}.",
    ),
    "cell-moved": (
        "The cell {cell} had been moved; it ran in its own place.",
        "Cells had been moved; they ran in the course's order: {cells}.",
    ),
    "cell-retyped": (
        "The cell {cell} had been changed to another cell type; it counts as what the course made it.",
        "These cells had been changed to another cell type; they count as what the course made them: {cells}.",
    ),
    "metadata-edited": (
        "The grading marks of the cell {cell} were changed; the course's own count.",
        "The grading marks of these cells were changed; the course's own count: {cells}.",
    ),
    "metadata-lost": (
        "The cell {cell} had lost its grading marks and was recognized by what it holds.",
        "These cells had lost their grading marks and were recognized by what they hold: {cells}.",
    ),
    "schema-old": (
        "The grading marks of the cell {cell} are of an older schema than nbgrader's; they were read as what they are.",
        "The grading marks of these cells are of an older schema than nbgrader's; they were read as what they are: {cells}.",
    ),
    "schema-version": (
        "The grading marks of the cell {cell} are of a newer schema than nbgrader's; they were read all the same.",
        "The grading marks of these cells are of a newer schema than nbgrader's; they were read all the same: {cells}.",
    ),
    "unknown-cell": (
        "The cell marked {cell} does not belong to this chapter; it was kept, as a cell that the course does not know.",
        "These marked cells do not belong to this chapter; they were kept, as cells that the course does not know: {cells}.",
    ),
    "chapter-mixed": (
        "The notebook also holds graded cells of something else ({cell}): is it the right chapter?",
        "The notebook also holds graded cells of something else ({cells}): is it the right chapter?",
    ),
    "manual-found": (
        "The free answer {cell} had lost its mark and was recognized by where it stands.",
        "These free answers had lost their marks and were recognized by where they stand: {cells}.",
    ),
    "manual-missing": (
        "The cell for the free answer {cell} is missing; it was put back empty.",
        "The cells for these free answers are missing; they were put back empty: {cells}.",
    ),
}
_PERSON = {"locked-unclear", "chapter-mixed"}
_NO_MEND = {"schema-old"}  #: nothing was changed for it


class Mends:
    """Collects what was mended, cell by cell, and says it in few sentences."""

    def __init__(self) -> None:
        self._cells: dict[str, dict[str, None]] = {}

    def add(self, code: str, cell: str) -> None:
        """Note one mend of one cell."""
        self._cells.setdefault(code, {})[cell] = None

    def __bool__(self) -> bool:
        return not self._cells.keys() <= _NO_MEND

    def notes(self) -> list[Note]:
        """The notes: one per cell, or one for all where there are many."""
        notes = []
        for code, cells in self._cells.items():
            one, several = _TEXTS[code]
            if len(cells) <= _EACH:
                notes += [Note(code, one.format(cell=_short(cell)), cell, code in _PERSON) for cell in cells]
            else:
                shown = ", ".join(map(_short, list(cells)[:20])) + (", ..." if len(cells) > 20 else "")
                notes.append(Note(code, several.format(cells=shown), None, code in _PERSON))
        return notes


def _short(cell: str) -> str:
    return cell if len(cell) <= 60 else cell[:57] + "..."
