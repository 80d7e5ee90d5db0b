"""`races`, `memory_safety`, and `deterministic`: the same bits come out whatever the order of blocks and warps.

Threads that touch the same memory have a barrier between them, and every thread reaches every barrier; no access is
outside an array, and no read of memory that nothing wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from grader.checks import host, outcomes
from grader.checks.base import Verdict, failed, not_measured, passed
from grader.diagnosis.text import element, hazard_msg, thread_msg
from grader.lab.checks import RacesSettings, Settings
from grader.launching.trial import Run
from grader.message import Message, joined, msg, sizes_msg
from grader.ptx.records import Hazard
from grader.running.evidence import Evidence, OtherInput
from grader.submission.cpp.scopes import branch_around

KINDS = ("race", "barrier_divergence", "warp_sync")


GOES_ON = 0.5
"""The share of the points that is left where a device waits only for the threads that have not ended."""


def judge_races(evidence: Evidence, settings: RacesSettings) -> Verdict:
    """Fail at the first line where a race or a divergent barrier was seen.

    Two writes of one value are a race too in the language's rules, yet cannot show: they cost nothing.
    """
    if "hazards" in evidence.unmeasured:
        return not_measured(evidence.unmeasured["hazards"])
    hazards = counted(evidence.hazards(*KINDS))
    if not hazards:
        remarks = evidence.remarks() if settings.all_reach else {}
        left = {line: count for (kind, line), count in remarks.items() if kind == "exited_before_barrier"}
        return _of_ended(evidence, left) if left else _passed(evidence, "races", "none", _is_unordered_run)
    first = worst(hazards)
    data = {"lines": [h.line for h in hazards], "other_line": first.other_line, "count": first.count}
    return replace(
        failed(hazard_msg(first), race_hint(first), first.line, data=data), file=evidence.file_of(first.file)
    )


def _passed(evidence: Evidence, name: str, form: str, shows: Callable[[Run], bool]) -> Verdict:
    """Pass `name`, in words of `form`, and say where a run off the tile shows what this check looks for."""
    elsewhere = next((run for run in evidence.runs_of("ragged") if shows(run)), None)
    if elsewhere is None:
        return passed(msg(f"checks.{name}.{form}"))
    message = msg(f"checks.{name}.elsewhere", sizes=sizes_msg(elsewhere.sizes), check=msg("checks.ragged_sizes.title"))
    return passed(message, data={"elsewhere": dict(elsewhere.sizes)})


def _is_unordered_run(run: Run) -> bool:
    """Whether a run shows a race or a barrier not reached; threads that have ended count where it goes wrong."""
    left = any(kind == "exited_before_barrier" for kind, _line, _count in run.outcome.remarks)
    return bool(counted(run.outcome.hazards)) or (left and not run.is_right)


def _strays(run: Run) -> bool:
    """Whether a run shows an access outside an array, or a read of what nothing wrote where it goes wrong."""
    kinds = {hazard.kind for hazard in run.outcome.hazards}
    return "out_of_bounds" in kinds or ("uninitialized" in kinds and not run.is_right)


def _of_ended(evidence: Evidence, left: Mapping[int, int]) -> Verdict:
    """Fail for barriers, by line, that some threads do not reach because they have ended."""
    line, count = min(left.items())
    file = evidence.bound.kernel.file
    branch = branch_around(file, evidence.source.get(file, ""), line)
    kind = "ended_around" if branch else "ended"
    message = msg(f"checks.races.{kind}", line=line, n=count, **({"branch": branch} if branch else {}))
    return failed(message, msg("checks.races.hint_ended"), line, GOES_ON, data={"lines": sorted(left)})


def counted(hazards: Iterable[Hazard]) -> list[Hazard]:
    """The hazards that are this check's and cost points."""
    return [h for h in hazards if h.kind in KINDS and h.detail != "write_write_same_value"]


def worst(hazards: Iterable[Hazard]) -> Hazard:
    """Return the hazard to tell of: a divergent barrier is the cause, the races that it leaves open follow from it."""
    return min(hazards, key=lambda h: (h.kind == "race", h.line))


def race_hint(hazard: Hazard) -> Message:
    """Say how to mend a race or a barrier."""
    if hazard.kind == "barrier_divergence":
        return msg("checks.races.hint_barrier")
    if hazard.kind == "warp_sync" and hazard.detail == "inactive_source":
        return msg("checks.races.hint_warp_source")
    if hazard.kind == "warp_sync":
        return msg("checks.races.hint_warp_mask")
    if hazard.detail in ("unfinished_copy", "late_copy"):
        return msg("checks.races.hint_copy")
    if hazard.detail == "scope":
        return msg("checks.races.hint_scope")
    is_between_blocks = hazard.other_block is not None and hazard.other_block != hazard.block
    if hazard.space == "global" and hazard.detail == "read_write":
        return msg("checks.races.hint_global_read")
    if hazard.space == "global":
        return msg("checks.races.hint_global" if is_between_blocks else "checks.races.hint_global_block")
    if is_of_one_line(hazard):
        return one_line_hint(hazard)
    if hazard.detail.startswith("write_write"):
        return msg("checks.races.hint_write_write")
    # Where a barrier belongs is found out by trying (`grader.repair`): not always between the two lines.
    if hazard.within_warp:
        return msg("checks.races.hint_within_warp")
    return msg("checks.races.hint_between_warps")


def is_of_one_line(hazard: Hazard) -> bool:
    """Whether two threads write one element in the same line: not an order is missing, the index is the same."""
    return hazard.kind == "race" and hazard.detail.startswith("write_write") and hazard.line == hazard.other_line


