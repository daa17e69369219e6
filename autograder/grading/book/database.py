"""The database under a gradebook: opened, checked, and written in transactions that leave nothing half done.

The tables are nbgrader's. One table is ours, `autograder_submission`: what was graded, from what, with which result.
nbgrader never looks at it, and it refers to no table of nbgrader's, so removing a student there is not hindered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.script import ScriptDirectory
from nbgrader.api import Base
from nbgrader.dbutil import ALEMBIC_DIR
from sqlalchemy.dialects import mysql

WAIT = 30.0  #: seconds to wait for another writer

_OWN = sa.MetaData()

SUBMISSION = sa.Table(
    "autograder_submission",
    _OWN,
    sa.Column("student", sa.String(128), primary_key=True),
    sa.Column("chapter", sa.String(128), primary_key=True),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("fingerprint", sa.String(128), nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),
    sa.Column("result", sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb"), nullable=False),
)
SETTING = sa.Table(
    "autograder_setting",
    _OWN,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("value", sa.String(256), nullable=False),
)
_VERSION = sa.Table("alembic_version", _OWN, sa.Column("version_num", sa.String(32), primary_key=True))

NBGRADER_DEFAULT = "default_course"  #: the course that nbgrader's own preprocessors add to every gradebook


class BookError(Exception):
    """The gradebook cannot be used; the text is one sentence that says what, where and what to do."""


def exists(url: str) -> bool:
    """Whether there is something to open at a gradebook URL, found out without making it."""
    try:
        parts = sa.make_url(url)
    except sa.exc.ArgumentError:
        return True  # opening it says what is wrong
    return parts.get_backend_name() != "sqlite" or (parts.database is not None and Path(parts.database).exists())


class Database:
    """An engine over a gradebook of one course.

    Parameters
    ----------
    url : str
        Any SQLAlchemy URL that nbgrader accepts.
    course_id : str
        A gradebook that holds assignments of another course is refused.
    wait : float
        Seconds to wait while another program writes (SQLite).

    Raises
    ------
    BookError
        No such folder, not a gradebook, read-only, locked, another course, an older nbgrader.
    """

    def __init__(self, url: str, course_id: str, wait: float = WAIT) -> None:
        self.course_id = course_id
        try:
            self.url = sa.make_url(url)
            self.place = self.url.database or self.url.render_as_string(hide_password=True)
            self.engine = sa.create_engine(self.url, connect_args=_connect_args(self.url, wait))
        except ModuleNotFoundError as error:
            raise BookError(
                f"The gradebook needs the Python package {error.name!r}: install it, or name another URL."
            ) from error
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError) as error:
            raise BookError(
                f"{url!r} is not a gradebook URL: write it as sqlite:///gradebook.db or another SQLAlchemy URL."
            ) from error
        if self.url.get_backend_name() == "sqlite":
            sa.event.listen(self.engine, "connect", _on_connect)
            sa.event.listen(self.engine, "begin", _on_begin)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection to read from."""
        with self._sentences(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction: all of it is written at the end, or nothing. SQLite has one writer at a time; others wait."""
        with self._sentences(), self.engine.execution_options(write=True).begin() as connection:
            yield connection

    def _prepare(self) -> None:
        """Create what is absent; refuse what is not a gradebook of this course."""
        with self.reading() as connection:
            present = set(sa.inspect(connection).get_table_names())
        wanted = {*Base.metadata.tables, *_OWN.tables}
        if present and not present & set(Base.metadata.tables):
            raise BookError(f"{self.place} is a database, but no gradebook: name another file.")
        if not wanted <= present:
            with self.writing() as connection:
                fresh = not present & set(Base.metadata.tables)
                Base.metadata.create_all(connection)
                _OWN.create_all(connection)
                if fresh and connection.scalar(sa.select(sa.func.count()).select_from(_VERSION)) == 0:
                    connection.execute(_VERSION.insert().values(version_num=schema_version()))
        with self.reading() as connection:
            found = connection.scalar(sa.select(_VERSION.c.version_num))
            if found is not None and found != schema_version():
                raise BookError(
                    f"The gradebook {self.place} was made by another version of nbgrader: run `nbgrader db upgrade`."
                )
            course, assignment = Base.metadata.tables["course"], Base.metadata.tables["assignment"]
            courses = set(connection.scalars(sa.select(course.c.id)))
            owners = set(connection.scalars(sa.select(assignment.c.course_id).distinct()))
        others = sorted((owners or courses - {NBGRADER_DEFAULT}) - {self.course_id})
        if others and not (not owners and self.course_id in courses):
            raise BookError(
                f"The gradebook {self.place} belongs to the course {others[0]!r}, not to {self.course_id!r}: "
                "name another gradebook."
            )
        if self.course_id not in courses:
            self._add_course(course)

    def _add_course(self, course: sa.Table) -> None:
        """Enter this course, unless another program, opening the same fresh gradebook, has just done so."""
        mine = course.c.id == self.course_id
        try:
            with self.writing() as connection:
                if connection.scalar(sa.select(course.c.id).where(mine)) is None:
                    connection.execute(course.insert().values(id=self.course_id))
        except BookError as error:
            # With several writers at once the other one can still be between our look and our insert.
            if not isinstance(error.__cause__, sa.exc.IntegrityError):
                raise

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn what a database says into a sentence."""
        try:
            yield
        except sa.exc.SQLAlchemyError as error:
            raise BookError(self._sentence(error)) from error

    def _sentence(self, error: sa.exc.SQLAlchemyError) -> str:
        cause = getattr(error, "orig", None) or error
        name = str(getattr(cause, "sqlite_errorname", ""))
        for prefix, sentence in _SQLITE.items():
            if name.startswith(prefix):
                return sentence.format(place=self.place)
        said = str(cause).strip().splitlines() or [type(cause).__name__]
        return f"The gradebook {self.place} cannot be used: {said[0]}"


_SQLITE = {
    "SQLITE_BUSY": "Another program is writing to the gradebook {place}: wait until it is done, then run this again.",
    "SQLITE_LOCKED": "Another program is writing to the gradebook {place}: wait until it is done, then run this again.",
    "SQLITE_READONLY": "The gradebook {place} is read-only: make the file and its folder writable, or name another.",
    "SQLITE_FULL": "The disk that holds the gradebook {place} is full: free some space, then run this again.",
    "SQLITE_CANTOPEN": "The gradebook {place} cannot be opened: check that its folder exists and may be written to.",
    "SQLITE_NOTADB": "{place} is not a gradebook: name another file.",
    "SQLITE_CORRUPT": "The gradebook {place} is damaged: restore a copy of it.",
    "SQLITE_IOERR": "The gradebook {place} cannot be read or written: check the disk, then run this again.",
}


def schema_version() -> str:
    """The version of nbgrader's tables in the installed nbgrader."""
    return str(ScriptDirectory(ALEMBIC_DIR).get_current_head())


def _connect_args(url: sa.URL, wait: float) -> dict[str, Any]:
    if url.get_backend_name() != "sqlite":
        return {}
    named = url.database and url.database != ":memory:" and not url.database.startswith("file:")
    if named and not Path(str(url.database)).parent.is_dir():
        raise BookError(f"The folder of the gradebook {url.database} does not exist: create it, or name another file.")
    return {"timeout": wait}


def _on_connect(connection: Any, _record: Any) -> None:
    # sqlite3 would begin a transaction at the first write only: then two writers that have both read cannot both go on.
    connection.isolation_level = None


def _on_begin(connection: sa.Connection) -> None:
    write = connection.get_execution_options().get("write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
