"""Grades submissions of a group in processes of their own, several at a time.

What goes wrong with one, be it a crash of the interpreter or a grading that never ends, is that one's outcome and
nobody else's.  In such a process `main` runs: a `GradeTask` comes, outcomes go back.
"""

from __future__ import annotations

import contextlib
import importlib
import socket
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import msgspec

from grader.errors import InternalError, UsageError, describe_os_error
from grader.gpu.process import on
from grader.grading.task import (
    MEMORY_BYTES,
    Checked,
    Failed,
    Graded,
    GradeTask,
    Judged,
    Outcome,
    Refused,
    grade_here,
    memory_bytes,
)
from grader.message import Message, msg, verbatim
from grader.naming import printable, printable_all
from grader.processes import fork_server
from grader.processes.channel import Channel, PeerGone
from grader.processes.child import ChildProgram, start_server
from grader.processes.limits import shortage
from grader.processes.pool import Lost, Pool, Waiting, wait
from grader.processes.system import cores
from grader.result import Check, Result
from grader.words import text


def no_process(reason: str) -> Message:
    """What to tell where the system lets no process start."""
    return with_bounds(msg("session.no_process", reason=reason))


def with_bounds(what: Message) -> Message:
    bounds = shortage()
    return msg("session.with_bounds", what=what, bounds=bounds) if bounds else what


_NEEDED = (
    "grader.launching.emulator",
    "grader.checks",
    "grader.grading.pipeline",
    "grader.grading.reading",
    "grader.lab.file",
    "grader.lab.labs",
    "grader.launching.trial",
    "grader.launching.warp_steps",
    "grader.programs.observation",
    "grader.programs.observed_again",
    "grader.repair.faster",
    "grader.repair.search",
    "grader.running.drawn",
    "grader.running.runs",
    "grader.submission.binding.bind",
    "grader.grading.sweeps",
    "numpy.random",
    "tree_sitter_cuda",
    "yaml",
)
"""What the stages of a grading import when they are reached."""
DEADLINE_S = 1800.0
"""For judging one submission, and once more for its sweeps; far beyond what its compile and kernel limits add up to.

Waiting for a GPU does not count: see `grader.timing.lock`.
"""


@cache
def _replies() -> msgspec.msgpack.Decoder[Checked | Judged | Graded | Refused | Failed | Waiting]:
    return msgspec.msgpack.Decoder(Checked | Judged | Graded | Refused | Failed | Waiting)


def job_count(tasks: int, asked: int | None) -> int:
    """How many of `tasks` to work on at the same time: as many as asked for, else one per core."""
    return max(1, min(asked or cores(), tasks))


def warm() -> None:
    """Have a group's grading processes import what they need from now on; tried again when they are wanted."""
    with contextlib.suppress(OSError):
        start_server(_program())


def grading_pool(jobs: int) -> Pool[GradeTask, Checked | Judged | Outcome]:
    """A pool of `jobs` grading processes."""
    return Pool(_program(), _replies(), lambda reply: not isinstance(reply, Checked | Judged), DEADLINE_S, jobs)


def _program() -> ChildProgram:
    return ChildProgram("grader.grading.workers", data_bytes=memory_bytes(), is_forkable=True)


def grade_all(tasks: Sequence[GradeTask], jobs: int) -> Iterator[tuple[GradeTask, Outcome]]:
    """Outcomes as they come, of `jobs` gradings at a time.

    Closing the iterator, or an exception in its consumer, ends the processes.
    """
    with grading_pool(jobs) as pool:
        for task in tasks:
            pool.submit(task, task)
        while pool.unfinished:
            wait(pool)
            for event in pool.events():
                if isinstance(event, Lost):
                    yield event.task, lost(event)
                elif not isinstance(event.reply, Checked | Judged):
                    yield event.task, event.reply


def lost(event: Lost[GradeTask]) -> Failed:
    """The outcome of a task of which no process could tell how it went."""
    if event.reason == "unstarted":
        return Failed(details=f"{event.task.file}: no process: {event.detail}", message=no_process(event.detail))
    if event.reason == "deadline":
        late = msg("session.deadline", seconds=f"{DEADLINE_S:.0f}")
        return Failed(details=f"{event.task.file}: {text(late)}\n{_output(event)}", message=late)
    details = f"{event.task.file}: the grading process ended with {event.ending or event.detail}\n{_output(event)}"
    if event.ending is not None and event.ending.by_signal:
        return Failed(details=details, message=with_bounds(msg("session.signal", signal=str(event.ending))))
    return Failed(details=details)


def _output(event: Lost[GradeTask]) -> str:
    return event.ending.output if event.ending is not None else ""


def prepare() -> None:
    """Import all that a grading may need."""
    for name in _NEEDED:
        importlib.import_module(name)


def main(connection: socket.socket) -> None:
    """Serve tasks until the parent closes the channel."""
    from grader.timing import lock

    channel = Channel(connection, msgspec.msgpack.Decoder(GradeTask))
    lock.tell_of_waiting(lambda waits: channel.send(Waiting(waits, lock.WAIT_S)))
    with fork_server.kept(), contextlib.suppress(PeerGone):
        while True:
            _serve(channel)


def _serve(channel: Channel[GradeTask]) -> None:
    """One task.  Raises PeerGone."""
    from grader.words import speak

    task = channel.receive()
    speak(task.options.language)

    def checked(checks: list[Check]) -> None:
        # What cannot be sent is told with the result.
        with contextlib.suppress(UnicodeEncodeError, OverflowError):
            channel.send(Checked(checks=checks))

    outcome = _printable(_outcome(task, lambda result: channel.send(Judged(result=result)), checked))
    try:
        channel.send(outcome)
    except (ValueError, MemoryError):
        channel.send(Failed(details=traceback.format_exc()))


def _printable(outcome: Outcome) -> Outcome:
    """The same with texts that can be sent: names of files that are no text stand in messages too."""
    match outcome:
        case Refused(message=message):
            return Refused(message=_printable_message(message))
        case Failed(details=details, message=message):
            return Failed(details=printable(details), message=_printable_message(message) if message else None)
    return outcome


def _printable_message(message: Message) -> Message:
    return msgspec.convert(printable_all(msgspec.to_builtins(message)), Message)


def _outcome(task: GradeTask, judged: Callable[[Result], None], checked: Callable[[list[Check]], None]) -> Outcome:
    """What came of a task; everything that can be raised is told, as an exception here is nobody else's business."""
    try:
        with on(task.gpu):
            return Graded(result=grade_here(task, judged=judged, checked=checked if task.options.stepwise else None))
    except UsageError as error:
        return Refused(message=error.message)
    except InternalError as error:
        return Failed(details=traceback.format_exc(), message=error.message)
    except PeerGone:
        raise
    except MemoryError:
        large = msg("session.memory", n=MEMORY_BYTES >> 30)
        return Failed(details=traceback.format_exc(), message=large)
    except OSError as error:
        return Failed(details=traceback.format_exc(), message=verbatim(describe_os_error(error)))
    except BaseException:
        return Failed(details=traceback.format_exc())
