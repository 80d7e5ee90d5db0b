"""Messages between the grader and its GPU process, without a GPU: what is sent arrives, and nothing else passes."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator

import pytest

from grader.gpu.messages import (
    Array,
    DeadlinePassed,
    Failed,
    KernelFacts,
    Launch,
    Load,
    PeerGone,
    Prepare,
    Prepared,
    Problem,
    Ran,
    Reply,
    Request,
    Run,
    Scalar,
    Target,
    receive,
    send,
    uuid_text,
)

LAUNCH = Launch("m", "k", (1, 2, 3), (32, 1, 1), 64, [Array("a", "float32", 4, 8, True, 4096), Scalar(b"\x01\0\0\0")])
FACTS = KernelFacts(32, 1024, 0, 4, 50.0)
REQUESTS = [
    Load("m", b"\0cubin"),
    Run(LAUNCH),
    Prepare([Target("student:a", LAUNCH, "reference:a")], {"in:float32": (4096, 16)}, "cold", 0.02, 16, 0.0, 1e-5),
]
REPLIES = [
    Failed(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "kernel", True, "student:a"),
    Ran(FACTS, ["in"], ["out"], 3.5, "printed"),
    Prepared({"a": 2}, {"a": 1.5}, 0.7, {"a": FACTS}, [Problem("a", "wrong", 1, 8)]),
]
Ends = tuple[socket.socket, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    one, two = socket.socketpair()
    with one, two:
        yield one, two


@pytest.mark.parametrize("message", REQUESTS, ids=lambda m: type(m).__name__)
def test_requests_arrive_as_they_were_sent(ends: Ends, message: object) -> None:
    send(ends[0], message)  # type: ignore[arg-type]
    assert receive(ends[1], Request) == (message, [])


@pytest.mark.parametrize("message", REPLIES, ids=lambda m: type(m).__name__)
def test_replies_arrive_as_they_were_sent(ends: Ends, message: object) -> None:
    send(ends[1], message)  # type: ignore[arg-type]
    assert receive(ends[0], Reply) == (message, [])


def test_a_file_goes_with_a_message(ends: Ends) -> None:
    file = os.memfd_create("test")
    os.write(file, b"content")
    send(ends[0], REQUESTS[1], [file])
    message, (received,) = receive(ends[1], Request)
    assert message == REQUESTS[1] and os.pread(received, 99, 0) == b"content"
    for descriptor in (file, received):
        os.close(descriptor)


@pytest.mark.parametrize("data", [b"", b"\x05", b"\x03\0\0\0abc", b"\xff\xff\xff\xff", b"\x08\0\0\0abc"])
def test_what_is_no_message_counts_as_nobody_there(ends: Ends, data: bytes) -> None:
    ends[0].sendall(data)
    ends[0].close()
    with pytest.raises(PeerGone):
        receive(ends[1], Reply)


def test_a_request_is_no_reply(ends: Ends) -> None:
    send(ends[0], REQUESTS[0])
    with pytest.raises(PeerGone):
        receive(ends[1], Reply)


@pytest.mark.parametrize("data", [b"", b"\x08\0", b"\x08\0\0\0abc"])
def test_a_message_that_does_not_come_to_its_end_in_time(ends: Ends, data: bytes) -> None:
    ends[0].sendall(data)
    with pytest.raises(DeadlinePassed):
        receive(ends[1], Reply, time.monotonic() + 0.05)


def test_nobody_reads(ends: Ends) -> None:
    ends[1].close()
    with pytest.raises(PeerGone):
        send(ends[0], REQUESTS[0])


def test_a_device_is_named_as_nvidia_smi_does() -> None:
    assert uuid_text(bytes(range(16))) == "00010203-0405-0607-0809-0a0b0c0d0e0f"
