"""JSON messages over a socket: four bytes of length, then the text. Both sides of the sandbox wall use it."""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

LARGEST = 16 * 2**20  #: bytes of one message; more is a broken peer or a hostile one
PARTS = 2_000_000  #: items of one message at most: small ones take many times their text's memory
_HEAD = struct.Struct("<I")


class WireError(Exception):
    """The peer sent something that is not a message, or was to be sent more than it takes.

    Attributes
    ----------
    size : int
        Bytes of a message that is too long to be sent.
    """

    def __init__(self, text: str, size: int = 0) -> None:
        super().__init__(text)
        self.size = size


class Wire:
    """One end of a channel. Reads exactly one message at a time, never further."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def send(self, message: dict[str, Any]) -> int:
        """Send one message; returns its length in bytes.

        Raises
        ------
        WireError
            Where it is too long.
        """
        body = json.dumps(message, separators=(",", ":")).encode("ascii")
        if len(body) > LARGEST:
            raise WireError("a message that is too long", len(body))
        self.sock.sendall(_HEAD.pack(len(body)) + body)
        return len(body)

    def receive(self) -> dict[str, Any] | None:
        """The next message, or None where the peer has gone. Blocks."""
        head = self._exactly(_HEAD.size)
        if head is None:
            return None
        body = self._exactly(_HEAD.unpack(head)[0])
        return None if body is None else json.loads(body)

    def next_begins(self, text: str) -> bool:
        """Whether the next message begins so. Blocks until there is one, and takes nothing."""
        wanted = text.encode("ascii")
        while True:
            found = self.sock.recv(_HEAD.size + len(wanted), socket.MSG_PEEK)
            body = found[_HEAD.size :]
            if not found or body == wanted or not wanted.startswith(body):
                return body == wanted
            time.sleep(0.001)  # the rest is on its way

    def _exactly(self, size: int) -> bytes | None:
        parts = []
        while size:
            part = self.sock.recv(min(size, 1 << 20))
            if not part:
                return None
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class Inbox:
    """Messages out of bytes as they arrive, from a peer that nobody trusts."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.received = 0  #: bytes so far

    def feed(self, data: bytes) -> None:
        self._buffer += data
        self.received += len(data)

    def next(self) -> dict[str, Any] | None:
        """The next whole message, or None where it has not arrived yet.

        Raises
        ------
        WireError
            Where the bytes are no message.
        """
        if len(self._buffer) < _HEAD.size:
            return None
        (size,) = _HEAD.unpack_from(self._buffer)
        if size > LARGEST:
            raise WireError("a message that is too long")
        if len(self._buffer) < _HEAD.size + size:
            return None
        body = bytes(self._buffer[_HEAD.size : _HEAD.size + size])
        del self._buffer[: _HEAD.size + size]
        if size > PARTS and sum(map(body.count, (b",", b"[", b"{"))) > PARTS:
            raise WireError("a message of too many parts")
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise WireError(f"a message that is not JSON ({type(error).__name__})") from error
        if not isinstance(message, dict):
            raise WireError("a message that is not an object")
        return message
