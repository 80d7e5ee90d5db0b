"""Special registers: what a thread can ask about itself and its grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grader.ptx.limits import CYCLES
from grader.ptx.values import Array, Value, Vec, select

if TYPE_CHECKING:
    from grader.ptx.groups import Group
    from grader.ptx.machine import Chunk

_AXES = {"x": 0, "y": 1, "z": 2}
_UNIFORM = {"smid": 0, "nsmid": 1, "gridid": 0, "warpsize": 32}


_CLOCKS = ("clock", "clock64", "clock_hi", "globaltimer", "globaltimer_lo", "globaltimer_hi")
_KNOWN = frozenset(
    [*_UNIFORM, *_CLOCKS, "laneid", "warpid", "nwarpid", "dynamic_smem_size", "total_smem_size"]
    + [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in _AXES]
    + [f"lanemask_{relation}" for relation in ("eq", "lt", "le", "gt", "ge")]
)


def is_known(name: str) -> bool:
    """Whether `%name` is emulated."""
    return name in _KNOWN


def read(group: Group, name: str) -> Value:
    """The value of `%name` for the group's lanes."""
    chunk = group.chunk
    if name in _CLOCKS:
        # Counts instructions issued by the chunk: it grows from one reading to the next, and no more is promised.
        chunk.clock += CYCLES
        if name.endswith("_hi"):
            return 0
        return chunk.clock & 0xFFFFFFFF if name in ("clock", "globaltimer_lo") else chunk.clock
    found = chunk.specials.get(name)
    if found is None:
        found = chunk.specials[name] = _compute(chunk, name)
    return select(found, group.lanes)


def _compute(chunk: Chunk, name: str) -> Value:
    layout = chunk.layout
    root = layout.root
    if name in _UNIFORM:
        return _UNIFORM[name]
    register, _, axis = name.partition(".")
    if register == "ntid":
        return layout.block[_AXES[axis]]
    if register == "nctaid":
        return chunk.grid[_AXES[axis]]
    thread = root.ids % layout.padded
    if register == "tid":
        x, y, _ = layout.block
        return _vec(chunk, {"x": thread % x, "y": thread // x % y, "z": thread // (x * y)}[axis])
    if register == "ctaid":
        number = chunk.first_block + root.blocks
        x, y, _ = chunk.grid
        return _vec(chunk, {"x": number % x, "y": number // x % y, "z": number // (x * y)}[axis])
    lane = thread & 31
    bit = np.left_shift(np.int64(1), lane)
    if name == "laneid":
        return _vec(chunk, lane)
    if name == "warpid":
        return _vec(chunk, thread >> 5)
    if name == "nwarpid":
        return layout.padded // 32
    if register.startswith("lanemask_"):
        masks = {"eq": bit, "lt": bit - 1, "le": 2 * bit - 1, "gt": ~(2 * bit - 1), "ge": ~(bit - 1)}
        return _vec(chunk, masks[register.removeprefix("lanemask_")])
    if name == "dynamic_smem_size":
        return chunk.shared_bytes[0]
    if name == "total_smem_size":
        return chunk.shared_bytes[1]
    raise KeyError(name)


def _vec(chunk: Chunk, values: Array) -> Value:
    low = values[0]
    if (values == low).all():
        return int(low) & 0xFFFFFFFF
    return Vec((values & 0xFFFFFFFF).astype(np.uint32), chunk.layout.root)
