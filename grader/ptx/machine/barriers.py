"""Barriers of thread blocks: who waits, when a barrier is complete, and what is wrong with how it was reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from grader.ptx.errors import LimitExceeded
from grader.ptx.frontend.nodes import Instruction
from grader.ptx.isa.opcodes import is_barrier
from grader.ptx.machine.chunk import Chunk
from grader.ptx.machine.code import CodeBlock
from grader.ptx.machine.groups import Group
from grader.ptx.machine.queue import Queue
from grader.ptx.observers.interface import Meeting
from grader.ptx.values.lanes import Array, Lanes


@dataclass
class Parked:
    """A group at a barrier: its number, how many threads it is for (0: the whole block), what to do when released."""

    group: Group
    block: CodeBlock
    barrier: int
    expected: int
    arrive_only: bool = False
    release: Callable[[Group], None] | None = None


class Barriers:
    """The groups of a chunk that wait at barriers."""

    def __init__(self, chunk: Chunk, queue: Queue) -> None:
        self.chunk = chunk
        self._queue = queue
        self.parked: list[Parked] = []
        self.votes: dict[int, Array] = {}
        """For reducing barriers: true predicates and arrivals so far, (blocks, 2), by barrier number."""
        self._bypassed: set[tuple[int, int]] = set()

    def note_bypass(self, group: Group) -> None:
        """Report the group's lanes if they go on past a barrier where others of their block wait."""
        code = group.frames[-1].code
        block = code.blocks[group.block]
        if not block.does_something:
            return
        for parked in self.parked:
            if parked.expected or parked.arrive_only or parked.group.chain != group.chain:
                continue
            key = (id(parked.block), id(block))
            if key in self._bypassed or group.block not in code.forward_reach(parked.group.block):
                continue
            blocks = np.intersect1d(parked.group.lanes.blocks, group.lanes.blocks)
            if not len(blocks):
                continue
            self._bypassed.add(key)
            self._report(parked, group.lanes, block.first, parked.group.lanes, blocks)

    def _report(self, at: Parked, lanes: Lanes, other: Instruction, other_lanes: Lanes, blocks: Array) -> None:
        """Divergence at the barrier of `at`: one of `lanes` is to blame, `other` is where its opponent is."""
        chunk = self.chunk
        mixed = is_barrier(other.opcode) and lanes is at.group.lanes
        first = int(lanes.ids[np.searchsorted(lanes.blocks, blocks[0])])
        opponent = int(other_lanes.ids[np.searchsorted(other_lanes.blocks, blocks[0])])
        chunk.hazards.add(
            chunk.geometry,
            "barrier_divergence",
            "different_barriers" if mixed else "bypassed",
            at.block.last,
            first,
            int(np.isin(lanes.blocks, blocks).sum()),
            op="barrier",
            other=other,
            other_op="barrier" if mixed else "bypass",
            other_thread=chunk.geometry.coordinates(opponent),
        )

    def release(self) -> bool:
        """Let go who may go, nobody else being able to run; False when nobody may."""
        chunk = self.chunk
        if len(self.parked) == 1 and not self.parked[0].arrive_only and not self.parked[0].expected:
            only = self.parked[0]
            alive = int(chunk.alive.sum())
            if only.group.lanes.n == alive:
                if alive != chunk.layout.root.n:
                    self._remark_exited(only, chunk.layout.threads - chunk.alive)
                self.parked = []
                self._resume(only, only.group)
                self._announce(only.barrier, None, None)
                return True
        return bool(self.parked) and self.release_complete()

    def arrive(self, parked: Parked) -> None:
        """Lanes come to a barrier and go on at once."""
        self.parked.append(parked)
        for tell in self.chunk.watchers.arrival:
            tell(parked.barrier, parked.group.lanes)

    def check_nobody_waits(self) -> None:
        """Raises LimitExceeded when threads still wait, nobody being able to release them: a deadlock."""
        waiting = [parked for parked in self.parked if not parked.arrive_only]
        if waiting:
            line = min(parked.block.last.location.line for parked in waiting)
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
        before, self.parked = self.parked, []
        parties: list[tuple[Lanes, bool]] = []
        partial = False
        for parked in before:
            group = parked.group
            go = complete[group.lanes.blocks]
            if parked.barrier != number or not go.any():
                self.parked.append(parked)
                continue
            if not go.all():
                stay = group.split(group.lanes.select(np.flatnonzero(~go)), parked.block.next)
                stay.block = parked.block.index
                self.parked.append(replace(parked, group=stay))
                group = group.split(group.lanes.select(np.flatnonzero(go)), parked.block.next)
            partial |= parked.expected > 0
            parties.append((group.lanes, not parked.arrive_only))
            if not parked.arrive_only:
                self._resume(parked, group)
        self._announce(number, None if complete.all() else complete, Meeting(number, parties) if partial else None)

    def _complete(self) -> dict[int, Array]:
        """By barrier number, (blocks,) bool: where everybody it waits for has arrived."""
        chunk = self.chunk
        blocks = chunk.layout.blocks
        ready: dict[int, Array] = {}
        for number in sorted({parked.barrier for parked in self.parked}):
            waiting = [parked for parked in self.parked if parked.barrier == number]
            expected = max(parked.expected for parked in waiting)
            arrived = np.zeros(blocks, np.int64)
            for parked in waiting:
                arrived += np.bincount(parked.group.lanes.blocks, minlength=blocks)
            # From compute capability 7.0 on, threads that have returned count as arrived.
            complete: Array = (arrived >= (expected or chunk.alive)) & (arrived > 0)
            if not complete.any():
                continue
            ready[number] = complete
            sites = [parked for parked in waiting if not parked.arrive_only]
            if not expected and sites:
                self._report_mixed(sites, complete)
                self._remark_exited(sites[0], np.where(complete, chunk.layout.threads - chunk.alive, 0))
        return ready

    def _resume(self, parked: Parked, group: Group) -> None:
        if parked.release is not None:
            parked.release(group)
        group.block = parked.block.next
        group.from_back_edge = parked.block.next_is_back_edge
        self._queue.add(group)

    def _announce(self, number: int, released: Array | None, meeting: Meeting | None) -> None:
        if number in self.votes:
            self.votes[number][slice(None) if released is None else released] = 0
        for tell in self.chunk.watchers.barrier:
            tell(released, meeting)

    def _report_mixed(self, sites: list[Parked], complete: Array) -> None:
        """Threads of one block that met at different barrier instructions."""
        for index, parked in enumerate(sites):
            for other in sites[:index]:
                if parked.block is other.block:
                    continue
                both = np.intersect1d(parked.group.lanes.blocks, other.group.lanes.blocks)
                both = both[complete[both]]
                if len(both):
                    self._report(other, other.group.lanes, parked.block.last, parked.group.lanes, both)

    def _remark_exited(self, parked: Parked, exited: Array) -> None:
        if any(barrier == id(parked.block) for barrier, _ in self._bypassed):
            return
        waiting = np.bincount(parked.group.lanes.blocks, minlength=self.chunk.layout.blocks) > 0
        count = int(exited[waiting].sum())
        if count:
            self.chunk.remark("exited_before_barrier", parked.block.last.location.line, count)
