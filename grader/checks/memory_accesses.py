"""What memory accesses of warps show, and what they cost beyond what their bytes need.

`technique`: the variant does what its name says, by what its memory accesses were, not by how its source looks.

`coalescing`: accesses to global memory fall into as few 32-byte sectors as their bytes need.

`bank_conflicts`: no request to shared memory takes more wavefronts than its bytes need.  Shared memory has 32 banks of
4 bytes; lanes that want different words of one bank are served one after another.  What is graded is the excess of
wavefronts over the ideal, not `shared_efficiency`: broadcasts lower that one without any conflict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from math import prod

from grader.checks import base
from grader.checks.base import Verdict, failed, not_applicable, not_measured, passed
from grader.devices import BANKS, SECTOR_BYTES, WARP_LANES
from grader.lab import formula
from grader.lab.checks import BankConflictSettings, CoalescingSettings, TechniqueSettings
from grader.measured import Counters, LineCounters
from grader.message import Message, joined, msg, sizes_msg
from grader.running.evidence import Evidence, moved_bytes
from grader.submission.cpp.constants import SIZES_OF_TYPES
from grader.submission.kernels.records import Kernel, SharedArray, factor_of

TOLERANCE = 1e-9
"""Ratios are quotients of integers; this only absorbs the rounding of the quotient."""

SIDES = {"load": ("load",), "store": ("store", "atomic")}
"""What is held against what is asked of loads, and of stores: an atomic operation stores as well."""


def judge_coalescing(evidence: Evidence, settings: CoalescingSettings) -> Verdict:
    """Compare sectors per request with the ideal, side by side; name the worst line."""
    counters = evidence.counters
    if counters is None:
        return not_measured(evidence.unmeasured.get("counters", msg("checks.not_counted")))
    slow = base.few_lanes(evidence, counters, "global")
    if slow is not None:
        return base.verdict(evidence, slow)
    loads, stores = ratio(counters, "load"), max(ratio(counters, "store"), _main_stores(evidence, counters))
    reached = settings.judged(loads, stores)
    data = {
        "load_ratio": round(loads, 4),
        "store_ratio": round(stores, 4),
        "load_sectors_per_request": counters.global_load_sectors_per_request,
        "store_sectors_per_request": counters.global_store_sectors_per_request,
    }
    figures = msg("checks.coalescing.figures", loads=_figure(counters, "load"), stores=_figure(counters, "store"))
    if reached <= settings.max_ratio + TOLERANCE:
        if settings.sides == "both":
            return passed(msg("checks.coalescing.passed", figures=figures), data=data)
        return passed(msg("checks.coalescing.passed_one", figures=figures), data=data)
    credit = max((p.share for p in settings.partial if reached <= p.ratio + TOLERANCE), default=0.0)
    # Where one side is enough, it is mended on the side that is better.
    is_of_loads = settings.sides == "loads" or loads <= stores
    kinds = ("load", "store") if settings.sides == "both" else ("load",) if is_of_loads else ("store",)
    worst = max((c for kind in kinds for c in _rows(counters, kind) if c.ideal), key=lambda c: _judged(c) / c.ideal)
    message = msg("checks.coalescing.failed", figures=figures, line=worst.line)
    hint = _narrow(evidence, worst) or joined(_sectors_hint(worst), _way_out(evidence, settings, loads, stores))
    return failed(message, hint, worst.line, credit, data=data, file=worst.file)


def ratio(counters: Counters, side: str) -> float:
    """Sectors that are judged over the fewest possible, over all lines; 1 where there is no such access."""
    rows = _rows(counters, side)
    ideal = sum(c.ideal for c in rows)
    return sum(_judged(c) for c in rows) / ideal if ideal else 1.0


def _judged(row: LineCounters) -> int:
    """Return the sectors of a line; without those of pieces that begin within a sector, where a warp has few lanes.

    Neighbouring addresses touch one sector more than needed where the first lies within a sector, as a halo's does.  A
    full warp hardly feels it (5 for 4); in a block of 16 threads it says how small the block is, not how it reads, and
    of bytes how small they are.
    """
    is_short = 2 * row.lanes <= row.requests * WARP_LANES or row.width_bytes <= 2
    # What fits into one sector may be lanes far apart as well, two to a request: there, each counts.
    is_row = row.ideal > row.requests or (row.width_bytes < 4 and row.lanes > row.requests * WARP_LANES // 2)
    return row.ideal if is_short and is_row and not _strays(row) else row.sectors


def _strays(row: LineCounters) -> bool:
    """Whether requests touch more than one sector beyond those needed, which neighbouring addresses never do."""
    return row.sectors > row.ideal + row.requests


def _rows(counters: Counters, side: str) -> list[LineCounters]:
    return [c for c in counters.by_line if c.space == "global" and c.op in SIDES[side]]


def _main_stores(evidence: Evidence, counters: Counters) -> float:
    """Return the best ratio of the lines that store half of an output: other stores do not make up for them."""
    outputs = [evidence.array_bytes.get(p.name, 0) for p in evidence.lab.parameters if p.is_output]
    rows = sorted((c for c in _rows(counters, "store") if c.ideal), key=lambda c: c.ideal / _judged(c))
    stored = 0
    for c in rows:
        stored += c.lanes * c.width_bytes
        if 2 * stored >= max(outputs, default=0):
            return _judged(c) / c.ideal
    return 1.0


def _figure(counters: Counters, side: str) -> Message:
    rows = _rows(counters, side)
    requests = sum(c.requests for c in rows)
    if not requests:
        return msg("checks.coalescing.no_access")
    sectors, ideal = (
        round(sum(values) / requests, 4) for values in zip(*((c.sectors, c.ideal) for c in rows), strict=True)
    )
    if abs(sectors - ideal) < TOLERANCE:
        return msg("checks.coalescing.ideal_figure", sectors=sectors)
    return msg("checks.coalescing.figure", sectors=sectors, ideal=ideal)


def _sectors_hint(worst: LineCounters) -> Message | None:
    sectors, ideal = _per_request(worst)
    touched = msg("checks.coalescing.hint", sectors=sectors, ideal=ideal)
    return joined(touched, msg("checks.coalescing.hint_neighbours") if _strays(worst) else None)


def _narrow(evidence: Evidence, worst: LineCounters) -> Message | None:
    """Return the hint for a block so narrow that a warp takes pieces of several rows; None otherwise."""
    width, height, _depth = evidence.interpretation.launch.block if evidence.interpretation else (WARP_LANES, 1, 1)
    if width >= WARP_LANES or height < 2:
        return None
    rows = min(-(-WARP_LANES // width), height)
    # A piece touches a sector for every 32 of its bytes, and one more where it begins within one.
    most = rows * (width * worst.width_bytes / SECTOR_BYTES + 1)
    sectors, ideal = _per_request(worst)
    if sectors > most or most >= min(WARP_LANES, width * height):
        return None
    # In 8 threads of 4 bytes a row pieces that begin within a sector touch as many as lanes a row length apart.
    strided = width * -(-rows * worst.width_bytes // SECTOR_BYTES)
    if width * worst.width_bytes % SECTOR_BYTES == 0 and sectors >= strided:
        return msg("checks.coalescing.hint_narrow_or_strided", sectors=sectors, ideal=ideal, width=width)
    return msg("checks.coalescing.hint_narrow", sectors=sectors, ideal=ideal, width=width, rows=rows)


def _per_request(row: LineCounters) -> tuple[float, float]:
    """Return sectors per request, and the fewest that would hold its bytes."""
    return round(row.sectors / row.requests, 4), round(row.ideal / row.requests, 4)


def _way_out(evidence: Evidence, settings: CoalescingSettings, loads: float, stores: float) -> Message | None:
    """Say what such kernels do about it: a transposition through a tile, or steps that make lanes neighbours."""
    axes = len(set(evidence.lab.launch.covers))
    if axes > 1 and settings.sides == "both":
        return msg("checks.coalescing.hint_tile")
    if len(evidence.lab.launch.covers) == 1 and min(loads, stores) > settings.max_ratio + TOLERANCE:
        return msg("checks.coalescing.hint_step")
    return None


# -- bank conflicts ---------------------------------------------------------------------

WORD_BYTES = 4


def judge_bank_conflicts(evidence: Evidence, settings: BankConflictSettings) -> Verdict:
    """Pass without excess wavefronts, of whole warps; else name the worst line and explain its lanes and banks."""
    counters = evidence.counters
    if counters is None:
        return not_measured(evidence.unmeasured.get("counters", msg("checks.not_counted")))
    if not counters.shared_requests and evidence.lab.makes_launches:
        # How it is done is the student's choice there; `uses` asks for shared memory.
        return not_applicable(msg("checks.bank_conflicts.none_used"))
    if not counters.shared_requests:
        return failed(msg("checks.bank_conflicts.no_shared"), msg("checks.hint_stage"), evidence.bound.kernel.line)
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
    other_lines = sorted({c.line for c in rows if c.file == worst.file} - {worst.line})
    lines = ", ".join(str(n) for n in other_lines)
    also = msg("checks.bank_conflicts.also", n=len(other_lines), lines=lines) if other_lines else None
    pct = counters.shared_efficiency_pct
    efficiency = msg("checks.bank_conflicts.efficiency", pct=pct) if pct is not None else None
    message = msg("checks.bank_conflicts.failed", conflict=conflict, also=also, efficiency=efficiency)
    data["lines"] = [c.line for c in rows]
    return failed(message, _conflict_hint(evidence, worst), worst.line, credit, data=data, file=worst.file)


def _conflict_hint(evidence: Evidence, worst: LineCounters) -> Message | None:
    return joined(*_collision(worst), _remedy(evidence, worst))


def _collision(worst: LineCounters) -> list[Message]:
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
    """Say what to change; None where the request shown would still have a conflict."""
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
    """Whether most neighbouring lanes of the worst request are an odd number of words apart, as in padded rows."""
    words = worst.lane_words
    steps = [b - a for a, b in pairwise(words) if a is not None and b is not None]
    return bool(steps) and 2 * sum(step % 2 for step in steps) > len(steps)


def _is_free_with(worst: LineCounters, first: int, pitch: int) -> bool:
    """Whether the worst request of an array whose rows are `pitch` words has no conflict with a word more in each."""
    words = {word - first for word in worst.lane_words if word is not None}
    banks = {(word + word // pitch) % BANKS for word in words}
    return len(banks) == len(words)


# -- technique --------------------------------------------------------------------------

MOST = 2 / 3
"""Share of the elements traced back.  A few may be borders of the data, or be what their own thread has put there."""


def judge_technique(evidence: Evidence, settings: TechniqueSettings) -> Verdict:
    """Compare the bytes that went through shared and global memory with the sizes of the arrays."""
    counters = evidence.counters
    if counters is None:
        return not_measured(evidence.unmeasured.get("counters", msg("checks.not_counted")))
    stored = moved_bytes(counters.by_line, "shared", "store") + moved_bytes(counters.by_line, "shared", "atomic")
    loaded = moved_bytes(counters.by_line, "shared", "load")
    kernel_line = evidence.bound.kernel.line
    if unroll_factor(evidence.bound.kernel, counters) < settings.unrolled:
        return failed(
            msg("checks.technique.not_unrolled"),
            msg("checks.technique.hint_unroll", n=max(settings.unrolled, 4)),
            kernel_line,
        )
    if settings.shared_memory == "any":
        return passed(msg("checks.technique.unrolled"))
    if settings.shared_memory == "none":
        if counters.shared_requests:
            line = next(c.line for c in counters.by_line if c.space == "shared")
            return failed(
                msg("checks.technique.uses_shared"),
                msg("checks.technique.hint_direct"),
                line,
                data={"shared_requests": counters.shared_requests},
            )
        return passed(msg("checks.technique.global_only"))
    declared = next((array for array in evidence.bound.kernel.shared_arrays), None)
    if declared is not None and evidence.staging is not None and evidence.staging.is_forwarded:
        return passed(msg("checks.technique.forwarded", array=declared.name))
    if not counters.shared_requests and declared is not None:
        return failed(
            msg("checks.technique.left_out", array=declared.name),
            msg("checks.technique.hint_left_out", array=declared.name),
            declared.line,
        )
    if not counters.shared_requests:
        return failed(msg("checks.technique.no_shared"), msg("checks.hint_stage"), kernel_line)
    slow = base.few_lanes(evidence, counters, "shared")
    if slow is not None:
        return base.verdict(evidence, slow)
    inputs = [evidence.array_bytes[p.name] for p in evidence.lab.parameters if p.is_input]
    outputs = [evidence.array_bytes[p.name] for p in evidence.lab.parameters if p.is_output]
    data = {"shared_stored_bytes": stored, "shared_loaded_bytes": loaded}
    if stored < min(inputs) or loaded < sum(outputs):
        line = next(c.line for c in counters.by_line if c.space == "shared")
        return failed(
            msg("checks.technique.part", stored=stored, loaded=loaded),
            msg("checks.technique.hint_part", bytes=max(min(inputs), sum(outputs))),
            line,
            data=data,
        )
    reads = (moved_bytes(counters.by_line, "global", "load") - _read_to_add(counters)) / sum(inputs)
    allowed = formula.evaluate(str(settings.max_reads), counters.size) if settings.max_reads is not None else None
    if allowed is not None and reads > allowed:
        line = next(c.line for c in counters.by_line if c.space == "global" and c.op == "load")
        return failed(
            msg("checks.technique.reads", reads=reads, allowed=allowed),
            _hint_of_reads(evidence, counters, reads, allowed),
            line,
            data=data | {"reads": round(reads, 4)},
        )
    return _of_flow(evidence, counters) or passed(msg("checks.technique.passed"), data=data)


def _hint_of_reads(evidence: Evidence, counters: Counters, reads: float, allowed: float) -> Message:
    """A block that loads each element of its tiles once reads too much only because it is small, as does one whose
    tiles are so small that they would even then."""
    inputs = sum(p.is_input for p in evidence.lab.parameters)
    interpretation = evidence.interpretation
    plan = interpretation.launch if interpretation is not None else None
    if plan is not None and len(plan.tile) == inputs == len(plan.covers) == 2:
        extents = [counters.size.get(name, 0) for name in plan.covers]
        of_tiles = sum(-(-extent // step) for extent, step in zip(extents, plan.tile, strict=True)) / 2
        if reads <= of_tiles or (of_tiles > allowed and max(plan.tile) < 16):
            return msg("checks.technique.hint_small_tile", shape="×".join(str(n) for n in plan.tile))
    return msg("checks.technique.hint_reads")


def _of_flow(evidence: Evidence, counters: Counters) -> Verdict | None:
    """Fail a kernel whose data pass through shared memory without need, by where its outputs came from."""
    flow = evidence.staging
    if flow is None:
        return None
    line = next(c.line for c in counters.by_line if c.space == "shared" and c.op == "load")
    data = {"sampled": flow.sampled, "through": flow.through, "between": flow.between}
    if MOST * flow.sampled > flow.through:
        return failed(
            msg("checks.technique.unused", sampled=flow.sampled, through=flow.through),
            msg("checks.technique.hint_unused"),
            line,
            data=data,
        )
    if flow.unused_at is not None:
        message = msg("checks.technique.unused_at", sizes=sizes_msg(flow.unused_at))
        return failed(message, msg("checks.technique.hint_unused"), line, data=data)
    if MOST * flow.sampled > flow.between:
        return failed(msg("checks.technique.own"), msg("checks.technique.hint_own"), line, data=data)
    return None


def unroll_factor(kernel: Kernel, counters: Counters) -> int:
    """Steps that the loop which loads most does at a time; as the text shows it where no loop loads anything."""
    loads = {
        loop: sum(
            c.lanes * c.width_bytes for c in counters.by_line if c.op == "load" and loop.line <= c.line <= loop.end_line
        )
        for loop in kernel.loops
    }
    most = max(loads.values(), default=0)
    return factor_of([loop for loop, loaded in loads.items() if loaded == most]) if most else kernel.unroll


def _read_to_add(counters: Counters) -> int:
    """Bytes of outputs that are read to be added to, `c[i] += sum`: one element for each that the same line writes."""
    moved: dict[int, dict[str, int]] = {}
    for c in counters.by_line:
        if c.space == "global":
            of_line = moved.setdefault(c.line, {})
            of_line[c.op] = of_line.get(c.op, 0) + c.lanes * c.width_bytes
    return sum(min(of_line.get("load", 0), of_line.get("store", 0)) for of_line in moved.values())
