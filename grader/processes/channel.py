"""Messages between two processes: records as MessagePack, each with its length before it, on a socket.

What comes from a child is data: it is decoded as one of the records that are expected, or the child counts as gone.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

from grader.processes.limits import POLL_READ, POLL_WRITE, wait_for

MAX_MESSAGE_BYTES = 256 << 20
_LENGTH = struct.Struct("<I")
_PIECE_BYTES = 1 << 20
_MOST_DESCRIPTORS = 4
# 0 where the system lacks it: then a socket is asked beforehand whether it is ready.
_DONT_WAIT = getattr(socket, "MSG_DONTWAIT", 0)
_SMALL_PIECE_BYTES = 4096

Received = TypeVar("Received")


class PeerGone(Exception):
    """The other side is gone, or sent what is no message."""


class DeadlinePassed(Exception):
    """No complete message came in time."""


class Channel(Generic[Received]):
    """One end of a conversation.  It is not for several threads.

    connection: a connected stream socket, which belongs to the channel from now on.
    decoder: of all that may come; made beforehand, since msgspec makes a type's decoder at its first use, and two
        threads that do so at once crash the interpreter.
    """

    def __init__(self, connection: socket.socket, decoder: msgspec.msgpack.Decoder[Received]) -> None:
        self._connection = connection
        self._decoder = decoder
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._descriptors: list[int] = []

    def fileno(self) -> int:
        """The socket's descriptor, -1 once closed."""
        return self._connection.fileno()

    def close(self) -> None:
        self._connection.close()

    def send(self, message: object, descriptors: Sequence[int] = ()) -> None:
        """Write one message, and hand over `descriptors` (at most four) with it.

        Raises PeerGone: nobody reads, or the message is larger than `MAX_MESSAGE_BYTES`.
        Raises UnicodeEncodeError: a string in the message is no Unicode text.
        """
        frame = _framed(message)
        try:
            if descriptors:
                sent = socket.send_fds(self._connection, [frame[:1]], list(descriptors))
                frame = frame[sent:]
            self._connection.sendall(frame)
        except OSError as error:
            raise PeerGone(str(error)) from error

    def receive(self, deadline: float | None = None) -> Received:
        """The next message; waits for it until `deadline` on the clock of `time.monotonic`.

        Raises PeerGone: the other end is closed, or what came is none of the messages expected.
        Raises DeadlinePassed: it was not complete in time.
        """
        while (message := self._next()) is None:
            if self.fileno() < 0:
                # Closed by another thread: nothing comes any more, and no event says so.
                raise PeerGone("closed")
            if deadline is not None and not self.has_news(max(0.0, deadline - time.monotonic())):
                raise DeadlinePassed
            self._read(0)
        return message

    def take_descriptors(self) -> list[int]:
        """The descriptors that have come since the last call; they belong to the caller."""
        taken, self._descriptors = self._descriptors, []
        return taken

    def has_news(self, wait_s: float = 0.0) -> bool:
        """Whether something can be read, be it that the other end was closed; waits for it at most `wait_s` seconds."""
        return wait_for([(self.fileno(), POLL_READ)], wait_s)

    def queue(self, message: object) -> None:
        """Take a message to be sent by `flush`.  Raises PeerGone, UnicodeEncodeError: as `send` does."""
        self._outgoing += _framed(message)

    @property
    def is_sending(self) -> bool:
        """Whether queued bytes wait to be written."""
        return bool(self._outgoing)

    def flush(self) -> None:
        """Write as much of what is queued as goes without waiting.  Raises PeerGone: nobody reads."""
        try:
            while self._outgoing:
                if not _DONT_WAIT and not wait_for([(self.fileno(), POLL_WRITE)], 0):
                    return
                piece = self._outgoing[: _PIECE_BYTES if _DONT_WAIT else _SMALL_PIECE_BYTES]
                sent = self._connection.send(piece, _DONT_WAIT)
                del self._outgoing[:sent]
        except BlockingIOError:
            return
        except OSError as error:
            raise PeerGone(str(error)) from error

    def arrived(self) -> list[Received]:
        """The messages that are there, without waiting for more.

        Raises PeerGone: as `receive` does; messages that were complete before come first, at the call before.
        """
        messages: list[Received] = []
        while True:
            while (message := self._next()) is not None:
                messages.append(message)
            if messages or not self.has_news():
                return messages
            self._read(_DONT_WAIT)

    def _read(self, flags: int) -> None:
        descriptors: list[int] = []
        try:
            if hasattr(socket, "recv_fds"):
                piece, descriptors, _flags, _address = socket.recv_fds(
                    self._connection, _PIECE_BYTES, _MOST_DESCRIPTORS, flags
                )
            else:
                piece = self._connection.recv(_PIECE_BYTES, flags)
        except BlockingIOError:
            return
        except OSError as error:
            raise PeerGone(str(error)) from error
        self._descriptors += descriptors
        if not piece:
            raise PeerGone("closed")
        self._incoming += piece

    def _next(self) -> Received | None:
        """Return the first complete message among the bytes that have come, None without one."""
        if len(self._incoming) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._incoming)
        if length > MAX_MESSAGE_BYTES:
            raise PeerGone(f"a message of {length} bytes")
        end = _LENGTH.size + length
        if len(self._incoming) < end:
            return None
        body = bytes(self._incoming[_LENGTH.size : end])
        del self._incoming[:end]
        try:
            return self._decoder.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise PeerGone(f"no message: {error}") from error


def _framed(message: object) -> bytes:
    body = msgspec.msgpack.encode(message)
    if len(body) > MAX_MESSAGE_BYTES:
        raise PeerGone(f"a message of {len(body)} bytes")
    return _LENGTH.pack(len(body)) + body
