"""Frames through a pipe."""

from __future__ import annotations

import os
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.compiler import protocol


@given(st.lists(st.binary(max_size=200), max_size=6))
def test_what_is_sent_is_received(parts: list[bytes]) -> None:
    reader, writer = os.pipe()
    try:
        protocol.send(writer, parts)
        assert protocol.receive(reader, time.monotonic() + 5) == parts
    finally:
        os.close(reader)
        os.close(writer)


def test_frames_larger_than_a_pipe() -> None:
    reader, writer = os.pipe()
    parts = [b"a" * 3_000_000, b"", b"b"]
    thread = threading.Thread(target=protocol.send, args=(writer, parts))
    thread.start()
    assert protocol.receive(reader) == parts
    thread.join()
    os.close(reader)
    with pytest.raises(protocol.PeerGone):
        protocol.send(writer, parts)
    os.close(writer)


@pytest.mark.parametrize("sent", [b"", b"\x01", b"\x01\0\0\0", b"\x01\0\0\0\x09\0\0\0half"])
def test_a_half_frame(sent: bytes) -> None:
    reader, writer = os.pipe()
    os.write(writer, sent)
    with pytest.raises(protocol.DeadlinePassed):
        protocol.receive(reader, time.monotonic() + 0.02)
    os.write(writer, sent)
    os.close(writer)
    with pytest.raises(protocol.PeerGone):
        protocol.receive(reader)
    os.close(reader)


def test_a_frame_that_claims_too_much_is_not_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"\x01\0\0\0\xff\xff\xff\xff")
    with pytest.raises(protocol.PeerGone, match="too large"):
        protocol.receive(reader, time.monotonic() + 1)
    os.close(reader)
    os.close(writer)
