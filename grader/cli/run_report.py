"""What `grade run` prints of a program and records as JSON: launches, findings, a timeline of its streams."""

from __future__ import annotations

import json
from collections.abc import Sequence

from grader.i18n import _, decimal, ngettext
from grader.programs.records import CELLS, DEFAULT_STREAM, DeviceCall, Observation, Timeline, is_limit, timeline
from grader.submission.kernels.records import SeenArgument, SeenLaunch
from grader.words import text

_STEP_SIGNS = {"copy_in": "→", "copy_out": "←", "kernel": "█", "copy": "=", "fill": "·"}
_COPIES = ("copy_in", "copy_out", "copy")
MAX_ROWS = 16


def steps_record(line: Timeline | None) -> list[dict[str, object]]:
    """The steps for `grade run --json`."""
    if line is None:
        return []
    numbers = {stream: number for number, stream in enumerate(sorted({DEFAULT_STREAM, *line.streams}))}
    return [
        {
            "kind": step.call.kind,
            "name": step.call.name,
            "file": step.call.file,
            "line": step.call.line,
            "stream": numbers[step.call.stream],
            "bytes": step.call.size,
            "pageable": step.call.is_pageable,
            "order": None if line.is_timed else step.begin,
            "began_us": step.begin if line.is_timed else None,
            "ended_us": step.end if line.is_timed else None,
        }
        for step in line.steps
    ]


def timeline_text(line: Timeline | None) -> list[str]:
    """The picture; nothing where only the order is known and all is done in one stream."""
    if line is None or (not line.is_timed and len(line.streams) < 2):
        return []
    if line.is_timed:
        heading = _("Timeline: a row a stream, {took} from left to right").format(took=_time(line.length))
    else:
        heading = _("Timeline: a row a stream, in order and without times; steps in a column may run at the same time")
    names = {stream: _stream(number) for number, stream in enumerate(sorted({DEFAULT_STREAM, *line.streams}))}
    rows = list(line.rows().items())
    width = max(len(names[stream]) for stream, _cells in rows[:MAX_ROWS])
    lines = [heading]
    for stream, cells in rows[:MAX_ROWS]:
        signs = "".join(_STEP_SIGNS.get(kind, " ") for kind in cells).rstrip()
        lines.append(f"  {names[stream]:<{width}}  {signs}")
    if not line.is_timed and line.length > CELLS:
        lines.append("  " + _("… the first {n} of {total} columns").format(n=CELLS, total=int(line.length)))
    more = len(rows) - MAX_ROWS
    if more > 0:
        lines.append("  " + ngettext("… and {n} more stream", "… and {n} more streams", more).format(n=more))
    words = {
        "copy_in": _("copies to the device"),
        "copy_out": _("copies to the host"),
        "kernel": _("kernels"),
        "copy": _("copies on the device"),
        "fill": _("fills"),
    }
    there = {step.call.kind for step in line.steps}
    lines.append("  " + "   ".join(f"{_STEP_SIGNS[kind]} {word}" for kind, word in words.items() if kind in there))
    if line.is_timed and "kernel" in there and there & {"copy_in", "copy_out"}:
        copies, kernels = line.took("copy_in", "copy_out"), line.took("kernel")
        beside = max(0.0, copies + kernels - line.took("copy_in", "copy_out", "kernel"))
        words_of_time = _("kernels {kernels}, copies between host and device {copies}, both at the same time {beside}")
        lines.append("  " + words_of_time.format(kernels=_time(kernels), copies=_time(copies), beside=_time(beside)))
    return lines


def copies_text(line: Timeline | None) -> list[str]:
    """Copies with their times and bandwidths, those of a line, a direction and a size together; a GPU's alone."""
    if line is None or not line.is_timed:
        return []
    groups: dict[tuple[object, ...], list[float]] = {}
    calls: dict[tuple[object, ...], DeviceCall] = {}
    for step in line.steps:
        call = step.call
        if call.kind in _COPIES:
            key = (call.file, call.line, call.name, call.kind, call.size, call.is_pageable)
            groups.setdefault(key, []).append(step.end - step.begin)
            calls[key] = call
    return [_copy_line(calls[key], times) for key, times in groups.items()]


def _copy_line(call: DeviceCall, times: Sequence[float]) -> str:
    where = f"{call.file}:{call.line}" if call.line else call.file
    pageable = "  " + _("(pageable memory)") if call.is_pageable else ""
    each = sum(times) / len(times)
    bandwidth = f"  {_('{rate:.3g} GB/s').format(rate=decimal(call.size / each / 1e3))}" if each else ""
    count = f"  ×{len(times)}" if len(times) > 1 else ""
    return (
        f"  {_STEP_SIGNS[call.kind]} {where}  {call.name} {_size(call.size)}{pageable}{count}  {_time(each)}{bandwidth}"
    )


