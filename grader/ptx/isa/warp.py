"""Exchange between the 32 lanes of warps: shfl, vote, match, redux.

Arrays have shape (W, 32): warps by lanes.  `active` marks the lanes that execute the instruction.  Every lane
works with its own member mask, so that parts of a warp with different masks may execute together.
Results in lanes that are not active mean nothing.
"""

# mypy: disable-error-code="no-any-return"
# NumPy's stubs make arithmetic on arrays Any when the dtype is known at run time only.

from __future__ import annotations

import numpy as np

from grader.ptx.isa.modifiers import Array

LANES = np.arange(32, dtype=np.int64)
_WEIGHTS = np.uint32(1) << np.arange(32, dtype=np.uint32)


def pack(bits: Array) -> Array:
    """Booleans along the last axis of 32 as uint32 masks, lane 0 in bit 0."""
    return np.packbits(bits, axis=-1, bitorder="little").view("<u4")[..., 0]


def shuffle(
    mode: str, value: Array, active: Array, lane_operand: Array, clamp_operand: Array, member_mask: Array
) -> tuple[Array, Array, Array]:
    """shfl.sync by the pseudo-code of PTX ISA, "shfl.sync".

    Parameters
    ----------
    mode : "up", "down", "bfly" or "idx".
    lane_operand, clamp_operand : uint32, the operands b and c; c holds the clamp in bits 0-4 and the mask
        that splits the warp into segments in bits 8-12.

    Returns
    -------
    result, in_range, source_inactive : the value read (the lane's own where the source is out of range, or is
        inactive or no member, which hardware leaves undefined); the predicate; where the source was not there.
    """
    lane = LANES
    offset = lane_operand.astype(np.int64) & 31
    clamp = clamp_operand.astype(np.int64) & 31
    segment = clamp_operand.astype(np.int64) >> 8 & 31
    last = (lane & segment) | (clamp & ~segment)
    if mode == "up":
        source = lane - offset
        in_range = source >= last
    else:
        if mode == "down":
            source = lane + offset
        elif mode == "bfly":
            source = lane ^ offset
        elif mode == "idx":
            source = (lane & segment) | (offset & ~segment)
        else:
            raise ValueError(f"shuffle mode {mode!r}: allowed are up, down, bfly, idx")
        in_range = source <= last
    source = np.where(in_range, source, lane)
    member = (member_mask.astype(np.int64) >> source & 1) != 0
    source_inactive = active & ~(np.take_along_axis(active, source, axis=1) & member)
    source = np.where(source_inactive, lane, source)
    return np.take_along_axis(value, source, axis=1), in_range, source_inactive


def vote(mode: str, predicate: Array, active: Array, member_mask: Array) -> Array:
    """vote.sync: bool (W, 32) for "all", "any" and "uni", uint32 masks for "ballot"; over active members."""
    true = pack(predicate & active)[:, None] & member_mask
    if mode == "ballot":
        return true
    if mode == "any":
        return true != 0
    everyone = true == pack(active)[:, None] & member_mask
    if mode == "all":
        return everyone
    if mode == "uni":
        return everyone | (true == 0)
    raise ValueError(f"vote mode {mode!r}: allowed are all, any, uni, ballot")


def match(mode: str, values: Array, active: Array, member_mask: Array) -> tuple[Array, Array]:
    """match.sync of bit patterns (W, 32): masks of the members with equal values, and whether all are equal.

    "any" gives each lane the members that hold its value; "all" gives all members, or 0 when they differ.
    """
    members = pack(active)[:, None] & member_mask
    equal = pack(values[:, :, None] == values[:, None, :]) & members
    unanimous = equal == members
    if mode == "any":
        return equal, unanimous
    if mode == "all":
        return np.where(unanimous, members, np.uint32(0)), unanimous
    raise ValueError(f"match mode {mode!r}: allowed are any, all")


_REDUCTIONS = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def redux(op: str, values: Array, active: Array, member_mask: Array) -> Array:
    """redux.sync: the reduction over active members, in the values' dtype (int32 or uint32, wrapping)."""
    if op not in _REDUCTIONS:
        raise ValueError(f"redux {op!r}: allowed are {', '.join(_REDUCTIONS)}")
    limits = np.iinfo(values.dtype.name)
    identity = {"min": limits.max, "max": limits.min, "and": -1 if limits.min else limits.max}.get(op, 0)
    members = (member_mask[:, :, None] & _WEIGHTS != 0) & active[:, None, :]
    chosen = np.where(members, values[:, None, :], values.dtype.type(identity))
    return _REDUCTIONS[op].reduce(chosen, axis=2, dtype=values.dtype)
