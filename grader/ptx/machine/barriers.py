"""Barriers of thread blocks: who waits, when a barrier is complete, and what is wrong with how it was reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from grader.ptx.errors import LimitExceeded
from grader.ptx.frontend.nodes import Instruction
from grader.ptx.isa.opcodes import is_barrier
from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.machine.code import CodeBlock
from grader.ptx.machine.groups import Group
from grader.ptx.machine.queue import Queue
from grader.ptx.observers.interface import BarrierCompletion
from grader.ptx.values.lanes import Array, Lanes


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
        """Divergence at the barrier of `at`: one of `lanes` is to blame, `other` is where its opponent is."""
        batch = self.batch
        mixed = is_barrier(other.opcode) and lanes is at.group.lanes
        first = int(lanes.ids[np.searchsorted(lanes.blocks, blocks[0])])
        opponent = int(other_lanes.ids[np.searchsorted(other_lanes.blocks, blocks[0])])
        batch.hazards.add(
            batch.geometry,
            "barrier_divergence",
            "different_barriers" if mixed else "bypassed",
            at.block.last,
            first,
            int(np.isin(lanes.blocks, blocks).sum()),
            op="barrier",
            other=other,
            other_op="barrier" if mixed else "bypass",
            other_thread=batch.geometry.coordinates(opponent),
        )

    def release(self) -> bool:
        """Let go who may go, nobody else being able to run; False when nobody may."""
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
        """Lanes come to a barrier and go on at once."""
        self.waiters.append(waiter)
        for tell in self.batch.watchers.arrival:
            tell(waiter.barrier, waiter.group.lanes)

    def check_nobody_waits(self) -> None:
        """Raises LimitExceeded when threads still wait, nobody being able to release them: a deadlock."""
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
        """Let go who waits at a barrier, in the blocks in which it is complete: (blocks,) bool."""
        before, self.waiters = self.waiters, []
        parties: list[tuple[Lanes, bool]] = []
        partial = False
        expected = max(waiter.expected for waiter in before if waiter.barrier == number)
        room = np.full(self.batch.layout.blocks, expected, np.int64)
        for waiter in before:
            group = waiter.group
            go = complete[group.lanes.blocks]
            if waiter.barrier == number and waiter.expected:
                # Those who come when it is full wait for the next ones.
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
        """By barrier number, (blocks,) bool: where everybody it waits for has arrived."""
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
        for tell in self.batch.watchers.barrier:
            tell(released, completion)

    def _report_mixed(self, sites: list[BarrierWaiter], complete: Array) -> None:
        """Threads of one block that met at different barrier instructions."""
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
