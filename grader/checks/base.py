"""What a check says: a verdict, how each kind of it is made, and what several checks ask of the same data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType

from grader.devices import WARP_LANES
from grader.diagnosis.text import used_again
from grader.measured import Counters, Diagnosis, ElementRange
from grader.message import Message, msg
from grader.result import CheckStatus, SkipReason
from grader.running.evidence import Evidence

NO_DATA: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check says.

    credit: the part of the check's points that is earned, 0 to 1 (a failed check may still earn a part).
    open: the part that is neither given nor lost, for the teacher to decide.
    message: what was found.  hint: why it matters and how to mend it.  line: of the student's file.
    file: that the line is in, "" for the kernel's.
    data: JSON values that the message is made of.
    diagnosis: why the output is wrong, where that is what was found.
    """

    status: CheckStatus
    message: Message
    credit: float = 0.0
    open: float = 0.0
    hint: Message | None = None
    line: int | None = None
    skip_reason: SkipReason = ""
    data: Mapping[str, object] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    file: str = ""


def passed(message: Message, line: int | None = None, data: Mapping[str, object] = NO_DATA) -> Verdict:
    """Give all points."""
    return Verdict("pass", message, credit=1.0, line=line, data=data)


def failed(
    message: Message,
    hint: Message | None,
    line: int | None = None,
    credit: float = 0.0,
    data: Mapping[str, object] = NO_DATA,
    file: str = "",
) -> Verdict:
    """Blame the submission; `credit` of the points is earned all the same."""
    return Verdict("fail", message, credit=credit, hint=hint, line=line or None, data=data, file=file)


def errored(message: Message, line: int | None = None) -> Verdict:
    """Blame the grader or the lab: points stay pending."""
    return Verdict("error", message, line=line or None)


def not_measured(message: Message, hint: Message | None = None) -> Verdict:
    """Say that this machine cannot tell: points stay pending; hint: what would make it possible."""
    return Verdict("skip", message, hint=hint, skip_reason="not_measured")


def not_applicable(message: Message) -> Verdict:
    """Say that the check makes no sense for this kernel: its points are no part of what is possible."""
    return Verdict("skip", message, skip_reason="not_applicable")


def compared(evidence: Evidence, figure: str, now: float, allowed: float, *, at_least: bool = False) -> Message:
    """What was counted beside what is allowed, and beside what the lab's own solution has where that was counted.

    figure: "check.name", the name as in the check's data.  at_least: `allowed` is a lower limit.  Names that end in
    "share" or "idle" are parts of 1.
    """
    check, _dot, name = figure.partition(".")
    is_share = name.endswith(("share", "idle"))
    figures = {"now": now, "allowed": allowed}
    right = evidence.right.get(check, {}).get(name)
    if isinstance(right, int | float):
        figures["right"] = right
    in_units = {key: value * (100 if is_share else 1) for key, value in figures.items()}
    shown = {key: round(value, 2 if is_share or value >= 1 else 4) for key, value in in_units.items()}
    return msg("checks.limits.compared", **shown, at_least=at_least, is_share=is_share)


# What to do about a wrong output, as far as its diagnosis alone proves it.
#
# The rule: nothing is said here that could be false of another kernel with the same diagnosis.  Where a fault is, and
# of what kind, is found out by trying changes (`grader.repair`); what a wrong value was made from stands in the
# message.


def remedy(diagnosis: Diagnosis) -> Message | None:
    """Return the hint that follows from a diagnosis; None where nothing in particular does."""
    values = diagnosis.values
    if values is not None and values.id in ("output_pitch", "input_pitch"):
        return msg("remedies.pitch", array=values.data.get("array", diagnosis.output), right=values.data["right"])
    factor = values.data.get("factor", 0) if values is not None else 0
    if isinstance(factor, int | float) and factor >= 2 and float(factor).is_integer():
        # Who wrote it is not known of a function: there one part of it may come several times.
        return msg("remedies.scaled" if diagnosis.writer is not None else "remedies.added", factor=int(factor))
    unset = any(r.origin == "nothing" and r.array == diagnosis.output and r.space == "global" for r in diagnosis.reads)
    if unset:
        return msg("remedies.onto_unset")
    empty = next((r for r in diagnosis.reads if r.origin == "nothing"), None)
    if empty is not None:
        # What is written, but later, is a matter of barriers: the races tell.
        return msg("remedies.shared_unset") if empty.space == "shared" and empty.put_by is None else None
    if _is_overwritten_by_another(diagnosis):
        return msg("remedies.two_writers")
    if diagnosis.compared and diagnosis.read and not diagnosis.missing and not diagnosis.surplus:
        divided = _divided(diagnosis, factor)
        if divided is not None:
            return divided
        return msg("remedies.formula_again" if used_again(diagnosis) else "remedies.formula")
    return None


