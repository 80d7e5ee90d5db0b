"""What a program does around a kernel: launches another in its place or none, hands it arrays that do not fit, copies
its results too early, reads none of them, and says itself whether they are right.

Copies and reads are those of the program's text.  A name that stands anywhere else than where it is declared,
allocated, filled, copied into or freed counts as read.  What the program says is compared with what was found, and the
case that it ran is graded too."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

from grader.lab.records import Parameter
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Run, Trials
from grader.message import msg, sizes_msg
from grader.programs.own_check import lines_compared, references_in
from grader.result import CaseKind
from grader.running.evidence import Evidence, HostFault, Instead, OwnCheck
from grader.submission.cpp.constants import SIZES_OF_TYPES
from grader.submission.cpp.parse import parse
from grader.submission.kernels.records import Kernel, SeenArgument, SeenLaunch, SeenRun, SeenWord
from grader.submission.lexical import lines_of_macros, without_comments

_COPY = re.compile(
    r"\bcudaMemcpy(?:Async)?\s*\(\s*(?:\(\s*[\w ]{1,30}\*\s*\)\s*)?&?(?P<name>\w+)"
    r"(?:\s*\[\s*0\s*\]|\.(?:data|get|begin)\(\))?\s*,"
    r"(?P<rest>[^;]{1,300})"
)
# Where a name stands and is not read; `NAME` is put in.
_UNREAD = (
    r"\bNAME\s*=(?!=)",
    r"\bNAME\s*\[[^\]]*\]\s*=(?!=)",
    r"\b(?:free|cudaFreeHost|cudaHostUnregister|memset)\s*\(\s*NAME\b|\bdelete\s*(?:\[\s*\])?\s*NAME\b",
    r"\b(?:cudaMallocHost|cudaHostAlloc)\s*\(\s*(?:\([^()]*\)\s*)?&\s*NAME\b",
    r"!\s*NAME\b(?!\s*\[)|\bNAME\s*[=!]=\s*(?:NULL|nullptr)\b",
)
_DECLARATION = re.compile(
    r"[\s{}]*(?:(?:const|static|unsigned|struct)\s+)*(?!(?:return|delete|else|throw|case|goto|using)\b)[A-Za-z_][\w:]*"
    r"(?:\s*<[^;<>]*>)?[\s*&]+(?=[A-Za-z_])"
)

_ALLOCATED = r"\bcudaMalloc\w*\s*\(\s*(?:\([^()]{1,30}\)\s*)?&?\s*(?:\w+\s*(?:\.|->)\s*){0,3}NAME\s*,"


@dataclass(frozen=True, slots=True)
class _Back:
    """A copy to the host in a file's text.  low, high: lines of the function that it stands in."""

    line: int
    name: str
    low: int
    high: int


def never_read(run: SeenRun, kernel: str, texts: Mapping[str, str]) -> list[HostFault]:
    """Return a fault where all results of a kernel go into arrays of the host that nothing reads."""
    own = _copies_of(run, kernel)
    backs: dict[tuple[str, int], _Back] = {}
    for file, line in own:
        text = texts.get(file, "")
        back = next((b for b in backs_in(text) if b.line == line), None)
        if back is None or reads_of(text, back):
            return []
        backs[file, line] = back
    return [
        HostFault("copy", file, line, msg("checks.host_code.compared_other", array=back.name, kernel=kernel))
        for (file, line), back in list(backs.items())[:1]
    ]


def read_early(run: SeenRun, kernel: str, texts: Mapping[str, str]) -> list[HostFault]:
    """Return faults where a kernel's results are read before the copy that fetches them, and not after it."""
    launches = [launch.line for launch in run.launches if launch.kernel == kernel]
    faults = []
    for file, line in _copies_of(run, kernel):
        backs = list(backs_in(texts.get(file, "")))
        back = next((b for b in backs if b.line == line), None)
        if back is None:
            continue
        following = min((b.line for b in backs if b.name == back.name and b.line > line), default=back.high + 1)
        before = max((at for at in launches if back.low <= at < line), default=0)
        reads = reads_of(texts[file], back)
        early = [at for at in reads if before < at < line]
        if before and early and not any(line < at < following for at in reads):
            message = msg("checks.host_code.compared_early", array=back.name, kernel=kernel, read_line=early[0])
            faults.append(HostFault("copy", file, line, message))
    return faults