def _stream(number: int) -> str:
    return _("stream {n}").format(n=number) if number else _("default stream")


def _time(us: float) -> str:
    return _("{ms:.4g} ms").format(ms=decimal(us / 1000)) if us >= 1000 else _("{us:.4g} µs").format(us=decimal(us))


def _size(size: int) -> str:
    for words, unit in ((_("{n:.4g} MiB"), 1 << 20), (_("{n:.4g} KiB"), 1 << 10)):
        if size >= unit:
            return words.format(n=decimal(size / unit))
    return ngettext("{n} byte", "{n} bytes", size).format(n=size)


_SIGNS = {"error": "✗", "warning": "!", "remark": "·"}


def json_of(observation: Observation) -> str:
    """The observation as `grade run --json` prints it."""
    launches = [
        {
            "kernel": launch.display,
            "file": launch.file,
            "line": launch.line,
            "grid": launch.grid,
            "block": launch.block,
            "shared_bytes": launch.shared_bytes,
            "arguments": [_argument_record(argument) for argument in launch.arguments],
            "status": launch.status,
            "error": launch.error or None,
            "compiler": launch.compiler or None,
            "microseconds": launch.microseconds,
            "thread_instructions": launch.thread_instructions,
            "watched_blocks": launch.watched_blocks,
            "hazards": [
                {"kind": h.kind, "line": h.line, "message": text(h.message), "count": h.count} for h in launch.hazards
            ],
            "counters": [
                {name: getattr(counter, name) for name in counter.__struct_fields__} for counter in launch.counters
            ],
        }
        for launch in observation.launches
    ]
    findings = [
        {"kind": f.kind, "severity": f.severity, "file": f.file, "line": f.line, "message": text(f.message)}
        for f in observation.findings
    ]
    record = {
        "exit": observation.exit,
        "cause": text(observation.cause) or None,
        "is_limit": is_limit(observation.cause),
        "stdout": observation.stdout.decode("utf-8", errors="replace"),
        "stderr": observation.stderr.decode("utf-8", errors="replace"),
        "smaller": observation.smaller or None,
        "device": observation.device or None,
        "launches": launches,
        "checked": observation.checked,
        "check_ended": text(observation.check_ended) or None,
        "timeline": steps_record(timeline(observation.asked)),
        "findings": findings,
    }
    return json.dumps(record, ensure_ascii=False, indent=1)


_FLOW = {"copied": "copied_in", "zeroed": "zeroed", "kernel": "written"}


def _argument_record(argument: SeenArgument) -> dict[str, object]:
    record: dict[str, object] = {"name": argument.name, "type": argument.type_text}
    if argument.buffer:
        record |= {"buffer": argument.buffer, "bytes": argument.buffer_bytes, "offset": argument.offset_bytes}
        record["flow"] = [_FLOW[origin] for origin in argument.origins] + ["read_back"] * argument.read_back
    else:
        record["value"] = argument.value
    return record


def text_of(observation: Observation) -> str:
    """The report that follows what the program printed."""
    lines = ["", _heading(observation)]
    groups = _grouped(observation.launches)
    if groups:
        lines += ["", _("Launches")]
        lines += [line for launches in groups for line in _launch_lines(launches)]
    if any(launch.compiler == "clang" for launch in observation.launches):
        note = _("(clang): NVRTC, nvcc's own compiler, does not give this kernel: its code and counters are clang's.")
        lines += ["", note]
    line = timeline(observation.asked)
    if copies := copies_text(line):
        lines += ["", _("Copies"), *copies]
    if picture := timeline_text(line):
        lines += ["", *picture]
    findings = [f for f in observation.findings if f.message != observation.cause and f.kind != "smaller"]
    if findings:
        lines += ["", _("Findings")]
        for finding in sorted(findings, key=lambda f: ("error", "warning", "remark").index(f.severity)):
            where = f"{finding.file}:{finding.line}  " if finding.line else ""
            lines.append(f"  {_SIGNS[finding.severity]} {where}{text(finding.message)}")
    if observation.checked is not None:
        total = len(observation.launches)
        note = _("Counters and hazards are those of the emulator, which ran {n} of {total} launches.")
        lines += [
            "",
            " ".join([note.format(n=observation.checked, total=total), text(observation.check_ended)]).rstrip(),
        ]
    if not observation.device and any(launch.status == "ran" for launch in observation.launches):
        lines += ["", _("Times printed by the program are not real: there is no GPU here to measure.")]
    return "\n".join(lines) + "\n"


