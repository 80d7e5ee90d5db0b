"""`correct`: the output is the oracle's, at every size that is a multiple of the tile."""

from __future__ import annotations

from dataclasses import replace

from grader.checks import memory_safety, races
from grader.checks.base import CheckKind, Settings, Verdict, passed
from grader.checks.cures import cure_of
from grader.checks.outcomes import explained, verdict_of_runs
from grader.i18n import _, ngettext
from grader.result import Diagnosis
from grader.running.cases import block_of
from grader.running.evidence import Evidence
from grader.words import said


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail with the first wrong element of the smallest size that is wrong, and the pattern of all of them."""
    runs = evidence.runs_of("correct", "observe")
    verdict = verdict_of_runs(runs)
    if verdict is None:
        return passed(
            ngettext("Every element is right at {n} size.", "Every element is right at {n} sizes.", len(runs)).format(
                n=len(runs)
            ),
            data={"sizes": len(runs)},
        )
    if verdict.status != "fail":
        return verdict
    verdict = explained(verdict, evidence.diagnoses.get("correct"))
    hint = (
        _of_threads(evidence, verdict.diagnosis)
        or verdict.hint
        or cure_of(str(verdict.data.get("pattern", "")))
        or _of_hazards(evidence)
        or _follow()
    )
    return replace(verdict, hint=hint, line=verdict.line or evidence.bound.kernel.line)


def _of_threads(evidence: Evidence, diagnosis: Diagnosis | None) -> str:
    """How to mend a kernel that makes as many rows or columns as its one-dimensional block has threads, else ""."""
    region = diagnosis.region if diagnosis is not None else None
    if (
        evidence.candidate is None
        or diagnosis is None
        or region is None
        or region.id not in ("last_rows", "last_columns")
    ):
        return ""
    x, y, z = block_of(evidence.candidate.launch, diagnosis.size)
    made = diagnosis.shape[-1 if region.id == "last_columns" else -2] - int(region.data["n"])
    if (made, 1, 1) != (x, y, z) or diagnosis.values is None or diagnosis.values.id != "unwritten":
        return ""
    if region.id == "last_columns":
        text = _("Only the first {made} columns are made, as many as the block has threads.")
    else:
        text = _("Only the first {made} rows are made, as many as the block has threads.")
    rest = _(
        "Let every thread go on with those that are left, in a loop whose step is the number of threads: "
        "for (int j = threadIdx.x; j < n; j += blockDim.x)."
    )
    return f"{text.format(made=made)} {rest}"


def _of_hazards(evidence: Evidence) -> str:
    """How to mend an access or an order of accesses that may be what spoils the result, "" where all are in order."""
    if "hazards" in evidence.unmeasured:
        return ""
    outside = evidence.hazards("out_of_bounds", "uninitialized")
    if outside:
        return memory_safety.hint(evidence, outside[0])
    unordered = races.counted(evidence.hazards(*races.KINDS))
    return said(races.hint(races.worst(unordered))) if unordered else ""


def _follow() -> str:
    return _(
        "Follow one element by hand: which thread reads it, where it stores it, and who writes it out. The value "
        "that came out instead says where it was taken from."
    )


CHECK = CheckKind("correct", judge, needs=("compiles",))
