"""A walk back through the happens-before graph, from a node to what happened before it."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from grader.ptx.observers.order_graph import NONE, Node, at, key_of, members
from grader.ptx.observers.shadow import AccessEpoch
from grader.ptx.values.lanes import Array

_BARRIERS = frozenset({"block", "warp", "some"})


class Walk:
    """What happened before a node, for one of its lanes: found out step by step, the latest first.

    threads, warps, blocks: the moment up to which everything that they did is known.  events: strong accesses that
    were read from; writes: by access and unit, how many of their lanes.  starts: by block, where the record starts; the
    vector clocks tell the rest.
    """

    def __init__(self, nodes: list[Node], number: int, lane: int) -> None:
        self._nodes = nodes
        self._seen: set[tuple[str, int, int, int]] = set()
        self._queue: list[tuple[int, str, int, int]] = []
        self._threads: dict[int, int] = {}
        self._warps: dict[int, int] = {}
        self._blocks: dict[int, int] = {}
        self._starts: dict[int, list[tuple[Node, int]]] = {}
        self._events: dict[int, Node] = {}
        self._writes: dict[tuple[int, int], int] = {}
        self._padded = nodes[number].padded
        self._push("known", number, lane)

    def finds(self, past: AccessEpoch, moments: Array, events: Sequence[object]) -> tuple[Array, int]:
        """(n,) bool: which accesses, of all `events`, are among it; and how many nodes had to be looked at."""
        found = np.zeros(len(moments), np.bool_)
        blocks = past.thread // self._padded
        steps, portion, ended = 0, 4, False
        while True:
            for block in np.unique(blocks[~found]).tolist():
                found |= (blocks == block) & (moments <= self._blocks.get(block, NONE))
            for position in np.flatnonzero(~found).tolist():
                one = past[position : position + 1]
                event = events[int(np.broadcast_to(one.event, 1)[0])]
                found[position] = self._knows(
                    int(one.thread[0]), int(one.epoch[0]), int(one.segment[0]), int(moments[position]), event
                )
            if found.all():
                return found, steps
            # What is older than an access says nothing about it.
            oldest = int(moments[~found].min())
            for _ in range(portion):
                if not self._queue or -self._queue[0][0] < oldest:
                    break
                steps += 1
                number, what, lane, limit = heappop(self._queue)
                self._step(what, -number, lane, limit)
            else:
                portion *= 2
                continue
            if ended:
                return found, steps
            ended = True

    def _knows(self, thread: int, epoch: int, segment: int, moment: int, event: object) -> bool:
        padded = self._padded
        if moment <= self._threads.get(thread, NONE) or moment <= self._warps.get(thread >> 5, NONE):
            return True
        written = self._events.get(id(event))
        if written is not None and written.units is not None:
            position = int(np.searchsorted(written.lanes.ids, thread - written.first_thread))
            if position < self._writes.get((written.number, int(written.units[position])), NONE):
                return True
        for node, warp in self._starts.get(thread // padded, ()):
            clock, own = node.clock, thread - node.first_thread
            assert clock is not None
            if moment <= node.number and clock.is_over(warp, own % padded >> 5, epoch):
                return True
            if moment <= node.number and own >> 5 == warp and segment < clock.segments_of(np.array([own]))[0]:
                return True
        return False

    def _push(self, what: str, number: int, lane: int, limit: int = NONE) -> None:
        """Have looked at: what a lane knew at a node ("known"), or what fences it knew of ("fences").

        Or all that was written up to a node, and then read by others ("chain"): there `lane` is the unit of memory.
        limit: the block of who reads what was published, which scopes of fences and releases are held against.
        """
        if number != NONE:
            key = lane if what == "chain" else key_of(self._nodes[number], lane)
            item = (what, number, key, limit)
            if item not in self._seen:
                self._seen.add(item)
                heappush(self._queue, (-number, what, lane, limit))

    def _step(self, what: str, number: int, lane: int, limit: int) -> None:
        node = self._nodes[number]
        if what == "known":
            self._known(node, lane)
        elif what == "fences":
            self._fences(node, lane, limit)
        else:
            self._chain(node, lane, limit, node.lanes.n)

    def _known(self, node: Node, lane: int) -> None:
        thread, number = lane + node.first_thread, node.number
        if node.kind == "start":
            self._starts.setdefault(thread // node.padded, []).append((node, lane >> 5))
        elif node.kind in _BARRIERS:
            low, high = members(node, lane)
            if node.kind == "block":
                _raise(self._blocks, thread // node.padded, number)
            elif node.kind == "warp" and high - low == 32:
                _raise(self._warps, thread >> 5, number)
            else:
                for position in range(low, high):
                    if node.waited is None or node.waited[position]:
                        _raise(self._threads, int(node.lanes.ids[position]) + node.first_thread, number)
            self._push_all("known", node, node.before, low, high, NONE)
        else:
            _raise(self._threads, thread, number)
            position = int(np.searchsorted(node.lanes.ids, lane))
            self._push("known", int(at(node.before, position)), lane)
            if node.access is not None and node.access.learns and node.units is not None:
                self._chain(node, int(node.units[position]), thread // node.padded, position)

    def _push_all(self, what: str, node: Node, numbers: Array | int, low: int, high: int, limit: int) -> None:
        """Each member's node of `numbers`."""
        ids = node.lanes.ids
        if isinstance(numbers, int):
            kind = self._nodes[numbers].kind if numbers != NONE else "block"
            if kind in ("block", "some"):
                self._push(what, numbers, int(ids[low]), limit)
                return
            lanes = np.unique(ids[low:high] >> 5) << 5 if kind in ("warp", "start") else ids[low:high]
            for lane in lanes.tolist():
                self._push(what, numbers, lane, limit)
            return
        for number, lane in zip(numbers[low:high].tolist(), ids[low:high].tolist(), strict=True):
            self._push(what, number, lane, limit)

    def _fences(self, node: Node, lane: int, limit: int) -> None:
        if node.kind == "fence":
            if not node.in_block_only or (lane + node.first_thread) // node.padded == limit:
                self._push("known", node.number, lane)
        else:
            self._push_all("fences", node, node.fences, *members(node, lane), limit)

    def _chain(self, node: Node, unit: int, reader_block: int, end: int) -> None:
        """The writes to a unit by the lanes of an access before position `end`, and those that they followed."""
        access = node.access
        assert access is not None and node.units is not None and node.earlier is not None
        there = np.flatnonzero(node.units == unit)
        if access.writes is not None:
            same = there[(there < end) & access.writes[there]]
            if access.overwrites:
                same = same[-1:]
            self._events[id(access.event)] = node
            _raise(self._writes, (node.number, unit), end)
            first, padded = node.first_thread, node.padded
            if not access.releases:
                same = same[at(node.fences, same) != NONE]
            for position in same[::-1].tolist():
                lane = int(node.lanes.ids[position])
                if access.in_block_only and (lane + first) // padded != reader_block:
                    continue
                if access.releases:
                    self._push("known", node.number, lane)
                else:
                    self._push("fences", int(at(node.fences, position)), lane, reader_block)
            if access.overwrites and len(there):
                return
        if len(there):
            self._push("chain", int(node.earlier[there[0]]), unit, reader_block)


def _raise(known: dict[Any, int], key: Any, number: int) -> None:
    if known.get(key, NONE) < number:
        known[key] = number
