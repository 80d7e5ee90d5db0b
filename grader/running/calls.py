"""What was observed of calls of a function or of a whole program: why there is nothing to compare, what the launches
did together, which of the kernels may be at fault, what lives on from one call to the next; and what runs did not come
to: kernels that none launches, inputs that nothing fills, results that nothing has read, wrong ones that its own check
lets pass.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from pathlib import Path

import msgspec
import numpy as np
from msgspec import structs

from grader.diagnosis.text import hazard_msg
from grader.lab.compare import Difference
from grader.lab.records import Lab
from grader.launching.backend import LaunchOutcome
from grader.launching.kernel import shape_at
from grader.launching.trial import Run
from grader.message import msg
from grader.programs.own_check import compares, comparisons_in, differences_looked_at
from grader.programs.records import LIBRARY, CallLaunch, CallSeen, Observation, ProgramFinding
from grader.ptx.records import Counters as LaunchCounters
from grader.ptx.records import Hazard, LineCounter
from grader.running.evidence import FaultKind, HostFault, OneBlock
from grader.running.own_program import backs_in, reads_of
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import declared_name, descendants, qualifiers_of
from grader.submission.kernels.records import Kernel, SeenArgument, SeenLaunch, SeenRun
from grader.submission.records import Submission, VariantBinding
from grader.submission.source import SourceText

COMBINE = ("atomic", "cooperative_groups", "__threadfence", "cub::", "thrust::")
"""What stands in kernels whose blocks work on one result together."""
NO_FAULTS = frozenset({"programs.hangs", "programs.process_died", "programs.launch_seconds"})
"""Ids of causes that a clock or the machine has brought about."""
NOT_OURS = frozenset(
    f"programs.{name}"
    for name in ("kernel_not_emulated", "emulator_cannot", "kernel_keeps_pointer", "kernel_waits_for_host")
)
"""Ids of causes that come of what the emulator lacks."""
OF_CARD: dict[str, tuple[str, str]] = {
    "fault": ("fault", "call_ended"),
    "hangs": ("fault", "call_ended"),
    "unsupported": ("unsupported", "on_card"),
}
"""Status and reason of a launch that a GPU has ended, by the kind of the finding."""


def stopped_launch(observation: Observation) -> LaunchOutcome | None:
    """Return what stopped one of the launches, or kept it from being run; None where nothing did."""
    finding = next((f for f in observation.findings if f.kind in OF_CARD), None) if observation.device else None
    if finding is not None:
        status, reason = OF_CARD[finding.kind]
        return LaunchOutcome(status, reason=reason, said=finding.message, line=finding.line, file=finding.file)
    cause = observation.cause
    if cause is not None and cause.id in NO_FAULTS | NOT_OURS:
        return LaunchOutcome("unsupported", reason=cause.id, said=cause)
    for launch in (launch for call in observation.calls for launch in call.launches):
        if launch.status == "too_many_steps":
            said = msg("launches.emulator_steps")
            return LaunchOutcome("unsupported", reason="steps", said=said, line=launch.line)
        if launch.status in ("trap", "grid_sync", "endless"):
            reason = launch.reason if launch.status == "endless" else launch.status
            return _ended_in(launch, reason)
        if launch.status in ("too_large", "too_slow"):
            return _ended_in(launch, "instructions")
        of_null = next((h for h in launch.hazards if h.detail == "null"), None)
        if of_null is not None:
            said = msg("launches.null_pointer", kernel=launch.kernel, what=hazard_msg(of_null))
            at = msgspec.structs.replace(launch, line=of_null.line, file=of_null.file or launch.file)
            return replace(_ended_in(at, "null_pointer"), said=said)
    return None


def _ended_in(launch: CallLaunch, reason: str) -> LaunchOutcome:
    is_own = launch.file != LIBRARY
    return LaunchOutcome("fault", reason=reason, line=launch.line if is_own else 0, file=launch.file if is_own else "")


def stopped_call(observation: Observation, wanted: int) -> LaunchOutcome | None:
    """Return why there is nothing to compare after `wanted` calls: the first launch or call that stopped; else None."""
    outcome = stopped_launch(observation)
    if outcome is not None:
        return outcome
    cause = observation.cause
    last = observation.calls[-1] if observation.calls else CallSeen()
    if len(observation.calls) < wanted or not last.has_returned:
        number = max(1, len(observation.calls))
        if cause is not None:
            place = next((f for f in reversed(observation.findings) if f.message == cause), None)
            said = msg("launches.call_ended", number=number, what=cause)
            line, file = (place.line, place.file) if place is not None else (0, "")
            return LaunchOutcome("fault", reason="call_ended", said=said, line=line, file=file)
        if not observation.calls:
            return LaunchOutcome("fault", reason="left_before", said=msg("launches.left_before"))
        return LaunchOutcome("fault", reason="left_early", said=msg("launches.left_early", number=number))
    for call in observation.calls:
        if call.by_host:
            return LaunchOutcome("fault", reason="by_host", said=msg("launches.by_host", name=call.by_host[0]))
        if call.freed:
            name, file, line = call.freed[0]
            said = msg("launches.freed_array", name=name)
            return LaunchOutcome("fault", reason="freed_array", said=said, line=line, file=file)
        if call.strayed:
            name, side = call.strayed[0]
            return LaunchOutcome("fault", reason="strayed", said=msg(f"launches.strayed_{side}", name=name))
    return None


_ADDED = ("requests", "wavefronts", "sectors", "ideal", "unique_bytes", "lanes", "few_requests", "few_lanes")


def together(launches: Sequence[CallLaunch], own: str) -> LaunchCounters:
    """Return the counters of several launches as of one, line by line; the file is "" where that is `own`.

    What a library does is left out.
    """
    rows: dict[tuple[str, int, str, str, int], LineCounter] = {}
    counters = [launch.counters for launch in launches if launch.counters is not None]
    for c in (c for counted in counters for c in counted.by_line if c.file != LIBRARY):
        file = "" if c.file == own else c.file
        key = (file, c.line, c.space, c.op, c.width_bytes)
        row = rows.get(key)
        if row is None:
            rows[key] = replace(c, file=file)
            continue
        for name in _ADDED:
            setattr(row, name, getattr(row, name) + getattr(c, name))
        if c.ways > row.ways:
            row.ways, row.worst_words = c.ways, c.worst_words
    return LaunchCounters(
        [rows[key] for key in sorted(rows)],
        sum(counted.sampled_blocks for counted in counters),
        sum(counted.total_blocks for counted in counters),
    )


def hazards_of(observation: Observation) -> tuple[Hazard, ...]:
    """Return the hazards of all launches; those in a library's code have no line."""
    hazards = (h for call in observation.calls for launch in call.launches for h in launch.hazards)
    return tuple(replace(h, file="", line=0) if h.file == LIBRARY else h for h in hazards)


