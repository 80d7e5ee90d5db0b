"""What the host code does wrong around a kernel's launches: as its program was seen to run, else as its text reads.

Judged kernel by kernel, so that a student who forgot one of five checks loses one of five.  What stands in doubt is
held for right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.lab.records import Sizes
from grader.message import joined, msg
from grader.programs.own_check import compares
from grader.programs.records import CRASHES, Observation, ProgramFinding
from grader.programs.runs_with_kernels import FAULTS_OF
from grader.running.calls import (
    cut_differences,
    fetched_over,
    never_filled,
    not_noticed,
    of_other_type,
    unlaunched,
    zero_constants,
    zeros_copied,
)
from grader.running.data_flow import FlowFault, flow_faults, may_be_meant, reached_text
from grader.running.evidence import NO_HOST_CODE, OF_DATA, FaultKind, HostCode, HostFault
from grader.running.own_program import freed_otherwise, launched_instead, never_launches, never_read, read_early
from grader.submission.host_text import ELEMENTS_FOR_BYTES, ZERO_QUOTIENT, HostMistake
from grader.submission.kernels.records import Kernel, SeenFault, SeenLaunch, SeenRun, seen_in_part
from grader.submission.lexical import line_of_main, without_comments
from grader.submission.records import Missing, Submission

STOPPING: tuple[FaultKind, ...] = (*OF_DATA, "time")
"""Kinds of faults at whose call a program that checks its errors ends."""
_NOT_FETCHED = tuple(f"checks.host_code.{name}" for name in ("copied_early", "copied_other", "never_fetched"))
"""Ids of faults for which a kernel's results are never read."""
_OF_ANY_SIZE = frozenset(
    f"programs.{what}"
    for what in (
        *("copy_of_pointer", "symbol_of_pointer", "copy_of_count_into", "copy_of_count_out"),
        *("copy_freed_from", "copy_freed_to"),
    )
)
"""Ids of faults of a copy's size that its text shows, whatever the sizes are."""
_OF_SYMBOLS = ("programs.symbol_too_short", "programs.symbol_of_pointer")
"""Ids of faults of copies into constant memory: every kernel that reads it is concerned."""

