"""Tables of measured times, as the labs' reports ask for them: by variant and size, and by kind of host memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.i18n import _, ngettext
from grader.report.job import ReportJob
from grader.report.numbers import NO_BREAK_SPACE, Numbers, ratio_digits, time_digits
from grader.report.page.views import HeadView, TimeRow, TimeTable
from grader.report.summary import size_text, variant_columns
from grader.report.summary_views import VariantView
from grader.result import Ratio, Timing, Variant

NOTHING = "–"
WORD_JOINER = "\u2060"


def time_table(job: ReportJob) -> TimeTable | None:
    """A row per variant and size that was timed; None when nothing was.

    Keys: caption (what of the sizes is the same in all rows, ""), head (titles of the columns after variant and size,
    each with the columns that it stands over, [] for itself), rows (colour, name, first, size, cells), notes.
    """
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
    shown = _columns([timing for _column, timing in timed], baseline, Numbers(job.language))
    common = _common([timing.size for _column, timing in timed], job.extents)
    rows: list[TimeRow] = []
    previous = ""
    for (column, timing), cells in zip(timed, zip(*(cells for *_titles, cells in shown), strict=True), strict=True):
        own = {name: value for name, value in timing.size.items() if name not in common}
        size = size_text(own, job.extents) + ("*" if timing.launch_bound else "")
        rows.append({**column, "first": column["name"] != previous, "size": size, "cells": list(cells)})
        previous = column["name"]
    head: list[HeadView] = []
    for group, broken, _cells in shown:
        title = _unbroken(broken)
        if not group:
            head.append({"title": title, "columns": []})
        elif head and head[-1]["title"] == group:
            head[-1]["columns"].append(title)
        else:
            head.append({"title": group, "columns": [title]})
    caption = _("In all rows {size}.").format(size=size_text(common)) if common else ""
    return {"caption": caption, "head": head, "rows": rows, "notes": _notes(timed, baseline)}


def _unbroken(title: str) -> str:
    """A title of a narrow column, kept from being broken within a unit."""
    return title.replace("/", f"/{WORD_JOINER}").replace(" %", f"{NO_BREAK_SPACE}%")


def _common(sizes: Sequence[dict[str, int]], extents: Sequence[str]) -> dict[str, int]:
    """The part that all sizes share where something else tells them apart; nothing of the axes of an array."""
    first = sizes[0]
    if tuple(first) == tuple(extents) or all(size == first for size in sizes):
        return {}
    return {name: value for name, value in first.items() if all(size.get(name) == value for size in sizes)}


def _columns(timed: Sequence[Timing], baseline: str, numbers: Numbers) -> list[tuple[str, str, list[str]]]:
    """For each column that has values what it stands under, its title, and its cells."""
    texts = _Cells(timed, numbers)
    speedup = _("speedup over")
    columns = [
        ("", _("time, µs"), texts.times(lambda t: t.median_us)),
        ("", _("99 % interval"), texts.intervals()),
        ("", _("GFLOP/s"), texts.rates(lambda t: t.gflop_per_s)),
        ("", _("GB/s"), texts.rates(lambda t: t.gb_per_s)),
        ("", _("% of the device"), texts.shares(lambda t: t.pct_of_device)),
        ("", _("CPU, µs"), texts.times(lambda t: t.cpu_us)),
        (speedup, baseline, texts.ratios(lambda t: _value(t.over_baseline))),
        (speedup, _("CPU"), texts.ratios(lambda t: t.over_cpu)),
        (speedup, _("reference"), texts.ratios(lambda t: _value(t.over_reference))),
        (speedup, _("threshold"), texts.ratios(lambda t: t.speedup)),
    ]
    return [(group, title, cells) for group, title, cells in columns if any(c.strip() != NOTHING for c in cells)]


def _value(ratio: Ratio | None) -> float | None:
    return None if ratio is None else ratio.value


Figure = Callable[[Timing], float | None]


class _Cells:
    """The cells of columns, numbers of one column written alike."""

    def __init__(self, timed: Sequence[Timing], numbers: Numbers) -> None:
        self._timed = timed
        self._numbers = numbers

    def times(self, figure: Figure) -> list[str]:
        """Times in µs."""
        return self._each(figure, time_digits)

    def ratios(self, figure: Figure) -> list[str]:
        """How many times."""
        return self._each(figure, ratio_digits)

    def rates(self, figure: Figure) -> list[str]:
        """GFLOP/s or GB/s: as many decimals as the least of them wants."""
        least = min((value for t in self._timed if (value := figure(t)) is not None), default=0.0)
        return self._each(figure, lambda _value: 2 if least < 10 else 1 if least < 1000 else 0)

    def shares(self, figure: Figure) -> list[str]:
        """Per cents with one decimal; what is less than any of them is said to be less."""
        return [
            NOTHING
            if (value := figure(t)) is None
            else f"<{NO_BREAK_SPACE}{self._numbers.fixed(0.1, 1)}"
            if 0 < value < 0.05
            else self._numbers.fixed(value, 1)
            for t in self._timed
        ]

    def intervals(self) -> list[str]:
        """Confidence intervals, with the decimals of the time that stands before them."""
        return self._numbers.aligned([self._interval(t) for t in self._timed])

    def _interval(self, timing: Timing) -> str:
        ends = (timing.ci_low_us, timing.ci_high_us)
        texts = [self._numbers.fixed(end, time_digits(timing.median_us or end)) for end in ends if end is not None]
        return f"{NO_BREAK_SPACE}…{NO_BREAK_SPACE}".join(texts) if len(texts) == len(ends) else NOTHING

    def _each(self, figure: Figure, digits: Callable[[float], int]) -> list[str]:
        values = [figure(t) for t in self._timed]
        return self._numbers.aligned([NOTHING if v is None else self._numbers.fixed(v, digits(v)) for v in values])


def _notes(timed: list[tuple[VariantView, Timing]], baseline: str) -> list[str]:
    """What has to be said of the table."""
    notes = [
        _(
            "Speedups say how many times as fast the kernel is as: the student's own {name}; the lab's "
            "NumPy program on the CPU; the lab's reference kernel of the same variant; the kernel that the "
            "grade is based on."
        ).format(name=baseline)
    ]
    if any(t.pct_of_device is not None for _column, t in timed):
        notes.append(_("Percentages are of the highest rate measured on this GPU."))
    threads = {t.cpu_threads for _column, t in timed if t.cpu_threads}
    if len(threads) > 1:
        text = _("NumPy on the CPU used {least} to {most} threads, depending on the size.")
        notes.append(text.format(least=min(threads), most=max(threads)))
    elif threads:
        (count,) = threads
        notes.append(ngettext("NumPy on the CPU used {n} thread.", "NumPy on the CPU used {n} threads.", count))
        notes[-1] = notes[-1].format(n=count)
    if any(t.launch_bound for _column, t in timed):
        notes.append(_("* hardly longer than launching an empty kernel: not graded."))
    if any(t.undecided for _column, t in timed):
        notes.append(_("Where the interval includes the threshold, the teacher decides."))
    return notes


def host_memory_table(job: ReportJob) -> TimeTable | None:
    """Times of copies and kernel by kind of host memory; None when they were not measured.  Keys as `time_table`."""
    numbers = Numbers(job.language)
    modes = {
        "pageable": _("pageable"),
        "pinned": _("pinned"),
        "write_combined": _("write-combined"),
        "mapped": _("mapped (zero-copy)"),
    }
    found = [
        (column, index, row)
        for column in variant_columns(job)
        for index, row in enumerate(job.result.variants.get(column["name"], Variant()).host_memory)
    ]
    if not found:
        return None
    measured = [
        [row.copy_in_us for *_place, row in found],
        [row.kernel_us for *_place, row in found],
        [row.copy_out_us for *_place, row in found],
        [row.total_us for *_place, row in found],
        [row.cpu_read_us for *_place, row in found],
    ]
    texts = [numbers.aligned([numbers.fixed(value, time_digits(value)) for value in values]) for values in measured]
    rows: list[TimeRow] = [
        {**column, "first": index == 0, "size": modes[row.mode], "cells": list(cells)}
        for (column, index, row), cells in zip(found, zip(*texts, strict=True), strict=True)
    ]
    titles = [_("copy to GPU"), _("kernel"), _("copy from GPU"), _("total"), _("CPU reads the result")]
    note = _("Size: {size}. With mapped memory the kernel itself reads and writes over the bus: there are no copies.")
    size = size_text(found[-1][2].size, job.extents)
    head: list[HeadView] = [{"title": _("time, µs"), "columns": titles}]
    return {"caption": "", "head": head, "rows": rows, "notes": [note.format(size=size)]}
