"""Where the data of a program go around its launches, in the order in which it was seen to move them.

Told is what the order itself shows: a copy that comes too early or too late, or goes to or from another array than the
kernel works on.  What is wrong about the size or the direction of a copy the runtime tells (`programs/runtime`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod

from grader.message import Message, msg
from grader.programs.moved import end_of_block
from grader.programs.records import LIBRARY
from grader.submission.kernels.records import Kernel, KernelParameter, SeenCopy, SeenLaunch, SeenRun

_FUNCTION = re.compile(r"\b__(?:device|global)__\b[^;{}()=]{0,200}?\b(\w+)\s*\([^;{}]{0,400}\)\s*(?:const\s*)?\{")
_WORD = re.compile(r"[A-Za-z_]\w*")

Key = tuple[str, tuple[str, ...]]
"""An instance of a kernel: its plain name and its template arguments."""


@dataclass(frozen=True, slots=True)
class FlowFault:
    """What the order of copies and launches shows: where, and the kernels that it spoils."""

    file: str
    line: int
    message: Message
    kernels: tuple[Key, ...]
    arrays: tuple[str, ...] = ()


@dataclass(slots=True)
class _Kind:
    """A fault while it is gathered: its message's id and data, and the kernels and arrays that it concerns."""

    file: str
    line: int
    id: str
    data: dict[str, str | int]
    kernels: list[Key] = field(default_factory=list)
    arrays: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Result:
    """The result of launch number `step` of a run in an array of `size` bytes."""

    key: Key
    step: int
    launch: SeenLaunch
    array: str
    serial: int
    size: int


@dataclass(frozen=True, slots=True)
class _Out:
    """A copy to the host, as event number `at`; is_new: it fetched a launch's result that was not fetched before."""

    copy: SeenCopy
    at: int
    is_new: bool


def flow_faults(
    run: SeenRun,
    kernels: Mapping[str, Kernel],
    texts: Mapping[str, str],
    constants: Collection[str],
    graded: Collection[str] = (),
) -> list[FlowFault]:
    """Return the faults in the order of copies and launches of a run that was followed to its end.

    kernels: by plain name, what their text says of their parameters.
    graded: plain names of those that write all of their output, as every variant does.
    texts: by plain name, the text of each kernel with that of the device functions that it calls.
    constants: names of what lies in constant memory and has no value of its own.
    """
    if not run.ended or not _is_followed(run):
        return []
    faults = [
        *_lost_results(run, kernels, texts, graded),
        *_unfilled_inputs(run, kernels),
        *_late_variables(run, kernels, texts, constants),
    ]
    return _merged(faults)


def may_be_meant(run: SeenRun, kernels: Mapping[str, Kernel], text: str = "") -> list[FlowFault]:
    """What may be meant so: two inputs of one kernel that are filled from the same array of the host, in two lines; one
    array for an input and an output; and results of which a part is copied back.

    text: of the host; where that itself joins an array with itself, as a reference of A·A does, one for both is meant.
    """
    if not _is_followed(run):
        return []
    # What a launch is handed does not depend on how the run goes on.
    alike = list(_same_sources(run, kernels))
    if _joins_one_with_itself(text):
        alike = [kind for kind in alike if not kind.id.startswith("filled_alike")]
    return _merged([*alike, *(_short_copies(run, kernels) if run.ended else ())])


# `a[i * n + k] * a[k * n + j]`, `multiply(a, a, c, n)`, `multiply(a.data(), a.data(), c.data())`.
_PRODUCT = re.compile(r"\b(\w+)\s*\[([^\[\]]{1,80})\]\s*\*\s*\1\s*\[([^\[\]]{1,80})\]")
_HANDED_TWICE = re.compile(r"[(,]\s*(\w+)(?:\.data\(\))?\s*,\s*\1(?:\.data\(\))?\s*,")


def _joins_one_with_itself(text: str) -> bool:
    if any("".join(one.split()) != "".join(other.split()) for _name, one, other in _PRODUCT.findall(text)):
        return True
    handed = set(_HANDED_TWICE.findall(text))
    arrays = r"\b(?:float|double|int|auto)\s*\*\s*(?:const\s+)?{0}\b|\b{0}\s*\[|>\s*{0}\s*[(,;{{]|\b{0}\.data\("
    return any(re.search(arrays.format(re.escape(name)), text) for name in handed)


def _is_followed(run: SeenRun) -> bool:
    """Whether all launches and copies of a run are known, as far as it came."""
    return bool(run.order) and all(step.launch >= 0 for step in run.order)


