"""Two hundred submissions, half of them hostile: honest ones lose nothing, time is bounded, and nothing is left behind."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from autograder.engine import EngineUnavailable
from autograder.engine.inside.wall.isolate import _OUTSIDE
from autograder.engine.processes import descendants
from autograder.grading import campaign
from autograder.grading.book.gradebook import Book
from autograder.grading.campaign import Campaign
from autograder.grading.loading import load_course
from autograder.grading.references import observe_references
from tests.engine.helpers import LIMITS
from tests.engine.test_hostile import ENDLESS, IN_CHECK, KILLED, SURVIVED
from tests.mini_course import RIGHT, filled, hand_in
from tests.test_hostile_marks import ATTACKS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the warm engine needs Linux")

HALF = 100
FIRST = 50_000
OURS = range(_OUTSIDE + FIRST, _OUTSIDE + 60_000)  #: where root grades: users that no other engine's runs have
SLEEP = "sleep 613725"  # no other process has this command line
STAYS = f"import subprocess\nfor _ in range(3):\n    subprocess.Popen(['setsid', '-f', *{SLEEP!r}.split()], start_new_session=True)"
#: one submission each: these end by their limit only
SLOW = {"endless loop", "sleep", "fork that returns", "memory of children", *ENDLESS}
SLOW_CHECKS = {"loop", "loop that swallows"}


def hostile_answers() -> list[str]:
    """A hundred answers to `double`: the slow attacks once, the quick ones in turn."""
    slow = [source for name, source in (SURVIVED | KILLED).items() if name in SLOW]
    quick = [source for name, source in (SURVIVED | KILLED).items() if name not in SLOW]
    quick += [source for source in ATTACKS.values() if source != "POINTS"]
    quick += [s.replace("def bad():", "def double(n):") for name, s in IN_CHECK.items() if name not in SLOW_CHECKS]
    quick.append(STAYS)
    return slow + list(itertools.islice(itertools.cycle(quick), HALF - len(slow)))


@dataclass
class Seen:
    """The processes and namespaces that came into being below a process, looked at again and again."""

    root: int
    processes: set[tuple[int, str]] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)
    users: set[int] = field(default_factory=set)
    ended: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        own = set(_namespaces(os.getpid()))
        while not self.ended.wait(0.05):
            for pid in descendants(self.root):
                self.processes.add((pid, _born(pid)))
                self.users.add(_user(pid))
                self.namespaces |= set(_namespaces(pid)) - own


def _namespaces(pid: int) -> list[str]:
    found = []
    for name in ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts"):
        try:
            found.append(os.readlink(f"/proc/{pid}/ns/{name}"))
        except OSError:
            continue
    return found


def _born(pid: int) -> str:
    """When a process started, in ticks; "" where it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _everybody() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _user(pid: int) -> int:
    """The user that a process runs as, -1 where it has ended."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return int(file.read().partition("\nUid:")[2].split()[0]) if _born(pid) else -1
    except OSError:
        return -1


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _owner(path: str) -> int:
    try:
        return os.lstat(path).st_uid
    except OSError:
        return -1


def _tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.lstat().st_size, p.lstat().st_mtime_ns) for p in folder.rglob("*")}


@pytest.fixture(scope="module")
def graded(built_course, tmp_path_factory):
    from autograder.engine.births.warm import WarmEngine

    base = tmp_path_factory.mktemp("hostile-class")
    root, temporary = base / "course", base / "temporary"
    temporary.mkdir()
    shutil.copytree(built_course, root)
    for number, source in enumerate(hostile_answers()):
        hand_in(root, f"x{number:03}", filled(root, {**RIGHT, "double": source}))
        hand_in(root, f"y{number:03}", filled(root, RIGHT))
    course = load_course(root)
    handed_in, descriptors = _tree(root / "submitted"), len(os.listdir("/proc/self/fd"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(temporary))
        patch.setattr(campaign, "OWN_LIMIT", 1.5)
        try:
            engine = WarmEngine(jobs=2, limits=LIMITS)
        except EngineUnavailable as error:
            pytest.skip(str(error))
        engine._places = itertools.count(FIRST)
        seen = Seen(engine._parent.process.pid)
        watcher = threading.Thread(target=seen.watch)
        watcher.start()
        try:
            with engine, Book.open(f"sqlite:///{root}/gradebook.db", course.course_id, root / "autograded") as book:
                for chapter in course.chapters.values():
                    book.register(chapter)
                references = observe_references(engine, course.chapters.values(), 3)
                start = time.monotonic()
                result = Campaign(course, engine, book, references, 3, deadline=15.0).run(root / "submitted")
                seconds = time.monotonic() - start
        finally:
            seen.ended.set()
            watcher.join()
    until = time.monotonic() + 5
    while any(_born(pid) == born != "" for pid, born in seen.processes) and time.monotonic() < until:
        time.sleep(0.05)
    return {
        "results": {submission.student: submission for submission in result.submissions},
        "seconds": seconds,
        "seen": seen,
        "root": root,
        "temporary": temporary,
        "handed in": handed_in,
        "descriptors": descriptors,
        "scratch": engine._parent.scratch,
    }


def test_honest_submissions_lose_nothing(graded) -> None:
    honest = [result for name, result in graded["results"].items() if name.startswith("y")]
    assert [(r.student, r.status, r.score, r.notes) for r in honest] == [
        (f"y{n:03}", "graded", 5.0, []) for n in range(HALF)
    ]


def test_hostile_ones_get_what_is_honest_in_them_at_most(graded) -> None:
    hostile = [result for name, result in graded["results"].items() if name.startswith("x")]
    assert len(hostile) == HALF
    for result in hostile:
        assert (result.status, result.max_score) == ("graded", 5.0)
        assert {e.id: e.score for e in result.exercises}["check-double"] == 0.0, result
    assert sum(result.score == 1.0 for result in hostile) > 0.8 * HALF  # the prediction beside the attack counts


def test_time_is_bounded(graded) -> None:
    assert all(result.seconds < 20 for result in graded["results"].values())
    assert graded["seconds"] < 300


def test_no_process_and_no_namespace_is_left(graded) -> None:
    seen = graded["seen"]
    assert len(seen.processes) > HALF / 2 and len(seen.namespaces) > HALF
    assert [pid for pid, born in seen.processes if _born(pid) == born != ""] == []
    assert os.geteuid() != 0 or seen.users & set(OURS)
    everybody = _everybody()
    assert [pid for pid in everybody if _command(pid) == SLEEP] == []
    assert [pid for pid in everybody if graded["scratch"] in _command(pid)] == []
    until = time.monotonic() + 5  # the last ones may be seen while they end
    while (left := [pid for pid in _everybody() if _user(pid) in OURS]) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []
    # A namespace lives by its processes, descriptors and mounts. Its number may be used again, by other runs of an engine.
    held = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if int(name) > 2 and
            os.path.lexists(f"/proc/self/fd/{name}")]  # fmt: skip
    assert not seen.namespaces.intersection(held)
    assert len(held) <= graded["descriptors"] + 3


def test_no_file_and_no_mount_is_left(graded) -> None:
    assert os.listdir(graded["temporary"]) == []
    for folder in ("/tmp", "/dev/shm"):
        assert [name for name in os.listdir(folder) if _owner(os.path.join(folder, name)) in OURS] == []
    assert _tree(graded["root"] / "submitted") == graded["handed in"]
    known = {"source", "notebooks", "submitted", "autograded", "gradebook.db", "nbgrader_config.py", "pyproject.toml"}
    assert set(os.listdir(graded["root"])) <= known
    with open("/proc/self/mountinfo") as file:
        assert graded["scratch"] not in file.read()
    for pid in _everybody():  # nor in the mounts of any other process
        try:
            with open(f"/proc/{pid}/mountinfo") as file:
                assert graded["scratch"] not in file.read()
        except OSError:
            continue