def remarks_of(observation: Observation) -> tuple[tuple[str, int, int], ...]:
    """Return what all launches of the program's own kernels showed that is no fault on a device."""
    launches = (launch for call in observation.calls for launch in call.launches if not launch.is_of_library)
    return tuple(dict.fromkeys(remark for launch in launches for remark in launch.remarks))


def suspects(shown: Sequence[tuple[Run, Observation]]) -> frozenset[str]:
    """Return plain names of kernels launched in every wrong run and in no right one; if none, in every wrong one."""
    wrong: list[set[str]] = []
    right: set[str] = set()
    for run, observation in shown:
        names = {launch.kernel.partition("<")[0] for call in observation.calls for launch in call.launches}
        if run.outcome.status == "ok" and run.is_right:
            right |= names
        else:
            wrong.append(names)
    common = set.intersection(*wrong) if wrong else set()
    return frozenset(common - right or common)


def is_one_launch(shown: Sequence[tuple[Run, Observation]]) -> bool:
    """Whether every call of the wrong runs makes one launch: no order of launches, and nothing between, is wrong."""
    wrong = (observation for run, observation in shown if not run.is_right)
    calls = [call for observation in wrong for call in observation.calls if call.launches or call.has_returned]
    return bool(calls) and all(len(call.launches) == 1 for call in calls)


def uncombined_blocks(shown: Sequence[tuple[Run, Observation]], device_text: str) -> int:
    """Return how many blocks make a result each where nothing makes one of them: of a call that is to give one number
    by one launch, and is right only with one block, their number where it is wrong first; 0 of any other call."""
    if any(word in device_text for word in COMBINE):
        return 0
    blocks: dict[bool, list[int]] = {True: [], False: []}
    for run, observation in shown:
        if run.outcome.status != "ok" or (run.difference is not None and run.difference.total != 1):
            return 0
        for call in observation.calls:
            if len(call.launches) != 1 or call.launches[0].hazards:
                return 0
            blocks[run.is_right].append(prod(call.launches[0].grid))
    is_so = all(n == 1 for n in blocks[True]) and all(n > 1 for n in blocks[False])
    return blocks[False][0] if is_so and all(blocks.values()) else 0


