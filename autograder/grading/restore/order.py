"""In which order the cells of a restored submission run, and what each is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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


def move_up(moving: Sequence[Piece], to: tuple[int, int], pieces: Sequence[Piece]) -> None:
    """Bring pieces to an earlier place, and the student's own cells right above them with them."""
    last: dict[tuple[int, int], int] = {}  # where they stand now, to the last number there
    for piece in moving:
        if piece.key[:2] > to:
            last[piece.key[:2]] = max(piece.key[2], last.get(piece.key[:2], piece.key[2]))
    chosen = set(map(id, moving))
    for other in pieces:
        end = last.get(other.key[:2])
        if end is not None and (
            id(other) in chosen or (other.own and other.cell_type == "code" and other.key[2] < end)
        ):
            other.key = (*to, other.key[2])


class FreeNames:
    """Gives out ids that no cell has."""

    def __init__(self, taken: set[str]) -> None:
        self.taken, self.used = taken, set[str]()
        self.numbers: dict[str, int] = {}  # the last one given to a name

    def free(self, name: str) -> str:
        base = name
        while name in self.taken or name in self.used:
            self.numbers[base] = self.numbers.get(base, 1) + 1
            name = f"{base}-{self.numbers[base]}"
        return name
