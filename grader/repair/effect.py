"""What a change does to the accesses of a line: wavefronts of shared memory, sectors of global memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.message import Message, msg
from grader.result import Counters, LineCounters

_ARRAY = re.compile(r"\w+(?:\[[^\[\]]+\])+")


def effect_msg(
    mends: Sequence[str], before: Counters | None, after: Counters | None, diff: Sequence[str]
) -> Message | None:
    """What becomes of the worst line of a check on accesses; None of other checks, or where nothing was counted.

    diff: the change, whose array is named where it changes an array's size.
    """
    if before is None or after is None:
        return None
    if "bank_conflicts" in mends:
        rows = [c for c in before.by_line if c.space == "shared"]
        return _effect("wavefronts", max(rows, key=_excess, default=None), after, _array(diff))
    if "coalescing" in mends:
        rows = [c for c in before.by_line if c.space == "global" and c.ideal and c.op in ("load", "store")]
        return _effect("sectors", max(rows, key=lambda c: c.sectors / c.ideal, default=None), after)
    return None


def _effect(unit: str, worst: LineCounters | None, after: Counters, array: str = "") -> Message | None:
    if worst is None:
        return None
    wanted = (worst.line, worst.space, worst.op)
    now = next((c for c in after.by_line if (c.line, c.space, c.op) == wanted), None)
    count = _wavefronts if worst.space == "shared" else _sectors
    # Where the line is as it was, the change does its work elsewhere.
    if now is None or count(now) >= count(worst):
        return None
    named = {"change": array} if array else {}
    return msg(f"repairs.{unit}", line=worst.line, before=count(worst), after=count(now), **named)


def _array(diff: Sequence[str]) -> str:
    """The shared array that a change declares otherwise, "tile[32][33]"; "" where it changes something else."""
    added = [row for row in diff if row.startswith("+") and "__shared__" in row]
    before = {found for row in diff if row.startswith("-") for found in _ARRAY.findall(row)}
    names = [found for row in added for found in _ARRAY.findall(row) if found not in before]
    return str(names[0]) if len(names) == 1 else ""


def _excess(row: LineCounters) -> float:
    return (row.wavefronts - row.ideal) / row.requests if row.requests else 0.0


def _wavefronts(row: LineCounters) -> float:
    return round(row.wavefronts / row.requests, 2) if row.requests else 0.0


def _sectors(row: LineCounters) -> float:
    return round(row.sectors / row.requests, 2) if row.requests else 0.0