def one_block(shown: Sequence[tuple[Run, Observation]]) -> OneBlock | None:
    """Return the launch of one block that is given a number larger than its threads wherever the calls are wrong, and
    nowhere else; None where there is no such launch."""
    more: dict[bool, list[dict[tuple[str, str, int, str], OneBlock]]] = {True: [], False: []}
    within: set[tuple[str, str, int, str]] = set()
    for run, observation in shown:
        beyond = {}
        for launch in observation.launches:
            threads = prod(launch.block)
            for argument in launch.arguments if launch.grid == (1, 1, 1) else ():
                if not isinstance(argument.value, int) or argument.value <= 1:
                    continue
                place = (launch.kernel, launch.file, launch.line, argument.name)
                if argument.value > threads:
                    beyond[place] = OneBlock(*place, argument.value, threads)
                else:
                    within.add(place)
        more[run.outcome.status == "ok" and run.is_right].append(beyond)
    # What no block of the launch stored is read as it was.
    hazards = [h for run, _observation in shown for h in run.outcome.hazards if h.kind != "uninitialized"]
    if not more[True] or not more[False] or hazards:
        return None
    wrong = set.intersection(*(set(beyond) for beyond in more[False]))
    wrong -= {place for beyond in more[True] for place in beyond}
    return next((more[False][0][place] for place in sorted(wrong & within)), None)


