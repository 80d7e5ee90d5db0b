"""Children forked from one that has imported what they need behave as those started from the beginning."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from grader.processes import fork_server
from grader.processes.channel import DeadlinePassed, PeerGone
from grader.processes.child import Child, ChildProgram
from tests.processes.worker import Do, Done, Word

pytestmark = [pytest.mark.started, pytest.mark.skipif(sys.platform != "linux", reason="children are forked on Linux")]
PROGRAM = ChildProgram("tests.processes.worker", is_forkable=True)
PATIENCE_S = 300.0
"""Ends a test whose child hangs."""


started: list[Child[Done | Word]] = []


def child(program: ChildProgram = PROGRAM) -> Child[Done | Word]:
    started.append(Child(program, msgspec.msgpack.Decoder(Done | Word)))
    return started[-1]


def answer(of: Child[Done | Word], task: Do) -> str:
    of.channel.send(task)
    return of.channel.receive(time.monotonic() + PATIENCE_S).text


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    while started:
        started.pop().end()


@pytest.fixture
def kept() -> Iterator[None]:
    with fork_server.kept():
        yield


@pytest.mark.usefixtures("kept")
def test_children_of_a_kind_have_one_server_and_memory_of_their_own() -> None:
    first, second = child(), child()
    assert parent(first.pid) == parent(second.pid) != os.getpid()
    assert answer(first, Do("remember", text="secret")) == "remembered secret"
    assert answer(first, Do("recall")) == "recalled secret"
    assert answer(second, Do("recall")) == "recalled nothing"
    third = child()
    assert answer(third, Do("recall")) == "recalled nothing"
    assert answer(third, Do("prepared")) == "prepared once"
    # It ends by itself once nobody can tell it anything, or is killed where it has not yet.
    assert str(first.end()) in ("status 0", "signal SIGKILL")
    assert not Path(f"/proc/{first.pid}").exists()


@pytest.mark.usefixtures("kept")
def test_a_child_has_the_folder_and_the_environment_that_its_starter_has_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GONE", "1")
    assert answer(child(), Do("variable", text="GONE")) == f"1 in {Path.cwd()}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GONE")
    monkeypatch.setenv("NEW", "2")
    assert answer(child(), Do("variable", text="GONE")) == f"None in {tmp_path}"
    assert answer(child(), Do("variable", text="NEW")) == f"2 in {tmp_path}"
    bare = child(ChildProgram("tests.processes.worker", environment={}, is_forkable=True))
    assert answer(bare, Do("variable", text="NEW")) == f"None in {tmp_path}"


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("task", "ending", "printed"),
    [
        (Do("exit", 7), "status 7", "on my way out"),
        (Do("raise", text="inside"), "status 1", "ValueError: inside"),
        (Do("signal", signal.SIGTERM), "signal SIGTERM", ""),
        (Do("crash"), "signal SIGSEGV", "Segmentation fault"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_how_a_child_ended_is_known_and_its_server_goes_on(task: Do, ending: str, printed: str) -> None:
    failing, other = child(), child()
    with pytest.raises(PeerGone):
        answer(failing, task)
    end = failing.end(PATIENCE_S)
    assert str(end) == ending
    assert printed in end.output
    assert answer(other, Do("echo", text="still here")) == "still here"
    assert answer(child(), Do("echo", text="another")) == "another"


@pytest.mark.usefixtures("kept")
def test_a_child_that_hangs_is_killed_and_bounds_on_memory_are_its_own() -> None:
    hanging = child()
    hanging.channel.send(Do("spin"))
    with pytest.raises(DeadlinePassed):
        hanging.channel.receive(time.monotonic() + 0.1)
    assert str(hanging.end()) == "signal SIGKILL"
    bounded = child(ChildProgram("tests.processes.worker", data_bytes=256 << 20, is_forkable=True))
    assert answer(bounded, Do("allocate", 512 << 20)) == "no memory"
    assert answer(child(), Do("allocate", 512 << 20)).startswith("allocate ")


@pytest.mark.usefixtures("kept")
def test_a_server_that_was_killed_takes_its_children_with_it_and_is_replaced() -> None:
    orphan = child()
    server = parent(orphan.pid)
    os.kill(server, signal.SIGKILL)
    with pytest.raises(PeerGone):
        orphan.channel.receive(time.monotonic() + PATIENCE_S)
    assert str(orphan.end()) == "signal SIGKILL"
    fresh = child()
    assert parent(fresh.pid) != server
    assert answer(fresh, Do("echo", text="again")) == "again"


@pytest.mark.usefixtures("kept")
def test_a_child_of_a_server_that_is_killed_while_it_forks_is_started_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = parent(child().pid)
    os.kill(server, signal.SIGSTOP)
    order = socket.send_fds

    def ordered_and_killed(*what: Any) -> int:
        sent = order(*what)
        os.kill(server, signal.SIGKILL)
        return sent

    with monkeypatch.context() as patch:
        patch.setattr(socket, "send_fds", ordered_and_killed)
        started_alone = child()
    assert parent(started_alone.pid) == os.getpid()
    assert answer(started_alone, Do("echo", text="here")) == "here"


def test_servers_end_with_the_block_and_serve_its_thread_alone() -> None:
    elsewhere: list[int] = []

    def other_thread() -> None:
        elsewhere.append(parent(child().pid))

    with fork_server.kept():
        forked = child()
        server = parent(forked.pid)
        thread = threading.Thread(target=other_thread)
        thread.start()
        thread.join()
        assert elsewhere == [os.getpid()]
    assert not Path(f"/proc/{server}").exists()
    with pytest.raises(PeerGone):
        forked.channel.receive(time.monotonic() + PATIENCE_S)
    assert str(forked.end()) == "signal SIGKILL"
    assert parent(child().pid) == os.getpid()
