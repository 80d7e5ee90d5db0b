"""Children that work side by side: several of one kind, each on one task at a time; one thread drives them all.

A child that dies or misses its deadline costs its own task and no other: the next task gets a fresh child.  A task
whose child was killed by a signal before it said anything is given to another child once, as the signal may have been
somebody else's: the kernel's when memory ran out, or a user's.
"""

from __future__ import annotations

import contextlib
import contextvars
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

import msgspec

from grader.processes import fork_server
from grader.processes.channel import PeerGone
from grader.processes.child import END_WAIT_S, Child, ChildProgram, Ending, start_server
from grader.processes.limits import POLL_READ, POLL_WRITE, wait_for

Task = TypeVar("Task")
Reply = TypeVar("Reply")

LONGEST_WAIT_S = 3600.0


class Waiting(msgspec.Struct, frozen=True, tag="waiting"):
    """Said by a child: it waits for something that others hold (or not any more), so its deadline stands still.

    limit_s: it is dead after all if it waits for longer.
    """

    waits: bool
    limit_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer(Generic[Task, Reply]):
    """A child said something of its task; is_last: it has no more to say of it."""

    task: Task
    reply: Reply
    is_last: bool


@dataclass(frozen=True, slots=True)
class Lost(Generic[Task]):
    """A task without a last answer.

    reason: "deadline" (it took too long and was killed), "ended" (its process died, see `ending`), "unstarted" (no
      process could be started, `detail` is the system's reason), "unsent" (the task is too large or no text).
    """

    task: Task
    reason: Literal["deadline", "ended", "unstarted", "unsent"]
    ending: Ending | None = None
    detail: str = ""


@dataclass(slots=True)
class _Work(Generic[Task]):
    task: Task
    message: object
    attempts: int = 0
    answers: int = 0


@dataclass(slots=True, eq=False)
class _Hand(Generic[Task, Reply]):
    """A child and what it works on; deadline on the clock of `time.monotonic`, left_s: of it, while the child waits.

    first_bytes: memory that it held after its first task, None before that.
    """

    child: Child[Reply | Waiting]
    work: _Work[Task] | None = None
    deadline: float = 0.0
    left_s: float | None = None
    first_bytes: int | None = None


