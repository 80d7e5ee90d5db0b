"""Lanes of a warp that wait for each other: in front of shuffles and votes, and at __syncwarp().

An instruction with a member mask is executed by all lanes that the mask names and that have not returned (PTX ISA,
bar.warp.sync, shfl.sync, vote.sync).  Lanes that are there early wait.  When nobody else can run any more, those who
still wait are let go, and whom they waited for in vain is a hazard.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.ptx.frontend.nodes import Instruction
from grader.ptx.isa.opcodes import facts
from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.machine.code import CodeBlock
from grader.ptx.machine.groups import Group, merge_groups
from grader.ptx.machine.members import FULL, U32, missing, report_missing
from grader.ptx.machine.queue import Queue
from grader.ptx.values.kinds import Value, Vec, as_array
from grader.ptx.values.lanes import Array, Lanes


class Convergence:
    """The groups of a batch that wait for other lanes of their warps."""

    def __init__(self, batch: BlockBatch, queue: Queue) -> None:
        self._batch = batch
        self._queue = queue
        self._early: dict[tuple[Any, ...], list[Group]] = {}
        self._syncing: list[tuple[Group, CodeBlock, Array]] = []
        self._forced: Group | None = None
        self._bypassed: set[tuple[int, int]] = set()

    @property
    def waiting(self) -> bool:
        """Whether anybody waits."""
        return bool(self._early or self._syncing)

    def note_bypass(self, group: Group) -> None:
        """Report lanes that go on past a place where others of their warp wait for them."""
        code = group.frames[-1].code
        block = code.blocks[group.block]
        if not block.does_something:
            return
        held: list[tuple[Group, Instruction, Value]] = [(g, b.last, mask) for g, b, mask in self._syncing_masks()]
        for groups in self._early.values():
            for early in groups:
                there = early.frames[-1].code.blocks[early.block]
                instruction = next(i for i in there.instructions if facts(i.opcode).collective)
                if there.member_mask is not None:
                    held.append((early, instruction, there.member_mask(early)))
        for waiter, instruction, mask in held:
            key = (id(instruction), id(block))
            if waiter.chain != group.chain or key in self._bypassed:
                continue
            if group.block not in code.forward_reach(waiter.block):
                continue
            self._bypassed.add(key)
            gone = missing(self._batch, waiter.lanes, mask)
            gone &= self._batch.lanes_by_warp(group.lanes)[waiter.lanes.ids >> 5]
            report_missing(waiter, instruction, gone)

    def _syncing_masks(self) -> list[tuple[Group, CodeBlock, Value]]:
        return [(group, block, Vec(mask, group.lanes)) for group, block, mask in self._syncing]

    # -- shuffles and votes --------------------------------------------------------------------------------------------

    def hold(self, group: Group, block: CodeBlock) -> bool:
        """Keep a group from executing a block with a warp-wide instruction as long as lanes that it names may come."""
        if group is self._forced:
            self._forced = None
            return False
        if block.member_mask is None or not missing(self._batch, group.lanes, block.member_mask(group)).any():
            return False
        self._early.setdefault((group.chain, group.block), []).append(group)
        return True

    # -- __syncwarp() --------------------------------------------------------------------------------------------------

    def sync(self, group: Group, block: CodeBlock, mask: Value) -> bool:
        """Lanes are at `bar.warp.sync`, the end of `block`; True when all they wait for are with them."""
        if group.lanes.whole_warps or not missing(self._batch, group.lanes, mask).any():
            self._announce(group.lanes, mask)
            return True
        self._syncing.append((group, block, np.broadcast_to(as_array(mask, U32), (group.lanes.n,))))
        return False

    def _announce(self, lanes: Lanes, mask: Value) -> None:
        """Tell who watches that lanes have met, as far as they name each other."""
        watchers = self._batch.watchers.warp_sync
        if not watchers:
            return
        masks: Array | None = None
        if not (lanes.whole_warps and mask == FULL):
            named = np.broadcast_to(as_array(mask, U32), (lanes.n,))
            # Whom all lanes of a warp name, and who has not returned: is that all of them?
            least = np.bitwise_and.reduceat(named, np.flatnonzero(np.diff(lanes.ids >> 5, prepend=-1)))
            absent = self._batch.absent_by_warp(self._batch.lanes_by_warp(lanes))[lanes.ids >> 5]
            present = self._batch.lanes_by_warp(lanes)[lanes.ids >> 5]
            if absent.any() or (present & ~least[lanes.warp_rows]).any():
                masks = named
        for tell in watchers:
            tell(lanes, masks)

    # -- letting go ----------------------------------------------------------------------------------------------------

    def resume(self) -> bool:
        """Let go who now has everybody; False when there is none."""
        let_go = False
        before, self._early = self._early, {}
        for groups in before.values():
            group = groups[0] if len(groups) == 1 else merge_groups(groups)
            block = group.frames[-1].code.blocks[group.block]
            if not self.hold(group, block):
                self._queue.put(group)
                let_go = True
        arrived = np.zeros(len(self._batch.retired) // 32, np.uint32)
        for group, _, _ in self._syncing:
            arrived |= self._batch.lanes_by_warp(group.lanes)
        before_sync, self._syncing = self._syncing, []
        freed: list[tuple[Group, CodeBlock, Array]] = []
        for group, block, mask in before_sync:
            lanes = group.lanes
            absent = self._batch.absent_by_warp(arrived)
            go = (mask & absent[lanes.ids >> 5]) == 0
            if go.all():
                freed.append((group, block, mask))
            elif not go.any():
                self._syncing.append((group, block, mask))
            else:
                stay = group.split(lanes.select(np.flatnonzero(~go)), block.next)
                self._syncing.append((stay, block, mask[~go]))
                freed.append((group.split(lanes.select(np.flatnonzero(go)), block.next), block, mask[go]))
        self._free(freed)
        return let_go or bool(freed)

    def force(self) -> bool:
        """Let go who waits in vain, the lowest place first; False when nobody waits."""
        if self._syncing:
            before, self._syncing = self._syncing, []
            for group, block, mask in before:
                if not any(reported == id(block.last) for reported, _ in self._bypassed):
                    report_missing(group, block.last, missing(self._batch, group.lanes, Vec(mask, group.lanes)))
            self._free(before)
            return True
        if not self._early:
            return False
        key = min(self._early, key=lambda key: (-len(key[0]), key[1]))
        (group,) = self._early.pop(key)
        self._forced = group
        self._queue.put(group)
        return True

    def _free(self, freed: list[tuple[Group, CodeBlock, Array]]) -> None:
        if not freed:
            return
        lanes = self._batch.geometry.union([group.lanes for group, _, _ in freed])
        masks = np.zeros(lanes.n, U32)
        for group, _, mask in freed:
            masks[group.lanes.positions_in(lanes)] = mask
        self._announce(lanes, Vec(masks, lanes))
        for group, block, _ in freed:
            group.block = block.next
            group.from_back_edge = block.next_is_back_edge
            self._queue.add(group)
