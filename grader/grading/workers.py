"""Grades submissions of a group in processes of their own, several at a time.

What goes wrong with one, be it a crash of the interpreter or a grading that never ends, is that one's outcome and
nobody else's.  In such a process `main` runs: a `GradeTask` comes, outcomes go back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import socket
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec

from grader.errors import InternalError, UsageError, describe_os_error
from grader.gpu.process import on
from grader.grading.options import GradeOptions, Warm
from grader.lab.records import Lab
from grader.measured import Record
from grader.message import Message, msg, verbatim
from grader.naming import printable, printable_all, printable_result
from grader.processes import fork_server
from grader.processes.channel import Channel, PeerGone
from grader.processes.child import ChildProgram, start_server
from grader.processes.limits import cores, seldom_look_for_garbage, shortage
from grader.processes.pool import Lost, Pool, Waiting, wait
from grader.result import Check, Result
from grader.words import text

MEMORY_BYTES = 4 << 30
_GPU_DEVICE = Path("/dev/nvidiactl")


class GradeTask(Record, frozen=True):
    """One submission to grade.

    path: as the system has it: a name may be no text.  student: the student's id, "" for what the path says.
    command: the command line that repeats this grading, kept in the result.
    gpu: on which of several it is timed, "" for the first that there is.
    """

    path: bytes
    options: GradeOptions
    student: str = ""
    command: str = ""
    gpu: str = ""

    @property
    def file(self) -> Path:
        return Path(os.fsdecode(self.path))


class Checked(Record, frozen=True, tag="checked"):
    """The checks of one variant, as soon as they are judged; said where the options ask for it."""

    checks: list[Check]


class Judged(Record, frozen=True, tag="judged"):
    """The submission's result without its sweeps, as soon as the marks stand; more follows."""

    result: Result


class Graded(Record, frozen=True, tag="graded"):
    """The submission's result."""

    result: Result


class Refused(Record, frozen=True, tag="refused"):
    """The submission's layout is wrong: it holds nothing that could be graded."""

    message: Message


class Failed(Record, frozen=True, tag="failed"):
    """The grader failed; `details` is a traceback or what else is known, `message` what to tell, None for a slip."""

    details: str
    message: Message | None = None


Outcome = Graded | Refused | Failed


def memory_bytes() -> int:
    """What a grading may hold, 0 for no bound: the sizes that are timed on a GPU need more than the emulator's."""
    return 0 if _GPU_DEVICE.exists() else MEMORY_BYTES


def grade_here(
    task: GradeTask,
    lab: Lab | None = None,
    judged: Callable[[Result], None] | None = None,
    warm: Warm | None = None,
    checked: Callable[[list[Check]], None] | None = None,
    swept: Callable[[Result], None] | None = None,
    processes: int = 1,
) -> Result:
    """Grade in this process; `lab` saves reading it again, `judged` is called once all checks are judged.

    warm, checked, swept, processes: see `pipeline.grade`.

    Raises UsageError: the lab or the submission's layout is wrong, or a file of the submission cannot be read.
    """
    from grader.grading import pipeline
    from grader.lab import labs

    options = task.options
    if lab is None:
        lab = labs.find(options.lab, [Path(folder) for folder in options.labs_folders])
    if not options.sweeps:
        lab = dataclasses.replace(lab, sweeps=())
    if not options.times:
        lab = dataclasses.replace(lab, timing=None)

    def named(result: Result) -> Result:
        if task.student:
            result = msgspec.structs.replace(result, student=msgspec.structs.replace(result.student, id=task.student))
        return printable_result(result)

    try:
        result = pipeline.grade(
            task.file,
            lab,
            options,
            command=task.command,
            listeners=pipeline.Listeners(
                judged=None if judged is None else lambda result: judged(named(result)),
                swept=None if swept is None else lambda result: swept(named(result)),
                checked=checked,
            ),
            warm=warm,
            processes=processes,
        )
    except OSError as error:
        if not _is_below(error, task.file):
            raise
        raise UsageError(describe_os_error(error)) from error
    return named(result)


def _is_below(error: OSError, folder: Path) -> bool:
    """Whether the system refused a file of the submission."""
    if not isinstance(error.filename, str | bytes):
        return False
    file = Path(os.fsdecode(error.filename))
    return file == folder or file.absolute().is_relative_to((folder if folder.is_dir() else folder.parent).absolute())


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
    "grader.programs.observation",
    "grader.repair.faster",
    "grader.repair.search",
    "grader.running.cases",
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
    for name in _NEEDED:
        importlib.import_module(name)


def main(connection: socket.socket) -> None:
    """Serve tasks until the parent closes the channel."""
    from grader.timing import lock

    channel = Channel(connection, msgspec.msgpack.Decoder(GradeTask))
    seldom_look_for_garbage()
    lock.tell_of_waiting(lambda waits: channel.send(Waiting(waits, lock.WAIT_S)))
    with fork_server.kept(), contextlib.suppress(PeerGone):
        while True:
            _serve(channel)


def _serve(channel: Channel[GradeTask]) -> None:
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
    """Return the outcome with texts that can be sent: names of files that are no text stand in messages too."""
    match outcome:
        case Refused(message=message):
            return Refused(message=_printable_message(message))
        case Failed(details=details, message=message):
            return Failed(details=printable(details), message=_printable_message(message) if message else None)
    return outcome


def _printable_message(message: Message) -> Message:
    return msgspec.convert(printable_all(msgspec.to_builtins(message)), Message)


def _outcome(task: GradeTask, judged: Callable[[Result], None], checked: Callable[[list[Check]], None]) -> Outcome:
    """Return what came of a task; every exception becomes an outcome."""
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
