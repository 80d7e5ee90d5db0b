"""`races`: threads that touch the same memory have a barrier between them, and every thread reaches every barrier."""

from __future__ import annotations

from collections.abc import Iterable

from grader.checks.base import CheckKind, Settings, Verdict, failed, not_measured, passed
from grader.i18n import _
from grader.ptx.records import Hazard
from grader.running.evidence import Evidence
from grader.wording import hazard_text

KINDS = ("race", "barrier_divergence", "warp_sync")


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail at the first line where a race or a divergent barrier was seen.

    Two writes of one value are a race too in the language's rules, yet cannot show: they cost nothing.
    """
    if "hazards" in evidence.unmeasured:
        return not_measured(evidence.unmeasured["hazards"])
    hazards = counted(evidence.hazards(*KINDS))
    if not hazards:
        return passed(_("No race between threads, and every thread reaches every barrier."))
    first = worst(hazards)
    return failed(
        hazard_text(first),
        hint(first),
        first.line,
        data={"lines": [h.line for h in hazards], "other_line": first.other_line, "count": first.count},
    )


def counted(hazards: Iterable[Hazard]) -> list[Hazard]:
    """The hazards that are this check's and cost points."""
    return [h for h in hazards if h.kind in KINDS and h.detail != "write_write_same_value"]


def worst(hazards: Iterable[Hazard]) -> Hazard:
    """The one to tell of: a divergent barrier is the cause, the races that it leaves open are what comes of it."""
    return min(hazards, key=lambda h: (h.kind == "race", h.line))


def hint(hazard: Hazard) -> str:
    """How to mend it."""
    if hazard.kind == "barrier_divergence":
        return _(
            "__syncthreads() inside an if or a loop that not every thread of the block enters is undefined behaviour. "
            "Take it out: put only the load and the store under the if."
        )
    if hazard.kind == "warp_sync":
        return _("The mask of a _sync function must name exactly the lanes that call it.")
    if hazard.space == "global":
        return _(
            "Nothing orders the threads of different blocks: let each thread write its own elements, or use an atomic "
            "operation."
        )
    if hazard.detail.startswith("write_write"):
        return _("Two threads own one element of shared memory: the index must differ for different threads.")
    between = sorted((hazard.line, hazard.other_line))
    if hazard.within_warp:
        return _(
            "A thread reads what another thread stored, and since Volta not even the threads of one warp run in step. "
            "Put __syncthreads() between line {first} and line {second}, where every thread reaches it; __syncwarp() "
            "is enough only where no other warp uses these elements."
        ).format(first=between[0], second=between[1])
    return _(
        "A thread reads what another thread stored, and the warps of a block run in any order: on a GPU the result "
        "depends on luck. Put __syncthreads() between line {first} and line {second}, where every thread reaches it."
    ).format(first=between[0], second=between[1])


CHECK = CheckKind("races", judge, needs=("compiles",), credit_needs=("correct",))
