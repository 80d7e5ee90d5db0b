"""Runs a batch of blocks: groups of threads that stand at the same place, and who goes next.

A group is a set of lanes with its own registers.  When a branch sends lanes two ways the group
splits; groups that wait at the same place are merged when their turn comes.  The group at the
lowest place in reverse post-order goes first, so threads that parted meet again at the end of the
`if` or the loop, as they do on hardware.  A barrier parks a group until nothing else can run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from grader.ptx.limits import TakesLong
from grader.ptx.machine.barriers import Barriers
from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.machine.code import CodeBlock
from grader.ptx.machine.convergence import Convergence
from grader.ptx.machine.groups import Group
from grader.ptx.machine.non_termination import NonTermination
from grader.ptx.machine.queue import ProgramPoint, Queue

Shortcut = Callable[[Group], bool]
"""Carries out many rounds of the loop whose header a group stands at; False where nothing was done."""
SPIN_PATIENCE = 4
"""Turns a spinning loop gets before somebody else who can run gets one."""


class Scheduler:
    """Runs one batch: decides who goes next."""

    def __init__(self, batch: BlockBatch, shortcuts: Mapping[CodeBlock, Shortcut]) -> None:
        self.batch = batch
        self._shortcuts = shortcuts
        self.queue = Queue(batch)
        self.barriers = Barriers(batch, self.queue)
        self.convergence = Convergence(batch, self.queue)
        self._endless = NonTermination(batch, self.queue, self.barriers, self.convergence)
        self._spins: dict[ProgramPoint, int] = {}

    def run(self, group: Group) -> None:
        """Run until every thread has returned.  Raises LimitExceeded and UnsupportedInstruction."""
        self.queue.add(group)
        while True:
            if not self.queue.pending:
                if self.convergence.resume() or self.barriers.release() or self.convergence.force():
                    continue
                self.barriers.check_nobody_waits()
                for tell in self.batch.watchers.end:
                    tell()
                return
            group = self._next()
            if self.barriers.waiters:
                self.barriers.note_bypass(group)
            if self.convergence.waiting:
                self.convergence.note_bypass(group)
            self._run_group(group)

    def _next(self) -> Group:
        pending = self.queue.pending
        if len(pending) == 1 and not self.barriers.waiters:
            return self.queue.take(next(iter(pending)))
        return self.queue.take(self._choose())

    def _choose(self) -> ProgramPoint:
        """Deepest call first, then lowest block; see the module's docstring.  Loops wait for their stragglers."""
        pending = self.queue.pending
        order = sorted(pending, key=lambda key: (-len(key[0]), key[1]))
        best = order[0]
        groups = pending[best]
        code = groups[0].frames[-1].code
        loop = code.loop_at_header.get(best[1])
        if loop is None:
            return best
        if all(group.from_back_edge for group in groups):
            # These lanes are one iteration ahead: whoever is still inside the loop goes first.
            for key in order[1:]:
                if key[0] == best[0] and key[1] in loop.body:
                    best, loop = key, code.loop_at_header.get(key[1])
                    break
        if loop is not None and loop.spins:
            turns = self._spins[best] = self._spins.get(best, 0) + 1
            if turns % SPIN_PATIENCE == 0 or self._endless.waits_in_vain(best):
                return self._instead(best, turns // SPIN_PATIENCE)
        return best

    def _instead(self, waiting: ProgramPoint, round_: int) -> ProgramPoint:
        """Who goes while `waiting` spins: who has met at a barrier or in a warp is let go, then others take turns."""
        if self.barriers.waiters:
            self.barriers.release_complete()
        if self.convergence.waiting:
            self.convergence.resume()
        others = sorted((key for key in self.queue.pending if key != waiting), key=lambda key: (-len(key[0]), key[1]))
        others = [key for key in others if not self._endless.waits_in_vain(key)] or others
        return others[round_ % len(others)] if others else waiting

    def _run_group(self, group: Group) -> None:
        batch, pending = self.batch, self.queue.pending
        budget = batch.budget
        limits = budget.limits
        while True:
            code = group.frames[-1].code
            block = code.blocks[group.block]
            lanes = group.lanes
            loop = code.loop_at_header.get(group.block)
            if loop is not None and loop.deciding is not None:
                if group.from_back_edge:
                    self._endless.arrive(group, code, loop, loop.deciding)
                else:
                    self._endless.enter(group)
            if block.collective and not lanes.whole_warps and self.convergence.hold(group, block):
                return
            # Only where nobody else could take a turn meanwhile.
            shortcut = self._shortcuts.get(block) if self._shortcuts and not pending else None
            if shortcut is not None and shortcut(group):
                if time.process_time() - budget.began_s > limits.seconds:
                    raise limits.out_of_time(block.line)
                continue
            batch.count(block, lanes)
            budget.turns += 1
            if budget.thread_instructions > limits.instructions or budget.issued > limits.issued:
                limits.check(block.line, budget.thread_instructions, budget.issued)
            if budget.patience is not None and budget.issued > budget.patience:
                raise TakesLong
            if not budget.turns & 127 and time.process_time() - budget.began_s > limits.seconds:
                raise limits.out_of_time(block.line)
            for step in block.steps:
                step(group)
            if not block.finish(group, self):
                return
            if pending:
                self.queue.add(group)
                return
