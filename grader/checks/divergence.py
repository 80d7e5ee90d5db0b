"""`divergence`: few lanes of warps stand idle, because they went another way or have returned, while others work."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.devices import WARP_LANES
from grader.lab import formula
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
    data: dict[str, object] = {"idle": round(idle, 4), "max_idle": settings.max_idle}
    pct, allowed = round(100 * idle, 2), round(100 * settings.max_idle, 2)
    if idle <= settings.max_idle:
        return passed(msg("checks.divergence.passed", pct=pct, sizes=sizes_msg(work.sizes)), data=data)
    limit = msg("checks.divergence.share", allowed=allowed)
    if settings.unless_below is not None:
        # The share alone would punish a shortcut: what it leaves out is what whole warps did together.
        each, below = places / work.elements, formula.evaluate(str(settings.unless_below), work.sizes)
        data |= {"lanes_per_element": round(each, 2), "unless_below": below}
        if each < below:
            sizes = sizes_msg(work.sizes)
            return passed(msg("checks.divergence.few", pct=pct, each=round(each), below=below, sizes=sizes), data=data)
        limit = msg("checks.divergence.share_or_few", allowed=allowed, each=round(each), below=below)
    file, worst = max(rows, key=lambda row: row[1].places - row[1].executed)
    lanes = round(WARP_LANES * worst.executed / worst.places, 1)
    verdict = failed(
        msg(
            "checks.divergence.failed",
            pct=pct,
            limit=limit,
            sizes=sizes_msg(work.sizes),
            line=worst.line,
            lanes=lanes,
        ),
        msg("checks.divergence.hint"),
        worst.line,
        data=data,
    )
    return replace(verdict, file=evidence.file_of(file))
