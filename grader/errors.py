"""Who is to blame, as a type.

A fault in a *submission* is never an exception that reaches the user: it becomes a
check result with a reason and a hint.  What is raised past `grader.grading.pipeline` is one
of the classes below; `grader.cli` turns each into one line and its exit code.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from grader.message import Message, as_message, msg
from grader.words import NoWordsError, text

LOG_NAME = "grade-error.log"
"""The file that a traceback is put into: in a student's folder of outputs, or where the command was given."""


class GraderError(Exception):
    """Base of every error this program raises on purpose.

    message: what is wrong and what is allowed, one line; `str()` of the error says it in the language in use.  A
      string is what is said alike in every language.
    """

    exit_code = 3

    def __init__(self, message: Message | str) -> None:
        self.message = as_message(message)
        super().__init__(self.message)

    def __str__(self) -> str:
        return text(self.message)


class UsageError(GraderError):
    """The command line or the layout of a submission is wrong (exit code 2)."""

    exit_code = 2


class FileError(UsageError):
    """A file that people write for the grader (a lab's, `submission.yaml`, a course's rules) is wrong, and where.

    message: what is wrong and what is allowed, one line.
    path: the file at fault.
    line: 1-based line in that file, when known.
    """

    def __init__(self, message: Message | str, path: Path | str, line: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        where = f"{path}:{line}" if line is not None else str(path)
        what = as_message(message)
        super().__init__(msg("errors.at", where=where, what=what))


class InternalError(GraderError):
    """The grader itself failed (exit code 3); costs no student any point."""


def system_reason(error: OSError) -> str:
    """Why the system refused: in the language in use where users meet the reason, else in the system's own words."""
    try:
        return text(msg(f"errors.{errno.errorcode[error.errno or 0].lower()}"))
    except (KeyError, NoWordsError):
        return error.strerror or str(error) or type(error).__name__


def describe_os_error(error: OSError) -> str:
    """What the system refused, as "path: reason"; the reason alone where it names no file."""
    if not isinstance(error.filename, str | bytes):
        return system_reason(error)
    return f"{os.fsdecode(error.filename)}: {system_reason(error)}"
