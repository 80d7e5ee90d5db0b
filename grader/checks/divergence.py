"""`divergence`: few lanes of warps stand idle, because they went another way or have returned, while others work."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.devices import WARP_LANES
from grader.lab.checks import DivergenceSettings
from grader.message import msg, sizes_msg
from grader.running.evidence import Evidence


def judge(evidence: Evidence, settings: DivergenceSettings) -> Verdict:
    """Compare the share of idle lanes at the observed size, over all lines; name the line where most are."""
    work = evidence.observed_work
    if work is None:
        return not_measured(msg("checks.not_counted"))
    rows = work.by_line()
    places = sum(row.places for _file, row in rows)
    idle = 1 - sum(row.executed for _file, row in rows) / places if places else 0.0
    data = {"idle": round(idle, 4), "max_idle": settings.max_idle}
    pct, allowed = round(100 * idle, 2), round(100 * settings.max_idle, 2)
    if idle <= settings.max_idle:
        return passed(msg("checks.divergence.passed", pct=pct, sizes=sizes_msg(work.sizes)), data=data)
    file, worst = max(rows, key=lambda row: row[1].places - row[1].executed)
    lanes = round(WARP_LANES * worst.executed / worst.places, 1)
    verdict = failed(
        msg(
            "checks.divergence.failed",
            pct=pct,
            allowed=allowed,
            sizes=sizes_msg(work.sizes),
            line=worst.line,
            lanes=lanes,
        ),
        msg("checks.divergence.hint"),
        worst.line,
        data=data,
    )
    return replace(verdict, file=evidence.file_of(file))
