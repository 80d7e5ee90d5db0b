"""`bank_conflicts`: no request to shared memory takes more wavefronts than its bytes need.

Shared memory has 32 banks of 4 bytes; lanes that want different words of one bank are served one after another.
What is graded is the excess of wavefronts over the ideal, not `shared_efficiency`: broadcasts lower that one
without any conflict.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod

from grader.checks import few_lanes
from grader.checks.base import CheckKind, Settings, Verdict, failed, not_measured, passed
from grader.i18n import _, decimal, ngettext
from grader.result import LineCounters
from grader.running.evidence import Evidence

BANKS = 32
LANES = 32


class Part(Settings, frozen=True):
    """With conflicts of at most `ways` ways, `share` of the points."""

    ways: int
    share: float


class BankConflictSettings(Settings, frozen=True):
    """Settings: `partial`: what conflicts of few ways still earn."""

    partial: tuple[Part, ...] = ()


def judge(evidence: Evidence, settings: BankConflictSettings) -> Verdict:
    """Pass without excess wavefronts, of whole warps; else name the worst line and explain its lanes and banks."""
    counters = evidence.counters
    if counters is None:
        return not_measured(evidence.unmeasured.get("counters", _("Memory accesses were not counted.")))
    if not counters.shared_requests:
        return failed(
            _("The kernel does not use shared memory, so there is no conflict to resolve."),
            _("Load a tile into a __shared__ array, call __syncthreads(), then write the output from the array."),
            evidence.bound.kernel.line,
        )
    slow = few_lanes.crawl(evidence, counters, "shared")
    if slow is not None:
        return few_lanes.verdict(evidence, slow)
    data: dict[str, object] = {
        "excess": counters.shared_excess,
        "ways": counters.worst_conflict_ways,
        "shared_efficiency_pct": counters.shared_efficiency_pct,
    }
    if counters.shared_excess == 0:
        return passed(
            _("No bank conflict: {requests} requests in {wavefronts} wavefronts, as few as possible.").format(
                requests=counters.shared_requests, wavefronts=counters.shared_wavefronts
            ),
            data=data,
        )
    rows = sorted(
        (c for c in counters.by_line if c.space == "shared" and c.wavefronts > c.ideal),
        key=lambda c: (-c.ways, -(c.wavefronts - c.ideal), c.line),
    )
    worst = rows[0]
    share = max((p.share for p in settings.partial if counters.worst_conflict_ways <= p.ways), default=0.0)
    excess = (worst.wavefronts - worst.ideal) / worst.requests
    message = _("{ways}-way bank conflict in line {line} (excess wavefronts per request: {excess:g})").format(
        ways=worst.ways, line=worst.line, excess=decimal(round(excess, 2))
    )
    others = sorted({c.line for c in rows} - {worst.line})
    if others:
        message += ", " + ngettext("also in line {lines}", "also in lines {lines}", len(others)).format(
            lines=", ".join(str(n) for n in others)
        )
    if counters.shared_efficiency_pct is not None:
        pct = decimal(counters.shared_efficiency_pct)
        message += "; " + _("efficiency of shared memory {pct:.2f} %").format(pct=pct)
    data["lines"] = [c.line for c in rows]
    return failed(message + ".", _hint(evidence, worst), worst.line, share, data=data)


def _hint(evidence: Evidence, worst: LineCounters) -> str:
    return " ".join(part for part in (_collision(worst), _cure(evidence, worst)) if part)


def _collision(worst: LineCounters) -> str:
    """Two lanes of the worst request that meet in one bank, and how many do."""
    by_bank: dict[int, dict[int, int]] = defaultdict(dict)
    for lane, word in enumerate(worst.lane_words):
        if word is not None:
            by_bank[word % BANKS].setdefault(word, lane)
    if not by_bank:
        return ""
    bank, words = max(by_bank.items(), key=lambda item: (len(item[1]), -item[0]))
    if len(words) < 2:
        return ""
    (word_a, lane_a), (word_b, lane_b) = list(words.items())[:2]
    text = _(
        "Lanes {lane_a} and {lane_b} of a warp want words {word_a} and {word_b} of shared memory; both lie in bank "
        "{bank} (word mod 32), which serves one word at a time."
    ).format(lane_a=lane_a, lane_b=lane_b, word_a=word_a, word_b=word_b, bank=bank)
    if len(words) > 2:
        text += " " + _("In all {n} different words of that bank are wanted at once.").format(n=len(words))
    return text


def _cure(evidence: Evidence, worst: LineCounters) -> str:
    block = evidence.candidate.launch.block if evidence.candidate else (LANES, 1, 1)
    kernel = evidence.bound.kernel
    array = next((a for a in kernel.shared_arrays if len(a.dims) == 2 and a.dims[1]), None)
    pitch = array.dims[1] if array else None
    if block[0] < LANES and prod(block) > block[0]:
        rows = min(LANES // block[0], block[1])
        text = _(
            "A block that is {width} threads wide puts {rows} rows of threads into one warp, so {rows} rows of the "
            "tile are used in one request, and padding by one element is not enough to keep them apart."
        ).format(width=block[0], rows=rows)
        if pitch == block[0]:
            text = _(
                "A block that is {width} threads wide puts {rows} rows of threads into one warp, so {rows} rows of the "
                "tile are used in one request."
            ).format(width=block[0], rows=rows)
        return (
            text
            + " "
            + _(
                "Take a block that is 32 threads wide (32×32, or 32×8 with a loop) and a tile of [32][32 + 1]: then "
                "every warp works on one row or one column of it."
            )
        )
    if array and pitch and pitch % 2 == 0:
        return _(
            "Rows of {name} are {pitch} words apart, so the elements of a column share banks. Declare it with one more "
            "column, {name}[{rows}][{pitch} + 1]: then a column runs through all 32 banks. The extra column is never "
            "used."
        ).format(name=array.name, pitch=pitch, rows=array.dims[0] if array.dims[0] else pitch)
    return _(
        "Make the distance between the words of neighbouring lanes odd: pad every row of the tile by one element, and "
        "count that element in every index of the tile."
    )


CHECK = CheckKind("bank_conflicts", judge, 100, BankConflictSettings, needs=("correct", "technique"))