def one_line_hint(hazard: Hazard) -> Message:
    """Say how to find out why two threads write one element in the same line."""
    one = thread_msg(hazard.thread, hazard.block)
    other = thread_msg(hazard.other_thread or (0, 0, 0), hazard.other_block or hazard.block)
    return msg("checks.races.hint_one_line", line=hazard.line, one=one, other=other)


def judge_memory_safety(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail at the first line that accesses memory out of bounds or reads memory that nothing wrote."""
    if "hazards" in evidence.unmeasured:
        return not_measured(evidence.unmeasured["hazards"])
    hazards = evidence.hazards("out_of_bounds", "uninitialized")
    if not hazards:
        return _passed(evidence, "memory_safety", "passed", _strays)
    other = evidence.other_input
    if other is not None and not other.is_seen and _is_of_long_inputs(evidence, hazards):
        return of_unfilled(evidence, other)
    first = hazards[0]
    more = msg("checks.memory_safety.more_lines", n=len(hazards) - 1) if len(hazards) > 1 else None
    message = joined(hazard_msg(first), more) or hazard_msg(first)
    data = {"lines": [h.line for h in hazards], "count": first.count}
    return replace(
        failed(message, memory_hint(evidence, first), first.line, data=data), file=evidence.file_of(first.file)
    )


def of_unfilled(evidence: Evidence, other: OtherInput) -> Verdict:
    """No verdict on a kernel that reads what only its program, which was not run, puts into the device's memory."""
    message = msg("checks.correct.not_filled", array=other.array, line=other.line)
    return not_measured(message, other_task_hint(evidence))


def other_task_hint(evidence: Evidence) -> Message:
    """The hint that this task has none but its own inputs."""
    inputs = ", ".join(p.name for p in evidence.lab.parameters if p.kind.is_read)
    return msg("checks.correct.hint_other_task", inputs=inputs)


def _is_of_long_inputs(evidence: Evidence, strays: Sequence[Hazard]) -> bool:
    """Whether a wrong kernel only goes past the ends of arrays that are handed to it: of another task, whose arrays may
    be longer than their data."""
    runs = evidence.runs_of("correct", "observe")
    past_ends = (h.kind == "out_of_bounds" and h.space == "global" and h.detail in ("before", "after") for h in strays)
    return any(not run.is_right for run in runs) and all(past_ends)


def memory_hint(evidence: Evidence, hazard: Hazard) -> Message:
    """Say how to mend an access."""
    own_pointer = host.pointer_first(evidence) if hazard.detail == "unmapped" else None
    return own_pointer or host.other_block(evidence) or _of_hazard(evidence, hazard)


def _of_hazard(evidence: Evidence, hazard: Hazard) -> Message:
    if outcomes.is_dynamic(evidence, hazard):
        return outcomes.dynamic_hint(evidence, hazard)
    if hazard.kind == "uninitialized" and hazard.space == "shared" and not _is_unordered(evidence, hazard.array):
        # Whoever stores it, if anybody, does so behind a barrier after this line: none is missing between the two.
        return msg("checks.memory_safety.hint_shared_unwritten")
    return _static_hint(hazard)


def _is_unordered(evidence: Evidence, array: str) -> bool:
    """Whether reads of a shared array race with writes to it, which may come too late."""
    races = evidence.hazards("race")
    return any(h.space == "shared" and h.array == array and not h.detail.startswith("write_write") for h in races)


def _static_hint(hazard: Hazard) -> Message:
    if hazard.kind == "uninitialized":
        if hazard.space == "shared":
            return msg("checks.memory_safety.hint_shared_unset")
        return msg("checks.memory_safety.hint_unset")
    if hazard.detail == "null":
        return msg("checks.memory_safety.hint_null")
    if hazard.detail in ("freed", "not_allocated"):
        return msg("checks.memory_safety.hint_freed")
    if hazard.detail == "misaligned":
        return msg("checks.memory_safety.hint_misaligned")
    if hazard.detail == "before":
        return msg("checks.memory_safety.hint_before")
    if hazard.space in ("shared", "local"):
        return msg("checks.memory_safety.hint_shared")
    return msg("checks.memory_safety.hint_global")


def judge_deterministic(evidence: Evidence, _settings: Settings) -> Verdict:
    """Tell what came out otherwise, or never, in another order."""
    reordered = evidence.reordered
    if reordered is None:
        return not_measured(msg("checks.deterministic.not_seen"))
    sizes = sizes_msg(reordered.sizes)
    if reordered.differs is None:
        return passed(msg("checks.deterministic.passed", n=reordered.orders, sizes=sizes))
    array, index, usual, other = reordered.differs
    message = msg(
        "checks.deterministic.differs",
        element=element(array, index),
        usual=usual,
        other=other,
        sizes=sizes,
        n=reordered.elements,
    )
    data = {"elements": reordered.elements}
    at = _float_atomics(evidence)
    if at is None:
        return failed(message, msg("checks.deterministic.hint"), data=data)
    file, line = at
    return failed(
        message, msg("checks.deterministic.hint_atomics", line=line), line, data=data, file=evidence.file_of(file)
    )


def _float_atomics(evidence: Evidence) -> tuple[str, int] | None:
    """Return the line with the most atomic additions of floating-point numbers; None where there are none."""
    work = evidence.observed_work
    rows = [(file, row) for file, row in (work.by_line() if work is not None else ()) if row.uses.get("float_atomics")]
    if not rows:
        return None
    file, row = max(rows, key=lambda pair: pair[1].uses["float_atomics"])
    return file, row.line