def _same_sources(run: SeenRun, kernels: Mapping[str, Kernel]) -> Iterator[_Kind]:
    filled: dict[int, SeenCopy] = {}
    for copy, number in _events(run):
        if copy is not None:
            filled.pop(copy.serial, None)
            if copy.way == "in" and copy.is_whole:
                filled[copy.serial] = copy
            continue
        parameters = _parameters(run, number, kernels)
        if parameters is None:
            return
        launch, arrays = parameters
        key = launch.kernel, launch.template_arguments
        for taken, name, serial, _size in arrays:
            into = next((p for p, _name, other, _s in arrays if other == serial and _is_written(p)), None)
            if into is not None and not _is_written(taken):
                same: dict[str, str | int] = {"array": name, "first": taken.name, "second": into.name}
                yield _Kind(launch.file, launch.line, "same_array", same, [key], [name])
        inputs = [
            (name, filled[serial]) for p, name, serial, _size in arrays if not _is_written(p) and serial in filled
        ]
        inputs.sort(key=lambda row: row[1].line)
        for (name, one), (other_name, other) in combinations(inputs, 2):
            is_same = one.host == other.host and one.bytes == other.bytes and one.serial != other.serial
            if is_same and one.line != other.line:
                data: dict[str, str | int] = {"array": other_name, "other": name, "before": one.line}
                yield _Kind(other.file, other.line, "filled_alike", data, [key], [other_name])
            elif is_same:
                # In a function of the program's own, which is called for each.
                read_as = {serial: p.name for p, _name, serial, _size in arrays}
                both: dict[str, str | int] = {"array": read_as[other.serial], "other": read_as[one.serial]}
                yield _Kind(other.file, other.line, "filled_alike_by", both, [key], [other_name])
        for parameter, _name, serial, _size in arrays:
            if _is_written(parameter):
                filled.pop(serial, None)


def _short_copies(run: SeenRun, kernels: Mapping[str, Kernel]) -> Iterator[_Kind]:
    results: dict[int, tuple[_Result, list[SeenCopy]]] = {}
    parts: dict[int, set[int]] = {}

    def short(result: _Result, copies: Sequence[SeenCopy]) -> Iterator[_Kind]:
        # What is copied again counts once; rows of two columns of a matrix overlap without that.
        got = sum(length for _at, length in {(copy.offset, copy.bytes) for copy in copies})
        if copies and got < copies[-1].of and not _is_room_for_more(result.launch, got, copies[-1].of):
            data: dict[str, str | int] = {"array": result.array, "bytes": got, "size": copies[-1].of}
            yield _Kind(copies[-1].file, copies[-1].line, "copied_short", data, [result.key], [result.array])

    for copy, number in _events(run):
        parameters = _parameters(run, number, kernels) if copy is None else None
        if copy is None and parameters is None:
            return
        if parameters is not None:
            launch, arrays = parameters
            offsets = {argument.name: argument.offset_bytes for argument in launch.arguments}
            for parameter, name, serial, size in arrays:
                if _is_written(parameter):
                    key, at = (launch.kernel, launch.template_arguments), offsets.get(parameter.name, 0)
                    if serial in results and results[serial][0].key == key and at not in parts[serial]:
                        # Launches that each make a part: all of them are fetched together.
                        parts[serial].add(at)
                        continue
                    yield from short(*results.pop(serial)) if serial in results else ()
                    results[serial] = _Result(key, number, launch, name, serial, size), []
                    parts[serial] = {at}
        elif copy is not None and copy.way == "out" and copy.serial in results:
            results[copy.serial][1].append(copy)
    for result, copies in results.values():
        yield from short(result, copies)


