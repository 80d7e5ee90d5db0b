"""Tables of what a GPU and its tools say of the kernels: resources, and other tools' words beside the emulator's."""

from __future__ import annotations

from collections.abc import Callable

from grader.i18n import _
from grader.report.job import ReportJob
from grader.report.numbers import NO_BREAK_SPACE, Numbers, digits_needed
from grader.report.page.views import ResourceTable, WitnessCounter, WitnessFinding, WitnessTables
from grader.report.summary import variant_columns
from grader.result import Resources, Variant, Witness


def resource_table(job: ReportJob) -> ResourceTable | None:
    """A row per resource, a column per variant compiled for a GPU; None when none was.

    Keys: variants, rows (title, cells), architecture.
    """
    numbers = Numbers(job.language)
    found = [
        (column, resources)
        for column in variant_columns(job)
        if (resources := job.result.variants.get(column["name"], Variant()).resources) is not None
    ]
    if not found:
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
        "variants": [column for column, _resources in found],
        "rows": [{"title": title, "cells": [cell(r) for _column, r in found]} for title, cell in rows],
        "architecture": found[0][1].architecture,
    }


def witness_tables(job: ReportJob) -> WitnessTables | None:
    """What other tools say; None when none was asked."""
    numbers = Numbers(job.language)
    counters: list[WitnessCounter] = []
    findings: list[WitnessFinding] = []
    for column in variant_columns(job):
        for witness in job.result.variants.get(column["name"], Variant()).witnesses:
            if witness.value is None:
                findings.append({**column, "tool": witness.tool, "text": _told(witness), "line": witness.line or ""})
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


def _told(witness: Witness) -> str:
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
