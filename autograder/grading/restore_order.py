"""In which order the cells of a restored submission run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.grading.definitions import Definitions
from autograder.grading.restore_match import Index


@dataclass(eq=False)
class Piece:
    """A cell on its way into the chapter.

    Attributes
    ----------
    key : tuple of int
        Its order: the place of the course cell it goes with; 0 before it, 1 with it, 2 after it; its own number.
    place : int or None
        The course cell that it stands for.
    own : bool
        Whether the student made the cell, or typed it into a locked one.
    """

    key: tuple[int, int, int]
    source: str
    role: str
    cell_type: str
    place: int | None = None
    exercise: str | None = None
    run: bool = True
    own: bool = False


def in_course_order(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces as they run."""
    return sorted(pieces, key=lambda piece: piece.key)


def let_answers_run_in_time(
    pieces: Sequence[Piece],
    waiting: Sequence[str],
    index: Index,
    definitions: Definitions,
) -> set[str]:
    """Find the cells that define the names of exercises whose answer cell does not, and let them run in time.

    A cell that defines such a name keeps its place when the exercise's check runs below it. Otherwise it moves to the
    place of the answer cell, and the student's own cells between the course cell above and it come along: they may hold
    what it needs.

    Returns
    -------
    set of str
        The exercises for which a cell was found.
    """
    found: dict[str, list[Piece]] = {}
    cells = index.chapter.cells

    def defined_in(piece: Piece) -> set[str]:
        return {
            exercise
            for exercise in waiting
            if definitions.answers(piece.source, index.targets[exercise], cells[index.answers[exercise]].released)
        }

    for piece in pieces:
        if piece.cell_type == "code":
            for exercise in defined_in(piece):
                found.setdefault(exercise, []).append(piece)
    for piece in pieces:  # an answer that was turned into prose
        if piece.role == "text" and piece.own and definitions.tree(piece.source) is not None:
            for exercise in defined_in(piece) - found.keys():
                found[exercise] = [piece]
                piece.cell_type, piece.role = "code", "student"
    for exercise in (name for name in waiting if name in found):
        check = index.checks.get(exercise, index.answers[exercise])
        late = all(piece.key[:2] > (check, 0) for piece in found[exercise])
        for piece in found[exercise]:
            if piece.own:
                piece.role, piece.exercise = "answer", piece.exercise or exercise
            if late and piece.role in ("answer", "demo"):
                _move(piece, (index.answers[exercise], 1), pieces)
    return set(found)


def _move(piece: Piece, to: tuple[int, int], pieces: Sequence[Piece]) -> None:
    """Bring a piece to an earlier place, and the student's own cells right above it with it."""
    if piece.key[:2] <= to:
        return
    home = piece.key
    for other in pieces:
        if other.own and other.cell_type == "code" and other.key[:2] == home[:2] and other.key[2] < home[2]:
            other.key = (*to, other.key[2])
    piece.key = (*to, home[2])
