"""A check cell runs in a forked copy of the run, so that cells after it see nothing that it brought.

The copy runs the cell's visible part when its turn comes, and stops. It goes on with the hidden part when every cell of the
notebook has run: until then no process of the run has read a word of it.
"""

from __future__ import annotations

import asyncio
import base64
import builtins
import contextlib
import io
import json
import marshal
import os
import signal
import stat
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from autograder.checks.probe import Probe
from autograder.checks.seeds import seed_everything
from autograder.engine.inside.births.memory import fork
from autograder.engine.inside.cells.streams import Mute, Stream
from autograder.engine.inside.wire import Wire

_BUILTINS = frozenset(name for name in vars(builtins) if not name.startswith("_"))
Emit = Callable[[dict[str, Any]], object]
_FINE, _FAILED, _BROKEN = 64, 65, 70  #: exit codes; 0 is what an answer that ends the process is likely to use
#: What to wait for beside a copy's end: that it stops and, in its visible part, that somebody else has woken it since.
HIDDEN = os.WUNTRACED
VISIBLE = HIDDEN | os.WCONTINUED


def raw_input(prompt: object = "") -> str:
    from IPython.core.error import StdinNotImplementedError

    raise StdinNotImplementedError("raw_input was called, but this frontend does not support input requests.")


class Observer:
    """Runs the programs of one check cell.

    Parameters
    ----------
    order : dict
        id, exercise and seed of the cell.
    space : dict
        The namespace of the cells. The programs get a copy, where a name that they bind hides nothing from the functions of
        the cells, and where no name of a cell hides a builtin.
    emit : callable
        Takes a message per observation.
    """

    def __init__(self, order: dict[str, Any], space: dict[str, Any], emit: Emit) -> None:
        self.id, self.seed, self.emit = order["id"], order["seed"], emit
        self.space = {name: value for name, value in space.items() if name not in _BUILTINS}
        self.probe = Probe(order["exercise"] or order["id"], order["seed"], self._observed)

    def _observed(self, label: str, value: Any) -> None:
        self.emit({"type": "observation", "id": self.id, "label": label, "value": value})

    def run(self, program: dict[str, Any], hidden: bool = False) -> bool:
        """Run input statements and calls of `check`, sent as "source" or as "code"; returns whether they went through.

        What a part draws depends on nothing that ran before it.
        """
        seed_everything(self.seed, self.id, *(["hidden"] if hidden else []))
        self.space["check"] = self.probe
        try:
            if "code" in program:
                code = marshal.loads(base64.b64decode(program["code"]))
            else:
                code = compile(program["source"], f"<{self.id}>", "exec", dont_inherit=True)
            exec(code, self.space)
        except BaseException as error:
            text = "".join(traceback.format_exception_only(error)).strip()
            self.emit({"type": "failed", "id": self.id, "text": text[:2000]})
            return False
        return True


def silence() -> None:
    """Nothing is read or shown from now on: streams, descriptors and `input` stay as they are here."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
    sys.stdin = io.StringIO()
    sys.stdout, sys.stderr = Stream(Mute(), "stdout", 1), Stream(Mute(), "stderr", 2)
    builtins.input = raw_input
    with contextlib.suppress(Exception):
        asyncio._set_running_loop(None)  # a check may start its own event loop


def observe(wire: Wire, order: dict[str, Any], space: dict[str, Any]) -> bool:
    """In the copy: read the visible part and run it; where `pause` is ordered, stop, and do the same with the hidden part.

    Neither has been in the process that was copied.
    """
    silence()
    observer = Observer(order, space, wire.send)
    program = wire.receive()
    if program is None or not observer.run(program):
        return False
    if not order["pause"] or observer.probe.timed_out:
        return True
    signal.signal(signal.SIGCONT, signal.SIG_DFL)
    let_be_measured(True)
    os.kill(os.getpid(), signal.SIGSTOP)
    while not wire.next_begins(beginning(order["id"])):  # somebody else has woken it: what comes is not for it
        os.kill(os.getpid(), signal.SIGSTOP)
    let_be_measured(False)
    program = wire.receive()
    return program is not None and observer.run(program, hidden=True)


def beginning(id: str) -> str:
    """How a message with a program begins."""
    return '{"id":' + json.dumps(id)


def child(run: Callable[[], bool]) -> int:
    """Fork; the copy calls `run` and ends. Returns its pid."""
    pid = fork()
    if pid == 0:
        code = _BROKEN
        try:
            code = _FINE if run() else _FAILED
        finally:
            os._exit(code)
    return pid


def let_be_measured(yes: bool) -> None:
    """Whether the grader may ask the kernel which of this process's pages are its own, also where root does not grade."""
    if sys.platform == "linux":
        from autograder.engine.inside.wall.syscalls import PR_SET_DUMPABLE, prctl

        prctl(PR_SET_DUMPABLE, int(yes))


