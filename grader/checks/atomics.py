"""`atomics`: few atomic operations, and few lanes of a warp that want one address at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.lab import formula
from grader.lab.checks import AtomicsSettings
from grader.message import Message, msg, sizes_msg
from grader.programs.records import LIBRARY
from grader.ptx.records import LineCounter
from grader.running.evidence import Evidence

Row = tuple[str, LineCounter]
TOLERANCE = 1e-9
"""Limits are formulas; this absorbs their rounding."""


def judge(evidence: Evidence, settings: AtomicsSettings) -> Verdict:
    """Compare lanes at one address, then operations for each element, with what the lab allows; name the worst line."""
    work = evidence.observed_work
    if work is None:
        return not_measured(msg("checks.not_counted"))
    rows = [(row.file or launch.file, row) for launch in work.launches for row in launch.atomics]
    rows = [(file, row) for file, row in rows if file != LIBRARY]
    sizes = sizes_msg(work.sizes)
    lanes = max((row.same_address for _file, row in rows), default=0)
    each = {
        space: sum(row.lanes for _file, row in rows if row.space == space) / work.elements
        for space in ("global", "shared")
    }
    data: dict[str, object] = {
        "lanes": lanes,
        **{f"{space}_per_element": round(value, 4) for space, value in each.items()},
    }
    if settings.max_lanes is not None and lanes > settings.max_lanes:
        worst = max(rows, key=lambda row: row[1].same_address)
        message = msg("checks.atomics.lanes", line=worst[1].line, lanes=lanes, needed=settings.max_lanes, sizes=sizes)
        return _at(evidence, worst, message, data)
    for space, limit in (("global", settings.max_global), ("shared", settings.max_shared)):
        needed = formula.evaluate(str(limit), work.sizes) if limit is not None else None
        if needed is not None and each[space] > needed + TOLERANCE:
            worst = _most([row for row in rows if row[1].space == space])
            message = msg(
                f"checks.atomics.{space}",
                line=worst[1].line,
                each=round(each[space], 4),
                needed=round(needed, 4),
                sizes=sizes,
            )
            return _at(evidence, worst, message, data)
    figures = {name: round(value, 4) for name, value in each.items()}
    return passed(
        msg(
            "checks.atomics.passed",
            of_global=figures["global"],
            of_shared=figures["shared"],
            lanes=lanes,
            sizes=sizes,
        ),
        data=data,
    )


def _most(rows: Sequence[Row]) -> Row:
    """The line with the most operations, all launches together, as a row of it."""
    totals: dict[tuple[str, int], int] = {}
    for file, row in rows:
        totals[file, row.line] = totals.get((file, row.line), 0) + row.lanes
    return max(rows, key=lambda row: totals[row[0], row[1].line])


def _at(evidence: Evidence, worst: Row, message: Message, data: dict[str, object]) -> Verdict:
    file, row = worst
    verdict = failed(message, msg("checks.atomics.hint"), row.line, data=data)
    return replace(verdict, file=evidence.file_of(file))
