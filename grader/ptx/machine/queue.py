"""Groups that wait for their turn, by the place where they stand."""

from __future__ import annotations

from typing import Any

from grader.ptx.machine.chunk import Chunk
from grader.ptx.machine.groups import Group, merge_groups

Place = tuple[Any, ...]
"""Call chain and block."""


class Queue:
    """The groups of a chunk that could run.

    pending: those that stand at one place may be merged when their turn comes.
    """

    __slots__ = ("_chunk", "pending")

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self.pending: dict[Place, list[Group]] = {}

    def add(self, group: Group) -> None:
        """Let a group wait for its turn; one that has only to return does so at once."""
        if len(group.frames) == 1:
            block = group.frames[-1].code.blocks[group.block]
            if block.leaves:
                self._chunk.count(block, group.lanes)
                self._chunk.retire(group.lanes)
                return
        self.put(group)

    def put(self, group: Group) -> None:
        """Let a group wait for its turn, whatever it has to do."""
        self.pending.setdefault((group.chain, group.block), []).append(group)

    def take(self, place: Place) -> Group:
        """Whoever stands at a place, as one group."""
        groups = self.pending.pop(place)
        return groups[0] if len(groups) == 1 else merge_groups(groups)
