"""`memory_safety`: no access outside an array, no read of memory that nothing wrote."""

from __future__ import annotations

from grader.checks.base import CheckKind, Settings, Verdict, failed, not_measured, passed
from grader.diagnosis.faults import hazard_msg
from grader.i18n import _, ngettext
from grader.ptx.records import Hazard
from grader.running.evidence import Evidence
from grader.words import said


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail at the first line that does it."""
    if "hazards" in evidence.unmeasured:
        return not_measured(evidence.unmeasured["hazards"])
    hazards = evidence.hazards("out_of_bounds", "uninitialized")
    if not hazards:
        return passed(_("Every access is inside its array, and nothing is read before it is written."))
    first = hazards[0]
    message = said(hazard_msg(first))
    if len(hazards) > 1:
        message += " " + ngettext("({n} more line does so.)", "({n} more lines do so.)", len(hazards) - 1).format(
            n=len(hazards) - 1
        )
    return failed(
        message, hint(evidence, first), first.line, data={"lines": [h.line for h in hazards], "count": first.count}
    )


def hint(evidence: Evidence, hazard: Hazard) -> str:
    """How to mend it."""
    return _dynamic_hint(hazard) if _is_dynamic(evidence, hazard) else _hint(hazard)


def _is_dynamic(evidence: Evidence, hazard: Hazard) -> bool:
    """Whether it is an access past the end of an array whose size the launch says."""
    dynamic = {array.name for array in evidence.bound.kernel.shared_arrays if array.dynamic}
    return hazard.kind == "out_of_bounds" and hazard.detail == "after" and hazard.array in dynamic


def _dynamic_hint(hazard: Hazard) -> str:
    return _(
        "The launch gives {array} {bytes} bytes. Its third argument <<<grid, block, bytes>>> counts bytes, not "
        "elements: the number of elements that the whole block puts there, times sizeof(float)."
    ).format(array=hazard.array, bytes=hazard.array_bytes)


def _hint(hazard: Hazard) -> str:
    if hazard.kind == "uninitialized":
        if hazard.space == "shared":
            return _(
                "Shared memory holds whatever the last block left there. Every element that is read must have been "
                "written by some thread of this block, and a barrier must stand between."
            )
        return _("Every element that is read must have been written before: copied in by the host, or by the kernel.")
    if hazard.detail == "misaligned":
        return _("A float4 or float2 access needs an index that is a multiple of 4 or 2, and an array that starts so.")
    if hazard.space == "shared":
        return _(
            "Compare the index's largest value with the declared size: what blockDim and the loop's last step reach "
            "must be smaller than the number of rows and columns."
        )
    return _(
        "Compute the largest index by hand, from the last thread of the last block: is it below the number of "
        "elements? On a GPU such an access may go unnoticed, overwrite another array, or stop the program."
    )


CHECK = CheckKind("memory_safety", judge, needs=("compiles",), credit_needs=("correct",))
