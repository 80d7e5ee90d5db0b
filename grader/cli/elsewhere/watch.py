"""`grade watch PATH --lab LAB`: grades again at each save, in a process that stays warm."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.options import PathType, labs_option, lang_option, one_lab
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
"""So long a file that has gone, or is empty and was not, is taken for one that is being written: editors rename the old
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
            click.Option(
                ["--lab"],
                metavar="LAB",
                multiple=True,
                callback=one_lab,
                help=_("The lab to grade; default: the one that PATH is named after."),
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
    from msgspec import structs

    from grader.findings.formats import mark_text, write
    from grader.grading.result_only import graded_result
    from grader.report.labels import result_status
    from grader.report.numbers import Numbers
    from grader.report.visible import visible_line

    # The first character of these two lines is what an editor knows a round by (docs/places.md).
    print(f"▶ {visible_line(str(path))} · {time.strftime('%H:%M:%S')}", flush=True)
    try:
        result, seconds = graded_result(path, options, warm)
        if any(check.check == "races" and check.status == "fail" for check in result.checks):
            # Where a barrier is missing shows only by trying one; all that ran before is remembered.
            result, more = graded_result(path, structs.replace(options, repairs=True), warm)
            seconds += more
    except UsageError as error:
        # Half a save, a file renamed: the next one is looked at again.
        print(f"■ ! {visible_line(' '.join(str(error).split()))}", flush=True)
        return
    numbers, status = Numbers(options.language), result_status(result.status)
    print(write("gcc", result, path, options.language, seconds), end="")
    took = _("{seconds} s").format(seconds=numbers.decimal(seconds, 2))
    print(f"■ {status.symbol} {status.word}: {mark_text(result, numbers)} · {took}", flush=True)


def _saves(path: Path) -> Iterator[dict[Path, bytes]]:
    """One item now and one after each change of what the files hold; a save that changes nothing is none."""
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
    found = []
    for place in (folder, *(p for p in sorted(folder.glob("*")) if p.is_dir() and path.is_dir())):
        found += [p for p in sorted(place.glob("*")) if p.suffix.lower() in WATCHED]
        if len(found) > MOST_FILES:
            break
    return found[:MOST_FILES]


def _included(path: Path, contents: Mapping[Path, bytes]) -> frozenset[Path]:
    """Where what the files include may lie, and what that includes: those that are not there may come."""
    from grader.submission.rewriting.includes import HEADER_FOLDERS

    folder = path if path.is_dir() else path.parent
    places = (folder, folder.parent, *(folder / inner for inner in HEADER_FOLDERS))
    own = set(_files(path))
    found: set[Path] = set()
    texts = {file: text for file, text in contents.items() if file in own}
    while texts and len(found) < MOST_FILES:
        names = [(file.parent, os.fsdecode(name)) for file, text in texts.items() for name in _INCLUDE.findall(text)]
        new = {place / name for beside, name in names for place in (beside, *places)} - found - own
        found |= new
        texts = _read(sorted(new)[:MOST_FILES])
    return frozenset(sorted(found)[: MOST_FILES * len(places)])


def _stamps(path: Path, included: Iterable[Path] = ()) -> Stamps:
    """When each file was written and when it was put there, and its size."""
    stamps = {}
    for file in (*_files(path), *included):
        try:
            told = file.stat()
        except OSError:
            continue
        stamps[file] = (told.st_mtime_ns, told.st_ctime_ns, told.st_size)
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
    from grader.files import read_plain

    contents = {}
    for file in files:
        try:
            contents[file] = read_plain(file, 4 << 20)
        except (OSError, ValueError):
            continue
    return contents
