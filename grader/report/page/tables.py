"""The tables of the page that a terminal does not show: kernels and their cases, counters, times, versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.i18n import _
from grader.report.job import ReportJob
from grader.report.labels import check_status
from grader.report.numbers import NO_BREAK_SPACE, Numbers, digits_needed
from grader.report.page.views import CaseView, CounterTable, KernelRow, Reproduce
from grader.report.summary import shortened, size_text, status_view, variant_columns, where
from grader.result import Case, Counters, Environment, Launch, Result, Variant


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
    found = [counters for c in columns if (counters := counted(job.result, c["name"])) is not None]

    def against_ideal(pairs: Sequence[tuple[float | None, float | None]]) -> list[str]:
        """Numbers of a row with the least possible ones, all with as many decimals."""
        digits = digits_needed(value for pair in pairs for value in pair if value is not None)
        values = [tuple("" if v is None else numbers.fixed(v, digits) for v in pair) for pair in pairs]
        return [f"{value} ({ideal})" if value and ideal else value or "–" for value, ideal in values]

    rows: list[tuple[str, list[str]]] = []
    if any(c.shared_requests for c in found):
        shared: list[tuple[str, list[int]]] = [
            (_("shared memory: requests"), [c.shared_requests for c in found]),
            (_("shared memory: wavefronts"), [c.shared_wavefronts for c in found]),
            (_("of these, more than needed"), [c.shared_excess for c in found]),
        ]
        for title, values in shared:
            cells = [numbers.count(v) if c.shared_requests else "–" for v, c in zip(values, found, strict=True)]
            rows.append((title, cells))
        ways = [c.worst_conflict_ways if c.shared_requests else None for c in found]
        worst = ["–" if w is None else numbers.count(w) if w > 1 else _("none") for w in ways]
        rows.append((_("worst bank conflict, ways"), worst))
        efficiencies = [c.shared_efficiency_pct for c in found]
        digits = digits_needed(e for e in efficiencies if e is not None)
        shares = ["–" if e is None else f"{numbers.fixed(e, digits)}{NO_BREAK_SPACE}%" for e in efficiencies]
        rows.append((_("shared memory efficiency"), shares))
    loads = [(c.global_load_sectors_per_request, c.global_load_ideal_per_request) for c in found]
    stores = [(c.global_store_sectors_per_request, c.global_store_ideal_per_request) for c in found]
    rows += [
        (_("sectors per global load (minimum)"), against_ideal(loads)),
        (_("sectors per global store (minimum)"), against_ideal(stores)),
    ]
    sizes = {size_text(c.size, job.extents): None for c in found}
    sampled = [c for c in found if c.sampled_blocks < c.total_blocks]
    return {
        "variants": columns,
        "rows": [{"title": title, "cells": cells} for title, cells in rows],
        "size": ", ".join(sizes),
        "note": _shared_words_note(found),
        "sampled": _("counted in {sampled} of {total} blocks").format(
            sampled=numbers.count(sampled[0].sampled_blocks), total=numbers.count(sampled[0].total_blocks)
        )
        if sampled
        else "",
    }


def _shared_words_note(found: Sequence[Counters]) -> str:
    """Why the efficiency is low where there is no conflict; "" where nobody will ask."""
    low = [c for c in found if c.shared_requests and not c.shared_excess and (c.shared_efficiency_pct or 100) < 99]
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
    """What the case was drawn from that no lab names, "" where none was run."""
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
