"""`occupancy`: a multiprocessor of a named device holds enough warps of the kernel that does the most."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.lab.checks import OccupancySettings
from grader.message import msg
from grader.running.evidence import Evidence


def judge(evidence: Evidence, settings: OccupancySettings) -> Verdict:
    """Compare the share of a multiprocessor's warps that fit with what the lab asks for; name what limits it."""
    found = evidence.occupancy
    if found is None:
        return not_measured(msg("checks.occupancy.not_compiled"))
    pct, needed = round(100 * found.share, 2), round(100 * settings.min_share, 2)
    data = {
        "share": round(found.share, 4),
        "blocks": found.blocks,
        "registers": found.registers,
        "shared_bytes": found.shared_bytes,
        "limit": found.limit,
    }
    figures = msg(
        "checks.occupancy.figures",
        kernel=found.kernel,
        device=found.device,
        pct=pct,
        blocks=found.blocks,
        threads=found.threads,
    )
    if found.share >= settings.min_share:
        return passed(msg("checks.occupancy.passed", figures=figures), data=data)
    verdict = failed(
        msg("checks.occupancy.failed", figures=figures, needed=needed),
        msg(
            f"checks.occupancy.hint_{found.limit}",
            registers=found.registers,
            shared_bytes=found.shared_bytes,
            blocks=found.blocks,
            threads=found.threads,
        ),
        found.line,
        data=data,
    )
    return replace(verdict, file=evidence.file_of(found.file))
