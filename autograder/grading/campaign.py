"""Grade a class: find hand-ins, mend them, run them, judge them, write them down, a few at a time.

One submission never stops another. What was graded before from the same bytes, chapter, seed and environment is not graded
again. Memory does not grow with the class: hand-ins are read when the engine asks for the next job.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from autograder import __version__
from autograder.engine.api import CellRun, Engine, Job, Run
from autograder.grading.book.autograded import autograded_notebook, unreadable_notebook
from autograder.grading.book.gradebook import Book, BookError, Written
from autograder.grading.course import Chapter, Course, CourseCell
from autograder.grading.intake.handins import Handin, find
from autograder.grading.jobs import DEADLINE, checks_of, job
from autograder.grading.judge import judge
from autograder.grading.reading.notebook import Unreadable
from autograder.grading.references import References
from autograder.grading.restore.graft import Restored
from autograder.grading.results import ClassResult, ExerciseResult, Note, Source, SubmissionResult, SubmissionStatus
from autograder.grading.run_notes import run_notes
from autograder.interrupts import whole

log = logging.getLogger(__name__)

BATCH_SECONDS = 0.5  #: the most work that a killed grader has to do again
BATCH_SIZE = 64


@dataclass
class Pending:
    """A submission whose job is with the engine."""

    handin: Handin
    chapter: Chapter
    restored: Restored
    notes: list[Note]


class Campaign:
    """One run of the grader over a folder of submissions.

    Parameters
    ----------
    course : Course
    engine : Engine
        Open.
    book : Book
        Open, the chapters registered.
    references : References
        What the reference answers observed with this seed and this engine.
    seed : int
    regrade : bool
        Grade also what has not changed.
    on_result : callable
        Called with every SubmissionResult, once it is in the gradebook.
    """

    def __init__(
        self,
        course: Course,
        engine: Engine,
        book: Book,
        references: References,
        seed: int,
        *,
        regrade: bool = False,
        deadline: float = DEADLINE,
        on_result: Callable[[SubmissionResult], None] = lambda result: None,
    ) -> None:
        self.course, self.engine, self.book, self.references = course, engine, book, references
        self.seed, self.regrade, self.deadline, self.on_result = seed, regrade, deadline, on_result
        self.results: list[SubmissionResult] = []
        self._before = {} if regrade else book.fingerprints()
        self._pending: dict[str, Pending] = {}
        self._batch: list[Written] = []
        self._flushed = time.monotonic()
        self._marks = {name: chapter_mark(chapter, seed) for name, chapter in course.chapters.items()}

    def run(self, submitted: Path) -> ClassResult:
        """Grade every hand-in below `submitted` (nbgrader's shape) and return the class.

        Raises
        ------
        BookError
            Where the gradebook refuses; what was written before stays.
        """
        with whole():
            spool = tempfile.TemporaryDirectory(prefix="autograder-")
        try:
            for run in self.engine.run(self._jobs(submitted, Path(spool.name))):
                self._finish(run)
        finally:
            with whole():
                spool.cleanup()
                self._flush()
        self.results.sort(key=lambda result: (result.student, result.chapter))
        return ClassResult(self.course.course_id, self.seed, torch_version(), self.results)

    def _jobs(self, submitted: Path, spool: Path) -> Iterator[Job]:
        for handin in find(submitted, self.course.chapters, self.book.students(), spool, self.course.others):
            try:
                prepared = self._prepare(handin)
            except (BookError, OSError):
                raise
            except Exception as error:
                self._give_up(handin, error)
                prepared = None
            if prepared is not None:
                yield prepared
            else:
                _discard_copies(handin)

    def _finish(self, run: Run) -> None:
        pending = self._pending.pop(run.key)
        _discard_copies(pending.handin)
        try:
            self._judge(run, pending)
        except (BookError, OSError):
            raise
        except Exception as error:
            self._give_up(pending.handin, error)

    def _give_up(self, handin: Handin, error: Exception) -> None:
        """A fault of the grader's own on one submission must not stop the others; a person hears of it."""
        text = f"The grader itself failed on this submission ({type(error).__name__}: {error}); a person must grade it, and report this."
        self._settle(
            handin,
            self.course.chapters[handin.chapter],
            "unreadable",
            [*handin.notes, Note("grader-failed", text, needs_person=True)],
        )

    def _prepare(self, handin: Handin) -> Job | None:
        """The job for a hand-in, or None where it is settled without a run."""
        chapter = self.course.chapters[handin.chapter]
        if handin.status != "found" or handin.notebook is None:
            status: SubmissionStatus = "missing" if handin.status == "missing" else "unreadable"
            self._settle(handin, chapter, status, list(handin.notes))
            return None
        if self._before.get((handin.student, handin.chapter)) == self._fingerprint(handin):
            previous = self.book.previous(handin.student, handin.chapter)
            if previous is not None:
                log.info("%s/%s: as it was graded before", handin.student, handin.chapter)
                self.results.append(previous)
                self.on_result(previous)
                return None
        try:
            restored = handin.notebook.restored(chapter)
        except Unreadable as reason:
            self._settle(
                handin, chapter, "unreadable", [*handin.notes, Note("unreadable", str(reason), needs_person=True)]
            )
            return None
        key = f"{handin.student}/{handin.chapter}"
        notes = [*handin.notes, *restored.notes]
        self._pending[key] = Pending(handin, chapter, restored, notes)
        return job(
            key,
            chapter,
            (cell for cell in restored.cells if cell.run),
            self.seed,
            skipped=self.course.skipped,
            files=handin.files,
            deadline=self.deadline,
        )

    def _judge(self, run: Run, pending: Pending) -> None:
        handin, chapter = pending.handin, pending.chapter
        runs = {cell.id: cell for cell in run.cells}
        exercises = [self._exercise(cell, chapter, runs) for cell in chapter.cells if cell.role in ("check", "manual")]
        score, max_score = sums(exercises)
        result = SubmissionResult(
            handin.student,
            handin.chapter,
            "repaired" if pending.restored.repaired else "graded",
            score,
            max_score,
            round(run.seconds, 4),
            run.engine,
            run.sandbox,
            _source(handin),
            pending.notes + [Note("run", text) for text in run.notes] + run_notes(run.cells, chapter),
            exercises,
        )
        outputs = {cell.id: cell.outputs for cell in run.cells if cell.outputs}
        notebook = autograded_notebook(map(_notebook_cell, pending.restored.cells), chapter, result, outputs)
        self._write(handin, result, pending.restored.unanswered, notebook)

    def _exercise(self, cell: CourseCell, chapter: Chapter, runs: Mapping[str, CellRun]) -> ExerciseResult:
        if cell.role == "manual":
            return ExerciseResult(cell.id, "ran", True, None, cell.points)
        if cell.exercise in self.course.skipped:
            return ExerciseResult(cell.id, "not-run", True, None, cell.points)
        reference = self.references[chapter.name][cell.id]
        run = runs.get(cell.id) or CellRun(cell.id)
        answer = runs.get(cell.exercise or "")
        if run.status == "not-run" and answer is not None and answer.status in ("timed-out", "died"):
            run = replace(run, status=answer.status)
        return judge(cell.id, checks_of(cell), run, reference, max_score=cell.points)

    def _settle(self, handin: Handin, chapter: Chapter, status: SubmissionStatus, notes: list[Note]) -> None:
        """A hand-in that gets no grade: missing or unreadable."""
        max_score = sum(cell.points for cell in chapter.checks if cell.exercise not in self.course.skipped)
        result = SubmissionResult(
            handin.student,
            handin.chapter,
            status,
            None,
            max_score,
            source=_source(handin),
            notes=notes,
        )
        notebook = None
        if status == "unreadable":
            notebook = unreadable_notebook(chapter, result)
        self._write(handin, result, frozenset(), notebook)

    def _write(
        self, handin: Handin, result: SubmissionResult, unanswered: frozenset[str], notebook: dict[str, Any] | None
    ) -> None:
        log.info("%s/%s: %s, %.2f s", result.student, result.chapter, result.status, result.seconds)
        for note in result.notes:
            log.info("%s/%s: [%s] %s", result.student, result.chapter, note.code, note.text)
        self._batch.append(Written(result, self._fingerprint(handin), handin.timestamp, unanswered, notebook))
        if len(self._batch) >= BATCH_SIZE or time.monotonic() - self._flushed > BATCH_SECONDS:
            self._flush()

    def _flush(self) -> None:
        batch, self._batch = self._batch, []
        self._flushed = time.monotonic()
        if batch:
            with whole():  # the notebooks to show are in their places before the transaction ends
                self.book.write(batch)
            for item in batch:
                self.results.append(item.result)
                self.on_result(item.result)

    def _fingerprint(self, handin: Handin) -> str:
        return hashlib.sha256(
            f"{handin.mark} {handin.timestamp} {self._marks[handin.chapter]} {self.engine.name} {self.engine.device}".encode()
        ).hexdigest()


def sums(exercises: list[ExerciseResult]) -> tuple[float, float]:
    """Score and maximum over what the machine graded."""
    automatic = [exercise for exercise in exercises if not exercise.manual]
    return sum(e.score or 0.0 for e in automatic), sum(e.max_score for e in automatic)


def chapter_mark(chapter: Chapter, seed: int) -> str:
    """What a grade depends on besides the submission: chapter, seed and environment."""
    cells = [(cell.id, cell.source, cell.released, cell.points) for cell in chapter.cells]
    environment = [seed, __version__, torch_version(), sys.version]
    return hashlib.sha256(json.dumps([cells, environment]).encode()).hexdigest()


def torch_version() -> str:
    """The installed torch, without importing it; "" where there is none."""
    try:
        return version("torch").partition("+")[0]
    except PackageNotFoundError:
        return ""


def _discard_copies(handin: Handin) -> None:
    """Remove the copies of files beside a notebook that is done with: those of a class together would fill the disk."""
    for _, copy in handin.files:
        copy.unlink(missing_ok=True)


def _source(handin: Handin) -> Source | None:
    return Source(handin.path, handin.sha256, handin.attempt) if handin.notebook is not None else None


def _notebook_cell(cell: Any) -> dict[str, Any]:
    return {"id": cell.id, "cell_type": cell.cell_type, "source": cell.source, "metadata": cell.metadata}
