"""Messages between the grader and its GPU process, without a GPU: what is sent arrives, and nothing else passes."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from grader.driver import uuid_text
from grader.gpu.device.worker import Worker
from grader.gpu.messages import (
    Array,
    Failed,
    KernelFacts,
    Launch,
    LaunchOnce,
    Load,
    Message,
    Prepare,
    Prepared,
    Problem,
    Ran,
    Reply,
    Request,
    Scalar,
    Target,
    replies_on,
    requests_on,
)
from grader.processes.channel import Channel, DeadlinePassed, PeerGone

LAUNCH = Launch("m", "k", (1, 2, 3), (32, 1, 1), 64, [Array("a", "float32", 4, 8, True, 4096), Scalar(b"\x01\0\0\0")])
FACTS = KernelFacts(32, 1024, 0, 4, 50.0)
REQUESTS = [
    Load("m", b"\0cubin"),
    LaunchOnce(LAUNCH),
    Prepare([Target("student:a", LAUNCH, "reference:a")], {"in:float32": (4096, 16)}, "cold", 0.02, 16, 0.0, 1e-5),
]
REPLIES = [
    Failed(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "kernel", True, "student:a"),
    Ran(FACTS, ["in"], ["out"], 3.5, "printed"),
    Prepared({"a": 2}, {"a": 1.5}, 0.7, {"a": FACTS}, [Problem("a", "wrong", 1, 8)]),
]


class Ends(NamedTuple):
    """Both ends of a conversation, and the socket of the GPU process's."""

    grader: Channel[Reply]
    device: Channel[Request]
    socket: socket.socket


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Ends(replies_on(ours), requests_on(theirs), theirs)


@pytest.mark.parametrize("message", REQUESTS, ids=lambda m: type(m).__name__)
def test_requests_arrive_as_they_were_sent(ends: Ends, message: object) -> None:
    ends.grader.send(message)
    assert (ends.device.receive(), ends.device.take_descriptors()) == (message, [])


@pytest.mark.parametrize("message", REPLIES, ids=lambda m: type(m).__name__)
def test_replies_arrive_as_they_were_sent(ends: Ends, message: object) -> None:
    ends.device.send(message)
    assert ends.grader.receive() == message


def test_a_file_goes_with_a_message(ends: Ends) -> None:
    file = os.memfd_create("test")
    os.write(file, b"content")
    ends.grader.send(REQUESTS[1], [file])
    message = ends.device.receive()
    (received,) = ends.device.take_descriptors()
    assert message == REQUESTS[1] and os.pread(received, 99, 0) == b"content"
    for descriptor in (file, received):
        os.close(descriptor)


@pytest.mark.parametrize("data", [b"", b"\x05", b"\x03\0\0\0abc", b"\xff\xff\xff\xff", b"\x08\0\0\0abc"])
def test_what_is_no_message_counts_as_nobody_there(ends: Ends, data: bytes) -> None:
    ends.socket.sendall(data)
    ends.device.close()
    with pytest.raises(PeerGone):
        ends.grader.receive()


def test_a_request_is_no_reply(ends: Ends) -> None:
    ends.device.send(REQUESTS[0])
    with pytest.raises(PeerGone):
        ends.grader.receive()


@pytest.mark.parametrize("data", [b"", b"\x08\0", b"\x08\0\0\0abc"])
def test_a_message_that_does_not_come_to_its_end_in_time(ends: Ends, data: bytes) -> None:
    ends.socket.sendall(data)
    with pytest.raises(DeadlinePassed):
        ends.grader.receive(time.monotonic() + 0.05)


def test_nobody_reads(ends: Ends) -> None:
    ends.device.close()
    with pytest.raises(PeerGone):
        ends.grader.send(REQUESTS[0])


class StandIn(Worker):
    """The worker with no device behind it: says what it was asked, and breaks at a launch."""

    def __init__(self) -> None:
        self.files: list[bytes] = []

    def answer(self, request: Request, descriptors: list[int]) -> Message:
        for descriptor in descriptors:
            self.files.append(os.pread(descriptor, 99, 0))
            os.close(descriptor)
        return Failed(
            719, "CUDA_ERROR_LAUNCH_FAILED", "kernel", isinstance(request, LaunchOnce), type(request).__name__
        )


def test_the_worker_answers_until_its_context_is_broken_or_nobody_asks(ends: Ends) -> None:
    worker = StandIn()
    file = os.memfd_create("test")
    os.write(file, b"arrays")
    for request in REQUESTS:
        ends.grader.send(request, [file] if isinstance(request, LaunchOnce) else [])
    os.close(file)
    worker.serve(ends.device)
    # Nothing is answered once a launch broke the context.
    assert [ends.grader.receive(), ends.grader.receive()] == [
        Failed(719, "CUDA_ERROR_LAUNCH_FAILED", "kernel", False, "Load"),
        Failed(719, "CUDA_ERROR_LAUNCH_FAILED", "kernel", True, "LaunchOnce"),
    ]
    assert not ends.grader.has_news() and worker.files == [b"arrays"]
    ends.grader.close()
    with pytest.raises(PeerGone):
        worker.serve(requests_on(ends.socket))


def test_a_device_is_named_as_nvidia_smi_does() -> None:
    assert uuid_text(bytes(range(16))) == "00010203-0405-0607-0809-0a0b0c0d0e0f"
