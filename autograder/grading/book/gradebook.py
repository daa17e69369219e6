"""nbgrader's gradebook, written in batches.

The rows are those that nbgrader's own steps would write, so its command line, formgrader, feedback and export work over
them. nbgrader opens the database anew for every preprocessor and looks up every cell by itself; here a batch is one
transaction with a handful of statements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

import sqlalchemy as sa
from traitlets.config import Config

from autograder.grading.book import rows
from autograder.grading.book.autograded import files_of, folder_of, publish
from autograder.grading.book.cells import chapter_ids, store_chapter
from autograder.grading.book.database import SETTING, SUBMISSION, WAIT, BookError, Database
from autograder.grading.book.entries import Written, enter_chapter, moment, storable
from autograder.grading.book.late import penalty_rule, seconds_late
from autograder.grading.book.standing import ByHand, GradeRow, by_hand, grade_rows
from autograder.grading.course import Chapter
from autograder.grading.results import ClassResult, SubmissionResult

__all__ = ["Book", "BookError", "ByHand", "GradeRow", "Written"]

Key = tuple[str, str]  #: (student, chapter)


class Book:
    """An open gradebook. Use it as a context manager.

    Every method raises BookError, one sentence, where the database or a file refuses; then nothing was changed.
    """

    def __init__(self, database: Database, autograded: Path | None = None, config: Config | None = None) -> None:
        self._database = database
        self._autograded = autograded
        self._penalty = penalty_rule(config)

    @classmethod
    def open(
        cls,
        url: str,
        course_id: str,
        autograded: Path | None = None,
        config: Config | None = None,
        wait: float = WAIT,
    ) -> Book:
        """Open a gradebook, or make one.

        Parameters
        ----------
        url : str
            Any SQLAlchemy URL that nbgrader accepts.
        course_id : str
            A gradebook of another course is refused.
        autograded : Path or None
            The folder for the notebooks to show; None writes none.
        config : traitlets Config or None
            nbgrader's configuration (`late.read_config`); it names the rule for late submissions.
        wait : float
            Seconds to wait for another writer (SQLite).
        """
        return cls(Database(url, course_id, wait), autograded, config)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def __enter__(self) -> Book:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def register(self, chapter: Chapter) -> None:
        """Enter a chapter: assignment, notebook and cells, as `nbgrader generate_assignment` would.

        An equal chapter changes nothing. A changed one keeps every grade: new cells get an open grade in every
        submission; cells that are gone go with their automatic grades.

        Raises
        ------
        BookError
            A cell that is gone has scores or comments given by hand.
        """
        with self._database.writing() as connection:
            store_chapter(connection, self._database.course_id, chapter)

    def write(self, batch: Iterable[Written]) -> None:
        """Enter submissions, the notebooks to show included: all of them or, where anything fails, none.

        Scores, extra credit and comments given by hand stay. A cell needs a person when it has no automatic score, or
        when it has a score given by hand and the submission or its automatic score has changed since.
        """
        newest = {_key(item.result): item for item in batch}
        if not newest:
            return
        for tries_left in (2, 1, 0):
            try:
                with self._database.writing() as connection:
                    taken_back = self._enter(connection, newest)
                    publish(self._files(newest, taken_back))
                return
            except BookError as error:
                # A database with several writers at once: another one has just entered the same student.
                if not tries_left or not isinstance(error.__cause__, sa.exc.IntegrityError):
                    raise

    def settle(self, chapters: Iterable[str]) -> None:
        """Work out late penalties anew for all submissions of these chapters: a due date may have moved."""
        with self._database.writing() as connection:
            for chapter in chapters:
                self._charge(connection, chapter, None)

    def students(self) -> list[str]:
        """Everybody in the gradebook, by id."""
        with self._database.reading() as connection:
            return list(connection.scalars(sa.select(rows.STUDENT.c.id).order_by(rows.STUDENT.c.id)))

    def fingerprints(self) -> dict[Key, str]:
        """(student, chapter) to the fingerprint of what was graded.

        Left out is what must be graded again: its submission was removed from the gradebook, or its notebook to show is
        gone.
        """
        query = _kept(SUBMISSION.c.student, SUBMISSION.c.chapter, SUBMISSION.c.fingerprint)
        with self._database.reading() as connection:
            found = connection.execute(query).all()
        return {(student, chapter): mark for student, chapter, mark in found if self._is_shown(student, chapter)}

    def setting(self, name: str) -> str | None:
        """A value kept in this gradebook, or None."""
        with self._database.reading() as connection:
            value = connection.scalar(sa.select(SETTING.c.value).where(SETTING.c.name == name))
        return None if value is None else str(value)

    def keep(self, name: str, value: str) -> None:
        """Keep a value in this gradebook."""
        with self._database.writing() as connection:
            connection.execute(SETTING.delete().where(SETTING.c.name == name))
            connection.execute(SETTING.insert().values(name=name, value=value))

    def previous(self, student: str, chapter: str) -> SubmissionResult | None:
        """The result that was entered last, or None."""
        query = sa.select(SUBMISSION.c.result).where(
            SUBMISSION.c.student == storable(student), SUBMISSION.c.chapter == chapter
        )
        with self._database.reading() as connection:
            text = connection.scalar(query)
        return None if text is None else _decode([text])[0]

    def results(self) -> list[SubmissionResult]:
        """The results that were entered last, by chapter and student, of submissions still in the gradebook."""
        query = _kept(SUBMISSION.c.result).order_by(SUBMISSION.c.chapter, SUBMISSION.c.student)
        with self._database.reading() as connection:
            return _decode(connection.scalars(query))

    def by_hand(self) -> dict[Key, ByHand]:
        """What people gave, by submission; only where they gave any."""
        with self._database.reading() as connection:
            return by_hand(connection)

    def rows(self) -> list[GradeRow]:
        """Every student's standing in every chapter, by chapter and student: what `grades.csv` says."""
        with self._database.reading() as connection:
            return grade_rows(connection)

    def _enter(self, connection: sa.Connection, batch: Mapping[Key, Written]) -> list[Key]:
        """Enter a batch; returns what was taken back, and so has nothing to show."""
        rows.add_students(connection, [student for student, _ in batch])
        handed_in = {key: item for key, item in batch.items() if item.result.status != "missing"}
        before = rows.recorded_hashes(connection, [student for student, _ in handed_in])
        for chapter in sorted({chapter for _, chapter in handed_in}):
            items = {student: item for (student, name), item in handed_in.items() if name == chapter}
            unchanged = {s for s, item in items.items() if before.get((s, chapter)) == _sha256(item.result)}
            enter_chapter(connection, chapter_ids(connection, chapter), items, unchanged)
            self._charge(connection, chapter, list(items))
        # What is gone was perhaps unreadable before: the gradebook is not to say so any longer.
        gone = batch.keys() - handed_in.keys()
        found = rows.unreadable(connection, [student for student, _ in gone])
        old = {key: row for key, row in found.items() if key in gone}
        rows.remove_submitted(connection, [row for row in old.values() if row is not None])
        told = handed_in | {key: batch[key] for key in old}
        rows.record(connection, [_record(key, item) for key, item in told.items()], {*before, *old})
        return [key for key, row in old.items() if row is not None]

    def _files(self, batch: Mapping[Key, Written], taken_back: Iterable[Key]) -> dict[Path, bytes | None]:
        files: dict[Path, bytes | None] = {}
        if self._autograded is not None:
            for item in batch.values():
                if item.notebook is not None:
                    student, chapter = item.result.student, item.result.chapter
                    files |= files_of(self._autograded, student, chapter, item.notebook, moment(item))
            for student, chapter in taken_back:
                files |= files_of(self._autograded, student, chapter, None)
        return files

    def _charge(self, connection: sa.Connection, chapter: str, students: Sequence[str] | None) -> None:
        """Write the late penalty of each submitted notebook of a chapter."""
        changes = []
        for part in [None] if students is None else rows.chunks(students):
            query = rows.scores(chapter)
            if part is not None:
                query = query.where(rows.SUBMITTED.c.student_id.in_(part))
            for notebook, old, student, timestamp, extension, due, score in connection.execute(query):
                new = self._penalty(student, score, seconds_late(timestamp, due, extension))
                if new != old:
                    changes.append({"row": notebook, "penalty": new})
        if changes:
            update = rows.NOTEBOOK.update().where(rows.NOTEBOOK.c.id == sa.bindparam("row"))
            connection.execute(update.values(late_submission_penalty=sa.bindparam("penalty")), changes)

    def _is_shown(self, student: str, chapter: str) -> bool:
        if self._autograded is None:
            return True
        return (folder_of(self._autograded, student, chapter) / f"{chapter}.ipynb").is_file()


def _kept(*columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select from what we recorded, where nbgrader still has the submission."""
    same = (rows.SUBMITTED.c.assignment_id == rows.ASSIGNMENT.c.id) & (
        rows.SUBMITTED.c.student_id == SUBMISSION.c.student
    )
    return (
        sa.select(*columns)
        .select_from(SUBMISSION)
        .join(rows.ASSIGNMENT, rows.ASSIGNMENT.c.name == SUBMISSION.c.chapter)
        .join(rows.SUBMITTED, same)
    )


def _record(key: Key, item: Written) -> dict[str, str]:
    return {
        "student": key[0],
        "chapter": key[1],
        "status": item.result.status,
        "fingerprint": item.fingerprint,
        "sha256": _sha256(item.result),
        "result": json.dumps(asdict(item.result)),
    }


def _decode(texts: Iterable[str]) -> list[SubmissionResult]:
    items = [json.loads(text) for text in texts]
    return ClassResult.from_dict({"course": "", "seed": 0, "torch": "", "submissions": items}).submissions


def _key(result: SubmissionResult) -> Key:
    return storable(result.student), result.chapter


def _sha256(result: SubmissionResult) -> str:
    return result.source.sha256 if result.source else ""
