"""Threads that wait for each other: at barriers of blocks, in front of shuffles and votes, at __syncwarp().

A barrier of a block: who waits, when it is complete, and what is wrong with how it was reached.

An instruction with a member mask is executed by all lanes that the mask names and that have not returned (PTX ISA,
bar.warp.sync, shfl.sync, vote.sync).  Lanes that are there early wait.  When nobody else can run any more, those who
still wait are let go, and whom they waited for in vain is a hazard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.ptx.frontend.nodes import Instruction
from grader.ptx.isa.instructions import facts, is_barrier
from grader.ptx.limits import LimitExceeded
from grader.ptx.machine.batch import FULL, U32, BlockBatch, Group, Queue, merge_groups, missing, report_missing
from grader.ptx.machine.code import CodeBlock
from grader.ptx.observers.interface import BarrierCompletion, BlamedOperation, OtherOperation
from grader.ptx.values import Array, Lanes, Value, Vec, as_array


@dataclass
class BarrierWaiter:
    """A group at a barrier: its number, how many threads it is for (0: the whole block), what to do when released."""

    group: Group
    block: CodeBlock
    barrier: int
    expected: int
    arrive_only: bool = False
    release: Callable[[Group], None] | None = None


class Barriers:
    """The groups of a batch that wait at barriers."""

    def __init__(self, batch: BlockBatch, queue: Queue) -> None:
        self.batch = batch
        self._queue = queue
        self.waiters: list[BarrierWaiter] = []
        self.votes: dict[int, Array] = {}
        """For reducing barriers: true predicates and arrivals so far, (blocks, 2), by barrier number."""
        self._bypassed: set[tuple[int, int]] = set()

    def note_bypass(self, group: Group) -> None:
        """Report the group's lanes if they go on past a barrier where others of their block wait."""
        code = group.frames[-1].code
        block = code.blocks[group.block]
        if not block.does_something:
            return
        for waiter in self.waiters:
            if waiter.expected or waiter.arrive_only or waiter.group.chain != group.chain:
                continue
            key = (id(waiter.block), id(block))
            if key in self._bypassed or group.block not in code.forward_reach(waiter.group.block):
                continue
            blocks = np.intersect1d(waiter.group.lanes.blocks, group.lanes.blocks)
            if not len(blocks):
                continue
            self._bypassed.add(key)
            self._report(waiter, group.lanes, block.first, waiter.group.lanes, blocks)

    def _report(self, at: BarrierWaiter, lanes: Lanes, other: Instruction, other_lanes: Lanes, blocks: Array) -> None:
        batch = self.batch
        mixed = is_barrier(other.opcode) and lanes is at.group.lanes
        first = int(lanes.ids[np.searchsorted(lanes.blocks, blocks[0])])
        other_lane = int(other_lanes.ids[np.searchsorted(other_lanes.blocks, blocks[0])])
        batch.hazards.add(
            batch.geometry,
            "barrier_divergence",
            "different_barriers" if mixed else "bypassed",
            BlamedOperation(at.block.last, first, "barrier"),
            int(np.isin(lanes.blocks, blocks).sum()),
            OtherOperation(other, "barrier" if mixed else "bypass", other_lane),
        )

    def release(self) -> bool:
        """Release waiting groups when no other group can run; False when none may go on."""
        batch = self.batch
        if len(self.waiters) == 1 and not self.waiters[0].arrive_only and not self.waiters[0].expected:
            only = self.waiters[0]
            alive = int(batch.alive.sum())
            if only.group.lanes.n == alive:
                if alive != batch.layout.root.n:
                    self._remark_exited(only, batch.layout.threads - batch.alive)
                self.waiters = []
                self._resume(only, only.group)
                self._announce(only.barrier, None, None)
                return True
        return bool(self.waiters) and self.release_complete()

    def arrive(self, waiter: BarrierWaiter) -> None:
        """Note lanes that arrive at a barrier and go on at once."""
        self.waiters.append(waiter)
        for notify in self.batch.watchers.arrival:
            notify(waiter.barrier, waiter.group.lanes)

    def check_nobody_waits(self) -> None:
        """Raise LimitExceeded when threads still wait that nothing can release: a deadlock."""
        waiting = [waiter for waiter in self.waiters if not waiter.arrive_only]
        if waiting:
            line = min(waiter.block.last.location.line for waiter in waiting)
            raise LimitExceeded(
                "deadlock", line, "every remaining thread waits at a barrier that can never be complete"
            )

    def release_complete(self) -> bool:
        """Release, block by block, every barrier that is complete; False when there is none."""
        ready = self._complete()
        if not ready:
            return False
        for number, complete in ready.items():
            self._release(number, complete)
        return True

    def _release(self, number: int, complete: Array) -> None:
        """Release the threads that wait at a barrier, in the blocks in which it is complete: (blocks,) bool."""
        before, self.waiters = self.waiters, []
        parties: list[tuple[Lanes, bool]] = []
        partial = False
        expected = max(waiter.expected for waiter in before if waiter.barrier == number)
        room = np.full(self.batch.layout.blocks, expected, np.int64)
        for waiter in before:
            group = waiter.group
            go = complete[group.lanes.blocks]
            if waiter.barrier == number and waiter.expected:
                # Threads that come when it is full wait for the next ones.
                blocks = group.lanes.blocks
                came = np.bincount(blocks, minlength=len(room))
                place = np.arange(group.lanes.n) - (np.cumsum(came) - came)[blocks]
                go &= place < room[blocks]
                room -= np.where(complete, np.minimum(came, room), 0)
            if waiter.barrier != number or not go.any():
                self.waiters.append(waiter)
                continue
            if not go.all():
                stay = group.split(group.lanes.select(np.flatnonzero(~go)), waiter.block.next)
                stay.block = waiter.block.index
                self.waiters.append(replace(waiter, group=stay))
                group = group.split(group.lanes.select(np.flatnonzero(go)), waiter.block.next)
            partial |= waiter.expected > 0
            parties.append((group.lanes, not waiter.arrive_only))
            if not waiter.arrive_only:
                self._resume(waiter, group)
        self._announce(
            number, None if complete.all() else complete, BarrierCompletion(number, parties) if partial else None
        )

    def _complete(self) -> dict[int, Array]:
        """Return by barrier number the blocks, (blocks,) bool, in which all whom it waits for have arrived."""
        batch = self.batch
        blocks = batch.layout.blocks
        ready: dict[int, Array] = {}
        for number in sorted({waiter.barrier for waiter in self.waiters}):
            waiting = [waiter for waiter in self.waiters if waiter.barrier == number]
            expected = max(waiter.expected for waiter in waiting)
            arrived = np.zeros(blocks, np.int64)
            for waiter in waiting:
                arrived += np.bincount(waiter.group.lanes.blocks, minlength=blocks)
            # From compute capability 7.0 on, threads that have returned count as arrived.
            complete: Array = (arrived >= (expected or batch.alive)) & (arrived > 0)
            if not complete.any():
                continue
            ready[number] = complete
            sites = [waiter for waiter in waiting if not waiter.arrive_only]
            if not expected and sites:
                self._report_mixed(sites, complete)
                self._remark_exited(sites[0], np.where(complete, batch.layout.threads - batch.alive, 0))
        return ready

    def _resume(self, waiter: BarrierWaiter, group: Group) -> None:
        if waiter.release is not None:
            waiter.release(group)
        group.block = waiter.block.next
        group.from_back_edge = waiter.block.next_is_back_edge
        self._queue.add(group)

    def _announce(self, number: int, released: Array | None, completion: BarrierCompletion | None) -> None:
        if number in self.votes:
            self.votes[number][slice(None) if released is None else released] = 0
        for notify in self.batch.watchers.barrier:
            notify(released, completion)

    def _report_mixed(self, sites: list[BarrierWaiter], complete: Array) -> None:
        """Report threads of one block that met at different barrier instructions."""
        for index, waiter in enumerate(sites):
            for other in sites[:index]:
                if waiter.block is other.block:
                    continue
                both = np.intersect1d(waiter.group.lanes.blocks, other.group.lanes.blocks)
                both = both[complete[both]]
                if len(both):
                    self._report(other, other.group.lanes, waiter.block.last, waiter.group.lanes, both)

    def _remark_exited(self, waiter: BarrierWaiter, exited: Array) -> None:
        if any(barrier == id(waiter.block) for barrier, _ in self._bypassed):
            return
        waiting = np.bincount(waiter.group.lanes.blocks, minlength=self.batch.layout.blocks) > 0
        count = int(exited[waiting].sum())
        if count:
            self.batch.remark("exited_before_barrier", waiter.block.last.location.line, count)


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
        """Let lanes wait at `bar.warp.sync`, the end of `block`; True when all they wait for are with them."""
        if group.lanes.whole_warps or not missing(self._batch, group.lanes, mask).any():
            self._announce(group.lanes, mask)
            return True
        self._syncing.append((group, block, np.broadcast_to(as_array(mask, U32), (group.lanes.n,))))
        return False

    def _announce(self, lanes: Lanes, mask: Value) -> None:
        """Tell observers which lanes have met, as far as they name each other."""
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
        for notify in watchers:
            notify(lanes, masks)

    # -- letting go ----------------------------------------------------------------------------------------------------

    def resume(self) -> bool:
        """Release the groups whose lanes are now complete; False when there is none."""
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
        """Release groups that wait in vain, the lowest place first; False when none waits."""
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