def _divided(diagnosis: Diagnosis, factor: object) -> Message | None:
    """Return which sum of one input's elements the wrong values are, divided by how many; None where none fits."""
    arrays = {one.array for one in diagnosis.read}
    summed = sum(count(one) for one in diagnosis.read)
    if not isinstance(factor, int | float) or factor <= 0 or len(arrays) != 1 or summed < 2:
        return None
    by = round(summed / factor)
    if by in (0, summed) or abs(summed / factor - by) > 1e-3 * by:
        return None
    return msg("remedies.divided", n=summed, by=by)


def count(elements: ElementRange) -> int:
    return prod(high - low + 1 for low, high in elements.ranges)


def _is_overwritten_by_another(diagnosis: Diagnosis) -> bool:
    """Whether the right value was there until another thread than its writer overwrote it."""
    right, last = diagnosis.overwritten, diagnosis.writer
    return right is not None and last is not None and (right.thread, right.block) != (last.thread, last.block)


# Data that go through memory a few lanes at a time.
#
# A request of one lane has no conflict and touches one sector: by its own measure it is ideal.  Held against what
# whole warps need it is not, for a request costs the same whether one lane takes part or all 32.  So it is counted how
# much goes through requests in which so few lanes take part that their bytes fit into one sector (8 lanes of 4 bytes).
# In honest kernels these are borders, halos, tails and the last steps of a reduction, a small part of an array; where
# they move half an array or more, blocks are too small, lanes take turns or some have more to do than others.  Blocks
# of 4 × 4 threads have 16 lanes at a time.
# A kernel that goes through an array many times, as a scan does, adds up its halos: they are most of an array then,
# and still a small part of its requests.
# In a block of 100 threads the last warp has 4, whatever the kernel does: its share of the accesses is nobody's fault.

PART = 0.5
"""The share of the largest array that may not go through requests of a few lanes."""
OF_REQUESTS = 0.25
"""The share of all requests of the kind below which they are no way of moving data."""


@dataclass(frozen=True, slots=True)
class FewLanes:
    """Memory used a few lanes at a time.

    line, file: where most of these requests come from.
    requests: how many they are, with `lanes` thread accesses in all.
    """

    line: int
    requests: int
    lanes: int
    file: str = ""

    @property
    def needed(self) -> int:
        """Requests that whole warps would need for as much."""
        return -(-self.lanes // WARP_LANES)


def few_lanes(evidence: Evidence, counters: Counters, space: str) -> FewLanes | None:
    """The loads, stores or atomic operations of a memory space that move `PART` of an array a few lanes at a time."""
    array_bytes = max(evidence.array_bytes.values(), default=0)
    for op in ("load", "store", "atomic"):
        rows = [c for c in counters.by_line if c.space == space and c.op == op]
        requests = sum(c.requests for c in rows)
        tail = _tail(evidence)
        rows = [c for c in rows if c.few_lanes > tail * c.lanes]
        if sum(c.few_requests for c in rows) < OF_REQUESTS * requests:
            continue
        if array_bytes and sum((c.few_lanes - tail * c.lanes) * c.width_bytes for c in rows) >= PART * array_bytes:
            worst = max(rows, key=lambda c: (c.few_requests, -c.line))
            return FewLanes(worst.line, sum(c.few_requests for c in rows), sum(c.few_lanes for c in rows), worst.file)
    return None


def _tail(evidence: Evidence) -> float:
    """Return the share of a block's threads in its last warp, where that is not full and not the only one."""
    threads = prod(evidence.interpretation.launch.block) if evidence.interpretation is not None else WARP_LANES
    return threads % WARP_LANES / threads if threads > WARP_LANES else 0.0


def verdict(evidence: Evidence, few_lanes: FewLanes) -> Verdict:
    """The fault in words."""
    interpretation = evidence.interpretation
    x, y, z = interpretation.launch.block if interpretation is not None else (WARP_LANES, 1, 1)
    message = msg("few_lanes.found", line=few_lanes.line, requests=few_lanes.requests, needed=few_lanes.needed)
    hint = msg("few_lanes.hint_block", x=x, y=y * z) if x * y * z < WARP_LANES // 2 else msg("few_lanes.hint_turns")
    data = {"requests": few_lanes.requests, "needed_requests": few_lanes.needed}
    return failed(message, hint, few_lanes.line, data=data, file=few_lanes.file)


def file_of_launch(evidence: Evidence) -> str:
    """The file that the launch stands in, "" where that is the kernel's."""
    site = evidence.bound.requested
    return site.file if site is not None and site.file != evidence.bound.kernel.file else ""