def _heading(observation: Observation) -> str:
    smaller = [text(f.message) for f in observation.findings if f.kind == "smaller"]
    return " ".join([*smaller, _ending(observation)])


def _ending(observation: Observation) -> str:
    if observation.cause is not None:
        where = next(
            (f"{f.file}:{f.line}: " for f in observation.findings if f.message == observation.cause and f.line), ""
        )
        return f"✗ {where}{text(observation.cause)}"
    return _("The program ended with exit code {code}.").format(code=observation.exit)


def _grouped(launches: Sequence[SeenLaunch]) -> list[list[SeenLaunch]]:
    groups: list[list[SeenLaunch]] = []
    for launch in launches:
        if groups and _same(groups[-1][0], launch):
            groups[-1].append(launch)
        else:
            groups.append([launch])
    return groups


def _same(first: SeenLaunch, second: SeenLaunch) -> bool:
    names = ("display", "file", "line", "grid", "block", "shared_bytes", "status")
    return all(getattr(first, name) == getattr(second, name) for name in names)


def _launch_lines(launches: Sequence[SeenLaunch]) -> list[str]:
    launch, count = launches[0], len(launches)
    shared = ngettext(
        ", {n} byte of dynamic shared memory", ", {n} bytes of dynamic shared memory", launch.shared_bytes
    )
    configuration = f"<<<{_sizes(launch.grid)}, {_sizes(launch.block)}>>>"
    if launch.shared_bytes:
        configuration += shared.format(n=launch.shared_bytes)
    times = (f"  ×{count}" if count > 1 else "") + ("  (clang)" if launch.compiler == "clang" else "")
    timed = [each.microseconds for each in launches if each.microseconds is not None]
    if timed:
        words = _("{us:.4g} µs each") if len(timed) > 1 else _("{us:.4g} µs")
        times += "  " + words.format(us=decimal(sum(timed) / len(timed)))
    where = f"{launch.file}:{launch.line}" if launch.line else launch.file
    lines = [f"  {_STATUS_SIGNS[launch.status]} {where}  {launch.display} {configuration}{times}"]
    if launch.arguments:
        lines.append("      " + ", ".join(_argument(argument) for argument in launch.arguments))
    if launch.status != "ran":
        lines.append("      " + _status(launch))
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    if 0 < (launch.watched_blocks or 0) < blocks:
        watched = _("Watched for races and counters: {watched} of {total} blocks, spread over the grid.")
        lines.append("      " + watched.format(watched=launch.watched_blocks, total=blocks))
    elif launch.watched_blocks == 0:
        lines.append(
            "      " + _("Watched for races only in its first part, without counters: few threads that take long.")
        )
    worst: dict[tuple[str, int, str], str] = {}
    for counter in launch.counters:
        own_line = _("line {line}").format(line=counter.line)
        where = f"{counter.file}:{counter.line}" if counter.file else own_line
        if counter.space == "shared" and counter.ways > 1:
            worst[counter.file, counter.line, "shared"] = _("{where}: {ways}-way bank conflict").format(
                where=where, ways=counter.ways
            )
        elif counter.space == "global" and counter.ideal and counter.sectors >= 2 * counter.ideal:
            each = counter.sectors / max(1, counter.requests)
            worst[counter.file, counter.line, "global" + counter.op] = _(
                "{where}: {each:.1f} sectors per request, minimum {ideal:.1f}"
            ).format(where=where, each=each, ideal=counter.ideal / max(1, counter.requests))
    return lines + [f"      {words}" for words in dict.fromkeys(words for _key, words in sorted(worst.items()))]


_STATUS_SIGNS = {"ran": "✓", "failed": "✗", "faulted": "✗", "traced": "…"}


def _status(launch: SeenLaunch) -> str:
    return {
        "failed": _("rejected: {error}; the kernel never ran").format(error=launch.error),
        "faulted": _("ended by a fault: {error}").format(error=launch.error),
        "traced": _("recorded, not executed"),
    }[launch.status]


def _sizes(sizes: tuple[int, int, int]) -> str:
    kept = sizes if sizes[2] != 1 else sizes[:2] if sizes[1] != 1 else sizes[:1]
    return str(kept[0]) if len(kept) == 1 else f"({', '.join(str(size) for size in kept)})"


def _argument(argument: SeenArgument) -> str:
    name = argument.name or argument.type_text
    if argument.buffer:
        offset = f"+{argument.offset_bytes}" if argument.offset_bytes else ""
        return f"{name} = {argument.buffer}{offset}"
    return (
        f"{name} = {argument.value:g}"
        if isinstance(argument.value, float)
        else f"{name} = {'…' if argument.value is None else argument.value}"
    )
