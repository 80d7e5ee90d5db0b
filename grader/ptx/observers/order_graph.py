"""What the happens-before graph is made of: strong accesses, fences and barriers, each of one set of lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.ptx.memory.access import Access
from grader.ptx.observers.vector_clocks import VectorClock
from grader.ptx.values.lanes import Array, Lanes

NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class StrongAccess:
    """An atomic, volatile, relaxed, acquire or release access of some lanes.

    event: what the race detector knows it by.  memory: the array, and the bytes of an access.  units: (n,) which
    element of that width each lane touches; unit_count: how many there are.  writes: (n,) which lanes change it, None
    for loads.  learns: somebody looks at what was read.  overwrites: what stood there is not read.
    """

    event: object
    memory: tuple[int, int]
    units: Array
    unit_count: int
    lanes: Lanes
    shared: bool
    learns: bool
    writes: Array | None
    overwrites: bool
    releases: bool
    in_block_only: bool

    @classmethod
    def of(cls, event: Access) -> StrongAccess:
        """What some lanes' access is to the graph."""
        resolved, spec, width = event.address, event.spec, event.width
        array, lanes = resolved.array, resolved.lanes
        shared = array.space == "shared"
        offsets = resolved.offsets()
        rows = array.row_starts(lanes, 1)
        if rows is not None:
            offsets = offsets + rows + array.storage
        writes: Array | None = None
        if event.op != "load":
            writes = np.ones(lanes.n, np.bool_) if event.changed is None else event.changed
            writes = None if not writes.any() else np.broadcast_to(writes, (lanes.n,))
        return cls(
            event,
            (0 if shared else id(array), width),
            offsets // width,
            len(array.data) // width + 1,
            lanes,
            shared,
            event.op != "store" and spec.looked_at,
            writes,
            event.op == "store",
            spec.releases,
            spec.in_block_only,
        )


@dataclass(slots=True, eq=False)
class Node:
    """One fence, strong access, barrier, or the start of a batch's record, for one set of lanes.

    kind: "fence", "access", "block" (barrier of whole blocks), "warp" (`__syncwarp()`), "some" (barrier of some
    threads), "start".  first_thread, padded: the number of lane l's thread in the grid is first_thread + l, of a block
    it is a multiple of padded.  before: the node before this one for each lane, an int where it is the same for all.
    fences: what `_BlockBatch.fenced` was.  waited: (n,) for "some", who waited for the others.  Of accesses: whether
    lanes learn; (n,) which of them write; the unit of memory that each touches and the access that wrote there earlier.
    """

    number: int
    kind: str
    lanes: Lanes
    first_thread: int
    padded: int
    before: Array | int
    fences: Array | int = NONE
    waited: Array | None = None
    access: StrongAccess | None = None
    units: Array | None = None
    earlier: Array | None = None
    in_block_only: bool = False
    clock: VectorClock | None = None


def same(numbers: Array) -> Array | int:
    """The numbers, as one where they are all the same."""
    first = int(numbers[0])
    return first if (numbers == first).all() else numbers


def key_of(node: Node, lane: int) -> int:
    """Lanes of one barrier know the same: the number that they share at a node."""
    if node.kind == "block":
        return lane // node.padded
    if node.kind in ("warp", "start"):
        return lane >> 5
    return NONE if node.kind == "some" else lane


def keys_of(node: Node, lanes: Array) -> Array:
    """The same for many lanes."""
    if node.kind == "block":
        return lanes // node.padded
    if node.kind in ("warp", "start"):
        return lanes >> 5
    return np.full(len(lanes), NONE) if node.kind == "some" else lanes


def members(node: Node, lane: int) -> tuple[int, int]:
    """Positions of the lanes that met with one at a barrier."""
    ids = node.lanes.ids
    if node.kind == "some":
        return 0, len(ids)
    size = node.padded if node.kind == "block" else 32
    low, high = np.searchsorted(ids, [lane // size * size, lane // size * size + size]).tolist()
    return low, high


def at(numbers: Array | int, positions: Array | int) -> Any:
    """The node at some positions, where it may be the same for all."""
    if isinstance(numbers, int):
        return np.full(len(positions), numbers) if isinstance(positions, np.ndarray) else numbers
    return numbers[positions]