class Pool(Generic[Task, Reply]):
    """At most `size` children; a context manager that leaves none behind.

    program: what a child runs: it answers one task after another, in order.
    replies: decodes what they say: a union of records, `Waiting` among them.
    is_last: whether a reply is the last one of its task.
    deadline_s: the longest silence of a child that works; each reply begins it anew.
    tidy_bytes: a child that holds so much more memory after a task than after its first is replaced.
    """

    def __init__(
        self,
        program: ChildProgram,
        replies: msgspec.msgpack.Decoder[Reply | Waiting],
        is_last: Callable[[Reply], bool],
        deadline_s: float,
        size: int = 1,
        tidy_bytes: int = 256 << 20,
    ) -> None:
        self.size = size
        self._program = program
        self._replies = replies
        self._is_last = is_last
        self._deadline_s = deadline_s
        self._tidy_bytes = tidy_bytes
        self._hands: list[_Hand[Task, Reply]] = []
        self._waiting: deque[_Work[Task]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End every child, whatever it is doing."""
        for hand in self._hands:
            hand.child.end()
        self._hands.clear()
        self._waiting.clear()

    def warm(self) -> None:
        """Start the children now, so that they import what they need while this process does other things.

        Where children are forked, what forks them: it imports for all.
        """
        with contextlib.suppress(OSError):
            if start_server(self._program) is not None:
                return
            while len(self._hands) < self.size:
                self._hands.append(_Hand(Child(self._program, self._replies)))

    def submit(self, task: Task, message: object) -> None:
        """Have a task done, by whichever child is free first; message: what that child is sent."""
        self._waiting.append(_Work(task, message))

    @property
    def unfinished(self) -> list[Task]:
        """The tasks that have no last answer yet, those under way first."""
        return [hand.work.task for hand in self._hands if hand.work] + [work.task for work in self._waiting]

    def events(self) -> Iterator[Answer[Task, Reply] | Lost[Task]]:
        """What has happened since the last call, without waiting."""
        yield from self._hand_out()
        now = time.monotonic()
        for hand in list(self._hands):
            yield from self._listen(hand, now)
        yield from self._hand_out()

    def descriptors(self) -> Iterator[tuple[int, int]]:
        """What to wait for: descriptors with what to wait for (`grader.processes.limits`)."""
        for hand in self._hands:
            sending = POLL_WRITE if hand.child.channel.is_sending else 0
            yield hand.child.channel.fileno(), POLL_READ | sending

    def next_deadline(self) -> float:
        """When something is to be done at the latest though no child says anything."""
        busy = [hand.deadline for hand in self._hands if hand.work]
        if self._waiting and len(busy) < self.size:
            return time.monotonic()
        return min(busy, default=time.monotonic() + LONGEST_WAIT_S)

    def _hand_out(self) -> Iterator[Lost[Task]]:
        for idle in list(self._hands):
            if idle.work is None and idle.child.channel.has_news():
                # It has nothing to say; it is dead.
                self._dismiss(idle)
        while self._waiting:
            hand: _Hand[Task, Reply] | None = next((h for h in self._hands if h.work is None), None)
            if hand is None and len(self._hands) >= self.size:
                return
            work = self._waiting.popleft()
            if hand is None:
                try:
                    hand = _Hand(Child(self._program, self._replies))
                except OSError as error:
                    if self._hands:
                        # Fewer at a time, then.
                        self._waiting.appendleft(work)
                        self.size = len(self._hands)
                        return
                    yield Lost(work.task, "unstarted", detail=error.strerror or str(error))
                    continue
                self._hands.append(hand)
            try:
                hand.child.channel.queue(work.message)
            except (PeerGone, UnicodeEncodeError) as error:
                yield Lost(work.task, "unsent", detail=str(error))
                continue
            hand.work, hand.deadline, hand.left_s = work, time.monotonic() + self._deadline_s, None
            work.attempts += 1
            with contextlib.suppress(PeerGone):
                # Whether it is gone shows when it is listened to.
                hand.child.channel.flush()

    def _listen(self, hand: _Hand[Task, Reply], now: float) -> Iterator[Answer[Task, Reply] | Lost[Task]]:
        work = hand.work
        if work is None:
            return
        with contextlib.suppress(PeerGone):
            # It may have spoken before it died.
            hand.child.channel.flush()
        try:
            while hand.work is not None and (replies := hand.child.channel.arrived()):
                for reply in replies:
                    if isinstance(reply, Waiting):
                        self._stop_clock(hand, reply)
                        continue
                    is_last = self._is_last(reply)
                    hand.deadline = time.monotonic() + self._deadline_s
                    work.answers += 1
                    if is_last:
                        hand.work = None
                    yield Answer(work.task, reply, is_last)
        except PeerGone:
            yield from self._mourn(hand, work)
            return
        if hand.work is None:
            held_bytes = hand.child.resident_bytes()
            if hand.first_bytes is None:
                hand.first_bytes = held_bytes
            elif held_bytes - hand.first_bytes > self._tidy_bytes:
                self._dismiss(hand)
        elif now >= hand.deadline:
            ending = self._dismiss(hand)
            yield Lost(work.task, "deadline", ending)

    def _stop_clock(self, hand: _Hand[Task, Reply], waiting: Waiting) -> None:
        now = time.monotonic()
        if waiting.waits and hand.left_s is None:
            hand.left_s = hand.deadline - now
            hand.deadline = now + min(waiting.limit_s, LONGEST_WAIT_S) + self._deadline_s
        elif not waiting.waits and hand.left_s is not None:
            hand.deadline, hand.left_s = now + hand.left_s, None

    def _mourn(self, hand: _Hand[Task, Reply], work: _Work[Task]) -> Iterator[Lost[Task]]:
        """Handle a child that died over its task, or after it."""
        unfinished = hand.work is not None
        ending = self._dismiss(hand, END_WAIT_S)
        if not unfinished:
            return
        if ending.by_signal and work.attempts == 1 and not work.answers:
            self._waiting.appendleft(work)
        else:
            yield Lost(work.task, "ended", ending)

    def _dismiss(self, hand: _Hand[Task, Reply], wait_s: float = 0.0) -> Ending:
        self._hands.remove(hand)
        hand.work = None
        return hand.child.end(wait_s)


class Awaited(Protocol):
    """What `wait` can wait for: a pool of this module, or another with news of its own."""

    def descriptors(self) -> Iterator[tuple[int, int]]:
        """Descriptors with the events of `select.poll`."""

    def next_deadline(self) -> float:
        """When something is to be done at the latest, on the clock of `time.monotonic`."""


def wait(*pools: Awaited, limit_s: float = LONGEST_WAIT_S) -> None:
    """Wait until a child of one of the pools says something, dies or misses its deadline, at most `limit_s` seconds."""
    descriptors = [one for pool in pools for one in pool.descriptors()]
    latest = min((pool.next_deadline() for pool in pools), default=time.monotonic() + limit_s)
    wait_for(descriptors, min(limit_s, max(0.001, latest - time.monotonic())))


UNDER_WAY_WAIT_S = 2.0
"""How long what is under way is waited for at the end: children that go on after it are ended with this process."""

Made = TypeVar("Made")


class Beside:
    """The thread; its children are forked (`fork_server.kept`), as the kernel ends them with the thread they are of."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[tuple[Future[Any], Callable[[], None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def start(self, work: Callable[[], Made]) -> Future[Made]:
        """Have `work` done after what was asked for before; what it returns or raises is the future's."""
        future: Future[Made] = Future()
        context = contextvars.copy_context()

        def done() -> None:
            try:
                future.set_result(context.run(work))
            except BaseException as error:
                future.set_exception(error)

        self._asked.put((future, done))
        return future

    def close(self) -> None:
        """End it; what was asked for and not begun is not done, and its future is cancelled."""
        with contextlib.suppress(queue.Empty):
            while (asked := self._asked.get_nowait()) is not None:
                asked[0].cancel()
        self._asked.put(None)
        self._thread.join(UNDER_WAY_WAIT_S)

    def _work(self) -> None:
        with fork_server.kept():
            while (asked := self._asked.get()) is not None:
                asked[1]()
