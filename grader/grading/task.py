"""One submission to grade, as a task that can be sent to another process, what comes of it, and the grading itself."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from grader.errors import UsageError, describe_os_error
from grader.grading.options import GradeOptions
from grader.lab.records import Lab
from grader.message import Message
from grader.naming import printable_result
from grader.result import Check, Record, Result

if TYPE_CHECKING:
    from grader.grading.warm import Warm

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
        """The path of the submission."""
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
) -> Result:
    """Grade in this process; `lab` saves reading it again, `judged` is called once all checks are judged.

    warm, checked: see `pipeline.grade`.

    Raises
    ------
    UsageError : the lab or the submission's layout is wrong, or a file of the submission cannot be read.
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
            judged=None if judged is None else lambda result: judged(named(result)),
            checked=checked,
            warm=warm,
        )
    except OSError as error:
        if not _is_below(error, task.file):
            raise
        raise UsageError(describe_os_error(error)) from error
    return named(result)


def _is_below(error: OSError, folder: Path) -> bool:
    """Whether what the system refused is a file of the submission."""
    if not isinstance(error.filename, str | bytes):
        return False
    file = Path(os.fsdecode(error.filename))
    return file == folder or file.absolute().is_relative_to((folder if folder.is_dir() else folder.parent).absolute())
