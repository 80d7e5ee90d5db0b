"""The commands of editors: `grade check`, findings as compilers print theirs, and `grade watch`, again at each save."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader import i18n
from grader.cli.options import (
    PathType,
    backend_option,
    blamed_on_us,
    complain,
    end_if_asked,
    lab_option,
    labs_option,
    lang_option,
    view_option,
)
from grader.errors import UsageError
from grader.files import read_plain
from grader.i18n import _
from grader.report.text import Numbers, result_status, speak_utf8, visible_line

if TYPE_CHECKING:
    from grader.grading.options import GradeOptions, Warm
    from grader.lab.checks import View


LINES = ("gcc", "github")
"""The formats that several submissions can be printed in, one after another."""


def check_command() -> click.Command:
    """`grade check`: the options, in the language in use."""
    from grader.exports.finding_formats import FORMATS

    options: list[click.Parameter] = [
        click.Argument(["paths"], nargs=-1, required=True, type=PathType(), metavar="PATH..."),
        lab_option(_("The lab to grade; default: the one that PATH is named after.")),
        click.Option(
            ["format_name", "--format"],
            type=click.Choice(list(FORMATS)),
            default="gcc",
            show_default=True,
            help=_("How findings are printed."),
        ),
        click.Option(
            ["--source"],
            type=PathType(),
            help=_("PATH is a result.json (or a folder with one) and nothing is graded: where the graded files are."),
        ),
        click.Option(
            ["--out-of"],
            type=click.FloatRange(min=0, min_open=True),
            metavar="N",
            help=_("Full marks on the service's own scale (vpl, classroom); default: the lab's points."),
        ),
        backend_option(default="emulator"),
        labs_option(),
        lang_option(),
        view_option(),
    ]
    return click.Command(
        "check",
        params=options,
        callback=_check,
        help=_("Print what to fix in submissions, one line each, as compilers do. No report is written."),
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _check(
    paths: tuple[Path, ...],
    lab: str | None,
    format_name: str,
    source: Path | None,
    out_of: float | None,
    backend: str,
    labs_folders: tuple[Path, ...],
    view: View | None,
) -> int:
    """Return 0 when there is nothing to be mended in any of them, else the highest code of one."""
    if len(paths) > 1 and format_name not in LINES:
        text = _("Several PATHs can be printed as {formats} only; got --format {format}")
        raise UsageError(text.format(formats=", ".join(LINES), format=format_name))
    if format_name != "gcc":
        speak_utf8()
    from grader.grading.options import GradeOptions
    from grader.result import gravest_code

    # With what mends a fault, as the report says it.
    options = GradeOptions(
        lab=lab or "",
        backend=backend,
        language=i18n.language(),
        labs_folders=tuple(str(folder) for folder in labs_folders),
        sweeps=False,
        # Gradescope hides tests from students itself.
        view=view or ("service" if format_name == "gradescope" else "students"),
    )
    code = 0
    for path in paths:
        try:
            with blamed_on_us(Path(tempfile.gettempdir())):
                text, one = _one(path, options, format_name, source, out_of)
        except UsageError as error:
            if len(paths) == 1:
                raise
            # A hook names every file of a commit; what is wrong with one is no reason to pass over the others.
            code = gravest_code((code, complain(str(error), error.exit_code)))
            continue
        sys.stdout.write(text)
        sys.stdout.flush()
        code = gravest_code((code, one))
    return code


def _one(
    path: Path, options: GradeOptions, format_name: str, source: Path | None, out_of: float | None
) -> tuple[str, int]:
    """Return what is printed of one submission, and its exit code; without a lab, of the one `path` names."""
    from msgspec import structs

    from grader.exports.finding_formats import mark_text, write
    from grader.grading.session import graded_result, lab_of, stored_result
    from grader.result import exit_code

    seconds: float | None = None
    if source is not None:
        # What that grading took, nobody wrote down.
        result = stored_result(path)
    else:
        lab = options.lab or lab_of(path, options.labs_folders)
        result, seconds = graded_result(path, structs.replace(options, lab=lab))
    if format_name == "gcc":
        # Beside the findings, which scripts read: that there are none is no sign that anything was judged.
        status = result_status(result.status)
        mark = mark_text(result, Numbers(options.language))
        click.echo(visible_line(f"{source or path}: {status.symbol} {status.word}: {mark}"), err=True)
    return write(format_name, result, source or path, options.language, seconds, out_of), exit_code([result])


# `grade watch PATH --lab LAB`: grades again at each save, in a process that stays warm.

LOOK_S = 0.04
"""Between two looks at the files: a poll works on network folders, in WSL and on every system alike."""
SETTLED_S = 0.03
"""Without a change: an editor empties a file, then writes it."""
EMPTIED_S = 1.0
"""How long a file that has gone, or is empty and was not, counts as one that is being written: editors rename the old
file first, and a busy machine is slow."""
WATCHED = (".cu", ".cuh", ".h", ".hpp", ".ipynb", ".yaml", ".cpp", ".cc", ".cxx", ".c")
"""In the folder; a file that one of them includes is watched whatever it is called, and in whatever folder it lies."""
MOST_FILES = 1000
Stamps = dict[Path, tuple[int, int, int]]
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n\0]{1,200})"', re.MULTILINE)


def watch_command() -> click.Command:
    """`grade watch`: the options, in the language in use."""
    return click.Command(
        "watch",
        params=[
            click.Argument(["path"], type=PathType(), metavar="PATH"),
            lab_option(_("The lab to grade; default: the one that PATH is named after.")),
            labs_option(),
            lang_option(),
        ],
        callback=_watch,
        help=_("Print what to fix, and again after each save of a file, until interrupted."),
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _watch(path: Path, lab: str | None, labs_folders: tuple[Path, ...]) -> int:
    from grader.grading.options import GradeOptions, Warm
    from grader.grading.session import lab_of, task_of

    names = tuple(str(folder) for folder in labs_folders)
    options = GradeOptions(
        lab=lab or lab_of(path, names),
        backend="emulator",
        language=i18n.language(),
        labs_folders=names,
        sweeps=False,
        repairs=False,
    )
    # A path or a lab that is not there will not come by waiting.
    task_of(path, options)
    with Warm() as warm:
        for _texts in _saves(path):
            _grade(path, options, warm)
    return 0


def _grade(path: Path, options: GradeOptions, warm: Warm) -> None:
    from msgspec import structs

    from grader.exports.finding_formats import mark_text, write
    from grader.grading.session import graded_result
    from grader.lab import labs
    from grader.repair.verified import without_guesses

    # The first character of these two lines is what an editor knows a round by (docs/places.md).
    print(f"▶ {visible_line(str(path))} · {time.strftime('%H:%M:%S')}", flush=True)
    try:
        result, seconds = graded_result(path, options, warm)
        if any(check.check == "races" and check.status == "fail" for check in result.checks):
            # Where a barrier is missing shows only by trying one; all that ran before is remembered.
            result, more = graded_result(path, structs.replace(options, repairs=True), warm)
            seconds += more
        elif labs.find(options.lab, [Path(folder) for folder in options.labs_folders]).repairs != "off":
            # What a search may overrule, or the lab keep from students, is not said before it.
            result = without_guesses(result)
    except UsageError as error:
        # Half a save, a file renamed: the next one is looked at again.
        print(f"■ ! {visible_line(' '.join(str(error).split()))}", flush=True)
        return
    numbers, status = Numbers(options.language), result_status(result.status)
    print(write("gcc", result, path, options.language, seconds), end="")
    took = _("{seconds} s").format(seconds=numbers.decimal(seconds, 2))
    print(f"■ {status.symbol} {status.word}: {mark_text(result, numbers)} · {took}", flush=True)


def _saves(path: Path) -> Iterator[dict[Path, bytes]]:
    """Yield the contents now and after each change of them; a save that changes nothing is none."""
    contents = _contents(path)
    # Before they are read again: what is saved meanwhile is seen at the next look.
    included = _included(path, contents)
    stamps = _stamps(path, included)
    contents = _contents(path, included)
    yield contents
    while True:
        time.sleep(LOOK_S)
        end_if_asked()
        now = _stamps(path, included)
        if now == stamps:
            continue
        waited_s = 0.0
        while now != (now := _settled(path, included)) or (_is_written(stamps, now) and waited_s < EMPTIED_S):
            end_if_asked()
            waited_s += SETTLED_S
        stamps, read = now, _contents(path, included)
        if read != contents:
            included = _included(path, read)
            stamps = _stamps(path, included)
            contents = _contents(path, included)
            yield contents


def _files(path: Path) -> list[Path]:
    folder = path if path.is_dir() else path.parent
    files = []
    for place in (folder, *(p for p in sorted(folder.glob("*")) if p.is_dir() and path.is_dir())):
        files += [p for p in sorted(place.glob("*")) if p.suffix.lower() in WATCHED]
        if len(files) > MOST_FILES:
            break
    return files[:MOST_FILES]


def _included(path: Path, contents: Mapping[Path, bytes]) -> frozenset[Path]:
    """Return where included files may lie, recursively: those that are not there may come."""
    from grader.submission.device_code import HEADER_FOLDERS

    folder = path if path.is_dir() else path.parent
    places = (folder, folder.parent, *(folder / inner for inner in HEADER_FOLDERS))
    own = set(_files(path))
    included: set[Path] = set()
    texts = {file: text for file, text in contents.items() if file in own}
    while texts and len(included) < MOST_FILES:
        names = [(file.parent, os.fsdecode(name)) for file, text in texts.items() for name in _INCLUDE.findall(text)]
        new = {place / name for beside, name in names for place in (beside, *places)} - included - own
        included |= new
        texts = _read(sorted(new)[:MOST_FILES])
    return frozenset(sorted(included)[: MOST_FILES * len(places)])


def _stamps(path: Path, included: Iterable[Path] = ()) -> Stamps:
    """Return (time written, time put there, size) of each file."""
    stamps = {}
    for file in (*_files(path), *included):
        try:
            status = file.stat()
        except OSError:
            continue
        stamps[file] = (status.st_mtime_ns, status.st_ctime_ns, status.st_size)
    return stamps


def _settled(path: Path, included: Iterable[Path]) -> Stamps:
    time.sleep(SETTLED_S)
    return _stamps(path, included)


def _is_written(before: Stamps, now: Stamps) -> bool:
    """Whether a file has gone, or one that held something, or was not there, holds nothing."""
    if before.keys() - now.keys():
        return True
    return any(size == 0 and before.get(file, (0, 0, 1))[2] for file, (_written, _put, size) in now.items())


def _contents(path: Path, included: Iterable[Path] = ()) -> dict[Path, bytes]:
    return _read((*_files(path), *included))


def _read(files: Iterable[Path]) -> dict[Path, bytes]:

    contents = {}
    for file in files:
        try:
            contents[file] = read_plain(file, 4 << 20)
        except (OSError, ValueError):
            continue
    return contents
