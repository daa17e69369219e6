"""What a cell writes: Python's streams and the bare descriptors 1 and 2, in the order in which it was written."""

from __future__ import annotations

import io
import os
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from autograder.engine.inside.wire import WireError

CELL_CHARACTERS = 1_000_000  #: of stream text that one cell may send; the rest is counted and dropped
_EAGER = 64  #: writes of a cell that are sent at once, so that a killed cell still shows its beginning
_PIECE = 16_384  #: characters held back at most after that
_PAUSE = 0.05  #: seconds held back at most after that

Post = Callable[[dict[str, Any]], object]


class Desk:
    """Collects stream text and sends it on, merged where one stream goes on writing.

    Parameters
    ----------
    post : callable
        Takes one message.
    captured : dict of str to int
        Descriptors of the files behind descriptor 1 ("stdout") and 2 ("stderr").
    """

    def __init__(self, post: Post, captured: dict[str, int]) -> None:
        self._post, self.pid = post, os.getpid()
        self.captured = captured
        self.lock = threading.RLock()
        self.begin()

    def post(self, message: dict[str, Any]) -> None:
        """Send a message. Of a forked copy of the run only what it prints arrives, by way of the descriptors."""
        if os.getpid() == self.pid:
            try:
                self._post(message)
            except WireError as error:
                self.cut += error.size
        elif message["type"] == "stream":
            os.write(1 if message["name"] == "stdout" else 2, message["text"].encode("utf-8", "replace"))

    def begin(self) -> None:
        """Start a cell: forget what was counted, and what was written to the descriptors between cells."""
        self.name, self.size = "stdout", 0
        self.parts: list[str] = []
        self.writes, self.sent, self.cut, self.last = 0, 0, 0, 0.0
        for descriptor in self.captured.values():
            os.ftruncate(descriptor, 0)

    def write(self, name: str, text: str) -> None:
        with self.lock:
            self._drain()
            self._take(name, text)

    def flush(self) -> None:
        with self.lock:
            self._drain()
            self._send()

    def end(self) -> int:
        """Send what is left; returns how many characters were cut."""
        self.flush()
        return self.cut

    def _take(self, name: str, text: str) -> None:
        room = CELL_CHARACTERS - self.sent - self.size
        if len(text) > room:
            self.cut += len(text) - max(room, 0)
            text = text[: max(room, 0)]
            if not text:
                return
        if name != self.name:
            self._send()
            self.name = name
        self.parts.append(text)
        self.size += len(text)
        self.writes += 1
        now = time.monotonic()
        if self.writes <= _EAGER or self.size >= _PIECE or now - self.last > _PAUSE:
            self._send()
            self.last = now

    def _send(self) -> None:
        if self.parts:
            text = "".join(self.parts)
            self.parts, self.size = [], 0
            self.sent += len(text)
            self.post({"type": "stream", "name": self.name, "text": text})

    def _drain(self) -> None:
        if os.getpid() != self.pid:
            return
        for name, descriptor in self.captured.items():
            size = os.lseek(descriptor, 0, os.SEEK_END)
            if size:
                text = os.pread(descriptor, min(size, 4 * CELL_CHARACTERS), 0).decode("utf-8", "replace")
                os.ftruncate(descriptor, 0)
                self.cut += max(size - 4 * CELL_CHARACTERS, 0)
                self._take(name, text)


class Mute:
    """A desk that passes nothing on."""

    def write(self, name: str, text: str) -> None: ...

    def flush(self) -> None: ...


class Stream(io.TextIOBase):
    """`sys.stdout` or `sys.stderr` of a cell; looks like a kernel's."""

    encoding = "UTF-8"
    errors = "strict"

    def __init__(self, desk: Desk | Mute, name: str, descriptor: int) -> None:
        self._desk, self.name, self._descriptor = desk, name, descriptor

    def write(self, string: str) -> int:
        if not isinstance(string, str):
            raise TypeError(f"write() argument must be str, not {type(string)}")
        self._desk.write(self.name, string)
        return len(string)

    def writelines(self, sequence: Any) -> None:
        for string in sequence:
            self.write(string)

    def flush(self) -> None:
        self._desk.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._descriptor


def _memory_file(name: str) -> tuple[int, int]:
    """A file without a name: a descriptor that reads it, and one that writes at its end, wherever that is by then."""
    try:
        reader = os.memfd_create(name, os.MFD_CLOEXEC)
        return reader, os.open(f"/proc/self/fd/{reader}", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except (AttributeError, OSError):  # not Linux, or somebody refuses
        reader, path = tempfile.mkstemp()
        try:
            return reader, os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        finally:
            os.unlink(path)


def capture_descriptors() -> dict[str, int]:
    """Point descriptors 1 and 2 at nameless files in memory; returns the files.

    A file, not a pipe: whoever writes never blocks, and a child that keeps it open holds nobody up.
    """
    files = {}
    for name, target in (("stdout", 1), ("stderr", 2)):
        files[name], writer = _memory_file(name)
        os.dup2(writer, target)
        os.close(writer)
    return files
