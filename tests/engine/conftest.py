from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from autograder.engine import EngineUnavailable
from tests.engine.helpers import LIMITS

if sys.platform != "linux":
    collect_ignore_glob = ["test_hostile*.py", "test_warm.py", "test_parity.py"]


@pytest.fixture(scope="session")
def warm() -> Iterator[object]:
    """A shut-in warm engine, two jobs at once."""
    from autograder.engine.births.warm import WarmEngine

    try:
        engine = WarmEngine(isolated=True, jobs=2, limits=LIMITS)
    except EngineUnavailable as error:
        pytest.skip(str(error))
    with engine:
        yield engine
