"""A thread beside: one thing after another, in the order that it was asked, with children of its own."""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from concurrent.futures import CancelledError
from pathlib import Path

import msgspec
import pytest

from grader.processes.child import Child, ChildProgram
from grader.processes.pool import Beside
from tests.processes.worker import Done, Word

pytestmark = pytest.mark.started

PROGRAM = ChildProgram("tests.processes.worker", is_forkable=True)


def test_what_is_asked_for_is_done_in_order_and_what_it_raises_is_told() -> None:
    beside = Beside()
    go_on, done = threading.Event(), []

    def wait() -> str:
        go_on.wait()
        done.append("first")
        return "waited"

    first, second = beside.start(wait), beside.start(lambda: done.append("second"))
    failing = beside.start(lambda: 1 // 0)
    assert not first.done()
    go_on.set()
    assert (first.result(), second.result(), done) == ("waited", None, ["first", "second"])
    with pytest.raises(ZeroDivisionError):
        failing.result()
    assert beside.start(threading.get_ident).result() != threading.get_ident()
    beside.close()


def test_it_sees_what_its_asker_has_set() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    beside = Beside()
    variable.set("set")
    assert beside.start(variable.get).result() == "set"
    beside.close()


def test_what_was_not_begun_is_not_done_after_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.processes.pool.UNDER_WAY_WAIT_S", 0.0)
    beside = Beside()
    go_on, begun, done = threading.Event(), threading.Event(), []

    def wait() -> None:
        begun.set()
        go_on.wait()

    first = beside.start(wait)
    begun.wait()
    second = beside.start(lambda: done.append("second"))
    beside.close()
    go_on.set()
    # Whoever waits for it is told.
    with pytest.raises(CancelledError):
        second.result()
    first.result()
    beside._thread.join()
    assert done == []


@pytest.mark.skipif(sys.platform != "linux", reason="children are forked on Linux")
def test_its_children_are_forked_from_one_process_and_live_while_it_does() -> None:
    beside = Beside()

    def child() -> Child[Done | Word]:
        return Child(PROGRAM, msgspec.msgpack.Decoder(Done | Word))

    first, second = beside.start(child).result(), beside.start(child).result()
    try:
        parents = {_parent(one.pid) for one in (first, second)}
        assert len(parents) == 1
        assert os.getpid() not in parents
    finally:
        beside.start(first.end).result()
        beside.start(second.end).result()
        beside.close()


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
