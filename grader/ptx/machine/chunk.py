"""Runs a chunk of blocks: groups of threads that stand at the same place, and who goes next.

A group is a set of lanes with its own registers.  When a branch sends lanes two ways the group
splits; groups that wait at the same place are merged when their turn comes.  The group at the
lowest place in reverse post-order goes first, so threads that parted meet again at the end of the
`if` or the loop, as they do on hardware.  A barrier parks a group until nothing else can run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.ptx.errors import DeviceTrap, LimitExceeded
from grader.ptx.frontend.nodes import Function
from grader.ptx.limits import CYCLES, TakesLong, Tally
from grader.ptx.machine.barriers import Barriers, Meeting
from grader.ptx.machine.convergence import Convergence
from grader.ptx.machine.endless import EndlessLoops
from grader.ptx.machine.groups import Group, merge_groups
from grader.ptx.memory.spaces import Device, Window, local_array
from grader.ptx.observers.hazards import HazardLog
from grader.ptx.records import Index3
from grader.ptx.values.kinds import Array, Lanes, Layout, Value

if TYPE_CHECKING:
    from grader.ptx.machine.code import CodeBlock
    from grader.ptx.memory.access import Access

SPIN_PATIENCE = 4
"""Turns a spinning loop gets before somebody else who can run gets one."""
MAX_UNIONS = 256
"""Unions of lane sets that are remembered."""


class Chunk:
    """Some blocks of a grid, executed side by side."""

    def __init__(
        self,
        device: Device,
        layout: Layout,
        first_block: int,
        grid: Index3,
        shared: Window,
        hazards: HazardLog,
        tally: Tally,
    ) -> None:
        self.device = device
        self.layout = layout
        self.first_block = first_block
        self.grid = grid
        self.shared = shared
        self.local = Window("local")
        self.hazards = hazards
        self.tally = tally
        self.observers: list[Callable[[Access], None]] = []
        self.on_barrier: list[Callable[[Chunk, Array | None, Meeting | None], None]] = []
        """Told who was released: the blocks (None: all), and who met where a barrier was not for whole blocks."""
        self.on_arrival: list[Callable[[Chunk, int, Lanes], None]] = []
        """Told who came to a barrier, by its number, and did not wait."""
        self.on_end: list[Callable[[Chunk], None]] = []
        self.on_warp_sync: list[Callable[[Chunk, Lanes], None]] = []
        self.on_fence: list[Callable[[Chunk, Lanes, bool], None]] = []
        """Told who executed a fence, and whether it counts within blocks only."""
        self.remarks: dict[tuple[str, int], int] = {}
        self.pending: dict[tuple[Any, ...], list[Group]] = {}
        self.barriers = Barriers(self)
        self.endless = EndlessLoops(self)
        self.version = 0
        """Grows whenever memory may have changed."""
        self.retired = np.zeros(layout.blocks * layout.padded, np.bool_)
        """(lanes,) which lanes have returned from the kernel."""
        self.convergence = Convergence(self)
        self.alive = np.full(layout.blocks, layout.threads, np.int64)
        self.clock = 0
        self.specials: dict[str, Value] = {}
        self.local_symbols: dict[Any, int] = {}
        self.local_bytes = 0
        self.addresses: dict[str, int] = {}
        """Of the module's variables and functions on this device."""
        self.shared_bytes = (0, 0)
        """Dynamic and total shared memory of a block, for the special registers."""
        self._unions: dict[bytes, Lanes] = {}
        self._spins: dict[tuple[Any, ...], int] = {}

    # -- where a lane is ---------------------------------------------------------------

    def coordinates(self, lane: int) -> tuple[Index3, Index3]:
        """(block, thread) of a lane, each (x, y, z)."""
        number, thread = divmod(int(lane), self.layout.padded)
        return self.block_index(self.first_block + number), self.thread_index(thread)

    def block_index(self, number: int) -> Index3:
        """Block number within the grid → (x, y, z)."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    def thread_index(self, thread: int) -> Index3:
        """Thread number within the block → (x, y, z)."""
        x, y, _ = self.layout.block
        return thread % x, thread // x % y, thread // (x * y)

    def union(self, parts: list[Lanes]) -> Lanes:
        """The union of disjoint sets; equal unions are the same object, so that memos survive."""
        total = sum(part.n for part in parts)
        if total == self.layout.root.n:
            return self.layout.root
        ids = np.concatenate([part.ids for part in parts])
        ids.sort()
        key = ids.tobytes()
        found = self._unions.get(key)
        if found is None:
            if len(self._unions) >= MAX_UNIONS:
                self._unions.clear()
            found = self._unions[key] = Lanes(self.layout, ids)
        return found

    def local_variables(self, depth: int, function: Function) -> dict[str, int]:
        """Addresses of a function's local and `.param` variables, `depth` calls deep.

        A thread has one activation at each depth, and every lane has its own copy, so activations of the same
        function at the same depth share an address however they were called.
        """
        symbols = {}
        for variable in function.variables:
            if variable.space not in ("local", "param"):
                continue
            key = (depth, function.name, variable.name)
            address = self.local_symbols.get(key)
            if address is None:
                if variable.size_bytes > self.tally.limits.local_bytes:
                    line = function.location.line
                    raise DeviceTrap(line, f"{variable.size_bytes} bytes of local memory a thread")
                lanes = self.layout.blocks * self.layout.padded
                self._check_local_memory(variable.size_bytes * lanes, function)
                address = local_array(self.local, variable.name, variable.size_bytes, lanes).base
                self.local_symbols[key] = address
            symbols[variable.name] = address
        return symbols

    def _check_local_memory(self, more: int, function: Function) -> None:
        self.local_bytes += more
        if self.local_bytes > self.tally.limits.memory_bytes:
            line, megabytes = function.location.line, self.tally.limits.memory_bytes >> 20
            raise LimitExceeded("memory", line, f"local variables of all threads take more than {megabytes} MiB")

    def close(self) -> None:
        """Let go of everything that holds on to this chunk, which is over: it is freed with its last user."""
        for listeners in (
            self.observers,
            self.on_barrier,
            self.on_arrival,
            self.on_end,
            self.on_warp_sync,
            self.on_fence,
        ):
            listeners.clear()
        self.pending.clear()
        self.specials.clear()
        self._unions.clear()
        self.layout.forget()
        del self.barriers, self.endless, self.convergence

    # -- scheduling --------------------------------------------------------------------

    def queue(self, group: Group) -> None:
        """Let a group wait for its turn; one that has only to return does so at once."""
        if len(group.frames) == 1:
            block = group.frames[-1].code.blocks[group.block]
            if block.leaves:
                self._count(block, group.lanes)
                self.retire(group.lanes)
                return
        self.pending.setdefault((group.chain, group.block), []).append(group)

    def run(self, group: Group) -> None:
        """Run until every thread has returned.  Raises LimitExceeded and UnsupportedInstruction."""
        self.queue(group)
        while True:
            if not self.pending:
                if self.convergence.resume() or self.barriers.release() or self.convergence.force():
                    continue
                self.barriers.check_nobody_waits()
                for listener in self.on_end:
                    listener(self)
                return
            group = self._next()
            if self.barriers.parked:
                self.barriers.note_bypass(group)
            if self.convergence.waiting:
                self.convergence.note_bypass(group)
            self._run_group(group)

    def _next(self) -> Group:
        if len(self.pending) == 1 and not self.barriers.parked:
            key, groups = self.pending.popitem()
        else:
            key = self._choose()
            groups = self.pending.pop(key)
        return groups[0] if len(groups) == 1 else merge_groups(groups)

    def _choose(self) -> tuple[Any, ...]:
        """Deepest call first, then lowest block; see the module's docstring.  Loops wait for their stragglers."""
        order = sorted(self.pending, key=lambda key: (-len(key[0]), key[1]))
        best = order[0]
        groups = self.pending[best]
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
            if turns % SPIN_PATIENCE == 0:
                return self._instead(best, turns // SPIN_PATIENCE)
        return best

    def _instead(self, waiting: tuple[Any, ...], round_: int) -> tuple[Any, ...]:
        """Who goes while `waiting` spins: blocks complete at a barrier are let go, then the others have their turns."""
        if self.barriers.parked:
            self.barriers.release_complete()
        others = sorted((key for key in self.pending if key != waiting), key=lambda key: (-len(key[0]), key[1]))
        return others[round_ % len(others)] if others else waiting

    def _run_group(self, group: Group) -> None:
        tally = self.tally
        limits = tally.limits
        while True:
            code = group.frames[-1].code
            block = code.blocks[group.block]
            lanes = group.lanes
            loop = code.loop_at_header.get(group.block)
            if loop is not None and loop.deciding is not None:
                if group.from_back_edge:
                    self.endless.arrive(group, code, loop, loop.deciding)
                else:
                    self.endless.enter(group)
            if block.collective and not lanes.whole_warps and self.convergence.hold(group, block):
                return
            self._count(block, lanes)
            tally.turns += 1
            if tally.thread_instructions > limits.instructions or tally.issued > limits.issued:
                limits.check(block.line, tally.thread_instructions, tally.issued)
            if tally.patience is not None and tally.issued > tally.patience:
                raise TakesLong
            if not tally.turns & 127 and time.perf_counter() - tally.started > limits.seconds:
                raise limits.out_of_time(block.line)
            for step in block.steps:
                step(group)
            if not block.finish(group):
                return
            if self.pending:
                self.queue(group)
                return

    def _count(self, block: CodeBlock, lanes: Lanes) -> None:
        tally = self.tally
        tally.thread_instructions += block.size * lanes.n
        tally.warp_instructions += block.size * lanes.n_warps
        tally.issued += block.size
        block.executions += lanes.n
        self.clock += CYCLES * block.size

    def retire(self, lanes: Lanes) -> None:
        """The lanes have returned from the kernel."""
        self.retired[lanes.ids] = True
        if lanes is self.layout.root:
            self.alive[:] = 0
        else:
            self.alive -= np.bincount(lanes.blocks, minlength=self.layout.blocks)
