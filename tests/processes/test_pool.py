"""Children that die, hang, lie or flood cost their own task and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from grader.processes.child import ChildProgram
from grader.processes.pool import Answer, Lost, Pool, Waiting, wait
from tests.processes.worker import Do, Done, Word

pytestmark = pytest.mark.started

Reply = Done | Word
REPLIES = msgspec.msgpack.Decoder(Done | Word | Waiting)


def pool(size: int = 1, deadline_s: float = 300.0, data_bytes: int = 0, tidy_bytes: int = 1 << 30) -> Pool[Do, Reply]:
    program = ChildProgram("tests.processes.worker", data_bytes=data_bytes)
    return Pool(program, REPLIES, lambda reply: isinstance(reply, Done), deadline_s, size, tidy_bytes)


def done(with_pool: Pool[Do, Reply], tasks: Sequence[Do]) -> list[Answer[Do, Reply] | Lost[Do]]:
    for task in tasks:
        with_pool.submit(task, task)
    events: list[Answer[Do, Reply] | Lost[Do]] = []
    while with_pool.unfinished:
        events += with_pool.events()
        if with_pool.unfinished:
            wait(with_pool)
    return events


def told(events: Sequence[Answer[Do, Reply] | Lost[Do]]) -> list[str]:
    return [e.reason if isinstance(e, Lost) else e.reply.text.partition(" ")[0] for e in events]


@pytest.mark.parametrize(
    ("bad", "ending"),
    [
        (Do("exit", 7), "status 7"),
        (Do("exit", 0), "status 0"),
        (Do("raise", text="inside"), "status 1"),
        (Do("signal", signal.SIGKILL), "signal SIGKILL"),
        (Do("signal", signal.SIGTERM), "signal SIGTERM"),
        (Do("crash"), "signal SIGSEGV"),
        (Do("garbage"), None),
        (Do("flood"), None),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_child_that_fails_costs_its_own_task(bad: Do, ending: str | None) -> None:
    with pool() as one:
        events = done(one, [Do("echo", text="a"), bad, Do("echo", text="b")])
    assert told(events) == ["a", "ended", "b"]
    lost = events[1]
    assert isinstance(lost, Lost) and lost.task == bad and lost.ending is not None
    assert ending is None or str(lost.ending) == ending
    if bad.what == "raise":
        assert lost.ending.output.endswith("ValueError: inside")
    if bad == Do("exit", 7):
        assert lost.ending.output == "on my way out"
    if bad.what == "crash":
        assert "Segmentation fault" in lost.ending.output


def test_a_signal_from_elsewhere_costs_nothing(tmp_path: Path) -> None:
    with pool() as one:
        events = done(one, [Do("signal once", signal.SIGKILL, str(tmp_path / "struck"))])
    assert told(events) == ["signal"]


def test_a_child_that_has_grown_is_replaced() -> None:
    """By more than it may since its first task: what that took, every other child would take too."""
    with pool(tidy_bytes=48 << 20) as one:
        events = done(one, [Do("hold", 96 << 20), *[Do("hold", 32 << 20)] * 4])
    processes = [event.reply.text for event in events if isinstance(event, Answer)]
    assert [processes.index(name) for name in processes] == [0, 0, 0, 3, 3]


def next_event(of: Pool[Do, Reply]) -> Answer[Do, Reply] | Lost[Do]:
    while not (events := list(of.events())):
        wait(of)
    (event,) = events
    return event


def test_a_child_that_takes_too_long_is_killed() -> None:
    with pool() as one:
        assert told(done(one, [Do("echo", text="a")])) == ["a"]
        one.submit(Do("spin"), Do("spin"))
        assert not list(one.events())
        # The time is over.
        one._hands[0].deadline = time.monotonic()
        assert told([next_event(one)]) == ["deadline"]
        assert told(done(one, [Do("echo", text="b")])) == ["b"]


def test_what_was_said_before_a_deadline_is_kept_and_begins_it_anew() -> None:
    with pool() as one:
        task = Do("word", 3600.0, "first")
        one.submit(task, task)
        assert not list(one.events())
        # Almost none of it is left.
        one._hands[0].deadline = before = time.monotonic() + 200.0
        assert told([next_event(one)]) == ["first"]
        assert one._hands[0].deadline > before
        one._hands[0].deadline = time.monotonic()
        assert told([next_event(one)]) == ["deadline"]


def test_waiting_for_others_does_not_count(tmp_path: Path) -> None:
    go_on = tmp_path / "go on"
    with pool() as one:
        task = Do("wait", 3600.0, str(go_on))
        one.submit(task, task)
        assert not list(one.events())
        hand = one._hands[0]
        while hand.left_s is None:
            wait(one)
            assert not list(one.events())
        # It says that it waits, for an hour at most, and that much later it would be dead; of its own time all is left.
        assert hand.deadline > time.monotonic() + 3000.0
        assert hand.left_s > 200.0
        # The most of it was over when it began to wait.
        hand.left_s = 250.0
        go_on.touch()
        assert told([next_event(one)]) == ["wait"]
        assert hand.left_s is None


def test_memory_is_bounded_and_running_out_of_it_is_told() -> None:
    with pool(data_bytes=256 << 20) as one:
        events = done(one, [Do("allocate", 512 << 20), Do("allocate", 1 << 20)])
    assert told(events) == ["no", "allocate"]


def test_large_tasks_and_answers_go_through_while_others_work() -> None:
    text = "x" * (9 << 20)
    with pool(2) as two:
        events = done(two, [Do("echo", text=text), Do("echo", text=text), Do("echo", text="c")])
    assert sorted(len(e.reply.text) for e in events if isinstance(e, Answer)) == [1, 9 << 20, 9 << 20]


def test_a_task_that_is_no_text_is_told() -> None:
    with pool() as one:
        events = done(one, [Do("echo", text="\udc8f"), Do("echo", text="b")])
    assert told(events) == ["unsent", "b"]


def test_a_task_that_nobody_was_given_yet_is_not_waited_for() -> None:
    with pool() as one:
        one.submit(Do("echo"), Do("echo"))
        began = time.monotonic()
        wait(one)
        assert time.monotonic() - began < 120


def test_nothing_is_left_behind() -> None:
    with pool(3) as three:
        for task in [Do("spin")] * 3:
            three.submit(task, task)
        list(three.events())
        pids = [hand.child.pid for hand in three._hands]
        assert len(pids) == 3
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.slow
def test_many_first_answers_at_once() -> None:
    """Each pool's decoder is made by its first answer; none of many at once may crash the interpreter."""
    program = """
import msgspec
from tests.processes.test_pool import done, pool, Do
with pool(16) as many:
    events = done(many, [Do("echo", text=str(n)) for n in range(64)])
print(len(events))
"""
    for _again in range(6):
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert (run.returncode, run.stdout.strip()) == (0, "64"), run.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_children_die_with_their_parent(number: int) -> None:
    program = """
import time
from tests.processes.test_pool import pool, Do
two = pool(2)
for task in [Do("spin"), Do("spin")]:
    two.submit(task, task)
list(two.events())
print(*(hand.child.pid for hand in two._hands), flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.send_signal(number)
    parent.communicate()
    deadline = time.monotonic() + 300
    while any(Path(f"/proc/{pid}/stat").exists() and _state(pid) != "Z" for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "Z"


@pytest.mark.parametrize(("is_unwanted", "expected"), [(True, "writes nothing"), (False, "writes bytecode")])
def test_a_child_writes_no_bytecode_where_its_parent_writes_none(
    monkeypatch: pytest.MonkeyPatch, is_unwanted: bool, expected: str
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", is_unwanted)
    with pool() as one:
        (event,) = done(one, [Do("writes")])
    assert isinstance(event, Answer) and event.reply.text == expected


def test_where_no_process_can_be_started_every_task_says_so() -> None:
    program = """
import resource
from tests.processes.test_pool import done, pool, told, Do
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
with pool(2) as two:
    for event in done(two, [Do("echo"), Do("echo")]):
        print(event.reason, event.detail)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout.splitlines() == ["unstarted Too many open files"] * 2, run.stderr


@pytest.mark.skipif(sys.platform != "linux" or (os.cpu_count() or 1) < 2, reason="counts threads, of several cores")
def test_the_library_that_multiplies_starts_no_thread_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    # With so many cores as large machines have it would not even start where memory is bounded.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "8")
    with pool() as one:
        (event,) = done(one, [Do("threads")])
    assert isinstance(event, Answer) and event.reply.text == "threads 1"
    command = (
        "import contextlib, os, sys; from grader.__main__ import main; sys.argv = ['grade', '--version']\n"
        "with contextlib.suppress(SystemExit): main()\n"
        "import numpy; print(len(os.listdir('/proc/self/task')))"
    )
    printed = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout
    assert printed.split()[-1] == "1"
