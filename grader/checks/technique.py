"""`technique`: the variant does what its name says, by what its memory accesses were, not by how its source looks."""

from __future__ import annotations

from grader.checks import base
from grader.checks.base import Verdict, failed, not_measured, passed
from grader.lab import formula
from grader.lab.checks import TechniqueSettings
from grader.measured import Counters
from grader.message import Message, msg, sizes_msg
from grader.running.evidence import Evidence, moved_bytes
from grader.submission.kernels.records import Kernel, factor_of

MOST = 2 / 3
"""Of the elements traced back.  A few may be the data's borders, or come from where their own thread had put them."""


def judge(evidence: Evidence, settings: TechniqueSettings) -> Verdict:
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
        return failed(
            msg("checks.technique.no_shared"),
            msg("checks.hint_stage"),
            kernel_line,
        )
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
            _hint_of_reads(evidence, counters, reads, len(inputs)),
            line,
            data=data | {"reads": round(reads, 4)},
        )
    return _of_flow(evidence, counters) or passed(msg("checks.technique.passed"), data=data)


def _hint_of_reads(evidence: Evidence, counters: Counters, reads: float, inputs: int) -> Message:
    """A block that loads each element of its tiles once reads too much only because it is small."""
    interpretation = evidence.interpretation
    plan = interpretation.launch if interpretation is not None else None
    if plan is not None and len(plan.tile) == inputs == len(plan.covers) == 2:
        extents = [counters.size.get(name, 0) for name in plan.covers]
        of_tiles = sum(-(-extent // step) for extent, step in zip(extents, plan.tile, strict=True)) / 2
        if reads <= of_tiles:
            return msg("checks.technique.hint_small_tile", shape="×".join(str(n) for n in plan.tile))
    return msg("checks.technique.hint_reads")


def _of_flow(evidence: Evidence, counters: Counters) -> Verdict | None:
    """The fault of a kernel whose data pass through shared memory for show, by where its outputs came from."""
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