def wait(pid: int, events: int) -> str:
    """Wait for the copy: "paused", "ran", "error", "died", or "killed" where SIGINT said that its time is over.

    Its end always counts. `events` says what else does: `HIDDEN`, that it stops; `VISIBLE`, that somebody wakes it as well.
    """
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _, code = os.waitpid(pid, events)
    except KeyboardInterrupt:
        end(pid)
        return "killed"
    except ChildProcessError:
        return "died"
    return outcome(pid, code)


def outcome(pid: int, code: int) -> str:
    """What the status that `os.waitpid` gave for a copy means."""
    if os.WIFCONTINUED(code):  # it would wait for a program that comes much later
        end(pid)
    if os.WIFSTOPPED(code):
        return "paused"
    if os.WIFEXITED(code):
        return {_FINE: "ran", _FAILED: "error"}.get(os.WEXITSTATUS(code), "died")
    return "died"


def is_stopped(pid: int) -> bool:
    """Whether the process has stopped. Told by its state, which a signal changes at once; its end takes longer."""
    if not os.path.isdir("/proc/self"):  # nobody can say; whoever wakes it loses its hidden part
        return True
    try:
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] == b"T"
    except (OSError, IndexError):
        return False


def end(pid: int) -> None:
    """End a copy."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.waitpid(pid, 0)


@contextlib.contextmanager
def no_trace(work: str, waiting: set[int] | None = None) -> Iterator[set[int]]:
    """End the processes and take away the files that come in the block, but for the processes that it adds to the set.

    `waiting` are copies that have stopped: they have no children, so nobody needs to look for any.
    """
    files, others = Files(work), descendants(waiting)
    try:
        yield others
    finally:
        for pid in descendants(waiting) - others:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        files.put_back()


def descendants(childless: set[int] | None = None) -> set[int]:
    """The processes that descend from this one, itself left out; `childless` ones are not looked into."""
    found: set[int] = set()
    todo = [os.getpid()]
    while todo:
        parent = todo.pop()
        with contextlib.suppress(OSError, ValueError):
            for task in os.listdir(f"/proc/{parent}/task"):
                new = set(map(int, _read(f"/proc/{parent}/task/{task}/children").split())) - found
                found |= new
                todo += new - childless if childless else new
    return found


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 1 << 16)
    finally:
        os.close(file)


class Files:
    """The files of the work folder before a check cell. Small ones can be written back."""

    _LARGEST = 16 * 2**20

    def __init__(self, work: str) -> None:
        self.work = work
        self.stats = dict(self._walk())
        self.contents: dict[str, bytes] = {}
        room = self._LARGEST
        for path, (size, _, is_regular) in self.stats.items():
            if is_regular and size <= room:  # to read a pipe, or what a link leads to, could take for ever
                with contextlib.suppress(OSError):
                    self.contents[path] = Path(path).read_bytes()
                    room -= size

    def _walk(self) -> Iterator[tuple[str, tuple[int, int, bool]]]:
        todo = [self.work]
        while todo:
            with contextlib.suppress(OSError), os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                        continue
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        yield entry.path, (status.st_size, status.st_mtime_ns, stat.S_ISREG(status.st_mode))

    def put_back(self) -> None:
        """Remove files that came, write files that changed or went as they were."""
        now = dict(self._walk())
        for path in now.keys() - self.stats.keys():
            with contextlib.suppress(OSError):
                os.unlink(path)
        for path, data in self.contents.items():
            if now.get(path) != self.stats[path]:
                with contextlib.suppress(OSError):
                    Path(path).parent.mkdir(parents=True, exist_ok=True)
                    Path(path).write_bytes(data)