# Host code that feeds a kernel, be it by a macro that is handed the call; what only launches, as a snippet, does not.
_FEEDS = re.compile(r"\bcudaMemcpy\w*|\bcudaMallocManaged\b|\bcudaHostAlloc\b|\bcudaMallocHost\b|__managed__")
_ASKS = re.compile(
    r"\bcuda(?:GetLastError|PeekAtLastError)\b|\bgetLastCudaError\b"
    r"|(?:[=(,!]|\breturn|\bif)\s*cuda(?:(?:Device|Stream|Event|Thread)Synchronize|LaunchKernel"
    # A copy, and not its direction.
    r"|Memcpy(?!HostTo|DeviceTo|Default)\w*)\s*[(,)]"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_VARIABLES = re.compile(r"\b__(constant|device)__\s+([^;(){}=]{1,400});")
_DECLARATOR = re.compile(r"(\w+)\s*((?:\[[^\]]{0,80}\]\s*){0,3})(?=,|$)")


def host_code(
    submission: Submission, kernel: Kernel, instance: Sequence[str] = (), mistakes: Sequence[HostMistake] = ()
) -> HostCode:
    """Return what the host code does wrong around a kernel's launches, in the programs that it is part of.

    instance: template arguments of the launches that are meant; (): all.  mistakes: what its text shows.
    """
    seen = [run for run in submission.observed.runs if not run.forgiven]
    of_kernel = [run for run in seen if _is_its_program(run, kernel, submission)]
    elsewhere = {file for run in seen for file in run.files} - {file for run in of_kernel for file in run.files}
    texts = {source.file: submission.host_text(source) for source in submission.sources if source.file not in elsewhere}
    programs = {name: text for name, text in texts.items() if line_of_main(text)}
    whole = "\n".join(texts.values())
    bound = [binding for binding in submission.bindings.values() if not isinstance(binding, Missing)]
    graded = {binding.kernel.name: binding.kernel for binding in bound}
    is_never_launched = any(b.is_never_launched for b in bound if b.kernel.name == kernel.name)
    instead = launched_instead(of_kernel, kernel, graded.values()) if is_never_launched else None
    if not any(map(_gave_up, of_kernel)) and never_launches(of_kernel, kernel.name, set(graded), programs):
        return HostCode(is_there=bool(_FEEDS.search(whole)), never_launches=True, launched_instead=instead)
    if not programs or not _FEEDS.search(whole):
        return NO_HOST_CODE
    reported: set[str] = set()
    true = runs = [run for run in of_kernel if run.launches and not run.probe]
    launches = [launch for run in runs for launch in run.launches if launch.kernel == kernel.name]
    of_instance = [launch for launch in launches if launch.template_arguments == tuple(instance)]
    launches = of_instance or launches
    suspected: list[HostFault] = []
    constants = {name for text in texts.values() for name, _at in _variables(text, "constant")}
    own_text = _text_of(submission, kernel)
    if launches:
        whole_runs = [x for run in runs if run.ended for x in run.launches if x.kernel == kernel.name]
        # Of a run that was cut short nobody knows what it would have looked at.
        unchecked = _unchecked(whole_runs) if whole_runs else _read_faults(submission, kernel, whole)
        key = kernel.name, tuple(instance) if of_instance else None
        # Where a copy failed for a size that was made smaller, what it should have filled is no fault.
        true = [run for run in runs if run.change is None or not any(map(_is_of_sizes, run.faults))]
        flow = [fault for fault in _flow_faults(submission, true, constants, set(graded)) if _is_of(fault, *key)]
        kernels = {kernel.name: kernel for kernel in submission.kernels}
        alike = (fault for run in runs for fault in may_be_meant(run, kernels, whole) if _is_of(fault, *key))
        suspected = [_host_fault("copy", fault) for fault in alike]
        suspected += [fault for run in runs for fault in read_early(run, kernel.name, texts)]
        suspected += [fault for run in runs for fault in of_other_type(run, kernel.name, texts)]
        reported = {array for fault in flow for array in fault.arrays}
        of_runtime = _seen_faults(runs, kernel.name, launches, instance if of_instance else ())
        if any(fault.message.id in _NOT_FETCHED for fault in flow):
            # It is never read because of that copy.
            of_runtime = [fault for fault in of_runtime if fault.message.id != "programs.never_read"]
        # Told once of a constant, of the first kernel that reads it.
        own_words = set(_WORD.findall(own_text))
        of_runtime += [
            _host_fault("copy", fault)
            for run in runs
            for fault in run.faults
            if fault.message.id in _OF_SYMBOLS and fault.message.data["array"] in own_words
        ]
        faults = [*unchecked, *of_runtime, *_crashes(runs, kernel.name)]
        faults += [_host_fault("copy", fault) for fault in flow]
        # What a copy that failed should have filled is empty because of it.
        reported |= {word for fault in of_runtime if fault.kind == "copy" for word in _words_at(texts, fault)}
        faults += [
            fault for fault in never_filled(true, submission, kernel) if fault.message.data["array"] not in reported
        ]
    else:
        faults = [*_read_faults(submission, kernel, whole), *_before_any_launch(of_kernel)]
    unset = _unset_constants(texts, own_text, [run for run in true if run.ended])
    faults += [fault for fault in unset if fault.message.data["name"] not in reported]
    faults += [
        fault
        for fault in _unset_variables(texts, [run for run in true if run.ended], submission)
        if fault.message.data["array"] not in reported and kernel.name in str(fault.message.data["kernel"]).split(", ")
    ]
    faults += zero_constants(of_kernel, kernel.name, _WORD.findall(own_text))
    # What is never read cannot be compared either: one fault, told once.
    is_unread = any(fault.message.id in ("programs.never_read", *_NOT_FETCHED) for fault in faults)
    if not is_unread and not compares(whole) and not any(run.notices for run in runs):
        name = next(iter(programs))
        file, line = (launches[0].file, launches[0].line) if launches else (name, line_of_main(programs[name]))
        faults.append(HostFault("not_compared", file, line, msg("checks.host_code.not_compared")))
    elif not is_unread:
        faults += [fault for run in true for fault in never_read(run, kernel.name, texts)]
    of_text = [HostFault("copy", *mistake) for mistake in mistakes if mistake.file in texts]
    shown = {fault.message.id for fault in of_text}
    blind = list(not_noticed(runs, kernel.name, texts))
    if any(f.message.data.get("function") == "memcmp" for f in of_text if f.message.id == ELEMENTS_FOR_BYTES):
        # A comparison of a part is told in its own line.
        blind = [fault for fault in blind if fault.message.id != "checks.host_code.not_noticed_half"]
    faults += [fault for fault in blind if fault.kind == "half_blind"]
    in_comments = {(file, line) for file, _kernel, line in submission.observed.uncommented}
    faults = [fault for fault in faults if (fault.file, fault.line) not in in_comments]
    faults.sort(key=lambda fault: not fault.is_of_data)
    own = {launch.file for launch in launches}
    leaks = {(f.file, f.line): f for run in runs for f in run.faults if f.message.id == "programs.leak"}
    for leak in leaks.values():
        freed = freed_otherwise(str(leak.message.data["array"]), leak.file, leak.line, texts)
        before = [x for run in runs for x in run.launches if freed and x.file == leak.file and x.line < freed.line]
        reported |= {str(leak.message.data["array"])} if freed is not None else set()
        # Told of the kernel that is launched last before it.
        if freed is not None and before and max(before, key=lambda x: x.line).kernel == kernel.name:
            faults.insert(0, freed)
    untidy = [
        _host_fault("copy", fault)
        for run in runs
        for fault in run.faults
        if fault.is_untidy and fault.file in own and not run.results
        # Of one that gave up this says nothing.
        if not run.exit or all(f.is_untidy for f in run.faults)
        if fault.message.id != "programs.leak" or fault.message.data["array"] not in reported
    ]
    untidy += fetched_over(runs, kernel.name, texts, set(graded)) if compares(whole) else ()
    untidy += unlaunched(of_kernel, kernel, set(graded), bound)
    untidy += [*(fault for fault in blind if fault.kind != "half_blind"), *of_text]
    # Zeros that come of a quotient are told in its line.
    untidy += [*(() if ZERO_QUOTIENT in shown else zeros_copied(runs, kernel)), *cut_differences(kernel, texts)]
    return HostCode(
        is_there=True,
        is_observed=bool(launches),
        partly=seen_in_part(runs, kernel.name),
        faults=tuple(dict.fromkeys(fault for fault in faults if fault.kind != "launch")),
        of_launch=tuple(dict.fromkeys(fault for fault in faults if fault.kind == "launch")),
        misleads=any(f.is_of_data or f.kind == "launch" for f in faults) or any(map(_misleads, runs)),
        untidy=tuple(dict.fromkeys(untidy)),
        suspected=tuple(dict.fromkeys(suspected)),
        launched_instead=instead,
    )


def _host_fault(kind: FaultKind, fault: SeenFault | FlowFault | ProgramFinding) -> HostFault:
    return HostFault(kind, fault.file, fault.line, fault.message)


def _is_of(fault: FlowFault, kernel: str, instance: tuple[str, ...] | None) -> bool:
    return any(name == kernel and instance in (None, own) for name, own in fault.kernels)


def of_call(
    runs: Sequence[tuple[Sizes, Observation]], of_lab: Collection[str] = (), more: Iterable[ProgramFinding] = ()
) -> HostCode:
    """Return what a function that a harness calls does wrong on the host's side, in any of its runs.

    of_lab: the lab's own files, whose host code is no concern of the student's; what is launched there may be.
    more: findings that the outputs show to be faults.
    """
    faults: list[HostFault] = []
    untidy: dict[tuple[str, int, object], HostFault] = {}
    wrong_at: dict[HostFault, list[Sizes]] = {}
    unwritten: dict[tuple[str, str, int], None] = {}
    for sizes, observation in runs:
        for finding in observation.findings:
            kind = _kind_of(finding.kind)
            if finding.file in of_lab and kind != "launch":
                continue
            if finding.kind == "never_read" and not _is_unread(runs, finding):
                continue
            if finding.message.id == "programs.copy_unwritten" and finding.line:
                unwritten[str(finding.message.data["array"]), finding.file, finding.line] = None
            if finding.kind == "leak":
                # Each case has sizes of its own, and the same array is left each time.
                fault = _host_fault("copy", finding)
                untidy.setdefault((finding.file, finding.line, finding.message.data["array"]), fault)
            elif kind is not None and finding.line:
                fault = _host_fault(kind, finding)
                if kind == "launch":
                    wrong_at.setdefault(fault, []).append(sizes)
                else:
                    faults.append(fault)
        if observation.exit is not None:
            # Of a call that did not return nobody knows what it would have looked at.
            launches = [x for x in observation.launches if not x.checked and x.file not in of_lab]
            checked = {(launch.file, launch.line) for launch in observation.launches if launch.checked}
            faults += [
                HostFault(
                    "unchecked", x.file, x.line, msg("checks.host_code.unchecked", kernel=x.kernel.partition("<")[0])
                )
                for x in launches
                if (x.file, x.line) not in checked
            ]
    said = {(fault.file, fault.line) for fault in faults if fault.is_of_data}
    others = (f for f in more if f.line and f.file not in of_lab and (f.file, f.line) not in said)
    faults += [_host_fault("copy", f) for f in others]
    faults.sort(key=lambda fault: not fault.is_of_data)
    calls = [call for _sizes, observation in runs for call in observation.calls]
    has_launched = any(observation.launches for _sizes, observation in runs)
    return HostCode(
        is_there=True,
        is_observed=True,
        faults=tuple({(fault.file, fault.line, fault.message.id): fault for fault in reversed(faults)}.values())[::-1],
        of_launch=tuple(replace(fault, sizes=tuple(sizes)) for fault, sizes in wrong_at.items()),
        untidy=tuple(untidy.values()),
        unwritten=tuple(unwritten),
        set_bytes=tuple(
            dict.fromkeys((c.array, c.file, c.line, c.byte) for _sizes, o in runs for c in o.copies if c.byte)
        ),
        never_launches=not has_launched and bool(calls) and all(call.has_returned for call in calls),
    )


def _is_unread(runs: Sequence[tuple[Sizes, Observation]], finding: ProgramFinding) -> bool:
    """Whether a launch's results are unread in every run that makes it: with one element a copy may bring nothing."""
    place = finding.file, finding.line
    with_launch = [o for _sizes, o in runs if any((x.file, x.line) == place for x in o.launches)]
    return all(any(f.kind == finding.kind and (f.file, f.line) == place for f in o.findings) for o in with_launch)


def _misleads(run: SeenRun) -> bool:
    """Whether a run showed wrong data or a wrong launch of any kernel."""
    if any(launch.exchanged is not None or launch.swapped or launch.refused for launch in run.launches):
        return True
    faults = (fault for fault in run.faults if not fault.is_untidy and fault.kind != "never_read")
    return any(_kind_of(fault.kind) in (*OF_DATA, "launch") for fault in faults)


def _is_its_program(run: SeenRun, kernel: Kernel, submission: Submission) -> bool:
    """Whether a kernel is part of the program that was run, which may have another one of the same name."""
    if kernel.file in run.files:
        return True
    return not any(other.name == kernel.name and other.file in run.files for other in submission.kernels)


def _unchecked(launches: Sequence[SeenLaunch]) -> list[HostFault]:
    checked = {(launch.file, launch.line) for launch in launches if launch.checked}
    places = dict.fromkeys((launch.file, launch.line) for launch in launches)
    return [
        HostFault("unchecked", file, line, msg("checks.host_code.unchecked", kernel=launches[0].kernel))
        for file, line in places
        if (file, line) not in checked
    ]


def _flow_faults(
    submission: Submission, runs: Sequence[SeenRun], constants: Collection[str], graded: Collection[str]
) -> list[FlowFault]:
    """Return the faults that the order of copies and launches shows, of all kernels, each once."""
    kernels = {kernel.name: kernel for kernel in submission.kernels}
    texts = {name: _text_of(submission, kernel) for name, kernel in kernels.items()}
    faults = [f for run in runs for f in flow_faults(run, kernels, texts, constants, graded)]
    return list({(fault.file, fault.line, fault.message.id): fault for fault in reversed(faults)}.values())[::-1]


def _before_any_launch(runs: Sequence[SeenRun]) -> list[HostFault]:
    """Return the faults because of which programs gave up before any launch: those of a time cost nothing but that."""
    return [
        _host_fault("launch" if kind == "time" else kind, fault)
        for run in runs
        if _gave_up(run)
        for fault in run.faults
        if (kind := _kind_of(fault.kind)) in STOPPING and not fault.is_untidy
    ]


def _gave_up(run: SeenRun) -> bool:
    """Whether a program ended by itself after a call that failed, without any launch."""
    return (
        not run.launches and not run.probe and bool(run.exit) and any(_kind_of(f.kind) in STOPPING for f in run.faults)
    )


def _seen_faults(
    runs: Sequence[SeenRun], kernel: str, own_launches: Sequence[SeenLaunch], instance: Sequence[str]
) -> list[HostFault]:
    """Return what the runtime reported that names this kernel, or no kernel and this one's launch is the nearest."""
    own = f"{kernel}<{', '.join(instance)}>" if instance else ""
    launches = [launch for run in runs if not run.probe for launch in run.launches]
    files = {launch.file for launch in own_launches}
    faults = []
    ended = {fault for run in runs if (fault := _ended_by(run)) is not None}
    for fault in (fault for run in runs for fault in run.faults if not _may_be_of_ours(run, fault, runs)):
        kind = _kind_of(fault.kind)
        if fault in ended:
            kind = "copy"
            message = joined(fault.message, msg("checks.host_code.ended_here", kernel=kernel)) or fault.message
            fault = replace(fault, message=message)
        if kind is None or fault.is_untidy or fault.file not in files:
            continue
        if fault.kind == "never_read" and not _is_never_read(runs, fault):
            continue
        named = str(fault.message.data.get("kernel", ""))
        if own and named.startswith(f"{kernel}<") and named != own:
            continue
        if named.partition("<")[0] == kernel:
            faults.append(_host_fault(kind, fault))
            continue
        if any(named.partition("<")[0] == launch.kernel for launch in launches):
            continue
        near = min((x for x in launches if x.file == fault.file), key=lambda x: abs(x.line - fault.line))
        served = _served_by(runs, fault)
        if kernel in (served if len(served) > 1 else {near.kernel}):
            faults.append(_host_fault(kind, fault))
    return faults


def _served_by(runs: Sequence[SeenRun], fault: SeenFault) -> set[str]:
    """Return the kernels whose results a line copies back: those that are launched last before."""
    copies = [
        (run, c) for run in runs for c in run.copies if (c.file, c.line, c.way) == (fault.file, fault.line, "out")
    ]
    made = [(run, run.order[c.launches - 1].launch) for run, c in copies if 0 < c.launches <= len(run.order)]
    return {run.launches[launch].kernel for run, launch in made if launch >= 0}


def _crashes(runs: Sequence[SeenRun], kernel: str) -> Iterator[HostFault]:
    """Yield where a program crashes that was run as it is, with its kernels, after the launch of this one."""
    for run in runs:
        # At a size of ours an array of its own may be too short; memory that is not malloc()'s is that at any size.
        is_of_any = run.cause is not None and run.cause.id == "programs.crash_in_free_pinned" and not run.faults
        is_own = run.results and (not run.arguments or is_of_any) and not run.stdin and run.change is None and run.order
        if not is_own or run.cause is None or run.cause.id not in CRASHES or not run.cause_line:
            continue
        last = run.order[-1].launch
        if last >= 0 and run.launches[last].kernel == kernel:
            yield HostFault("crash", run.cause_file, run.cause_line, run.cause)


def _ended_by(run: SeenRun) -> SeenFault | None:
    """Return the fault of a time at which a program gave up, before it had fetched what it launched last."""
    last = next((fault for fault in reversed(run.faults) if not fault.is_untidy), None)
    if not run.exit or not run.order or last is None or _kind_of(last.kind) != "time":
        return None
    kernel = run.launches[run.order[-1].launch].kernel
    first = next(n for n, step in enumerate(run.order) if run.launches[step.launch].kernel == kernel)
    return None if any(copy.way == "out" and copy.launches > first for copy in run.copies) else last


def _of_memory(run: SeenRun) -> list[SeenFault]:
    return [fault for fault in run.faults if fault.message.id.startswith("programs.host_beyond")]


def _may_be_of_ours(run: SeenRun, fault: SeenFault, runs: Sequence[SeenRun]) -> bool:
    """Whether a fault may come of what we gave a run: at sizes of ours an array of the host's may be too short, unless
    it grows with them and is so at others as well."""
    if fault in _of_memory(run) and (run.arguments or run.stdin or run.change is not None):
        place = fault.file, fault.message.data["at"]
        lengths = {
            f.message.data["bytes"] for r in runs for f in _of_memory(r) if (f.file, f.message.data["at"]) == place
        }
        return len(lengths) < 2 or run.change is not None
    return run.change is not None and _is_of_sizes(fault)


def _is_of_sizes(fault: SeenFault) -> bool:
    """Whether a fault may come of one size made smaller for a run while others stayed as they were."""
    return fault.kind == "launch_refused" or (fault.kind == "copy_size" and fault.message.id not in _OF_ANY_SIZE)


def _words_at(texts: Mapping[str, str], fault: HostFault) -> list[str]:
    lines = texts.get(fault.file, "").split("\n")
    return _WORD.findall(lines[fault.line - 1]) if 0 < fault.line <= len(lines) else []


def _variables(text: str, space: str) -> Iterator[tuple[str, int]]:
    """Names of what a file has in constant memory, of any kind, or on the device, arrays alone, without a value of its
    own, and where in the text they stand."""
    for declaration in _VARIABLES.finditer(text):
        if declaration[1] != space or "__managed__" in declaration[2]:
            continue
        for one in _DECLARATOR.finditer(declaration[2]):
            if one[2] or space == "constant":
                yield one[1], declaration.start(2) + one.start(1)


def _unset_constants(texts: Mapping[str, str], kernel: str, runs: Sequence[SeenRun]) -> list[HostFault]:
    """Constant memory that a kernel reads, and that nothing outside kernels mentions but its declaration.

    Or into which, in runs that came to their end and were followed, nothing was copied, while its address was not asked
    for.
    """
    words = Counter(_WORD.findall("\n".join(texts.values())))
    used = set(_WORD.findall(kernel))
    untouched = _untouched(texts, runs)
    return [
        HostFault("unfilled", file, text.count("\n", 0, at) + 1, msg("checks.host_code.constant_unset", name=name))
        for file, text in texts.items()
        for name, at in _variables(text, "constant")
        if name in used and (words[name] == 1 or untouched(name))
    ]


def _unset_variables(texts: Mapping[str, str], runs: Sequence[SeenRun], submission: Submission) -> list[HostFault]:
    """Return device arrays that kernels read, none writes, and nothing was copied into."""
    untouched = _untouched(texts, runs)
    faults = []
    for name in [name for text in texts.values() for name, _at in _variables(text, "device") if untouched(name)]:
        uses = {k.name: p for k in submission.kernels for p in k.parameters if p.is_global and p.name == name}
        others = [
            k for k in submission.kernels if k.name not in uses and name in _WORD.findall(_text_of(submission, k))
        ]
        launches = [launch for run in runs for launch in run.launches if launch.kernel in uses and not launch.refused]
        if launches and not others and all(p.is_read and not p.is_written for p in uses.values()):
            kernels = ", ".join(dict.fromkeys(launch.kernel for launch in launches))
            message = msg("checks.host_code.never_filled", kernel=kernels, array=name)
            faults.append(HostFault("unfilled", launches[0].file, launches[0].line, message))
    return faults


def _untouched(texts: Mapping[str, str], runs: Sequence[SeenRun]) -> Callable[[str], bool]:
    """Return whether the host never touched a device variable, in runs that were followed to their end."""
    filled = {copy.array.rpartition("::")[2] for run in runs for copy in run.copies if copy.way != "out"}
    is_asked = any("cudaGetSymbolAddress" in text for text in texts.values())
    is_seen = bool(runs) and all(run.order for run in runs) and not is_asked
    return lambda name: is_seen and name not in filled


def _text_of(submission: Submission, kernel: Kernel) -> str:
    source = next((source for source in submission.sources if source.file == kernel.file), None)
    return reached_text(kernel.name, without_comments(source.text)) if source is not None else ""


def _is_never_read(runs: Sequence[SeenRun], fault: SeenFault) -> bool:
    """Whether a launch's results are unread in each run that makes it; a mode that takes times may not read them."""
    with_launch = [run for run in runs if any((x.file, x.line) == (fault.file, fault.line) for x in run.launches)]
    return all(any(f.kind == fault.kind and f.line == fault.line for f in run.faults) for run in with_launch)


def _kind_of(name: str) -> FaultKind | None:
    return next((kind for kind, names in FAULTS_OF.items() if name in names), None)


def _read_faults(submission: Submission, kernel: Kernel, whole: str) -> list[HostFault]:
    """Judge by its text whether a program that was not seen to make this launch asks for errors at all."""
    if _ASKS.search(whole):
        return []
    sites = [site for site in submission.launches if site.kernel == kernel.name]
    sites = [site for site in sites if site.file == kernel.file] or sites
    return [
        HostFault("unchecked", kernel.file, site.line, msg("checks.host_code.unchecked", kernel=kernel.name))
        for site in sites[:1]
    ]
