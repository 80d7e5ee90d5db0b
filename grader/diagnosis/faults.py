"""A hazard as a message: who did what; the line is the hazard's own."""

from __future__ import annotations

from collections.abc import Sequence

from grader.message import Message, msg
from grader.ptx.records import Hazard


def thread_msg(thread: Sequence[int], block: Sequence[int]) -> Message:
    """Which thread of which block, within a sentence."""
    return msg("pieces.thread", thread=_triple(thread), block=_triple(block))


def hazard_msg(hazard: Hazard) -> Message:
    """One fault in one sentence."""
    who = msg("pieces.Thread", thread=_triple(hazard.thread), block=_triple(hazard.block))
    match hazard.kind:
        case "out_of_bounds":
            return _out_of_bounds(hazard, who)
        case "uninitialized":
            return _unset(hazard, who)
        case "race":
            return _race(hazard, who)
        case "barrier_divergence" if hazard.detail == "different_barriers" and hazard.other_line:
            return msg("faults.different_barriers", who=who, line=hazard.other_line)
        case "barrier_divergence":
            return msg("faults.barrier", who=who)
    details = {"not_a_member": "warp_mask_without_caller", "inactive_source": "warp_source"}
    return msg(f"faults.{details.get(hazard.detail, 'warp_mask')}", who=who)


def _unset(hazard: Hazard, who: Message) -> Message:
    width = hazard.width_bytes
    if width > 0 and hazard.offset_bytes % width == 0 and hazard.array:
        return msg("faults.unset_element", who=who, index=hazard.offset_bytes // width, of_array=_of_array(hazard))
    return msg("faults.uninitialized", who=who, array=array_name(hazard), offset=hazard.offset_bytes)


def array_name(hazard: Hazard) -> str | Message:
    """The array's name, or what kind of memory it is when it has none."""
    if hazard.space == "local":
        # All of a thread's local arrays are one to the compiler, under a name of its own.
        return msg("pieces.local_memory")
    if hazard.array:
        return hazard.array
    return msg("pieces.shared_memory") if hazard.space == "shared" else msg("pieces.global_memory")


def _triple(index: Sequence[int]) -> str:
    return f"({', '.join(str(i) for i in index)})"


def _out_of_bounds(hazard: Hazard, who: Message) -> Message:
    array = array_name(hazard)
    if hazard.detail in ("no_texture", "no_surface", "outside_surface"):
        return msg(f"faults.{hazard.detail}", who=who)
    if hazard.detail == "beside":
        return msg("faults.beside", array=array)
    if hazard.detail == "not_allocated":
        return msg("faults.frees_foreign", who=who)
    if hazard.detail == "freed":
        return msg("faults.frees_twice", who=who) if hazard.op == "free" else msg("faults.uses_freed", who=who)
    if hazard.detail == "misaligned":
        return msg("faults.misaligned", who=who, array=array, width=hazard.width_bytes)
    if hazard.detail in ("before", "after") and _is_whole(hazard):
        return _element_outside(hazard, who)
    if hazard.detail == "before":
        return _bytes_outside(hazard, who, -hazard.offset_bytes, msg("faults.before_start"))
    if hazard.detail == "after":
        past = hazard.offset_bytes + hazard.width_bytes - hazard.array_bytes
        return _bytes_outside(hazard, who, past, msg("faults.past_end"))
    return msg("faults.reads_nowhere", who=who) if hazard.op == "load" else msg("faults.writes_nowhere", who=who)


def _is_whole(hazard: Hazard) -> bool:
    """Whether the access falls on a place where an element of its width would be."""
    width = hazard.width_bytes
    return width > 0 and hazard.offset_bytes % width == 0 and hazard.array_bytes % width == 0


def _element_outside(hazard: Hazard, who: Message) -> Message:
    width = hazard.width_bytes
    index, last = hazard.offset_bytes // width, hazard.array_bytes // width - 1
    if last < 0:
        how = "reads" if hazard.op == "load" else "writes"
        return msg(f"faults.{how}_empty", who=who, index=index, of_array=_of_array(hazard))
    if hazard.op == "load":
        return msg("faults.reads_element", who=who, index=index, of_array=_of_array(hazard), last=last, width=width)
    return msg("faults.writes_element", who=who, index=index, of_array=_of_array(hazard), last=last, width=width)


def _bytes_outside(hazard: Hazard, who: Message, count: int, side: Message) -> Message:
    distance, array, size = msg("faults.bytes", n=count), array_name(hazard), hazard.array_bytes
    if hazard.op == "load":
        return msg("faults.reads_bytes", who=who, distance=distance, side=side, array=array, size=size)
    return msg("faults.writes_bytes", who=who, distance=distance, side=side, array=array, size=size)


def _of_array(hazard: Hazard) -> Message:
    if hazard.space == "local":
        return msg("pieces.of_local_memory")
    if hazard.array:
        return msg("pieces.of_array", array=hazard.array)
    return msg("pieces.of_shared_memory") if hazard.space == "shared" else msg("pieces.of_global_memory")


def _race(hazard: Hazard, who: Message) -> Message:
    of_array, line = _of_array(hazard), hazard.other_line
    other = thread_msg(hazard.other_thread or (0, 0, 0), hazard.other_block or hazard.block)
    if hazard.detail == "unfinished_copy":
        how = "reads" if hazard.op == "load" else "writes"
        if (hazard.other_thread, hazard.other_block or hazard.block) == (hazard.thread, hazard.block):
            return msg(f"faults.{how}_own_copy", who=who, of_array=of_array, other_line=line)
        return msg(f"faults.{how}_copied", who=who, of_array=of_array, other=other, other_line=line)
    if hazard.detail == "late_copy":
        return msg("faults.late_copy", who=who, of_array=of_array, other=other, other_line=line)
    if hazard.detail.startswith("write_write"):
        return msg("faults.write_write", who=who, of_array=of_array, other=other, other_line=line)
    if hazard.detail == "scope":
        return msg("faults.scope", who=who, of_array=of_array, other=other, other_line=line)
    if hazard.op == "load":
        return msg("faults.read_write", who=who, of_array=of_array, other=other, other_line=line)
    return msg("faults.write_read", who=who, of_array=of_array, other=other, other_line=line)
