"""Which code answers which exercise: halves are joined, blank copies dropped, answers found wherever they stand."""

from __future__ import annotations

from autograder.grading.restore.definitions import Definitions
from autograder.grading.restore.fences import without_fences
from autograder.grading.restore.match import Index
from autograder.grading.restore.notes import Mends
from autograder.grading.restore.order import Piece, move_up


class Answers:
    """Works on the pieces of one submission."""

    def __init__(self, index: Index, definitions: Definitions, mends: Mends) -> None:
        self.index, self.definitions, self.mends = index, definitions, mends
        self.cells = index.chapter.cells

    def join_halves(self, pieces: list[Piece]) -> list[Piece]:
        """Join the parts of an answer that was cut inside a definition: they parse together only."""
        kept: list[Piece] = []
        for piece in pieces:
            last = kept[-1] if kept else None
            if last is None or not self._joins(last, piece):
                kept.append(piece)
        return kept

    def _joins(self, first: Piece, second: Piece) -> bool:
        """Append the second piece to the first where the two were one cell."""
        copies = first.role == second.role == "answer" and first.place == second.place
        halves = (second.own or (first.own and second.role == "answer")) and second.key[2] == first.key[2] + 1
        if not copies and not halves:
            return False
        looks_cut = (
            second.source[:1] in (" ", "\t")
            or first.source.rstrip().endswith((":", ",", "(", "[", "{", "\\"))
            or any(piece.role == "answer" and self.definitions.tree(piece.source) is None for piece in (first, second))
        )
        joined = f"{first.source.rstrip()}\n{second.source}"
        if not looks_cut or self.definitions.tree(joined) is None:
            return False
        place = first.place if first.place is not None else second.place
        if place is None:
            place = self.index.answered_by(joined, self.definitions)
        if place is None:
            return False
        self.mends.add("answer-joined", self.cells[place].id)
        first.source, first.key = joined, (*first.key[:2], second.key[2])
        if first.own and not second.own:  # the mark went with the second half
            first.key, first.own = second.key, False
            first.role, first.place, first.exercise = second.role, second.place, second.exercise
        return True

    def settle(self, pieces: list[Piece]) -> tuple[list[Piece], set[str], set[str]]:
        """Find the code that answers each exercise, and let it run before its check.

        Returns
        -------
        tuple
            The pieces, less what would put a blank form in an answer's place; the exercises that are answered; and those
            of them that are answered elsewhere than in their answer cell.
        """
        answered = set()
        for exercise in self.index.chapter.exercises:
            place = self.index.answers[exercise]
            if any(self._answers(piece, exercise) for piece in pieces if piece.place == place):
                answered.add(exercise)
        elsewhere = self._find(pieces, [name for name in self.index.chapter.exercises if name not in answered])
        for exercise in self.index.chapter.exercises:
            if exercise in elsewhere:
                self.mends.add("answer-elsewhere", exercise)
            if exercise in answered | elsewhere:
                pieces = self._without_stubs(pieces, exercise)
        return pieces, answered | elsewhere, elsewhere

    def _answers(self, piece: Piece, exercise: str) -> bool:
        released = self.cells[self.index.answers[exercise]].released
        return self.definitions.answers(piece.source, self.index.targets[exercise], released)

    def _is_code_that_answers(self, piece: Piece, exercise: str) -> bool:
        text = without_fences(piece.source, self.definitions) or piece.source
        return self._answers(piece, exercise) and self.definitions.tree(text) is not None

    def _without_stubs(self, pieces: list[Piece], exercise: str) -> list[Piece]:
        """Take an answered exercise's blank form out of whatever the student's cells would run."""
        released = self.cells[self.index.answers[exercise]].released
        kept = []
        for piece in pieces:
            if piece.cell_type == "code":
                left = self.definitions.without_stub(piece.source, self.index.targets[exercise], released)
                if not left and piece.role == "answer" and not piece.own:
                    continue
                if left:
                    piece.source = left
                else:
                    piece.run = False
            kept.append(piece)
        return kept

    def _find(self, pieces: list[Piece], waiting: list[str]) -> set[str]:
        """Find the cells that answer these exercises, and let them run in time.

        A cell that does keeps its place when the exercise's check runs below it. Otherwise it moves to the place of the
        answer cell, and the student's own cells between the course cell above and it come along: they may hold what it
        needs.
        """
        found: dict[str, list[Piece]] = {}
        for exercise in waiting:
            code = [piece for piece in pieces if piece.cell_type == "code" and self._answers(piece, exercise)]
            if not code:  # an answer that was turned into prose
                prose = [piece for piece in pieces if piece.own and piece.role == "text"]
                code = [piece for piece in prose if self._is_code_that_answers(piece, exercise)][-1:]
                for piece in code:
                    piece.cell_type, piece.role = "code", "student"
                    if (text := without_fences(piece.source, self.definitions)) is not None:
                        piece.source = text
                        self.mends.add("fences-removed", exercise)
            if code:
                found[exercise] = code
        for exercise, code in found.items():
            answer = self.index.answers[exercise]
            late = all(piece.key[:2] > (self.index.checks.get(exercise, answer), 0) for piece in code)
            for piece in code:
                if piece.own:
                    piece.role, piece.exercise = "answer", piece.exercise or exercise
            if late:
                move_up([piece for piece in code if piece.role in ("answer", "demo")], (answer, 1), pieces)
        return set(found)