def _copies_of(run: SeenRun, kernel: str) -> list[tuple[str, int]]:
    """Return file and line of the copies to the host whose last launch before was one of the kernel."""
    places = []
    for copy in run.copies:
        if copy.way == "out" and 0 < copy.launches <= len(run.order):
            last = run.order[copy.launches - 1].launch
            if last >= 0 and run.launches[last].kernel == kernel:
                places.append((copy.file, copy.line))
    return list(dict.fromkeys(places))


def backs_in(text: str) -> Iterator[_Back]:
    """Yield the copies to the host in a file's text."""
    for match in _COPY.finditer(text):
        if "DeviceToHost" in match["rest"]:
            low, high = _function_around(text, match.start())
            yield _Back(_line(text, match.start()), match["name"], _line(text, low), _line(text, high))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _function_around(text: str, at: int) -> tuple[int, int]:
    depth, low = 0, 0
    for place in range(len(text)):
        if text[place] == "{":
            low = place if not depth else low
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if not depth and low < at < place:
                return low, place
    return 0, len(text)


def reads_of(text: str, back: _Back) -> list[int]:
    """Return the lines on which the array may be read: in its function, if that declares it, else anywhere."""
    rows = text.split("\n")
    is_local = any(
        back.name in _declared(statement) for row in rows[back.low - 1 : back.high] for statement in row.split(";")
    )
    own = {*range(back.low, back.high + 1), *lines_of_macros(text)} if is_local else range(1, len(rows) + 1)
    return [n for n in sorted(own) if any(_is_read(part, back.name) for part in rows[n - 1].split(";"))]


def _is_read(statement: str, name: str) -> bool:
    for match in reversed(list(_COPY.finditer(statement))):
        if match["name"] == name and "DeviceToHost" in match["rest"]:
            statement = statement[: match.start("name")] + statement[match.end("name") :]
    for pattern in _UNREAD:
        statement = re.sub(pattern.replace("NAME", re.escape(name)), " ", statement)
    left = len(re.findall(rf"\b{re.escape(name)}\b", statement))
    return left > _declared(statement).count(name)


def _declared(statement: str) -> list[str]:
    match = _DECLARATION.match(statement)
    if match is None:
        return []
    parts, depth = [""], 0
    for character in statement[match.end() :]:
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    names = (re.match(r"[\s*&]*(\w+)\s*(?:[=({\[]|$)", part) for part in parts)
    return [pair[1] for pair in names if pair is not None]


def freed_otherwise(array: str, file: str, line: int, texts: Mapping[str, str]) -> HostFault | None:
    """Return the fault of a function that gives memory of CUDA's, allocated in `line`, back by the C library.

    None where the function does not, or may mean other memory by that name.
    """
    text = texts.get(file, "")
    rows, name = text.split("\n"), re.escape(array.rpartition("::")[2])
    allocated = re.search(r"\bcuda(?:Malloc|HostAlloc)\w*", rows[line - 1]) if 0 < line <= len(rows) else None
    if allocated is None:
        return None
    low, high = _function_around(text, sum(map(len, rows[: line - 1])) + line - 1 + allocated.start())
    body = text[low:high]
    if re.search(rf"\b{name}\s*=[^=;]*\b(?:malloc|calloc|realloc|new)\b", body):
        return None
    wrong = re.search(rf"(?<![\w.>])(?:std\s*::\s*)?(free|delete)\b(?:\s*\[\s*\])?\s*\(?\s*{name}\s*[);]", body)
    if wrong is None:
        return None
    right = "cudaFreeHost" if re.search("Host", allocated[0]) else "cudaFree"
    said = msg("checks.host_code.freed_otherwise", array=array, call=wrong[1], made=allocated[0], right=right, at=line)
    return HostFault("lifetime", file, _line(text, low + wrong.start(1)), said)


