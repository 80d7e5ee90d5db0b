"""What to do about a wrong output, from its diagnosis."""

from __future__ import annotations

from math import prod

from grader.message import Message, msg
from grader.result import Diagnosis, ElementRange


def remedy(diagnosis: Diagnosis) -> Message | None:
    """How to fix what the diagnosis tells of, None when it tells nothing in particular."""
    values, region = diagnosis.values, diagnosis.region
    if values is not None and values.id in ("output_pitch", "input_pitch"):
        return msg("remedies.pitch", array=values.data.get("array", diagnosis.output), right=values.data["right"])
    if diagnosis.compared and diagnosis.read and not diagnosis.missing and not diagnosis.surplus:
        if values is not None and values.id == "zero":
            return msg("remedies.integer_division")
        if diagnosis.got is None:
            return _of_unset_output(diagnosis) or msg("remedies.not_a_number")
        if values is None:
            return msg("remedies.formula")
    return (
        (remedy_of(values.id) if values is not None else None)
        or _of_reads(diagnosis)
        or (remedy_of(region.id) if region is not None else None)
    )


def _exchanged(one: ElementRange, other: ElementRange) -> bool:
    return one.array == other.array and len(one.ranges) > 1 and one.ranges == other.ranges[::-1]


def count(elements: ElementRange) -> int:
    """Elements in a range."""
    return prod(high - low + 1 for low, high in elements.ranges)


_EXCHANGED_BLOCKS = msg("remedies.exchanged_blocks")
_FIRST_BLOCK = msg("remedies.first_block")
_UNUSED_INDEX = msg("remedies.unused_index")

OF_PATTERN = {
    "untouched": msg("remedies.untouched"),
    "unwritten": msg("remedies.no_thread"),
    "copy": msg("remedies.copy"),
    "transposed_tiles": msg("remedies.transposed_tiles"),
    "swapped_tiles": _EXCHANGED_BLOCKS,
    "off_diagonal_blocks": _EXCHANGED_BLOCKS,
    "constant_columns": _UNUSED_INDEX,
    "constant_rows": _UNUSED_INDEX,
    "all_but_first_block": _FIRST_BLOCK,
    "last_tiles": msg("remedies.last_tiles"),
    "shifted": msg("remedies.shifted"),
    "scaled": msg("remedies.scaled"),
    "offset": msg("remedies.offset"),
    "tile_edges": msg("remedies.tile_edges"),
    "border": msg("remedies.border"),
}
"""By the id of a rule or a region; those that are not here tell nothing in particular."""


def remedy_of(pattern: str) -> Message | None:
    """How to fix wrong elements that follow a pattern, by its id."""
    return OF_PATTERN.get(pattern)


def _of_unset_output(diagnosis: Diagnosis) -> Message | None:
    if any(r.origin == "nothing" and r.array == diagnosis.output and r.space == "global" for r in diagnosis.reads):
        return msg("remedies.onto_unset")
    return None


def _of_reads(diagnosis: Diagnosis) -> Message | None:
    of_output = _of_unset_output(diagnosis)
    if of_output:
        return of_output
    empty = next((read for read in diagnosis.reads if read.origin == "nothing"), None)
    if empty is not None and empty.put_by is not None:
        return msg("remedies.barrier", first=empty.put_by.line, second=empty.line)
    if empty is not None:
        return msg("remedies.unwritten_read", line=empty.line)
    if diagnosis.overwritten is not None:
        return msg("remedies.two_writers")
    exchanged = next(
        (m.array for m in diagnosis.missing for s in diagnosis.surplus if _exchanged(m, s)),
        None,
    )
    if exchanged is not None:
        return msg("remedies.exchanged_indices", array=exchanged)
    if diagnosis.missing and not diagnosis.surplus and diagnosis.read:
        if diagnosis.uses > sum(count(r) for r in diagnosis.read):
            return msg("remedies.used_again")
        return msg("remedies.too_few_terms")
    if diagnosis.surplus and not diagnosis.missing:
        return msg("remedies.too_many_terms")
    return None
