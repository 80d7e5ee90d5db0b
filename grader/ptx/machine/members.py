"""Member masks of warp-wide instructions: who is named and does not come, who comes and is not named."""

from __future__ import annotations

import numpy as np

from grader.ptx.frontend.nodes import Instruction
from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.machine.groups import Group
from grader.ptx.values.kinds import UNSIGNED, Value, as_array
from grader.ptx.values.lanes import Array, Lanes

U32 = UNSIGNED[4]
FULL = 0xFFFFFFFF


def missing(batch: BlockBatch, lanes: Lanes, mask: Value) -> Array:
    """(n,) uint32: for each lane, the lanes that its mask names, that have not returned and are not among these."""
    absent = batch.absent_by_warp(batch.lanes_by_warp(lanes))
    return np.broadcast_to(as_array(mask, U32), (lanes.n,)) & absent[lanes.ids >> 5]


def report_missing(group: Group, instruction: Instruction, absent: Array) -> None:
    """A member mask names lanes that did not come: `absent` is (n,), as from `missing`."""
    positions = np.flatnonzero(absent)
    if len(positions):
        first = int(group.lanes.ids[positions[0]])
        group.batch.hazards.add(
            group.batch.geometry, "warp_sync", "missing_lanes", instruction, first, len(positions), op="sync"
        )


def report_outsiders(group: Group, instruction: Instruction, mask: Value) -> None:
    """Report lanes that execute a warp-wide instruction although its member mask leaves them out."""
    if isinstance(mask, int) and mask == FULL:
        return
    lanes = group.lanes
    own = np.uint32(1) << (lanes.ids & 31).astype(np.uint32)
    outside = np.flatnonzero((as_array(mask, U32) & own) == 0)
    if len(outside):
        first = int(lanes.ids[outside[0]])
        group.batch.hazards.add(
            group.batch.geometry, "warp_sync", "not_a_member", instruction, first, len(outside), op="sync"
        )
