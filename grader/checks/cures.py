"""What to do about a wrong output, from its diagnosis."""

from __future__ import annotations

from math import prod

from grader.i18n import _
from grader.result import Diagnosis, ElementRange


def cure(diagnosis: Diagnosis) -> str:
    """How to mend what the diagnosis tells of, "" when it tells nothing in particular."""
    values, region = diagnosis.values, diagnosis.region
    if values is not None and values.id in ("output_pitch", "input_pitch"):
        return _(
            "A row of {array} has {right} elements: that is what the row's number is multiplied by in its index."
        ).format(array=values.data.get("array", diagnosis.output), right=values.data["right"])
    if diagnosis.compared and diagnosis.read and not diagnosis.missing and not diagnosis.surplus:
        if values is not None and values.id == "zero":
            return _(
                "The right elements are read, and nothing comes of them: an integer division such as 1 / 5 is 0, and "
                "an int drops what stands after the point. Divide by a float, and add up in a float."
            )
        if diagnosis.got is None:
            return _of_unset_output(diagnosis) or _(
                "The right elements are read, yet what comes out is no number: what is added to holds garbage until "
                "it is set, be it a variable, an element of shared memory or of the output. Begin with float sum = 0, "
                "once for every element of the result."
            )
        if values is None:
            return _(
                "The right elements are read, so look at what is computed from them: the formula, the divisor, integer "
                "division, a sum that is kept in an int."
            )
    return (
        (cure_of(values.id) if values is not None else "")
        or _of_reads(diagnosis)
        or (cure_of(region.id) if region is not None else "")
    )


def _exchanged(one: ElementRange, other: ElementRange) -> bool:
    return one.array == other.array and len(one.ranges) > 1 and one.ranges == other.ranges[::-1]


def count(elements: ElementRange) -> int:
    """Elements in a range."""
    return prod(high - low + 1 for low, high in elements.ranges)


def cure_of(pattern: str) -> str:
    """How to mend wrong elements that follow a pattern, by its id; "" for those that tell nothing in particular."""
    no_thread = _(
        "Some elements have no thread: compare the block's size and the grid's size with the tile, and the step of "
        "the loop with the number of threads."
    )
    exchanged_blocks = _(
        "On the diagonal blockIdx.x and blockIdx.y are equal, so a slip between them does not show there: they "
        "have to change places when the output's index is made."
    )
    first_block = _("In the first block blockIdx is 0: look at how blockIdx enters the index.")
    unused_index = _(
        "One of the two indices has no effect: look for a size or a constant that stands where an index should "
        "(K in place of k), on either side of the barrier."
    )
    return {
        "untouched": _("Does any thread reach the line that writes the output? Look at the guard before it."),
        "unwritten": no_thread,
        "copy": _("Row and column have to change places between reading and writing."),
        "transposed_tiles": _(
            "The indices inside the tile must change places too: what is written by [y][x] is read by [x][y]."
        ),
        "swapped_tiles": exchanged_blocks,
        "off_diagonal_blocks": exchanged_blocks,
        "constant_columns": unused_index,
        "constant_rows": unused_index,
        "first_block_right": first_block,
        "all_but_first_block": first_block,
        "last_tiles": _("The size is no multiple of the tile: the last tiles need a guard on both indices."),
        "shifted": _("An index is off by a constant: look at every + 1 and − 1 in it, and at < against <=."),
        "onto_unset": _("Add up in a variable that starts at 0, and store it once; or set the output to 0 first."),
        "scaled": _("All but a factor is right: look at what the result is multiplied or divided by."),
        "offset": _("All but a constant is right: look at the value that the sum starts with."),
        "tile_edges": _("The edges of a tile need their neighbours' elements: look at who loads them, and from where."),
        "border": _("The elements at the border are treated apart: look at the condition that tells them."),
    }.get(pattern, "")


def _of_unset_output(diagnosis: Diagnosis) -> str:
    if any(r.origin == "nothing" and r.array == diagnosis.output and r.space == "global" for r in diagnosis.reads):
        return _("Add up in a variable that starts at 0, and store it once; or set the output to 0 first.")
    return ""


def _of_reads(diagnosis: Diagnosis) -> str:
    of_output = _of_unset_output(diagnosis)
    if of_output:
        return of_output
    empty = next((read for read in diagnosis.reads if read.origin == "nothing"), None)
    if empty is not None and empty.put_by is not None:
        return _("Put __syncthreads() between line {first} and line {second}, where every thread comes by.").format(
            first=empty.put_by.line, second=empty.line
        )
    if empty is not None:
        return _("Every element that is read must have been written: compare the indices of line {line}.").format(
            line=empty.line
        )
    if diagnosis.overwritten is not None:
        return _("Two threads write to one element: the index of the output must be another one for each thread.")
    exchanged = next(
        (m.array for m in diagnosis.missing for s in diagnosis.surplus if _exchanged(m, s)),
        None,
    )
    if exchanged is not None:
        return _(
            "Row and column of {array} are exchanged where it is read: compare its index with the formula."
        ).format(array=exchanged)
    if diagnosis.missing and not diagnosis.surplus and diagnosis.read:
        if diagnosis.uses > sum(count(r) for r in diagnosis.read):
            return _("Some elements are used again and again in place of others: an index does not follow the loop.")
        return _("The loop leaves terms out: look at where it starts, where it ends, and its step.")
    if diagnosis.surplus and not diagnosis.missing:
        return _("The loop takes in too much: look at where it starts and where it ends.")
    return ""
