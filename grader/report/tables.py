"""The tables of the page that a terminal does not show: kernels and their cases, counters, times, versions.

Measured times as the labs' reports ask for them, and what a GPU and its tools say of the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from grader.i18n import _, ngettext
from grader.measured import Counters, Ratio, Resources, Timing, Witness
from grader.report.job import ReportJob, size_text, variant_columns, where
from grader.report.summary import shortened, status_view
from grader.report.text import NO_BREAK_SPACE, Numbers, check_status, digits_needed, ratio_digits, time_digits
from grader.report.views import (
    CaseView,
    CounterTable,
    HeadView,
    KernelRow,
    Reproduce,
    ResourceTable,
    TimeRow,
    TimeTable,
    VariantView,
    WitnessCounter,
    WitnessFinding,
    WitnessTables,
)
from grader.result import Case, Environment, Launch, Result, Variant


def kernel_rows(job: ReportJob) -> list[KernelRow]:
    """A row per variant: kernel, where it stands, how it was launched, and its cases by size."""
    rows: list[KernelRow] = []
    for column in variant_columns(job):
        variant = job.result.variants.get(column["name"], Variant())
        rows.append(
            {
                **column,
                "kernel": variant.kernel or "",
                "where": where(job.result, variant.file, variant.line),
                "launch": launch_text(variant.launch) if variant.launch else "",
                "cases": case_views(variant.cases, Numbers(job.language), job.extents),
                "error": largest_error(variant.cases, Numbers(job.language)),
            }
        )
    return rows


def launch_text(launch: Launch) -> str:
    """The block, and who chose it."""
    block = _block_text(launch.block)
    if launch.origin == "submission" and launch.by != "stated" and launch.requested not in (None, launch.block):
        assert launch.requested is not None
        text = _("block {block} at the lab's sizes; with its own sizes your program launches {requested}")
        return text.format(block=block, requested=_block_text(launch.requested))
    origins = {
        "submission": _("block {block}, as your program launches it"),
        "lab": _("block {block}, the lab's default"),
        "inferred": _("block {block}, inferred from the kernel"),
    }
    text = _("block {block}, as submission.yaml says") if launch.by == "stated" else origins[launch.origin]
    return text.format(block=block)


def _block_text(block: tuple[int, int, int]) -> str:
    return "\u00a0×\u00a0".join(str(n) for n in block if n > 1) or "1"


def largest_error(cases: Sequence[Case], numbers: Numbers) -> str:
    """The largest error of the runs that are right, in words; "" where they are right to the bit."""
    largest = max((c.max_abs_error or 0.0 for c in cases if c.status == "pass"), default=0.0)
    return _("largest error {error}").format(error=numbers.error(largest)) if largest else ""


def case_views(cases: Sequence[Case], numbers: Numbers, extents: Sequence[str] = ()) -> list[CaseView]:
    """The runs, those of one size with one outcome once: emulator and GPU are given some sizes both."""
    views = [case_view(case, numbers, extents) for case in cases]
    return list({(view["key"], view["size"], view["detail"]): view for view in views}.values())


def case_view(case: Case, numbers: Numbers, extents: Sequence[str] = ()) -> CaseView:
    """One run: its size, whether it was right, and in a few words how wrong; the whole story stands with the fault."""
    status = check_status(case.status)
    if case.mismatches:
        detail = _("wrong elements: {count}").format(count=numbers.count(case.mismatches))
    else:
        detail = shortened(case.message)
    return {**status_view(status), "size": size_text(case.size, extents), "kind": case.kind, "detail": detail}


def counter_table(job: ReportJob) -> CounterTable | None:
    """Memory counters, a row per counter and a column per variant that was counted; None when none was."""
    numbers = Numbers(job.language)
    columns = [c for c in variant_columns(job) if counted(job.result, c["name"]) is not None]
    if not columns:
        return None
    all_counters = [counters for c in columns if (counters := counted(job.result, c["name"])) is not None]

    def against_ideal(pairs: Sequence[tuple[float | None, float | None]]) -> list[str]:
        """Numbers of a row with the least possible ones, all with as many decimals."""
        digits = digits_needed(value for pair in pairs for value in pair if value is not None)
        values = [tuple("" if v is None else numbers.fixed(v, digits) for v in pair) for pair in pairs]
        return [f"{value} ({ideal})" if value and ideal else value or "–" for value, ideal in values]

    rows: list[tuple[str, list[str]]] = []
    if any(c.shared_requests for c in all_counters):
        shared: list[tuple[str, list[int]]] = [
            (_("shared memory: requests"), [c.shared_requests for c in all_counters]),
            (_("shared memory: wavefronts"), [c.shared_wavefronts for c in all_counters]),
            (_("of these, more than needed"), [c.shared_excess for c in all_counters]),
        ]
        for title, values in shared:
            cells = [numbers.count(v) if c.shared_requests else "–" for v, c in zip(values, all_counters, strict=True)]
            rows.append((title, cells))
        ways = [c.worst_conflict_ways if c.shared_requests else None for c in all_counters]
        worst = ["–" if w is None else numbers.count(w) if w > 1 else _("none") for w in ways]
        rows.append((_("worst bank conflict, ways"), worst))
        efficiencies = [c.shared_efficiency_pct for c in all_counters]
        digits = digits_needed(e for e in efficiencies if e is not None)
        shares = ["–" if e is None else f"{numbers.fixed(e, digits)}{NO_BREAK_SPACE}%" for e in efficiencies]
        rows.append((_("shared memory efficiency"), shares))
    loads = [(c.global_load_sectors_per_request, c.global_load_ideal_per_request) for c in all_counters]
    stores = [(c.global_store_sectors_per_request, c.global_store_ideal_per_request) for c in all_counters]
    rows += [
        (_("sectors per global load (minimum)"), against_ideal(loads)),
        (_("sectors per global store (minimum)"), against_ideal(stores)),
    ]
    sizes = {size_text(c.size, job.extents): None for c in all_counters}
    sampled = [c for c in all_counters if c.sampled_blocks < c.total_blocks]
    return {
        "variants": columns,
        "rows": [{"title": title, "cells": cells} for title, cells in rows],
        "size": ", ".join(sizes),
        "note": _shared_words_note(all_counters),
        "sampled": _("counted in {sampled} of {total} blocks").format(
            sampled=numbers.count(sampled[0].sampled_blocks), total=numbers.count(sampled[0].total_blocks)
        )
        if sampled
        else "",
    }


def _shared_words_note(counters: Sequence[Counters]) -> str:
    """Return why the efficiency is low without a conflict, "" where nobody will ask."""
    low = [c for c in counters if c.shared_requests and not c.shared_excess and (c.shared_efficiency_pct or 100) < 99]
    if not low:
        return ""
    return _(
        "An efficiency below 100 % without bank conflicts is not a fault: several lanes of a warp read "
        "the same word, or some lanes are inactive."
    )


def counted(result: Result, name: str) -> Any:
    """The counters of a variant, None where it has none."""
    variant = result.variants.get(name)
    return variant.counters if variant else None


def _drawn(environment: Environment) -> str:
    """Return what the drawn case was drawn from, "" where none was run."""
    if environment.drawn_by == "secret":
        return _("seed {seed}, derived from the files and the course's secret").format(seed=environment.drawn_seed)
    if environment.drawn_by == "submission":
        text = _("seed {seed}, derived from the files; the teacher's grading may use another one")
        return text.format(seed=environment.drawn_seed)
    return ""


def reproduce(job: ReportJob) -> Reproduce:
    """Everything that the result depends on, and the command that makes it again."""
    environment = job.result.environment
    backends = {"emulator": _("CPU emulator of PTX"), "gpu": _("GPU")}
    rows = [
        (_("run on"), backends.get(environment.backend, environment.backend)),
        (_("device"), environment.device or ""),
        (_("driver"), environment.driver or ""),
        (_("compiled for"), environment.architecture),
        (_("seed of the input data"), str(environment.seed)),
        (_("random test case"), _drawn(environment)),
        ("NVRTC", environment.nvrtc or ""),
        (_("grader"), environment.grader),
        ("Python", environment.python),
        ("NumPy", environment.numpy),
        # Programs of one notebook have its file in common.
        *dict.fromkeys((f"SHA-256 {source.notebook or source.file}", source.sha256) for source in job.result.sources),
    ]
    return {"command": environment.command, "rows": [{"title": t, "value": v} for t, v in rows if v]}


# Tables of measured times, as the labs' reports ask for them: by variant and size, and by kind of host memory.

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
    """Return a title of a narrow column that is not broken within a unit."""
    return title.replace("/", f"/{WORD_JOINER}").replace(" %", f"{NO_BREAK_SPACE}%")


def _common(sizes: Sequence[dict[str, int]], extents: Sequence[str]) -> dict[str, int]:
    """Return the sizes that all rows share, unless they are the axes of an array."""
    first = sizes[0]
    if tuple(first) == tuple(extents) or all(size == first for size in sizes):
        return {}
    return {name: value for name, value in first.items() if all(size.get(name) == value for size in sizes)}


def _columns(timed: Sequence[Timing], baseline: str, numbers: Numbers) -> list[tuple[str, str, list[str]]]:
    """Return (heading, title, cells) of each column that has values."""
    texts = _Cells(timed, numbers)
    speedup = _("speedup over")
    columns = [
        ("", _("time, µs"), texts.times(lambda t: t.median_us)),
        ("", _("99 % interval"), texts.intervals()),
        ("", _("copies, µs"), texts.times(lambda t: t.copies_us)),
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
    timed = [
        (column, index, row)
        for column in variant_columns(job)
        for index, row in enumerate(job.result.variants.get(column["name"], Variant()).host_memory)
    ]
    if not timed:
        return None
    measured = [
        [row.copy_in_us for *_place, row in timed],
        [row.kernel_us for *_place, row in timed],
        [row.copy_out_us for *_place, row in timed],
        [row.total_us for *_place, row in timed],
        [row.cpu_read_us for *_place, row in timed],
    ]
    texts = [numbers.aligned([numbers.fixed(value, time_digits(value)) for value in values]) for values in measured]
    rows: list[TimeRow] = [
        {**column, "first": index == 0, "size": modes[row.mode], "cells": list(cells)}
        for (column, index, row), cells in zip(timed, zip(*texts, strict=True), strict=True)
    ]
    titles = [_("copy to GPU"), _("kernel"), _("copy from GPU"), _("total"), _("CPU reads the result")]
    note = _("Size: {size}. With mapped memory the kernel itself reads and writes over the bus: there are no copies.")
    size = size_text(timed[-1][2].size, job.extents)
    head: list[HeadView] = [{"title": _("time, µs"), "columns": titles}]
    return {"caption": "", "head": head, "rows": rows, "notes": [note.format(size=size)]}


# Tables of what a GPU and its tools say of the kernels: resources, and other tools' words beside the emulator's.


def resource_table(job: ReportJob) -> ResourceTable | None:
    """A row per resource, a column per variant compiled for a GPU; None when none was.

    Keys: variants, rows (title, cells), architecture.
    """
    numbers = Numbers(job.language)
    pairs = [
        (column, resources)
        for column in variant_columns(job)
        if (resources := job.result.variants.get(column["name"], Variant()).resources) is not None
    ]
    if not pairs:
        return None
    rows: list[tuple[str, Callable[[Resources], str]]] = [
        (_("registers per thread"), lambda r: numbers.count(r.registers)),
        (_("shared memory per block, bytes"), lambda r: numbers.count(r.shared_bytes)),
        (_("local memory per thread, bytes"), lambda r: numbers.count(r.local_bytes)),
        (
            _("spilled registers, bytes stored and loaded"),
            lambda r: f"{numbers.count(r.spill_store_bytes)} / {numbers.count(r.spill_load_bytes)}",
        ),
        (_("blocks per multiprocessor"), lambda r: "–" if r.blocks_per_sm is None else numbers.count(r.blocks_per_sm)),
        (
            _("occupancy"),
            lambda r: "–" if r.occupancy_pct is None else f"{numbers.decimal(r.occupancy_pct, 0)}{NO_BREAK_SPACE}%",
        ),
    ]
    return {
        "variants": [column for column, _resources in pairs],
        "rows": [{"title": title, "cells": [cell(r) for _column, r in pairs]} for title, cell in rows],
        "architecture": pairs[0][1].architecture,
    }


def witness_tables(job: ReportJob) -> WitnessTables | None:
    """What other tools say; None when none was asked."""
    numbers = Numbers(job.language)
    counters: list[WitnessCounter] = []
    findings: list[WitnessFinding] = []
    for column in variant_columns(job):
        for witness in job.result.variants.get(column["name"], Variant()).witnesses:
            if witness.value is None:
                findings.append(
                    {**column, "tool": witness.tool, "text": _finding_text(witness), "line": witness.line or ""}
                )
            elif witness.value or witness.emulator:
                digits = digits_needed(v for v in (witness.value, witness.emulator) if v is not None)
                emulated = "–" if witness.emulator is None else numbers.fixed(witness.emulator, digits)
                counters.append(
                    {
                        **column,
                        "title": _metric(witness.name),
                        "value": numbers.fixed(witness.value, digits),
                        "emulator": emulated,
                    }
                )
    return {"counters": counters, "findings": findings} if counters or findings else None


def _finding_text(witness: Witness) -> str:
    if witness.name == "failed":
        return _("could not be queried: {reason}").format(reason=witness.text)
    return witness.text


def _metric(name: str) -> str:
    return {
        "shared_load_wavefronts": _("shared memory: wavefronts of loads"),
        "shared_store_wavefronts": _("shared memory: wavefronts of stores"),
        "shared_efficiency_pct": _("shared memory efficiency, %"),
        "global_load_sectors": _("global memory: sectors of loads"),
        "global_load_requests": _("global memory: requests of loads"),
        "global_store_sectors": _("global memory: sectors of stores"),
        "global_store_requests": _("global memory: requests of stores"),
    }.get(name, name)