def with_own_check(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with what the program says of the kernel where the runs so far say otherwise, and a run at its sizes.

    That run is one more of those that the kernel is graded by, unless the launch or the host code is known to be wrong.
    """
    statement = _said(kernel)
    if statement is None or not evidence.runs or kernel.target:
        return evidence
    run, word = statement
    is_right = all(one.is_right and one.outcome.status == "ok" for one in evidence.runs)
    if is_right == word.is_right:
        return evidence
    own = OwnCheck(word.text, word.is_right)
    if evidence.host.misleads and not word.is_right:
        return replace(evidence, own_check=replace(own, is_explained=True))
    case = _case(trials, evidence, kernel, run)
    if case is None:
        return replace(evidence, own_check=own)
    added = () if any(case.sizes == one.sizes and not one.drawn for one in evidence.runs) else (case,)
    own = replace(own, sizes=case.sizes, case_is_right=case.is_right)
    if case.is_right and not word.is_right and evidence.host.suspected:
        host = replace(evidence.host, faults=(*evidence.host.suspected, *evidence.host.faults), misleads=True)
        evidence, own = replace(evidence, host=host), replace(own, is_explained=True)
    return replace(evidence, own_check=own, runs=(*evidence.runs, *added))


def said_of(kernel: BoundKernel) -> SeenWord | None:
    """Return what the kernel's program says of it; None where that is nothing."""
    statement = _said(kernel)
    return statement[1] if statement is not None else None


def _said(kernel: BoundKernel) -> tuple[SeenRun, SeenWord] | None:
    """Return a run and the line of its output about the kernel, preferably the first that calls it wrong."""
    name = kernel.binding.kernel.name
    lines = {launch.line for launch in _launches_of_instance(kernel)}
    for run in kernel.submission.observed.runs:
        if not run.results or kernel.binding.kernel.file not in run.files:
            continue
        words = [word for word in run.said if word.kernel == name and (not lines or word.line in lines)]
        if words:
            return run, next((word for word in words if not word.is_right), words[-1])
    return None


def _launches_of_instance(kernel: BoundKernel) -> list[SeenLaunch]:
    """Return the launches of this instance, of a template that is several variants; of a template by sizes all."""
    site = kernel.binding.requested
    own = [launch for launch in kernel.submission.observed.launches if launch.kernel == kernel.binding.kernel.name]
    is_of_sizes = any(role for _text, role in kernel.interpretation.template)
    if site is None or not site.template_arguments or is_of_sizes:
        return own
    return [launch for launch in own if launch.template_arguments == site.template_arguments]


def _case(trials: Trials, evidence: Evidence, kernel: BoundKernel, run: SeenRun) -> Run | None:
    lines = {launch.line for launch in _launches_of_instance(kernel)}
    name = kernel.binding.kernel.name
    launches = [x for x in run.launches if x.kernel == name and x.line in lines and not x.refused]
    if not launches or evidence.interpretation is None:
        return None
    kernel = kernel.read_as(evidence.interpretation)
    values = {argument.name: argument.value for argument in launches[-1].arguments}
    sizes = dict(kernel.interpretation.pinned)
    if run.change is None:
        sizes |= dict(kernel.interpretation.declared)
    for role, parameter in zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True):
        value = values.get(parameter.name)
        if role in kernel.lab.size_names and isinstance(value, int):
            sizes[role] = value
    if set(sizes) != set(kernel.lab.size_names) or min(sizes.values()) < 1:
        return None
    earlier = next((one for one in evidence.runs if one.sizes == sizes and not one.drawn), None)
    kind: CaseKind = "correct" if kernel.sizes.rounded(sizes) == sizes else "ragged"
    return earlier or trials.run(kernel, kind, sizes)


