import contextlib
import os
import signal
import subprocess

import pytest
from click.testing import CliRunner

import autograder.engine
from autograder.cli.main import main
from autograder.engine import open_engine

os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")


@pytest.fixture(scope="session")
def engine():
    """The engine that this machine offers, open for the whole session."""
    with open_engine(jobs=2) as opened:
        opened.expect(())
        yield opened


@pytest.fixture(scope="session")
def built_course(tmp_path_factory):
    """A small course, built once; tests must not write into it."""
    from tests import mini_course

    return mini_course.make(tmp_path_factory.mktemp("course"))


@pytest.fixture
def course(built_course, tmp_path):
    """A copy of the small course to write into."""
    import shutil

    root = tmp_path / "course"
    shutil.copytree(built_course, root)
    return root


@pytest.fixture
def signals_as_in_a_terminal():
    """For tests of Ctrl-C: the processes that they start inherit what a shell has told us to ignore (`&`, `nohup`)."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    usual = {getattr(signal, name): signal.SIG_DFL for name in names if hasattr(signal, name)}
    usual[signal.SIGINT] = signal.default_int_handler
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def autograder_here(engine, monkeypatch):
    """A function of a folder and words: the command line in this process. It answers as `subprocess.run` does.

    An engine that would be the usual one is that of all tests: to start one takes seconds.
    """

    def open_shared(kind="auto", sandbox="auto", jobs=2, *, device="cpu", **more):
        if (kind, sandbox, device, more) == ("auto", "auto", "cpu", {}):
            return contextlib.nullcontext(engine)
        return open_engine(kind, sandbox, jobs, device=device, **more)

    def run(folder, *words):
        monkeypatch.chdir(folder)
        done = CliRunner().invoke(main, words)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

    monkeypatch.setattr(autograder.engine, "open_engine", open_shared)
    return run
