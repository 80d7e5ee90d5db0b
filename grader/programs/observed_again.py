"""Programs run once more: with launches that stand in comments, and at sizes that are no multiple of anything."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence

from grader.errors import InternalError
from grader.programs.observation import TRACED, seen_run, sources_of
from grader.programs.observe import Setting, Start, observe_each
from grader.programs.observed_before import Stored
from grader.programs.runtime.devices import GRADING
from grader.programs.starts import programs_of
from grader.submission.cpp.scopes import with_launches_of_comments
from grader.submission.kernels.records import Observed, SeenRun
from grader.submission.source import SourceText


def with_comments_run(
    sources: Sequence[SourceText], seen: Observed, observed: Callable[[Sequence[SourceText]], Observed]
) -> tuple[list[SourceText], Observed]:
    """The files with the launches that stand in comments, of kernels launched nowhere else, and what is seen then.

    seen: of the files as they are, which is what remains where a program runs as it is and does not run with these.
    """
    changed, uncommented = with_launches_of_comments(sources)
    if not uncommented or seen.failed is not None:
        return list(sources), seen
    again = observed(changed)
    ran = {run.files for run in seen.runs if run.launches}
    if again.failed is not None or not ran <= {run.files for run in again.runs if run.launches}:
        return list(sources), seen
    return changed, dataclasses.replace(again, uncommented=uncommented)


# A program run once more with sizes that are no multiple of anything: how it rounds its grids shows then.


SMALLEST = 8
LESS = 3
"""So much smaller is a size made: most blocks' sides are powers of two."""

_NUMBER = re.compile(
    r"(?:#[ \t]*define[ \t]+(?P<macro>\w+)[ \t]+\(?[ \t]*|\b(?P<name>\w+)\s*=\s*)(?P<number>\d{1,9})(?![\w.]|\s*<<)"
)
_TYPED = re.compile(rb"(\d+)")
_NO_SIZE = re.compile(r"block|thread|tile|warp|seed|iter|repeat|runs?$|side|^(?:bs|ts|tx|ty)$", re.IGNORECASE)


def probed(sources: Sequence[SourceText], observed: Observed, store: Stored | None) -> Observed:
    """`observed` with a run of each program in which the sizes that its kernels are handed are a little smaller."""
    probes: list[SeenRun] = []
    for files in programs_of(sources):
        names = tuple(source.file for source in files)
        first = next((run for run in observed.runs if run.files == names and run.launches and not run.change), None)
        if first is None:
            continue
        sizes = {
            argument.value
            for launch in first.launches
            for argument in launch.arguments
            if isinstance(argument.value, int) and argument.value >= SMALLEST
        }
        arguments = tuple(_smaller(word, sizes) for word in first.arguments)
        texts = _changed({source.file: source.text for source in files}, sizes)
        typed = b"".join(_smaller(word.decode(), sizes).encode() for word in _TYPED.split(first.stdin))
        if not texts and (arguments, typed) == (first.arguments, first.stdin):
            continue
        ways = [Start(arguments, typed)]
        try:
            changed = sources_of(files, texts)
            program = changed.read(arguments)
            new_runs = store.get(program, ways) if store is not None else None
            if new_runs is None:
                setting = Setting(GRADING, remembered=store.programs if store is not None else None)
                (observation,) = observe_each(changed, ways, TRACED, setting)
                new_runs = [dataclasses.replace(seen_run(files, observation, ways[0]), probe=True, faults=())]
                if store is not None:
                    store.put(program, ways, new_runs)
        except InternalError:
            continue
        probes += new_runs
    return dataclasses.replace(observed, runs=(*observed.runs, *probes))


def _smaller(word: str, sizes: set[int]) -> str:
    return str(int(word) - LESS) if word.isdigit() and int(word) in sizes else word


def _changed(texts: Mapping[str, str], sizes: set[int]) -> dict[str, str]:
    """The texts in which a number that was handed to a kernel stands, with another in its place."""

    def other(match: re.Match[str]) -> str:
        name = match["macro"] or match["name"] or ""
        if int(match["number"]) not in sizes or _NO_SIZE.search(name):
            return match[0]
        return match[0][: match.start("number") - match.start()] + str(int(match["number"]) - LESS)

    changed = {name: _NUMBER.sub(other, text) for name, text in texts.items()}
    return {name: text for name, text in changed.items() if text != texts[name]}
