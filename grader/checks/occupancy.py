"""`occupancy`: a multiprocessor of a named device holds enough warps of the kernel that does the most."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.lab.checks import OccupancySettings
from grader.message import msg
from grader.running.evidence import Evidence


def judge(evidence: Evidence, settings: OccupancySettings) -> Verdict:
    """Compare the share of a multiprocessor's warps that fit with what the lab asks for; name what limits it."""
    occupancy = evidence.occupancy
    if occupancy is None:
        return not_measured(msg("checks.occupancy.not_compiled"))
    pct, needed = round(100 * occupancy.share, 2), round(100 * settings.min_share, 2)
    data = {
        "share": round(occupancy.share, 4),
        "blocks": occupancy.blocks,
        "registers": occupancy.registers,
        "shared_bytes": occupancy.shared_bytes,
        "limit": occupancy.limit,
    }
    figures = msg(
        "checks.occupancy.figures",
        kernel=occupancy.kernel,
        device=occupancy.device,
        pct=pct,
        blocks=occupancy.blocks,
        threads=occupancy.threads,
    )
    if occupancy.share >= settings.min_share:
        return passed(msg("checks.occupancy.passed", figures=figures), data=data)
    verdict = failed(
        msg("checks.occupancy.failed", figures=figures, needed=needed),
        msg(
            f"checks.occupancy.hint_{occupancy.limit}",
            registers=occupancy.registers,
            shared_bytes=occupancy.shared_bytes,
            blocks=occupancy.blocks,
            threads=occupancy.threads,
        ),
        occupancy.line,
        data=data,
    )
    return replace(verdict, file=evidence.file_of(occupancy.file))
