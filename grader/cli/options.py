"""What commands have in common: options, and how one ends that cannot do as asked, or is told to stop.

An error is one line on standard error, a traceback in a file at most.  Ctrl-C, a closed terminal and a plain `kill` end
a command in the same way: what is finished is kept and shown.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click

from grader import i18n
from grader.devices import DEVICE_FILE, gpus
from grader.errors import LOG_NAME, GraderError, InternalError, UsageError, describe_os_error
from grader.i18n import _
from grader.processes.limits import shortage
from grader.report.text import visible

_BOUNDS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EFBIG)
_USERS = (
    *_BOUNDS,
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE),
    *(errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EEXIST),
)


def write_log(folder: Path) -> Path:
    """Write the current exception's traceback to a file in `folder`, or in the temporary folder; returns the file."""
    text = traceback.format_exc()
    for place in (folder, Path(tempfile.gettempdir())):
        try:
            (place / LOG_NAME).write_text(text, "utf-8", errors="backslashreplace")
        except OSError:
            continue
        return place / LOG_NAME
    return Path(os.devnull)


def internal(error: Exception, folder: Path) -> InternalError:
    """What to say of a failure of the grader itself: what failed, and where the whole of it is written."""
    what = str(error) if isinstance(error, GraderError) else type(error).__name__
    if isinstance(error, MemoryError) and shortage():
        what = f"{what}, {shortage()}"
    text = _("the grader failed ({error}); details are in {log}")
    return InternalError(text.format(error=what, log=write_log(folder)))


@contextlib.contextmanager
def blamed_on_us(folder: Path) -> Iterator[None]:
    """Within, whatever fails that neither the user nor the reader of our output is the cause of is the grader's.

    folder: where the traceback is written.

    Raises InternalError: in place of such a failure.
    """
    try:
        yield
    except (UsageError, BrokenPipeError):
        raise
    except Exception as error:
        if refused_by_system(error):
            raise
        raise internal(error, folder) from error


def refused_by_system(error: Exception) -> str:
    """What to say of an error that the user can put right: a file that may not be read, a disk or a limit that is full.

    "" for every other one.
    """
    if not isinstance(error, OSError) or error.errno not in _USERS:
        return ""
    text = describe_os_error(error)
    bounds = shortage() if error.errno in _BOUNDS else ""
    return f"{text} ({bounds})" if bounds else text


def complain(message: str, code: int) -> int:

    with contextlib.suppress(OSError):
        print("grade: " + visible(" ".join(message.split())), file=sys.stderr)
    return code


def usage_message(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchOption):
        message = _("no such option: {option}").format(option=error.option_name)
        near = ", ".join(error.possibilities or [])
        return message + (_("; did you mean {options}?").format(options=near) if near else "")
    if isinstance(error, click.MissingParameter) and error.param is not None:
        param = error.param
        name = param.opts[0] if isinstance(param, click.Option) else (param.metavar or (param.name or "").upper())
        command = error.ctx.command_path if error.ctx is not None else "grade"
        return _("{parameter} is missing; see {command} --help").format(parameter=name.rstrip("."), command=command)
    return error.format_message()


# Ctrl-C, a closed terminal and a plain `kill` end a command in the same way: what is finished is kept and shown.

# Windows has no SIGHUP.
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


_asked: list[int] = []
"""The signals that asked this process to end."""


class Interrupted(KeyboardInterrupt):
    """A signal asks this process to end.  code: the exit code, as shells have it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


@contextmanager
def interruptible() -> Iterator[None]:
    """Have signals that ask to end raise `Interrupted` in the block.

    The first one ends the work; another Ctrl-C ends the keeping of what is finished as well, further signals of the
    other kinds (a closing terminal sends several) are passed over.  What was ignored before (`nohup`) stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    _asked.clear()

    def end(number: int, _frame: FrameType | None) -> None:
        _asked.append(number)
        for other in ENDING:
            if before[other] is not signal.SIG_IGN:
                signal.signal(other, signal.default_int_handler if other == signal.SIGINT else signal.SIG_IGN)
        raise Interrupted(number)

    for number in ENDING:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_if_asked() -> None:
    """Raise `Interrupted` where a signal came whose exception was lost: Python drops what is raised in a finaliser."""
    if _asked:
        raise Interrupted(_asked[0])


