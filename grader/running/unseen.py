"""What runs of a program did not come to: kernels that none launches, inputs that nothing fills, results that nothing
has read, wrong ones that its own check lets pass.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from grader.message import msg
from grader.programs.own_check import compares
from grader.running.evidence import HostFault
from grader.running.own_program import backs_in, reads_of
from grader.submission.kernels.records import Kernel, SeenArgument, SeenLaunch, SeenRun
from grader.submission.records import Submission, VariantBinding

# `if (got[i] - want[i] > 1e-5)`, `d = got[i].x - want[i].x`: a difference of elements of two arrays.
_ELEMENT = r"\s*\[[^\[\];]{1,60}\](?:\s*(?:\.|->)\s*\w+)?"
_DIFFERENCE = re.compile(rf"(?<![\w.)\]*/])(\w[\w.>-]*){_ELEMENT}\s*-\s*(?!\1\s*\[)\w[\w.>-]*{_ELEMENT}")
_MAGNITUDE = re.compile(r"\b(?:std\s*::\s*)?f?abs[fl]?\s*\(\s*(?:\(\s*\w+\s*\)\s*)?$")


def unlaunched(
    runs: Sequence[SeenRun], kernel: Kernel, graded: Collection[str], bound: Sequence[VariantBinding]
) -> list[HostFault]:
    """Return that no run reaches a kernel's launch, though all came to their end and launched kernels of the lab."""
    site = next((b.requested for b in bound if b.kernel.name == kernel.name and b.requested is not None), None)
    own = [run for run in runs if run.launches and not run.probe]
    launched = {name for run in own for name in run.asked_for}
    is_whole = all(run.exit == 0 and run.change is None for run in own if not run.results)
    if site is None or site.observed or kernel.name in launched or not launched & set(graded) or not is_whole:
        return []
    message = msg("checks.host_code.not_launched", kernel=kernel.name)
    return [HostFault("launch", site.file or kernel.file, site.line, message)]


def never_filled(runs: Sequence[SeenRun], submission: Submission, kernel: Kernel) -> list[HostFault]:
    """Return arrays that this kernel only reads and nobody has filled, each with all kernels that read it."""
    by_name = {kernel.name: kernel for kernel in submission.kernels}
    faults = []
    for run in runs:
        arguments = [argument for launch in run.launches for argument in launch.arguments]
        if any((a.value is None and not a.buffer) or a.type_text.count("*") > 1 for a in arguments):
            # What a struct or a pointer in memory leads to may have been filled by way of it.
            continue
        # A launch to warm up may come before the copies.
        # Arrays that a class allocates are all called alike; what a loop allocates anew is one.
        alike = {name for launch in run.launches for name in _of_several(launch.arguments)}
        filled = {(a.buffer, a.serial if a.buffer in alike else 0) for a in arguments if a.before}
        empty: dict[str, list[SeenLaunch]] = {}
        for launch in run.launches:
            names = _only_read(by_name.get(launch.kernel))
            for argument in () if launch.refused else launch.arguments:
                is_input = " const*" in argument.type_text or argument.name in names
                serial = argument.serial if argument.buffer in alike else 0
                if is_input and argument.buffer and (argument.buffer, serial) not in filled:
                    empty.setdefault(argument.buffer, []).append(launch)
        for array, launches in empty.items():
            if kernel.name in {launch.kernel for launch in launches}:
                kernels = ", ".join(dict.fromkeys(launch.kernel for launch in launches))
                message = msg("checks.host_code.never_filled", kernel=kernels, array=array)
                faults.append(HostFault("unfilled", launches[0].file, launches[0].line, message))
    return faults


def _only_read(kernel: Kernel | None) -> set[str]:
    return {p.name for p in kernel.parameters if p.is_read and not p.is_written} if kernel is not None else set()


def _of_several(arguments: Sequence[SeenArgument]) -> set[str]:
    """Return the names that several arrays of one launch have."""
    named: dict[str, set[int]] = {}
    for argument in arguments:
        named.setdefault(argument.buffer, set()).add(argument.serial)
    return {name for name, serials in named.items() if len(serials) > 1}


def fetched_over(
    runs: Sequence[SeenRun], kernel: str, texts: Mapping[str, str], graded: Collection[str]
) -> Iterator[HostFault]:
    """Yield copies of a kernel's results over those of another one in the host's memory which nothing has read.

    graded: plain names of the kernels whose results are to be looked at; one that warms up is none of them.  It costs
      nothing: who stores all results in one place may mean to look at the last.
    """
    for run in runs:
        outs = [copy for copy in run.copies if copy.way == "out" and 0 < copy.launches <= len(run.order)]
        for first, second in pairwise(outs) if run.change is None else ():
            made_by = [run.order[copy.launches - 1].launch for copy in (first, second)]
            names = [run.launches[at].kernel if at >= 0 else "" for at in made_by]
            is_over = (first.host, first.file) == (second.host, second.file) and first.bytes <= second.bytes
            if not is_over or first.line >= second.line or names[1] != kernel or names[0] not in {*graded} - {kernel}:
                continue
            text = texts.get(second.file, "")
            backs = {back.line: back for back in backs_in(text)}
            one, other = backs.get(first.line), backs.get(second.line)
            if one is None or other is None or (one.name, one.low) != (other.name, other.low):
                continue
            # A lambda, a macro or a function that reads it may stand elsewhere, and be called between the two.
            if all(second.line <= at <= one.high for at in reads_of(text, one)):
                message = msg("checks.host_code.fetched_over", array=one.name, other=names[0], before=first.line)
                yield HostFault("copy", second.file, second.line, message)


def not_noticed(runs: Sequence[SeenRun], kernel: str, texts: Mapping[str, str]) -> Iterator[HostFault]:
    """Yield that the program calls results of a kernel right which were made wrong.

    In the line of a difference that is taken as it is, where one sign is not noticed and there is one such line; not
    where nothing is compared, for that is told as such.
    """
    if not compares("\n".join(texts.values())):
        return
    for one in (one for run in runs for one in run.unnoticed if one.kernel == kernel):
        file, line = one.file, one.line
        differences = list(_signed(texts)) if one.what in ("smaller", "larger") else []
        way = "signed" if len(differences) == 1 else "not_noticed"
        if len(differences) == 1:
            file, line = differences[0]
        yield HostFault("copy", file, line, msg(f"checks.host_code.{way}_{one.what}"))


def _signed(texts: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the lines in which the difference of two elements is taken, and not its magnitude."""
    for file, text in texts.items():
        for number, row in enumerate(text.split("\n"), 1):
            if any(not _MAGNITUDE.search(row[: match.start()]) for match in _DIFFERENCE.finditer(row)):
                yield file, number
