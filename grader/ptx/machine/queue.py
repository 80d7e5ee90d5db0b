"""Groups that wait for their turn, by the place where they stand."""

from __future__ import annotations

from typing import Any

from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.machine.groups import Group, merge_groups

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
