"""What a change does to the accesses of a line: wavefronts of shared memory, sectors of global memory."""

from __future__ import annotations

from collections.abc import Sequence

from grader.message import Message, msg
from grader.result import Counters, LineCounters


def effect_msg(mends: Sequence[str], before: Counters | None, after: Counters | None) -> Message | None:
    """What becomes of the worst line of a check on accesses; None of other checks, or where nothing was counted."""
    if before is None or after is None:
        return None
    if "bank_conflicts" in mends:
        rows = [c for c in before.by_line if c.space == "shared"]
        return _effect("wavefronts", max(rows, key=_wavefronts, default=None), after)
    if "coalescing" in mends:
        rows = [c for c in before.by_line if c.space == "global" and c.ideal and c.op in ("load", "store")]
        return _effect("sectors", max(rows, key=lambda c: c.sectors / c.ideal, default=None), after)
    return None


def _effect(unit: str, worst: LineCounters | None, after: Counters) -> Message | None:
    if worst is None:
        return None
    wanted = (worst.line, worst.space, worst.op)
    now = next((c for c in after.by_line if (c.line, c.space, c.op) == wanted), None)
    count = _wavefronts if worst.space == "shared" else _sectors
    return msg(f"repairs.{unit}", line=worst.line, before=count(worst), after=count(now)) if now is not None else None


def _wavefronts(row: LineCounters) -> float:
    return round(row.wavefronts / row.requests, 2) if row.requests else 0.0


def _sectors(row: LineCounters) -> float:
    return round(row.sectors / row.requests, 2) if row.requests else 0.0
