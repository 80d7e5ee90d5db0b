"""`bank_conflicts`: no request to shared memory takes more wavefronts than its bytes need.

Shared memory has 32 banks of 4 bytes; lanes that want different words of one bank are served one after another.
What is graded is the excess of wavefronts over the ideal, not `shared_efficiency`: broadcasts lower that one
without any conflict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod

from grader.checks import base
from grader.checks.base import Verdict, failed, not_measured, passed
from grader.devices import BANKS, WARP_LANES
from grader.lab.checks import BankConflictSettings
from grader.measured import LineCounters
from grader.message import Message, joined, msg
from grader.running.evidence import Evidence
from grader.submission.cpp.nodes import SIZES_OF_TYPES
from grader.submission.kernels.records import SharedArray

WORD_BYTES = 4


def judge(evidence: Evidence, settings: BankConflictSettings) -> Verdict:
    """Pass without excess wavefronts, of whole warps; else name the worst line and explain its lanes and banks."""
    counters = evidence.counters
    if counters is None:
        return not_measured(evidence.unmeasured.get("counters", msg("checks.not_counted")))
    if not counters.shared_requests:
        return failed(
            msg("checks.bank_conflicts.no_shared"),
            msg("checks.hint_stage"),
            evidence.bound.kernel.line,
        )
    slow = base.few_lanes(evidence, counters, "shared")
    if slow is not None:
        return base.verdict(evidence, slow)
    data: dict[str, object] = {
        "excess": counters.shared_excess,
        "ways": counters.worst_conflict_ways,
        "shared_efficiency_pct": counters.shared_efficiency_pct,
    }
    if counters.shared_excess == 0:
        return passed(
            msg(
                "checks.bank_conflicts.passed", requests=counters.shared_requests, wavefronts=counters.shared_wavefronts
            ),
            data=data,
        )
    rows = sorted(
        (c for c in counters.by_line if c.space == "shared" and c.wavefronts > c.ideal),
        key=lambda c: (-c.ways, -(c.wavefronts - c.ideal), c.line),
    )
    worst = rows[0]
    credit = max((p.share for p in settings.partial if counters.worst_conflict_ways <= p.ways), default=0.0)
    excess = (worst.wavefronts - worst.ideal) / worst.requests
    conflict = msg("checks.bank_conflicts.conflict", ways=worst.ways, line=worst.line, excess=round(excess, 2))
    others = sorted({c.line for c in rows if c.file == worst.file} - {worst.line})
    lines = ", ".join(str(n) for n in others)
    also = msg("checks.bank_conflicts.also", n=len(others), lines=lines) if others else None
    pct = counters.shared_efficiency_pct
    efficiency = msg("checks.bank_conflicts.efficiency", pct=pct) if pct is not None else None
    message = msg("checks.bank_conflicts.failed", conflict=conflict, also=also, efficiency=efficiency)
    data["lines"] = [c.line for c in rows]
    return replace(failed(message, _hint(evidence, worst), worst.line, credit, data=data), file=worst.file)


def _hint(evidence: Evidence, worst: LineCounters) -> Message | None:
    return joined(*_collision(worst), _remedy(evidence, worst))


def _collision(worst: LineCounters) -> list[Message]:
    """Two lanes of the worst request that meet in one bank, and how many do."""
    by_bank: dict[int, dict[int, int]] = defaultdict(dict)
    for lane, word in enumerate(worst.lane_words):
        if word is not None:
            by_bank[word % BANKS].setdefault(word, lane)
    if not by_bank:
        return []
    bank, words = max(by_bank.items(), key=lambda item: (len(item[1]), -item[0]))
    if len(words) < 2:
        return []
    (word_a, lane_a), (word_b, lane_b) = list(words.items())[:2]
    two = msg("checks.bank_conflicts.hint_lanes", lane_a=lane_a, lane_b=lane_b, word_a=word_a, word_b=word_b, bank=bank)
    return [two, msg("checks.bank_conflicts.hint_words", n=len(words))] if len(words) > 2 else [two]


def _remedy(evidence: Evidence, worst: LineCounters) -> Message | None:
    """What to change; nothing where the request that is shown would have a conflict even so."""
    block = evidence.interpretation.launch.block if evidence.interpretation else (WARP_LANES, 1, 1)
    arrays = [a for a in evidence.bound.kernel.shared_arrays if not a.dynamic]
    accessed = _array_of(worst, arrays)
    array, first = accessed or (next((a for a in arrays if len(a.dims) == 2 and a.dims[1]), None), 0)
    pitch = array.dims[1] if array else None
    if block[0] < WARP_LANES and prod(block) > block[0]:
        width, rows = block[0], min(WARP_LANES // block[0], block[1])
        narrow = msg("checks.bank_conflicts.hint_rows_pad", width=width, rows=rows)
        if pitch == width:
            narrow = msg("checks.bank_conflicts.hint_rows", width=width, rows=rows)
        return joined(narrow, msg("checks.bank_conflicts.hint_block"))
    if array and pitch and worst.lane_words and not (accessed and _is_free_with(worst, first, pitch)):
        return None
    if array and pitch and (accessed or pitch % 2 == 0):
        declared = array.dims[0] or pitch
        how = "longer" if pitch % 2 else "column"
        return msg(f"checks.bank_conflicts.hint_{how}", name=array.name, pitch=pitch, rows=declared)
    return None if _is_odd(worst) else msg("checks.bank_conflicts.hint_odd")


def _array_of(worst: LineCounters, arrays: Sequence[SharedArray]) -> tuple[SharedArray, int] | None:
    """The array of two dimensions that the worst request goes to, and the word it begins at.

    Static arrays lie one behind the other, as they are declared; None where their sizes or the words do not tell.
    """
    words = [word for word in worst.lane_words if word is not None]
    first = 0
    for array in arrays:
        extents = [extent or 0 for extent in array.dims]
        size = prod(extents)
        if not size or SIZES_OF_TYPES.get(array.dtype or "") != WORD_BYTES:
            return None
        if words and first <= min(words) and max(words) < first + size:
            return (array, first) if len(extents) == 2 else None
        first += size
    return None


def _is_odd(worst: LineCounters) -> bool:
    """Whether most neighbouring lanes of the worst request want words an odd distance apart, as in padded rows."""
    words = worst.lane_words
    steps = [b - a for a, b in pairwise(words) if a is not None and b is not None]
    return bool(steps) and 2 * sum(step % 2 for step in steps) > len(steps)


def _is_free_with(worst: LineCounters, first: int, pitch: int) -> bool:
    """Whether the worst request of an array whose rows are `pitch` words has no conflict with a word more in each."""
    words = {word - first for word in worst.lane_words if word is not None}
    banks = {(word + word // pitch) % BANKS for word in words}
    return len(banks) == len(words)
