"""Groups: sets of lanes that stand at the same place, with their registers and their call chain.

Groups wait for their turn in a queue by the place where they stand.  Member masks of warp-wide instructions say who is
to come: who is named and does not, who comes and is not named.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.ptx.frontend.nodes import Instruction
from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.machine.code import Code
from grader.ptx.values.kinds import UNSIGNED, Value, as_array, merge, select
from grader.ptx.values.lanes import Array, Lanes


class Frame:
    """One activation of a function: its registers, and the local addresses of its `.param` and `.local` variables."""

    __slots__ = ("code", "registers", "resume", "symbols")

    def __init__(self, code: Code, registers: list[Any], symbols: dict[str, int], resume: int = -1) -> None:
        self.code = code
        self.registers = registers
        self.symbols = symbols
        self.resume = resume
        """Block of the *calling* frame at which to go on after this one returns."""


class Group:
    """Lanes that stand at the same place with the same call chain.  `registers` are those of the top frame."""

    __slots__ = ("batch", "block", "chain", "frames", "from_back_edge", "lanes", "registers")

    def __init__(
        self, batch: BlockBatch, lanes: Lanes, frames: list[Frame], block: int, chain: tuple[Any, ...]
    ) -> None:
        self.batch = batch
        self.lanes = lanes
        self.frames = frames
        self.block = block
        self.chain = chain
        self.registers: list[Any] = frames[-1].registers
        self.from_back_edge = False

    def push(self, frame: Frame, link: Any) -> None:
        """Enter a function."""
        self.frames.append(frame)
        self.chain = (*self.chain, link)
        self.registers = frame.registers
        self.block = 0

    def pop(self) -> None:
        """Return to the caller."""
        frame = self.frames.pop()
        self.chain = self.chain[:-1]
        self.registers = self.frames[-1].registers
        self.block = frame.resume

    def part(self, lanes: Lanes) -> Group:
        """A view of some of the lanes for one access: no registers of its own."""
        return Group(self.batch, lanes, self.frames, self.block, self.chain)

    def split(self, lanes: Lanes, block: int) -> Group:
        """The lanes of a subset, at `block`, with the registers that are still needed there."""
        frames = []
        resume = block
        for depth in range(len(self.frames) - 1, -1, -1):
            frame = self.frames[depth]
            registers: list[Any] = [None] * len(frame.registers)
            for index in frame.code.live_in[resume]:
                registers[index] = select(frame.registers[index], lanes)
            frames.append(Frame(frame.code, registers, frame.symbols, frame.resume))
            resume = frame.resume
        frames.reverse()
        return Group(self.batch, lanes, frames, block, self.chain)


def merge_groups(groups: list[Group]) -> Group:
    """One group out of several that stand at the same place."""
    first = groups[0]
    batch = first.batch
    parts = [group.lanes for group in groups]
    lanes = batch.geometry.union(parts)
    frames = []
    resume = first.block
    for depth in range(len(first.frames) - 1, -1, -1):
        frame = first.frames[depth]
        registers: list[Any] = [None] * len(frame.registers)
        sizes = frame.code.register_bytes
        for index in frame.code.live_in[resume]:
            values = [group.frames[depth].registers[index] for group in groups]
            registers[index] = merge(values, parts, lanes, sizes[index])
        frames.append(Frame(frame.code, registers, frame.symbols, frame.resume))
        resume = frame.resume
    frames.reverse()
    merged = Group(batch, lanes, frames, first.block, first.chain)
    merged.from_back_edge = all(group.from_back_edge for group in groups)
    return merged


ProgramPoint = tuple[Any, ...]
"""Call chain and block."""


class Queue:
    """The groups of a batch that could run.

    pending: those that stand at one place may be merged when their turn comes.
    """

    __slots__ = ("_batch", "pending")

    def __init__(self, batch: BlockBatch) -> None:
        self._batch = batch
        self.pending: dict[ProgramPoint, list[Group]] = {}

    def add(self, group: Group) -> None:
        """Let a group wait for its turn; one that has only to return does so at once."""
        if len(group.frames) == 1:
            block = group.frames[-1].code.blocks[group.block]
            if block.leaves:
                self._batch.count(block, group.lanes)
                self._batch.retire(group.lanes)
                return
        self.put(group)

    def put(self, group: Group) -> None:
        """Let a group wait for its turn, whatever it has to do."""
        self.pending.setdefault((group.chain, group.block), []).append(group)

    def take(self, point: ProgramPoint) -> Group:
        """Whoever stands at a place, as one group."""
        groups = self.pending.pop(point)
        return groups[0] if len(groups) == 1 else merge_groups(groups)


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