def with_overrun(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with arrays of the program that are too small for what its kernel, which stays within the arrays of
    every case that it is graded by, is told to do with them; at the line that allocates them.

    A kernel that leaves arrays which are large enough for the sizes of that launch is graded by a run at these as well.
    """
    is_within = not any(hazard.kind == "out_of_bounds" for run in evidence.runs for hazard in run.outcome.hazards)
    is_right = all(run.is_right and run.outcome.status == "ok" for run in evidence.runs)
    if not evidence.runs or not is_within or not is_right or evidence.halo is not None or evidence.margin is not None:
        return evidence
    lines = {launch.line for launch in _launches_of_instance(kernel)}
    name, faults = kernel.binding.kernel.name, list[HostFault]()
    for run in kernel.submission.observed.runs:
        launches = [x for x in run.launches if run.results and x.kernel == name and x.line in lines and x.hazards]
        case = _case(trials, evidence, kernel, run) if launches else None
        if case is not None and case.leaves_its_arrays:
            return replace(evidence, runs=(*evidence.runs, case))
        for launch in launches:
            texts = [(s.file, s.text) for s in kernel.submission.sources if s.file in run.files]
            faults += _overrun(launch, texts)
    if not faults:
        return evidence
    host = replace(evidence.host, faults=(*dict.fromkeys(faults), *evidence.host.faults), misleads=True)
    return replace(evidence, host=host)


def _overrun(launch: SeenLaunch, texts: Sequence[tuple[str, str]]) -> Iterator[HostFault]:
    """Yield a fault for each array that a launch leaves."""
    arrays = dict.fromkeys(argument.buffer for argument in launch.arguments if argument.buffer)
    for array in arrays:
        hazard = next((h for h in launch.hazards if repr(array) in repr(h.message)), None)
        if hazard is None:
            continue
        pattern = re.compile(_ALLOCATED.replace("NAME", re.escape(array.rpartition("::")[2])))
        places = [(file, _line(text, match.start())) for file, text in texts for match in pattern.finditer(text)]
        file, line = places[0] if len(places) == 1 else (launch.file, launch.line)
        names: dict[str, str | int] = {"array": array, "kernel": launch.kernel, "at": launch.line}
        yield HostFault("overrun", file, line, msg("checks.host_code.overrun", what=hazard.message, **names))


def with_wrong_check(evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with the fault that the program calls right results wrong, where nothing else explains that.

    It stands where the program computes what it compares with, if that is one place; else at the launch.
    """
    own = evidence.own_check
    if own is None or own.is_right or not own.case_is_right or own.is_explained or own.sizes is None:
        return evidence
    if not evidence.host.is_observed or any(run.outcome.hazards for run in evidence.runs):
        return evidence
    submission = kernel.submission
    run = next(run for run in submission.observed.runs if run.results and kernel.binding.kernel.file in run.files)
    # Of a kernel that it calls right as well, a line of another kind ("refused: wrong size") need not be a comparison.
    right = {word.text.split()[0] for word in run.said if word.is_right and word.kernel == kernel.binding.kernel.name}
    if right and own.text.split()[0] not in right:
        return evidence
    sources = [source for source in submission.sources if source.file in run.files]
    references = [(s.file, reference) for s in sources for reference in references_in(parse(s))]
    places = {(file, reference.line): reference for file, reference in references}
    site = kernel.binding.requested
    file, line = (site.file or kernel.binding.kernel.file, site.line) if site else (kernel.binding.kernel.file, 0)
    sizes = sizes_msg(own.sizes)
    message = msg("checks.host_code.own_check", line=own.text, sizes=sizes)
    compared = [(s.file, at) for s in sources for at in lines_compared(without_comments(s.text))]
    if not places and len(compared) == 1:
        file, line = compared[0]
        message = msg("checks.host_code.own_check_in", line=own.text, sizes=sizes, at=line)
    if len(places) == 1:
        (file, line), by = next(iter(places.items()))
        message = msg("checks.host_code.own_check_by", line=own.text, sizes=sizes, name=by.function, at=line)
    fault = HostFault("own_check", file, line, message)
    host = replace(evidence.host, faults=(fault, *evidence.host.faults))
    return replace(evidence, host=host, own_check=replace(own, is_explained=True))


# Of whoever is called so: what a program is told when it is started, or finds there.
_READS = re.compile(
    r"\bargv\b|\b__arg[cv]\b|\bcin\b|\bstdin\b|\bf?scanf(?:_s)?\s*\(|\bgetchar\s*\(|\bf?gets\s*\(|\bgetline\s*\("
    r"|\bfopen(?:_s)?\s*\(|\bi?fstream\b|\bgetenv\s*\(|\bread\s*\(|\bcudaGetDevice(?:Count|Properties)\s*\("
)
_ASKS_FOR_MANY = re.compile(r"\bargc\s*(?:>=?|==)\s*[1-9]\d{1,8}\b|\b[1-9]\d{1,8}\s*(?:<=?|==)\s*argc\b")


def never_launches(runs: Sequence[SeenRun], kernel: str, graded: set[str], programs: Mapping[str, str]) -> bool:
    """Whether nothing that a program could be started with would have it launch a kernel, one of those `graded`.

    One that launches another of these may be changed by its author to launch them in turn.  Nobody can tell that of one
    which reads what it is to do from arguments, a keyboard or files, unless it asks for more arguments than anybody
    gives.

    runs: of the program, none of which gave up for a fault of its own.
    """
    if not programs or not runs or not all(run.ended for run in runs):
        return False
    launched = {name for run in runs for name in (*run.asked_for, *(launch.kernel for launch in run.launches))}
    texts = programs.values()
    if kernel in launched:
        return False
    if any(_ASKS_FOR_MANY.search(text) for text in texts):
        return True
    return not launched & graded and not any(_READS.search(text) for text in texts)


def launched_instead(runs: Sequence[SeenRun], kernel: Kernel, graded: Collection[Kernel]) -> Instead | None:
    """A launch of one of the other kernels, or of one instance of a template, whose results the host had fetched from
    an earlier launch in another line; of several that of the kernel which is written next to the one that is missing.

    graded: the kernels of the variants.
    """
    order = [k.name for k in sorted(graded, key=lambda k: (k.file != kernel.file, k.line))]
    others: dict[tuple[str, int, int], Instead] = {}
    lines: set[tuple[str, int]] = set()
    for run in runs:
        first: dict[tuple[str, tuple[str, ...]], tuple[int, str, int]] = {}
        fetched = sorted(copy.launches for copy in run.copies if copy.way == "out")
        for number, step in enumerate(run.order if run.ended and not run.probe else ()):
            launch = run.launches[step.launch] if step.launch >= 0 else None
            if launch is None or launch.kernel == kernel.name or launch.kernel not in order:
                continue
            lines.add((launch.file, launch.line))
            key = launch.kernel, launch.template_arguments
            earlier, file, line = first.setdefault(key, (number, launch.file, launch.line))
            is_other = file == launch.file and line != launch.line
            if is_other and bisect_right(fetched, earlier) < bisect_right(fetched, number):
                name = launch.kernel + (f"<{', '.join(key[1])}>" if key[1] else "")
                # What is written first is launched first.
                is_first = order.index(kernel.name) < order.index(launch.kernel)
                wrong, right = (line, launch.line) if is_first else (launch.line, line)
                instead = Instead(file, wrong, name, right)
                others.setdefault((file, line, launch.line), instead)
    if not others or kernel.name not in order:
        return None
    place = order.index(kernel.name)
    nearest = min(others.values(), key=lambda one: abs(order.index(one.kernel.partition("<")[0]) - place))
    return nearest if len(lines) >= len(order) else None


Placed = tuple[Parameter, SeenArgument, int]
"""An array that a launch is handed: its role, the argument, bytes of an element."""


def with_own_launches(evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with what is wrong of the launches that its program makes, of a kernel that is right."""
    if evidence.interpretation is None or not evidence.runs or not all(run.is_right for run in evidence.runs):
        return evidence
    kernel = kernel.read_as(evidence.interpretation)
    launches = list(_whole_launches(kernel))
    faults = list(_of_instances(kernel, launches))
    own = evidence.own_check
    if not faults and own is not None and not own.is_right and own.case_is_right:
        faults = list(_of_places(kernel, launches))
    reported = {(fault.file, fault.line) for fault in evidence.host.of_launch}
    new = tuple(dict.fromkeys(fault for fault in faults if (fault.file, fault.line) not in reported))
    if not new:
        return evidence
    host = replace(evidence.host, of_launch=(*evidence.host.of_launch, *new), misleads=True)
    own = replace(own, is_explained=True) if own is not None else None
    return replace(evidence, host=host, own_check=own)


def _whole_launches(kernel: BoundKernel) -> Iterator[SeenLaunch]:
    """Yield the kernel's launches at the program's own sizes that have an argument for each parameter."""
    names = [p.name for p in kernel.binding.kernel.parameters]
    for run in kernel.submission.observed.runs:
        for launch in () if run.probe or run.forgiven or run.change is not None else run.launches:
            is_own = launch.kernel == kernel.binding.kernel.name and not launch.refused and launch.exchanged is None
            if is_own and [argument.name for argument in launch.arguments] == names:
                yield launch


def _of_instances(kernel: BoundKernel, launches: Sequence[SeenLaunch]) -> Iterator[HostFault]:
    """Yield launches of an instance for one size on arrays of another, where most others fit their arrays."""
    template = [role for _text, role in kernel.interpretation.template]
    if not any(template):
        return
    wrong: list[SeenLaunch] = []
    fitting = 0
    for launch in launches:
        sizes, arrays = _sizes(kernel, launch), list(_arrays(kernel, launch))
        if sizes is None or not arrays or any(argument.offset_bytes for _role, argument, _width in arrays):
            return
        if _fits(arrays, sizes):
            fitting += 1
        else:
            wrong.append(launch)
    for launch in wrong if 2 * len(wrong) < fitting else ():
        sizes, arrays = _sizes(kernel, launch), list(_arrays(kernel, launch))
        for role in template:
            values = [v for v in range(1, 2049) if role and sizes and _fits(arrays, {**sizes, role: v})]
            if len(values) == 1 and sizes is not None:
                instance = f"{launch.kernel}<{', '.join(launch.template_arguments)}>"
                said = msg("checks.launch.instance", kernel=instance, size=role, got=sizes[role], value=values[0])
                yield HostFault("launch", launch.file, launch.line, said)


def _sizes(kernel: BoundKernel, launch: SeenLaunch) -> dict[str, int] | None:
    """Return the lab's sizes by a launch's template arguments and numbers; None where one is unknown."""
    template = kernel.interpretation.template
    roles = zip(kernel.interpretation.roles, launch.arguments, strict=True)
    sizes = {role: argument.value for role, argument in roles if isinstance(argument.value, int)}
    if len(template) == len(launch.template_arguments):
        arguments = zip(template, launch.template_arguments, strict=True)
        sizes |= {role: int(text) for (_text, role), text in arguments if role and text.isdigit()}
    names = kernel.lab.size_names
    return {name: sizes[name] for name in names} if sizes.keys() >= set(names) else None


def _arrays(kernel: BoundKernel, launch: SeenLaunch) -> Iterator[Placed]:
    roles = {p.name: p for p in kernel.lab.parameters if p.is_array}
    parameters = kernel.binding.kernel.parameters
    for name, parameter, argument in zip(kernel.interpretation.roles, parameters, launch.arguments, strict=True):
        width = SIZES_OF_TYPES.get(parameter.dtype or "", 0)
        if name in roles and width and argument.buffer_bytes:
            yield roles[name], argument, width


def _fits(arrays: Sequence[Placed], sizes: Mapping[str, int]) -> bool:
    return all(
        width * prod(n if isinstance(n, int) else sizes[n] for n in role.shape) == argument.buffer_bytes
        for role, argument, width in arrays
    )


def _of_places(kernel: BoundKernel, launches: Sequence[SeenLaunch]) -> Iterator[HostFault]:
    """Yield launches on parts of arrays of one shape that begin at different elements."""
    names = dict(zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True))
    for launch in launches:
        for one, other in combinations(_arrays(kernel, launch), 2):
            (first, a, width), (second, b, other_width) = one, other
            is_alike = first.shape == second.shape and width == other_width and a.buffer_bytes == b.buffer_bytes
            if is_alike and a.offset_bytes != b.offset_bytes:
                places = {"first_at": a.offset_bytes // width, "second_at": b.offset_bytes // width}
                called = {"first": names[first.name].name, "second": names[second.name].name}
                said = msg("checks.launch.places", kernel=launch.kernel, **called, **places)
                yield HostFault("launch", launch.file, launch.line, said)
                return