def _is_room_for_more(launch: SeenLaunch, got: int, size: int) -> bool:
    """Whether a launch's sizes come to what is copied, and not to the size of an array that is made for larger ones."""
    numbers = [a.value for a in launch.arguments if isinstance(a.value, int) and a.value > 0]
    few = [*numbers, *numbers][:8]
    counts = {prod(some) for k in (1, 2, 3) for some in combinations(few, k)}
    return bool({got, got // 4, got // 8} & counts) and not {size, size // 4, size // 8} & counts


def _merged(faults: Iterable[_Kind]) -> list[FlowFault]:
    merged: dict[tuple[object, ...], _Kind] = {}
    for kind in faults:
        # If it spoils several launches, the first is named.
        data = {name: value for name, value in kind.data.items() if name != "launch_line"}
        first = merged.setdefault((kind.file, kind.line, kind.id, repr(data)), kind)
        first.kernels += [key for key in kind.kernels if key not in first.kernels]
        first.arrays += [name for name in kind.arrays if name not in first.arrays]
    return [
        FlowFault(
            kind.file,
            kind.line,
            msg(f"checks.host_code.{kind.id}", kernel=", ".join(dict.fromkeys(map(_shown, kind.kernels))), **kind.data),
            tuple(kind.kernels),
            tuple(kind.arrays),
        )
        for kind in merged.values()
    ]


def reached_text(name: str, text: str) -> str:
    """Return the text of a kernel, with that of the device functions in `text` that it calls, however deep."""
    bodies = dict(_functions(text))
    whole, pending, reached = "", [name], {name}
    while pending:
        body = bodies.get(pending.pop(), "")
        whole += body
        called = [word for word in dict.fromkeys(_WORD.findall(body)) if word in bodies and word not in reached]
        reached |= set(called)
        pending += called
    return whole


def _functions(text: str) -> Iterator[tuple[str, str]]:
    for match in _FUNCTION.finditer(text):
        yield match[1], text[match.end() : end_of_block(text, match.end())]


def _shown(key: Key) -> str:
    name, arguments = key
    return f"{name}<{', '.join(arguments)}>" if arguments else name


def _events(run: SeenRun) -> Iterator[tuple[SeenCopy | None, int]]:
    """Yield copies with the number of launches before each, and launches as (None, number), in their order."""
    copies = iter(run.copies)
    pending = next(copies, None)
    for number in range(len(run.order) + 1):
        while pending is not None and pending.launches <= number:
            yield pending, number
            pending = next(copies, None)
        if number < len(run.order):
            yield None, number


def _parameters(
    run: SeenRun, number: int, kernels: Mapping[str, Kernel]
) -> tuple[SeenLaunch, list[tuple[KernelParameter, str, int, int]]] | None:
    """Return a launch, and parameter, name, serial number and bytes of each of its arrays; None where unknown."""
    step = run.order[number]
    launch = run.launches[step.launch]
    kernel = kernels.get(launch.kernel)
    if kernel is None or len(step.buffers) != len(launch.arguments):
        return None
    named = {a.name: (a, serial) for a, serial in zip(launch.arguments, step.buffers, strict=True) if a.name}
    own = [p for p in kernel.parameters if not p.is_global]
    if any(p.name not in named for p in own):
        return None
    arrays = []
    for parameter in own:
        argument, serial = named[parameter.name]
        if parameter.is_pointer and not argument.buffer:
            return None
        if parameter.is_pointer:
            arrays.append((parameter, argument.buffer, serial, argument.buffer_bytes))
    return launch, arrays


def _is_written(parameter: KernelParameter) -> bool:
    """Whether a kernel may write an array; one that its text neither reads nor writes counts as written."""
    return not parameter.is_const and (parameter.is_written or not parameter.is_read)


# -- results that nobody gets ----------------------------------------------------------


def _lost_results(
    run: SeenRun, kernels: Mapping[str, Kernel], texts: Mapping[str, str], graded: Collection[str]
) -> Iterator[_Kind]:
    """Yield results that are never read because the copy comes too early, or copies another array, or is not there
    while those of two other variants are fetched."""
    results: dict[int, _Result] = {}
    serials = _serials_of_variables(run)
    outs: list[_Out] = []
    lost: list[tuple[_Result, int]] = []
    began: dict[int, int] = {}
    read: set[Key] = set()
    written: set[int] = set()
    fetched: set[Key] = set()
    for at, (copy, number) in enumerate(_events(run)):
        if copy is None:
            parameters = _parameters(run, number, kernels)
            if parameters is None:
                return
            launch, arrays = parameters
            key = launch.kernel, launch.template_arguments
            # Variables of the device are fetched by their names.
            text = texts.get(launch.kernel, "")
            of_file = [p for p in kernels[launch.kernel].parameters if p.is_global and p.name in serials]
            of_file = [replace(p, is_read=p.is_read and not _is_only_stored(p.name, text)) for p in of_file]
            arrays = [*arrays, *((p, p.name, serials[p.name], 0) for p in of_file)]
            for parameter, _name, serial, _size in arrays:
                if (parameter.is_read or parameter.is_const) and serial in results:
                    read.add(results.pop(serial).key)
            for parameter, name, serial, size in arrays:
                if _is_written(parameter):
                    if serial in results:
                        lost.append((results.pop(serial), at))
                    began[number] = at
                    results[serial] = _Result(key, number, launch, name, serial, size)
                    written.add(serial)
        elif copy.way == "within":
            # Where it comes from is not known: whatever there is may be what is read.
            read |= {result.key for result in results.values()}
            results.clear()
        elif copy.way == "out":
            result = results.pop(copy.serial, None)
            # What a library copies stands in none of the program's lines.
            outs += [_Out(copy, at, result is not None)] if copy.file != LIBRARY else []
            if result is not None:
                read.add(result.key)
                fetched |= {result.key} if result.launch.kernel in graded else set()
        elif copy.is_whole and copy.serial in results:
            lost.append((results.pop(copy.serial), at))
    lost += [(result, 1 << 60) for result in results.values()]
    reported: set[Key] = set()
    for result, end in lost:
        if result.key in read or result.key in reported:
            continue
        begin = began[result.step]
        # What another kernel left, or nobody has ever written, was copied in its place.
        other = next((o for o in outs if begin < o.at < end and o.copy.serial != result.serial and not o.is_new), None)
        early = [o for o in outs if o.at < begin and o.copy.serial == result.serial and not o.is_new]
        # The launch before it has its own copy.
        earlier = [
            b for number, b in began.items() if b < begin and run.launches[run.order[number].launch] != result.launch
        ]
        early = [o for o in early if o.at > max(earlier, default=-1)]
        data: dict[str, str | int] = {"launch_line": result.launch.line, "array": result.array}
        if other is not None:
            data["other"] = other.copy.array
            yield _Kind(other.copy.file, other.copy.line, "copied_other", data, [result.key], [result.array])
        elif early:
            copy = early[-1].copy
            yield _Kind(copy.file, copy.line, "copied_early", data, [result.key], [result.array])
        else:
            # Who fetches those of one variant may only show how the others are launched.
            over = _stored_over(run, result, end, kernels, graded) if len(fetched) > 1 else None
            if over is None:
                continue
            data = {"array": result.array, "other": _shown((over.kernel, over.template_arguments)), "at": over.line}
            yield _Kind(result.launch.file, result.launch.line, "never_fetched", data, [result.key], [result.array])
        reported.add(result.key)


def _is_only_stored(name: str, text: str) -> bool:
    """Whether all that a kernel does with an array of several axes is to store elements."""
    stores = re.findall(rf"\b{re.escape(name)}\s*(?:\[[^\[\]]*\]\s*)+=(?!=)", text)
    return 0 < len(stores) == len(re.findall(rf"\b{re.escape(name)}\b", text))


def _serials_of_variables(run: SeenRun) -> dict[str, int]:
    """Return the serial numbers of what copies name as variables of the device: no argument leads there."""
    handed = {serial for step in run.order for serial in step.buffers}
    return {_plain(copy.array): copy.serial for copy in run.copies if copy.serial and copy.serial not in handed}


def _stored_over(
    run: SeenRun, result: _Result, end: int, kernels: Mapping[str, Kernel], graded: Collection[str]
) -> SeenLaunch | None:
    """Return the launch of another variant that stores its results over one's, where that is fetched."""
    if end == 1 << 60 or result.launch.kernel not in graded:
        return None
    for number in range(result.step + 1, len(run.order)):
        launch = run.launches[run.order[number].launch]
        own = {p.name for p in kernels[launch.kernel].parameters if p.is_global} if launch.kernel in kernels else set()
        if result.serial in run.order[number].buffers or result.array in own:
            is_other = launch.kernel in graded and (launch.kernel, launch.template_arguments) != result.key
            is_fetched = any(c.way == "out" and c.serial == result.serial and c.launches > number for c in run.copies)
            return launch if is_other and is_fetched else None
    return None


# -- inputs that nobody fills ----------------------------------------------------------


def _unfilled_inputs(run: SeenRun, kernels: Mapping[str, Kernel]) -> Iterator[_Kind]:
    """Yield input arrays that are filled only after the kernel, or in whose place another one is filled."""
    touched: set[int] = set()
    last_use: dict[tuple[Key, int], int] = {}
    empty: list[tuple[Key, SeenLaunch, str, int, int, int, frozenset[int]]] = []
    fills: list[tuple[int, SeenCopy]] = []
    twice: list[tuple[SeenCopy, SeenCopy]] = []
    fresh: dict[int, SeenCopy] = {}
    for at, (copy, number) in enumerate(_events(run)):
        if copy is None:
            parameters = _parameters(run, number, kernels)
            if parameters is None:
                return
            launch, arrays = parameters
            key = launch.kernel, launch.template_arguments
            before = {argument.name: argument.before for argument in launch.arguments}
            written = frozenset(serial for p, _n, serial, _s in arrays if _is_written(p))
            for parameter, name, serial, size in arrays:
                fresh.pop(serial, None)
                if _is_written(parameter):
                    touched.add(serial)
                else:
                    last_use[key, serial] = at
                    if serial not in touched and not before.get(parameter.name):
                        empty.append((key, launch, name, serial, size, at, written))
        else:
            if copy.way == "in":
                fills.append((at, copy))
                if copy.serial in fresh and copy.is_whole and fresh[copy.serial].host != copy.host:
                    twice.append((fresh[copy.serial], copy))
                if copy.is_whole:
                    fresh[copy.serial] = copy
            elif copy.way == "out":
                fresh.pop(copy.serial, None)
            if copy.way != "out":
                touched.add(copy.serial)
    reported: set[tuple[Key, int]] = set()
    for key, launch, name, serial, size, _at, written in empty:
        if (key, serial) in reported:
            continue
        reported.add((key, serial))
        own = [(a, c) for a, c in fills if c.serial == serial]
        # A launch to warm up may come before the copies.
        is_late = all(a > last_use[key, serial] for a, _c in own)
        later = own[0][1] if own and is_late else None
        again = next((pair for pair in twice if pair[1].bytes == size), None)
        into = next((c for _a, c in fills if c.serial in written and c.bytes == size and c.serial != serial), None)
        if later is not None:
            data: dict[str, str | int] = {"array": name, "launch_line": launch.line}
            yield _Kind(later.file, later.line, "filled_late", data, [key], [name])
        elif again is not None and not own:
            data = {"array": name, "other": again[1].array, "before": again[0].line}
            yield _Kind(again[1].file, again[1].line, "filled_twice", data, [key], [name])
        elif into is not None and not own:
            data = {"array": name, "other": into.array}
            yield _Kind(into.file, into.line, "filled_output", data, [key], [name])


def _late_variables(
    run: SeenRun, kernels: Mapping[str, Kernel], texts: Mapping[str, str], constants: Collection[str]
) -> Iterator[_Kind]:
    """Variables of the device that no kernel writes, and that the host fills after every launch of one that reads them,
    or never, while it fills another one twice."""
    written = {p.name for kernel in kernels.values() for p in kernel.parameters if p.is_global and _is_written(p)}
    filled: dict[str, list[tuple[int, SeenCopy]]] = {}
    launched: dict[Key, list[tuple[int, SeenLaunch]]] = {}
    fresh: dict[int, SeenCopy] = {}
    twice: list[tuple[SeenCopy, SeenCopy]] = []
    for at, (copy, number) in enumerate(_events(run)):
        if copy is None:
            launch = run.launches[run.order[number].launch]
            launched.setdefault((launch.kernel, launch.template_arguments), []).append((at, launch))
            fresh.clear()
        elif copy.way == "in":
            filled.setdefault(_plain(copy.array), []).append((at, copy))
            if copy.serial in fresh and fresh[copy.serial].host != copy.host and copy.is_whole:
                twice.append((fresh[copy.serial], copy))
            fresh[copy.serial] = copy
    for key, launches in launched.items():
        kernel = kernels.get(key[0])
        arrays = {p.name for p in kernel.parameters if p.is_global and p.is_read} if kernel is not None else set()
        inputs = (arrays - written) | (set(_WORD.findall(texts.get(key[0], ""))) & set(constants))
        own = {argument.buffer for _at, launch in launches for argument in launch.arguments}
        for name, copies in filled.items():
            if name in inputs and name not in own and copies[0][0] > launches[-1][0]:
                copy, launch = copies[0][1], launches[-1][1]
                data: dict[str, str | int] = {"array": name, "launch_line": launch.line}
                yield _Kind(copy.file, copy.line, "filled_late", data, [key], [name])
        for name in sorted(inputs - filled.keys()):
            again = next((pair for pair in twice if _plain(pair[1].array) in inputs), None)
            if again is not None:
                data = {"array": name, "other": _plain(again[1].array), "before": again[0].line}
                yield _Kind(again[1].file, again[1].line, "filled_twice", data, [key], [name])


def _plain(name: str) -> str:
    return name.rpartition("::")[2]
