"""`grade watch PATH --lab LAB`: grades again at each save, in a process that stays warm."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import PathType, labs_option, lang_option
from grader.cli.signals import end_if_asked
from grader.errors import UsageError
from grader.i18n import _

if TYPE_CHECKING:
    from grader.grading.options import GradeOptions
    from grader.grading.warm import Warm

LOOK_S = 0.04
"""Between two looks at the files: a poll works on network folders, in WSL and on every system alike."""
SETTLED_S = 0.03
"""Without a change: an editor empties a file, then writes it."""
EMPTIED_S = 1.0
"""So long a file that has become, or has come, empty is taken for one that is being written: a busy machine is slow."""
WATCHED = (".cu", ".cuh", ".h", ".hpp", ".ipynb", ".yaml")
MOST_FILES = 1000
Stamps = dict[Path, tuple[int, int]]


def watch_command() -> click.Command:
    """`grade watch`: the options, in the language in use."""
    return click.Command(
        "watch",
        params=[
            click.Argument(["path"], type=PathType(), metavar="PATH"),
            click.Option(
                ["--lab"], metavar="LAB", help=_("The lab to grade; default: the one that PATH is named after.")
            ),
            labs_option(),
            lang_option(),
        ],
        callback=_watch,
        help=_("Print what to fix, and again after each save of a file, until interrupted."),
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _watch(path: Path, lab: str | None, labs_folders: tuple[Path, ...], lang: str) -> int:
    """Ends with Ctrl-C only, as every command that is interrupted does."""
    from grader.grading.options import GradeOptions
    from grader.grading.result_only import lab_of, task_of
    from grader.grading.warm import Warm

    names = tuple(str(folder) for folder in labs_folders)
    options = GradeOptions(
        lab=lab or lab_of(path, names),
        backend="emulator",
        language=lang,
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
    from grader.findings.formats import write
    from grader.grading.result_only import graded_result
    from grader.report.labels import result_status
    from grader.report.numbers import Numbers
    from grader.report.visible import visible_line

    # The first character of these two lines is what an editor knows a round by (docs/places.md).
    print(f"▶ {visible_line(str(path))} · {time.strftime('%H:%M:%S')}", flush=True)
    try:
        result, seconds = graded_result(path, options, warm)
    except UsageError as error:
        # Half a save, a file renamed: the next one is looked at again.
        print(f"■ ! {visible_line(' '.join(str(error).split()))}", flush=True)
        return
    numbers = Numbers(options.language)
    score, status = result.score, result_status(result.status)
    print(write("gcc", result, path, options.language, seconds), end="")
    mark = numbers.mark(score.earned, score.possible)
    pending = ", " + _("{points} pending").format(points=numbers.points(score.pending)) if score.pending else ""
    took = _("{seconds} s").format(seconds=numbers.decimal(seconds, 2))
    print(f"■ {status.symbol} {status.word}: {mark}{pending} · {took}", flush=True)


def _saves(path: Path) -> Iterator[object]:
    """One item now and one after each change of what the files hold; a save that changes nothing is none."""
    stamps, contents = _stamps(path), _contents(path)
    yield contents
    while True:
        time.sleep(LOOK_S)
        end_if_asked()
        now = _stamps(path)
        if now == stamps:
            continue
        waited_s = 0.0
        while now != (now := _settled(path)) or (_emptied(stamps, now) and waited_s < EMPTIED_S):
            end_if_asked()
            waited_s += SETTLED_S
        stamps, read = now, _contents(path)
        if read != contents:
            contents = read
            yield contents


def _files(path: Path) -> list[Path]:
    folder = path if path.is_dir() else path.parent
    found = []
    for place in (folder, *(p for p in sorted(folder.glob("*")) if p.is_dir() and path.is_dir())):
        found += [p for p in sorted(place.glob("*")) if p.suffix.lower() in WATCHED]
        if len(found) > MOST_FILES:
            break
    return found[:MOST_FILES]


def _stamps(path: Path) -> Stamps:
    """When each file was written, and its size."""
    stamps = {}
    for file in _files(path):
        try:
            told = file.stat()
        except OSError:
            continue
        stamps[file] = (told.st_mtime_ns, told.st_size)
    return stamps


def _settled(path: Path) -> Stamps:
    time.sleep(SETTLED_S)
    return _stamps(path)


def _emptied(before: Stamps, now: Stamps) -> bool:
    """Whether a file that held something, or was not there, holds nothing."""
    return any(size == 0 and before.get(file, (0, 1))[1] for file, (_written, size) in now.items())


def _contents(path: Path) -> dict[Path, bytes]:
    from grader.files import read_plain

    contents = {}
    for file in _files(path):
        try:
            contents[file] = read_plain(file, 4 << 20)
        except OSError:
            continue
    return contents
