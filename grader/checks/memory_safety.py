"""`memory_safety`: no access outside an array, no read of memory that nothing wrote."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from grader.checks import launch
from grader.checks.base import Verdict, failed, not_measured, passed
from grader.diagnosis.text import hazard_msg
from grader.lab.checks import Settings
from grader.message import Message, joined, msg
from grader.ptx.records import Hazard
from grader.running.evidence import Evidence
from grader.submission.cpp.nodes import Name, Number, SizeOf
from grader.submission.kernels.records import LaunchSite
from grader.submission.kernels.symbolic import leaves_of

ELEMENT_BYTES = (Number(2), Number(4), Number(8))
"""Factors that stand for the size of an element."""


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail at the first line that does it."""
    if "hazards" in evidence.unmeasured:
        return not_measured(evidence.unmeasured["hazards"])
    hazards = evidence.hazards("out_of_bounds", "uninitialized")
    if not hazards:
        return passed(msg("checks.memory_safety.passed"))
    first = hazards[0]
    more = msg("checks.memory_safety.more_lines", n=len(hazards) - 1) if len(hazards) > 1 else None
    message = joined(hazard_msg(first), more) or hazard_msg(first)
    data = {"lines": [h.line for h in hazards], "count": first.count}
    return replace(failed(message, hint(evidence, first), first.line, data=data), file=evidence.file_of(first.file))


def hint(evidence: Evidence, hazard: Hazard) -> Message:
    """How to fix it."""
    own_pointer = launch.pointer_first(evidence) if hazard.detail == "unmapped" else None
    return own_pointer or launch.other_block(evidence) or _of_hazard(evidence, hazard)


def _of_hazard(evidence: Evidence, hazard: Hazard) -> Message:
    return _dynamic_hint(evidence, hazard) if is_dynamic(evidence, hazard) else _hint(hazard)


def is_dynamic(evidence: Evidence, hazard: Hazard) -> bool:
    """Whether it is an access past the end of an array whose size the launch says."""
    dynamic = {array.name for array in evidence.bound.kernel.shared_arrays if array.dynamic}
    return hazard.kind == "out_of_bounds" and hazard.detail == "after" and hazard.array in dynamic


def _dynamic_hint(evidence: Evidence, hazard: Hazard) -> Message:
    site = evidence.bound.requested
    fits_if_elements = hazard.offset_bytes // hazard.width_bytes < hazard.array_bytes
    in_elements = site is not None and fits_if_elements and counts_elements(site)
    if in_elements:
        return msg("checks.memory_safety.hint_dynamic", array=hazard.array, bytes=hazard.array_bytes)
    return msg("checks.memory_safety.hint_dynamic_short", array=hazard.array, bytes=hazard.array_bytes)


def counts_elements(site: LaunchSite) -> bool:
    """Whether a launch's shared memory is written as a number of elements: a product without `sizeof` or its value.

    What is one name or one number may be a number of bytes, unless it is as many as the block has threads.
    """
    written = site.shared_expression
    if written is None or any(isinstance(leaf, SizeOf) or leaf in ELEMENT_BYTES for leaf in leaves_of(written)):
        return False
    is_one = isinstance(written, Name | Number)
    return not is_one or (site.block is not None and site.shared_bytes == prod(site.block))


def _hint(hazard: Hazard) -> Message:
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
