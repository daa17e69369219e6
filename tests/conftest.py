import os

import pytest

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
