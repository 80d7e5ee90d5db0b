"""Tells loops that can never end from loops that merely take long.

Whether a loop is left depends on some registers only (`ExitDecision`: those that its exits' conditions are computed
from, and what these are computed from, round the loop).  If the same threads come back to the loop's header with the
same values in these registers, they will go on doing so for ever: the computation in between is a function of them.
Where memory is part of that computation, it must not have changed meanwhile, and nobody else may be able to change it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.ptx.errors import LimitExceeded
from grader.ptx.machine.barriers import Barriers
from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.machine.code import Code, LoopInfo
from grader.ptx.machine.convergence import Convergence
from grader.ptx.machine.groups import Group
from grader.ptx.machine.queue import Queue
from grader.ptx.values.kinds import UNSIGNED, Affine, Vec, split_shift
from grader.ptx.values.lanes import Lanes


class _Snapshot:
    """A header as some lanes came to it: `values` of the deciding registers, `version` of memory."""

    __slots__ = ("arrivals", "lanes", "renew_at", "stuck_at", "values", "version")

    def __init__(self) -> None:
        self.arrivals = 0
        self.renew_at = 1
        self.lanes: Lanes | None = None
        self.values: list[Any] = []
        self.version = -1
        self.stuck_at = -1


class NonTermination:
    """Watches the loops of one batch; a snapshot is renewed after 1, 2, 4, … arrivals (Brent's cycle detection)."""

    def __init__(self, batch: BlockBatch, queue: Queue, barriers: Barriers, convergence: Convergence) -> None:
        self._batch = batch
        self._queue = queue
        self._barriers = barriers
        self._convergence = convergence
        self._snapshots: dict[tuple[Any, ...], _Snapshot] = {}

    def enter(self, group: Group) -> None:
        """A group, or some of its lanes, has come to the header of a loop from outside."""
        self._snapshots.pop((group.chain, group.block), None)

    def arrive(self, group: Group, code: Code, loop: LoopInfo, deciding: tuple[int, ...]) -> None:
        """A group has come back to the header of a loop.  Raises LimitExceeded when it would do so for ever."""
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
        """Whether all who are about to go round a loop once more would find there what they found last time."""
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
        """Whether all who could run are caught in loops that wait for memory to change."""
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