def not_brought(lab: Lab, shown: Iterable[tuple[Run, Observation]]) -> Iterator[ProgramFinding]:
    """Yield copies to the host that leave out just what is lacking in a wrong output: as many elements as nobody has
    written, or, of a program's own output, nothing but elements behind what was copied."""
    for run, observation in shown:
        difference = run.difference
        if difference is None or not difference.mismatches:
            continue
        for finding in observation.findings:
            if finding.kind != "copied_back":
                continue
            got, size = (int(str(finding.message.data[key])) for key in ("bytes", "size"))
            of_output = [len(call.outputs.get(difference.name, b"")) for call in observation.calls[:1]]
            lacking = difference.unwritten * (of_output[0] // difference.total) if any(of_output) else 0
            is_all = bool(lacking) and of_output[0] - lacking == got
            if is_all or (lab.program is not None and _is_behind(lab, run, difference, got / size)):
                yield structs.replace(finding, kind="copy_size")


def _is_behind(lab: Lab, run: Run, difference: Difference, share: float) -> bool:
    """Whether all wrong elements of an output lie behind the first `share` of it, and most of those are wrong."""
    shape = shape_at(lab, difference.name, run.sizes)
    if difference.first is None or len(difference.first) != len(shape):
        return False
    first = int(np.ravel_multi_index(difference.first, shape))
    return first >= share * difference.total and 2 * difference.mismatches >= difference.total - first


def living_on(texts: Mapping[str, str]) -> Iterator[tuple[str, str, int]]:
    """Yield name, file and line of each variable that keeps its value from call to call: those of the device and of the
    host that are no constants, and static ones of functions, but no constant memory, which every call may fill.

    texts: of files, by name.
    """
    for file, text in texts.items():
        parsed = parse(SourceText(Path(file), text, "utf-8"))
        for item in parsed.items:
            nodes = [item.node] if item.kind == "variable" else []
            if item.kind == "function" and not item.is_device and item.name != "main":
                nodes = [n for n in descendants(item.node) if n.type == "declaration" and "static" in qualifiers_of(n)]
            for node in nodes if item.active else ():
                if {"const", "constexpr", "extern", "__constant__"} & qualifiers_of(node):
                    continue
                for declarator in node.children_by_field_name("declarator"):
                    if declared_name(declarator) and declarator.type != "function_declarator":
                        yield declared_name(declarator), file, declarator.start_point.row + 1


ONE_NUMBER = 8
"""Bytes: what has more is an array."""
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


_COPIED = re.compile(r"\bcudaMemcpy(?:Async)?\s*\((?P<to>[^,;]{1,80}),(?P<of>[^,;]{1,80}),")
_HOST = re.compile(r"\s*(?:\([^()]*\)\s*)?&?\s*(\w+)")
_NUMBERS = "float|double|int|short|char|long"
# `double *h`, `double h[`, `vector<double> h`; `float a, h`, whose type may be either.
_TYPED = rf"\b({_NUMBERS})\s*" + r"(?:\*\s*(?:const\s+)?{0}\b|{0}\s*\[)|\bvector\s*<\s*(\w+)\s*>\s*{0}\b"
_BESIDE = rf"\b(?:{_NUMBERS})\b" + r"[^;(){{}}]{{0,200}},\s*\*?\s*{0}\b"


def of_other_type(run: SeenRun, kernel: str, texts: Mapping[str, str]) -> Iterator[HostFault]:
    """Yield copies between an array of the host and one that a kernel takes for numbers of another type, one of both
    of `double`."""
    handed = [a for x in run.launches if x.kernel == kernel for a in x.arguments if a.serial and a.is_pointer]
    held = {a.serial: a.type_text.rstrip("*").strip().removesuffix("const").strip() for a in handed}
    for copy in (copy for copy in run.copies if copy.way in ("in", "out") and copy.serial in held):
        text = texts.get(copy.file, "")
        rows, own = text.split("\n"), held[copy.serial]
        match = _COPIED.search(rows[copy.line - 1]) if 0 < copy.line <= len(rows) else None
        name = _HOST.match(match["of" if copy.way == "in" else "to"]) if match is not None else None
        if name is None or own not in ("float", "double", "int") or re.search(_BESIDE.format(name[1]), text):
            continue
        types = {one or other for one, other in re.findall(_TYPED.format(name[1]), text)}
        if len(types) == 1 and not types & {own} and "double" in {own, *types}:
            names = {"array": copy.array, "kernel": kernel, "host": name[1], "other": types.pop(), "type": own}
            yield HostFault("copy", copy.file, copy.line, msg("checks.host_code.other_type", **names))


# `int d = got[i] - want[i];`, `abs((int)(got[i] - want[i]))`: a difference without its fraction.
_CUT = re.compile(
    r"(?:\b(?:int|long)\s+\w+\s*=\s*(?:f?abs\w*\s*\(\s*)?"
    r"|\babs\w*\s*\(\s*(?:\(\s*(?:int|long)\s*\)|static_cast\s*<\s*(?:int|long)\s*>)\s*\(\s*)"
    r"(?P<one>\w+)\s*\[[^\[\];]{1,60}\]\s*-\s*(?P<other>\w+)\s*\["
)
_OF_INTEGERS = r"\b(?:u?int\d+_t|int|unsigned|long|short|char|size_t)\b[\s>&*]*(?:const\s+)?{0}\b"


def cut_differences(kernel: Kernel, texts: Mapping[str, str]) -> Iterator[HostFault]:
    """Yield where the host cuts the difference of two elements to an integer, of a kernel all of whose arrays are of
    floating-point numbers."""
    arrays = [parameter for parameter in kernel.parameters if parameter.is_pointer]
    if not arrays or any(not (parameter.dtype or "").startswith("float") for parameter in arrays):
        return
    for file, text in texts.items():
        for match in _CUT.finditer(text):
            one, other = match["one"], match["other"]
            # The length of a part, `start[i + 1] - start[i]`, and numbers that are integers themselves.
            if one == other or any(re.search(_OF_INTEGERS.format(name), text) for name in (one, other)):
                continue
            line = text.count("\n", 0, match.start()) + 1
            yield HostFault("copy", file, line, msg("checks.host_code.cut_difference"))


def zeros_copied(runs: Sequence[SeenRun], kernel: Kernel) -> Iterator[HostFault]:
    """Yield copies that fill with zeros alone what all launches of a kernel only read: nothing can come of these."""
    names = _only_read(kernel)
    for run in (run for run in runs if run.change is None and not run.probe):
        launches = [launch for launch in run.launches if launch.kernel == kernel.name and not launch.refused]
        read = [(x.line, a) for x in launches for a in x.arguments if a.name in names or " const*" in a.type_text]
        zeros = {a.serial for _line, a in read if a.before == "zeros" and "copied" in a.origins and a.serial}
        filled = {a.name for _line, a in read if a.before != "zeros"}
        for argument in (a for _line, a in read if a.serial in zeros and a.name not in filled):
            copy = next((c for c in run.copies if c.way == "in" and c.serial == argument.serial), None)
            if copy is not None:
                zeros.discard(argument.serial)
                message = msg("checks.host_code.zeros_copied", array=argument.name)
                yield HostFault("unfilled", copy.file, copy.line, message)


def zero_constants(runs: Sequence[SeenRun], kernel: str, words: Collection[str]) -> Iterator[HostFault]:
    """Yield copies of zeros alone to an array in constant memory that a kernel reads, whose results the program itself
    calls wrong.

    words: of the kernel's text.
    """
    for run in runs:
        if not any(word.kernel == kernel and not word.is_right for word in run.said):
            continue
        filled = dict(pair for launch in run.launches if launch.kernel == kernel for pair in launch.filled)
        for name, content in filled.items():
            copy = next((c for c in run.copies if c.way == "in" and c.array.rpartition("::")[2] == name), None)
            if name in words and copy is not None and len(content) > ONE_NUMBER and not any(content):
                message = msg("checks.host_code.zeros_copied", array=name)
                yield HostFault("unfilled", copy.file, copy.line, message)


def not_noticed(runs: Sequence[SeenRun], kernel: str, texts: Mapping[str, str]) -> Iterator[HostFault]:
    """Yield that the program calls results of a kernel right which were made wrong.

    In the line of a difference that is taken as it is, where one sign is not noticed and there is one such line; not
    where nothing is compared.  Who compares a part may mean to: errors of one sign nobody means to ("half_blind").
    """
    if not any(run.notices for run in runs) and not compares("\n".join(texts.values())):
        return
    for one in (one for run in runs for one in run.unnoticed if one.kernel == kernel):
        file, line = one.file, one.line
        alike = list(_compared_alike(texts)) if one.what == "all" else []
        if len(alike) == 1:
            file, line, array = alike[0]
            yield HostFault("copy", file, line, msg("checks.host_code.compared_with_itself", array=array))
            continue
        differences = list(_signed(texts)) if one.what in ("smaller", "larger") else []
        way = "signed" if len(differences) == 1 else "not_noticed"
        what = str(one.what)
        differences += comparisons_in(texts) if one.what == "alone" else ()
        if one.what == "nan":
            beyond = differences_looked_at(texts)
            differences += [place[:2] for place in beyond]
            what = "nan_by_max" if beyond and all(is_max for _file, _line, is_max in beyond) else "nan"
        if len(differences) == 1:
            file, line = differences[0]
        kind: FaultKind = "half_blind" if one.what in ("smaller", "larger") else "copy"
        data = {"kernel": kernel} if one.what == "alone" else {}
        yield HostFault(kind, file, line, msg(f"checks.host_code.{way}_{what}", **data))


def _signed(texts: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the lines in which the difference of two elements is taken, and not its magnitude."""
    for file, text in texts.items():
        for number, row in enumerate(text.split("\n"), 1):
            if any(not _MAGNITUDE.search(row[: match.start()]) for match in _DIFFERENCE.finditer(row)):
                yield file, number


# `errors(gold, gold, n)`, `equal(a.begin(), a.end(), a.begin())`, `fabs(h[i] - h[i])`, `h[i] != h[i]`.
_ALIKE = re.compile(
    r"\b(?:memcmp|\w*(?:check|verif|compar|valid|correct|equal|same|match|diff|err)\w*)\s*\(\s*(?P<handed>[\w.>-]+)"
    r"(?:\(\))?\s*,\s*(?P=handed)\s*[,()]"
    r"|\bequal\s*\(\s*(?P<all>\w+)\.begin\(\)\s*,\s*(?P=all)\.end\(\)\s*,\s*(?P=all)\.begin\(\)"
    r"|(?<![\w.])(?P<own>\w+)\s*(?P<at>\[[^\[\];]{1,60}\])\s*(?:-|[!=]=)\s*(?P=own)\s*(?P=at)",
    re.IGNORECASE,
)


def _compared_alike(texts: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    """Yield file and line where an array is held against itself, and its name."""
    for file, text in texts.items():
        for match in _ALIKE.finditer(text):
            yield file, text.count("\n", 0, match.start()) + 1, match["handed"] or match["all"] or match["own"]
