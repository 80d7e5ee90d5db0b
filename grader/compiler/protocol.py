"""Frames between the grader and its compiler process: a count, then each part with its length, all little endian."""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Sequence

MAX_FRAME_BYTES = 256 << 20
_U32 = struct.Struct("<I")


class PeerGone(Exception):
    """The other side closed the pipe, or sent what is no frame."""


class DeadlinePassed(Exception):
    """No complete frame arrived in time."""


def send(descriptor: int, parts: Sequence[bytes]) -> None:
    """Write one frame of `parts`.

    Raises
    ------
    PeerGone : the reader is gone.
    """
    frame = b"".join([_U32.pack(len(parts)), *(piece for part in parts for piece in (_U32.pack(len(part)), part))])
    view = memoryview(frame)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        raise PeerGone(str(error)) from error


def receive(descriptor: int, deadline: float | None = None) -> list[bytes]:
    """Read one frame; `deadline` is on the clock of `time.monotonic`.

    Raises
    ------
    PeerGone : the writer closed the pipe, or the frame is larger than `MAX_FRAME_BYTES`.
    DeadlinePassed : the frame was not complete at the deadline.
    """
    (count,) = _U32.unpack(_read(descriptor, 4, deadline))
    budget = MAX_FRAME_BYTES
    parts: list[bytes] = []
    for _index in range(count):
        (length,) = _U32.unpack(_read(descriptor, 4, deadline))
        budget -= length + 4
        if budget < 0:
            raise PeerGone("the frame is too large")
        parts.append(_read(descriptor, length, deadline))
    return parts


def _read(descriptor: int, length: int, deadline: float | None) -> bytes:
    pieces: list[bytes] = []
    while length:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise DeadlinePassed
        try:
            piece = os.read(descriptor, min(length, 1 << 20))
        except OSError as error:
            raise PeerGone(str(error)) from error
        if not piece:
            raise PeerGone("the pipe was closed")
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)
