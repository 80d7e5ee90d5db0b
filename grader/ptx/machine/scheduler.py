"""Runs a batch of blocks: groups of threads that stand at the same place, who goes next, and what can never end.

A group is a set of lanes with its own registers.  When a branch sends lanes two ways the group
splits; groups that wait at the same place are merged when their turn comes.  The group at the
lowest place in reverse post-order goes first, so threads that parted meet again at the end of the
`if` or the loop, as they do on hardware.  A barrier parks a group until nothing else can run.

Loops that can never end are told from loops that merely take long.  Whether a loop is left depends on some registers
only (`ExitDecision`: those that its exits' conditions are computed from, and what these are computed from, round the
loop).  If the same threads come back to the loop's header with the same values in these registers, they will go on
doing so for ever: the computation in between is a function of them.  Where memory is part of that computation, it must
not have changed meanwhile, and nobody else may be able to change it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.ptx.limits import LimitExceeded, TakesLong
from grader.ptx.machine.barriers import Barriers, Convergence
from grader.ptx.machine.batch import BlockBatch, Group, ProgramPoint, Queue
from grader.ptx.machine.code import Code, CodeBlock, LoopInfo
from grader.ptx.values import UNSIGNED, Affine, Lanes, Vec, split_shift


@dataclass(slots=True, eq=False)
class _Snapshot:
    """The state in which some lanes reached a header: the deciding registers and the version of memory."""

    arrivals: int = 0
    renew_at: int = 1
    lanes: Lanes | None = None
    values: list[Any] = field(default_factory=list)
    version: int = -1
    stuck_at: int = -1


class NonTermination:
    """Watches the loops of one batch; a snapshot is renewed after 1, 2, 4, … arrivals (Brent's cycle detection)."""

    def __init__(self, batch: BlockBatch, queue: Queue, barriers: Barriers, convergence: Convergence) -> None:
        self._batch = batch
        self._queue = queue
        self._barriers = barriers
        self._convergence = convergence
        self._snapshots: dict[tuple[Any, ...], _Snapshot] = {}

    def enter(self, group: Group) -> None:
        """Forget a loop's past: lanes have come to its header from outside."""
        self._snapshots.pop((group.chain, group.block), None)

    def arrive(self, group: Group, code: Code, loop: LoopInfo, deciding: tuple[int, ...]) -> None:
        """Note a group at a loop's header again.  Raises LimitExceeded when it would come back for ever."""
        key = (group.chain, group.block)
        snapshot = self._snapshots.get(key)
        if snapshot is None:
            snapshot = self._snapshots[key] = _Snapshot()
        registers = group.registers
        if (
            (snapshot.version == self._batch.version or not loop.reads_memory)
            and _same_lanes(snapshot.lanes, group.lanes)
            and all(_same(registers[i], old) for i, old in zip(deciding, snapshot.values, strict=True))
        ):
            snapshot.stuck_at = self._batch.version
            if not loop.reads_memory or self._nobody_else(code, key, group.lanes):
                line = code.loop_line(loop)
                raise LimitExceeded("endless", line, f"the loop at line {line} repeats without changing anything")
        snapshot.arrivals += 1
        if snapshot.arrivals >= snapshot.renew_at:
            snapshot.renew_at *= 2
            snapshot.lanes = group.lanes
            snapshot.values = [registers[i] for i in deciding]
            snapshot.version = self._batch.version

    def waits_in_vain(self, key: tuple[Any, ...]) -> bool:
        """Whether all lanes about to go round a loop once more would find there what they found last time."""
        if not self._is_stuck(key):
            return False
        lanes, groups = self._snapshots[key].lanes, self._queue.pending[key]
        if lanes is None or not all(group.from_back_edge for group in groups):
            return False
        if len(groups) == 1:
            return _same_lanes(lanes, groups[0].lanes)
        return lanes.n == sum(group.lanes.n for group in groups) and np.array_equal(
            lanes.ids, np.sort(np.concatenate([group.lanes.ids for group in groups]))
        )

    def _nobody_else(self, code: Code, key: tuple[Any, ...], lanes: Lanes) -> bool:
        """Whether all groups that could run are caught in loops that wait for memory to change."""
        if self._barriers.waiters and self._barriers.release_complete():
            return False
        if self._convergence.waiting and self._convergence.resume():
            return False
        caught: dict[tuple[Any, ...], list[Lanes]] = {}
        for (chain, block), groups in self._queue.pending.items():
            if chain != key[0]:
                return False
            headers = [h for h, loop in code.loop_at_header.items() if block in loop.body]
            owner = next((h for h in headers if self._is_stuck((chain, h))), None)
            if owner is None:
                return False
            caught.setdefault((chain, owner), []).extend(group.lanes for group in groups)
        for owner_key, parts in caught.items():
            if owner_key == key:
                parts.append(lanes)
            everybody = self._snapshots[owner_key].lanes
            ids = np.sort(np.concatenate([part.ids for part in parts]))
            if everybody is None or not np.array_equal(ids, everybody.ids):
                return False
        return True

    def _is_stuck(self, key: tuple[Any, ...]) -> bool:
        snapshot = self._snapshots.get(key)
        return snapshot is not None and snapshot.stuck_at == self._batch.version


def _same_lanes(a: Lanes | None, b: Lanes) -> bool:
    return a is b or (a is not None and a.n == b.n and np.array_equal(a.ids, b.ids))


def _same(a: Any, b: Any) -> bool:
    """Whether two register values of the same lanes have the same bits."""
    if a is b:
        return True
    if not isinstance(a, (Vec, Affine)) or not isinstance(b, (Vec, Affine)):
        return not isinstance(a, (Vec, Affine)) and not isinstance(b, (Vec, Affine)) and bool(a == b)
    (vec, shift), (other, other_shift) = split_shift(a), split_shift(b)
    if vec is other or (vec.root or vec) is (other.root or other):
        return shift == other_shift
    left = a.materialise() if isinstance(a, Affine) else a
    right = b.materialise() if isinstance(b, Affine) else b
    if left.dtype.itemsize != right.dtype.itemsize:
        return False
    x, y = left.array.view(UNSIGNED[left.dtype.itemsize]), right.array.view(UNSIGNED[right.dtype.itemsize])
    return bool(x[0] == y[0]) and np.array_equal(x, y)


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
                for notify in self.batch.watchers.end:
                    notify()
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
        """Choose the deepest call, then the lowest block; lanes one iteration ahead wait for those inside the loop."""
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
        """Choose who runs while `waiting` spins: complete barriers are released first, then the others take turns."""
        if self.barriers.waiters:
            self.barriers.release_complete()
        if self.convergence.waiting:
            self.convergence.resume()
        candidates = sorted(
            (key for key in self.queue.pending if key != waiting), key=lambda key: (-len(key[0]), key[1])
        )
        candidates = [key for key in candidates if not self._endless.waits_in_vain(key)] or candidates
        return candidates[round_ % len(candidates)] if candidates else waiting

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
            for notify in batch.watchers.executed:
                notify(block.instructions, lanes)
            budget.turns += 1
            budget.steps += block.size
            if budget.charged > limits.instructions or budget.issued > limits.issued:
                limits.check(block.line, budget.charged, budget.issued)
            if budget.patience is not None and budget.issued > budget.patience:
                raise TakesLong
            if not budget.turns & 127:
                budget.check_steps(block.line, batch.hazards.has_fault)
                if time.process_time() - budget.began_s > limits.seconds:
                    raise limits.out_of_time(block.line)
            for step in block.steps:
                step(group)
            if not block.finish(group, self):
                return
            if pending:
                self.queue.add(group)
                return
