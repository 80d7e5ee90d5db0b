"""What streams did, in the report of `grade run` and in its record: a picture of signs, and copies with their times."""

from __future__ import annotations

from collections.abc import Sequence

from grader.i18n import _, decimal, ngettext
from grader.programs.records import DeviceCall
from grader.programs.timeline import CELLS, DEFAULT_STREAM, Timeline

_SIGNS = {"copy_in": "→", "copy_out": "←", "kernel": "█", "copy": "=", "fill": "·"}
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
        signs = "".join(_SIGNS.get(kind, " ") for kind in cells).rstrip()
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
    lines.append("  " + "   ".join(f"{_SIGNS[kind]} {word}" for kind, word in words.items() if kind in there))
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
    return f"  {_SIGNS[call.kind]} {where}  {call.name} {_size(call.size)}{pageable}{count}  {_time(each)}{bandwidth}"


def _stream(number: int) -> str:
    return _("stream {n}").format(n=number) if number else _("default stream")


def _time(us: float) -> str:
    return _("{ms:.4g} ms").format(ms=decimal(us / 1000)) if us >= 1000 else _("{us:.4g} µs").format(us=decimal(us))


def _size(size: int) -> str:
    for words, unit in ((_("{n:.4g} MiB"), 1 << 20), (_("{n:.4g} KiB"), 1 << 10)):
        if size >= unit:
            return words.format(n=decimal(size / unit))
    return ngettext("{n} byte", "{n} bytes", size).format(n=size)
