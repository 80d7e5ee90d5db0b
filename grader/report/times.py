"""Tables of measured times, as the labs' reports ask for them: by variant and size, and by kind of host memory."""

from __future__ import annotations

from collections.abc import Callable

from grader.i18n import _
from grader.report.job import ReportJob
from grader.report.numbers import NO_BREAK_SPACE, Numbers
from grader.report.view import View, size_text, variant_columns
from grader.result import Ratio, Timing, Variant


def time_table(job: ReportJob) -> View | None:
    """A row per variant and size that was timed; None when nothing was.

    Keys: head (titles of the columns after variant and size, each with the columns that it stands over, [] for itself),
    rows (colour, name, first, size, cells), notes.
    """
    numbers = Numbers(job.language)
    columns = variant_columns(job)
    timed = [
        (column, timing)
        for column in columns
        for timing in job.result.variants.get(column["name"], Variant()).timing
        if timing.median_us is not None
    ]
    if not timed:
        return None
    baseline = columns[0]["name"]
    shown = [cell for cell in _cells(numbers, baseline) if any(cell[2](timing) for _column, timing in timed)]
    rows = []
    previous = ""
    for column, timing in timed:
        cells = [text(timing) or "–" for _group, _title, text in shown]
        rows.append(
            {**column, "first": column["name"] != previous, "size": size_text(timing.size, job.extents), "cells": cells}
        )
        previous = column["name"]
    head: list[View] = []
    for group, title, _text in shown:
        if not group:
            head.append({"title": title, "columns": []})
        elif head and head[-1]["title"] == group:
            head[-1]["columns"].append(title)
        else:
            head.append({"title": group, "columns": [title]})
    return {"head": head, "rows": rows, "notes": _notes(timed, baseline)}


def _cells(numbers: Numbers, baseline: str) -> list[tuple[str, str, Callable[[Timing], str]]]:
    """For each column what it stands under, its title, and what stands in it, "" where there is nothing."""

    def microseconds(value: float | None) -> str:
        return "" if value is None else numbers.decimal(value, 2 if value < 100 else 1)

    def interval(t: Timing) -> str:
        low, high = microseconds(t.ci_low_us), microseconds(t.ci_high_us)
        return f"{low}{NO_BREAK_SPACE}…{NO_BREAK_SPACE}{high}" if low and high else ""

    def time(t: Timing) -> str:
        return microseconds(t.median_us) + ("*" if t.launch_bound else "")

    def rate(value: float | None, share: float | None) -> str:
        if value is None:
            return ""
        text = numbers.decimal(value, 1 if value < 1000 else 0)
        return text + (f" ({numbers.decimal(share, 0)}{NO_BREAK_SPACE}%)" if share is not None else "")

    def times(value: float | None) -> str:
        return "" if value is None else numbers.decimal(value, 2 if value < 100 else 0)

    def ratio(value: Ratio | None) -> str:
        return times(value.value) if value is not None else ""

    speedup = _("speed-up over")
    return [
        ("", _("time, µs"), time),
        ("", _("99 % interval"), interval),
        ("", _("GFLOP/s (of the device)"), lambda t: rate(t.gflop_per_s, t.pct_of_device)),
        ("", _("GB/s (of the device)"), lambda t: rate(t.gb_per_s, t.pct_of_device)),
        (speedup, baseline, lambda t: ratio(t.over_baseline)),
        (speedup, _("CPU"), lambda t: times(t.over_cpu)),
        (speedup, _("reference"), lambda t: ratio(t.over_reference)),
        (speedup, _("marked"), lambda t: times(t.speedup)),
        ("", _("CPU, µs"), lambda t: microseconds(t.cpu_us)),
    ]


def _notes(timed: list[tuple[View, Timing]], baseline: str) -> list[str]:
    """What has to be said of the table."""
    notes = [
        _(
            "Speed-ups are how many times as fast the kernel is as: the student's own {name}; the lab's NumPy program "
            "on the CPU; the lab's own kernel of the same variant; the kernel that the mark goes by."
        ).format(name=baseline)
    ]
    threads = sorted({t.cpu_threads for _column, t in timed if t.cpu_threads})
    if threads:
        notes.append(_("Threads of the CPU at work: {threads}.").format(threads=", ".join(map(str, threads))))
    if any(t.launch_bound for _column, t in timed):
        notes.append(_("* hardly longer than the launch of an empty kernel takes: not marked."))
    if any(t.undecided for _column, t in timed):
        notes.append(_("Where the interval straddles what is asked for, the mark is left to the teacher."))
    return notes


def host_memory_table(job: ReportJob) -> View | None:
    """Times of copies and kernel by kind of host memory; None when they were not measured.  Keys as `time_table`."""
    numbers = Numbers(job.language)
    modes = {
        "pageable": _("pageable"),
        "pinned": _("pinned"),
        "write_combined": _("write-combined"),
        "mapped": _("mapped (zero-copy)"),
    }
    titles = [_("copy in"), _("kernel"), _("copy out"), _("together"), _("CPU reads the result")]
    head: list[View] = [{"title": title, "columns": []} for title in titles]
    rows = []
    size = ""
    for column in variant_columns(job):
        for index, row in enumerate(job.result.variants.get(column["name"], Variant()).host_memory):
            values = [row.copy_in_us, row.kernel_us, row.copy_out_us, row.total_us, row.cpu_read_us]
            size = size_text(row.size, job.extents)
            rows.append(
                {
                    **column,
                    "first": index == 0,
                    "size": modes[row.mode],
                    "cells": [numbers.microseconds(value) for value in values],
                }
            )
    if not rows:
        return None
    note = _(
        "At the size {size}. In mapped memory the kernel itself reads and writes over the bus: there are no copies."
    )
    return {"head": head, "rows": rows, "notes": [note.format(size=size)]}