class PathType(click.Path):
    """A path.  An empty one, as an unset variable of a script leaves it, would be the current folder."""

    def __init__(self, file_okay: bool = True) -> None:
        super().__init__(path_type=Path, file_okay=file_okay)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path that `value` names."""
        if isinstance(value, str | os.PathLike) and not os.fspath(value):
            self.fail(_("an empty path; write . for the current folder"), param, ctx)
        return super().convert(value, param, ctx)


class DeviceType(click.Choice[str]):
    """A GPU that times are predicted for: its name, a file that describes one, or one of some other words."""

    def __init__(self, *others: str) -> None:
        super().__init__([*others, *gpus()], case_sensitive=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name in lower case, or where the file is."""
        if isinstance(value, str) and value.endswith(DEVICE_FILE):
            return str(Path(value).absolute())
        return str(super().convert(value, param, ctx)).lower()


class WholeNumber(click.ParamType[int]):
    """A whole number from `least` on; what is refused is told with what is allowed."""

    name = "integer"

    def __init__(self, least: int) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number that `value` is."""
        try:
            number = int(value)
        except ValueError:
            self.fail(self._refusal(value), param, ctx)
        if number < self._least:
            self.fail(self._refusal(value), param, ctx)
        return number

    def _refusal(self, value: object) -> str:
        return _("{value!r}; allowed: whole numbers from {least} on").format(value=value, least=self._least)


def lab_option(help_text: str, *, required: bool = False) -> click.Option:
    """`--lab LAB`, of every command that takes only one."""
    return click.Option(["--lab"], metavar="LAB", multiple=True, required=required, callback=_one_lab, help=help_text)


def _one_lab(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> str | None:
    # If several were given, all but the last would be dropped without a word.
    given = list(dict.fromkeys(value))
    if len(given) > 1:
        raise click.BadParameter(_("{labs}: one lab at a time").format(labs=", ".join(given)))
    return given[0] if given else None


def backend_option(default: str = "auto") -> click.Option:
    """`--backend`, of every command that runs kernels."""
    from grader.grading.options import BACKENDS

    return click.Option(
        ["--backend"],
        type=click.Choice(BACKENDS),
        default=default,
        show_default=True,
        help=_("Where kernels run; auto takes a GPU when there is one."),
    )


def jobs_option(most: str = "") -> click.Option:
    """`--jobs N`, of every command that grades several submissions; most: what its default is, if not one per core."""
    return click.Option(
        ["--jobs"],
        type=WholeNumber(1),
        default=None,
        metavar="N",
        help=most or _("Submissions graded at the same time (default: one per core)."),
    )


def lang_option() -> click.Option:
    """`--lang`, of every command; it is in use before the others are read, see `main.language_of`."""
    return click.Option(
        ["--lang"],
        expose_value=False,
        type=click.Choice(i18n.languages()),
        default=i18n.language(),
        help=_("Language of messages and reports (default: the locale's)."),
    )


def view_option() -> click.Option:
    """`--view`, of the commands that grade."""
    return click.Option(
        ["--view"],
        type=click.Choice(["students", "teacher"]),
        default=None,
        help=_(
            "Who reads the results: students are not told what the lab's hidden tests and repairs are "
            "(default: students)."
        ),
    )


def no_pdf_option() -> click.Option:
    """`--no-pdf`, of every command that writes reports."""
    return click.Option(["--no-pdf"], is_flag=True, help=_("Write the HTML report only."))


def labs_option() -> click.Option:
    """`--labs DIR`, of every command that looks for labs."""
    return click.Option(
        ["labs_folders", "--labs"],
        multiple=True,
        type=PathType(),
        metavar="DIR",
        help=_("A folder with more labs; may be repeated."),
    )
