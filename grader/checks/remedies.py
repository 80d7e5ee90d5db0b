"""What to do about a wrong output, as far as its diagnosis alone proves it.

The rule: nothing is said here that could be false of another kernel with the same diagnosis.  Where a fault is, and
of what kind, is found out by trying changes (`grader.repair`); what a wrong value was made from stands in the message.
"""

from __future__ import annotations

from math import prod

from grader.message import Message, msg
from grader.result import Diagnosis, ElementRange


def remedy(diagnosis: Diagnosis) -> Message | None:
    """What follows from the diagnosis, None when nothing in particular does."""
    values = diagnosis.values
    if values is not None and values.id in ("output_pitch", "input_pitch"):
        return msg("remedies.pitch", array=values.data.get("array", diagnosis.output), right=values.data["right"])
    factor = values.data.get("factor", 0) if values is not None else 0
    if isinstance(factor, int | float) and factor >= 2 and float(factor).is_integer():
        return msg("remedies.scaled", factor=int(factor))
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
        return msg("remedies.formula")
    return None


def _divided(diagnosis: Diagnosis, factor: object) -> Message | None:
    """What sum of one input's elements the wrong values are, divided by how many; None where nothing fits."""
    arrays = {one.array for one in diagnosis.read}
    summed = sum(count(one) for one in diagnosis.read)
    if not isinstance(factor, int | float) or factor <= 0 or len(arrays) != 1 or summed < 2:
        return None
    by = round(summed / factor)
    if by in (0, summed) or abs(summed / factor - by) > 1e-3 * by:
        return None
    return msg("remedies.divided", n=summed, by=by)


def count(elements: ElementRange) -> int:
    """Elements in a range."""
    return prod(high - low + 1 for low, high in elements.ranges)


def _is_overwritten_by_another(diagnosis: Diagnosis) -> bool:
    """Whether the right value was there, and another thread than its writer spoilt it."""
    right, last = diagnosis.overwritten, diagnosis.writer
    return right is not None and last is not None and (right.thread, right.block) != (last.thread, last.block)
