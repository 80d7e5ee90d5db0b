"""Runs a chunk of blocks: groups of threads that stand at the same place, and who goes next.

A group is a set of lanes with its own registers.  When a branch sends lanes two ways the group
splits; groups that wait at the same place are merged when their turn comes.  The group at the
lowest place in reverse post-order goes first, so threads that parted meet again at the end of the
`if` or the loop, as they do on hardware.  A barrier parks a group until nothing else can run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.ptx.errors import LimitExceeded, PtxError
from grader.ptx.hazards import HazardLog
from grader.ptx.memory import Device, Window, local_array
from grader.ptx.nodes import Variable
from grader.ptx.records import Index3
from grader.ptx.values import Array, Lanes, Layout, Shifted, Value, Vec, merge, select

if TYPE_CHECKING:
    from grader.ptx.access import Access
    from grader.ptx.code import Code, CodeBlock

SPIN_PATIENCE = 4
"""Turns a spinning loop gets before somebody else who can run gets one."""


@dataclass
class Limits:
    """When to give up on a kernel.

    instructions: thread-instructions of one launch; seconds: its wall-clock time; printf_bytes: kept output.
    """

    instructions: int = 20_000_000_000
    seconds: float = 10.0
    printf_bytes: int = 16_384
    local_bytes: int = 512 * 1024


@dataclass
class Tally:
    """What a launch has used up so far."""

    limits: Limits
    thread_instructions: int = 0
    warp_instructions: int = 0
    opcodes: dict[str, int] = field(default_factory=dict)
    printf: list[str] = field(default_factory=list)
    printf_left: int = 0
    started: float = field(default_factory=time.perf_counter)
    turns: int = 0


class Frame:
    """One activation of a function: its registers, and the local addresses of its `.param` and `.local` variables."""

    __slots__ = ("code", "registers", "resume", "symbols")

    def __init__(self, code: Code, registers: list[Any], symbols: dict[str, int], resume: int = -1) -> None:
        self.code = code
        self.registers = registers
        self.symbols = symbols
        self.resume = resume
        """Block of the *calling* frame at which to go on after this one returns."""


class Group:
    """Lanes that stand at the same place with the same call chain.  `registers` are those of the top frame."""

    __slots__ = ("block", "chain", "chunk", "frames", "from_back_edge", "lanes", "registers")

    def __init__(self, chunk: Chunk, lanes: Lanes, frames: list[Frame], block: int, chain: tuple[Any, ...]) -> None:
        self.chunk = chunk
        self.lanes = lanes
        self.frames = frames
        self.block = block
        self.chain = chain
        self.registers: list[Any] = frames[-1].registers
        self.from_back_edge = False

    def push(self, frame: Frame, link: Any) -> None:
        """Enter a function."""
        self.frames.append(frame)
        self.chain = (*self.chain, link)
        self.registers = frame.registers
        self.block = 0

    def pop(self) -> None:
        """Return to the caller."""
        frame = self.frames.pop()
        self.chain = self.chain[:-1]
        self.registers = self.frames[-1].registers
        self.block = frame.resume

    def part(self, lanes: Lanes) -> Group:
        """A view of some of the lanes for one access: no registers of its own."""
        return Group(self.chunk, lanes, self.frames, self.block, self.chain)

    def split(self, lanes: Lanes, block: int) -> Group:
        """The lanes of a subset, at `block`, with the registers that are still needed there."""
        frames = []
        resume = block
        for depth in range(len(self.frames) - 1, -1, -1):
            frame = self.frames[depth]
            registers: list[Any] = [None] * len(frame.registers)
            for index in frame.code.live_in[resume]:
                registers[index] = select(frame.registers[index], lanes)
            frames.append(Frame(frame.code, registers, frame.symbols, frame.resume))
            resume = frame.resume
        frames.reverse()
        return Group(self.chunk, lanes, frames, block, self.chain)


def merge_groups(groups: list[Group]) -> Group:
    """One group out of several that stand at the same place."""
    first = groups[0]
    chunk = first.chunk
    parts = [group.lanes for group in groups]
    lanes = chunk.union(parts)
    frames = []
    resume = first.block
    for depth in range(len(first.frames) - 1, -1, -1):
        frame = first.frames[depth]
        registers: list[Any] = [None] * len(frame.registers)
        sizes = frame.code.register_bytes
        for index in frame.code.live_in[resume]:
            values = [group.frames[depth].registers[index] for group in groups]
            registers[index] = merge(values, parts, lanes, sizes[index])
        frames.append(Frame(frame.code, registers, frame.symbols, frame.resume))
        resume = frame.resume
    frames.reverse()
    merged = Group(chunk, lanes, frames, first.block, first.chain)
    merged.from_back_edge = all(group.from_back_edge for group in groups)
    return merged


@dataclass
class Parked:
    """A group at a barrier: its number, how many threads it is for (0: the whole block), what to do when released."""

    group: Group
    block: CodeBlock
    barrier: int
    expected: int
    arrive_only: bool = False
    release: Callable[[Group], None] | None = None


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
        self.on_barrier: list[Callable[[Chunk, Array | None], None]] = []
        self.on_end: list[Callable[[Chunk], None]] = []
        self.on_warp_sync: list[Callable[[Group], None]] = []
        self.remarks: dict[tuple[str, int], int] = {}
        self.pending: dict[tuple[Any, ...], list[Group]] = {}
        self.parked: list[Parked] = []
        self.alive = np.full(layout.blocks, layout.threads, np.int64)
        self.clock = 0
        self.specials: dict[str, Value] = {}
        self.local_symbols: dict[Any, int] = {}
        self.locked_spaces: frozenset[str] = frozenset()
        """Spaces whose accesses the kernel may order by hand (see `Linker.locked_spaces`)."""
        self.votes: dict[int, Array] = {}
        """For reducing barriers: true predicates and arrivals so far, (blocks, 2), by barrier number."""
        self.shared_bytes = (0, 0)
        """Dynamic and total shared memory of a block, for the special registers."""
        self._unions: dict[bytes, Lanes] = {}
        self._spins: dict[tuple[Any, ...], int] = {}
        self._bypassed: set[tuple[int, int]] = set()

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
            found = self._unions[key] = Lanes(self.layout, ids)
        return found

    def local_variables(self, chain: tuple[Any, ...], variables: tuple[Variable, ...]) -> dict[str, int]:
        """Addresses of a function's local and `.param` variables; the same call chain gets the same ones again."""
        symbols = {}
        for variable in variables:
            if variable.space not in ("local", "param"):
                continue
            key = (chain, variable.name)
            address = self.local_symbols.get(key)
            if address is None:
                if variable.size_bytes > self.tally.limits.local_bytes:
                    raise DeviceTrap(0, f"{variable.size_bytes} bytes of local memory a thread")
                lanes = self.layout.blocks * self.layout.padded
                address = local_array(self.local, variable.name, variable.size_bytes, lanes).base
                self.local_symbols[key] = address
            symbols[variable.name] = address
        return symbols

    # -- scheduling --------------------------------------------------------------------

    def queue(self, group: Group) -> None:
        """Let a group wait for its turn."""
        self.pending.setdefault((group.chain, group.block), []).append(group)

    def run(self, group: Group) -> None:
        """Run until every thread has returned.  Raises LimitExceeded and UnsupportedInstruction."""
        self.queue(group)
        while True:
            if not self.pending:
                if not self.parked:
                    for listener in self.on_end:
                        listener(self)
                    return
                self._release_barriers()
                continue
            group = self._next()
            if self.parked:
                self._note_bypass(group)
            self._run_group(group)

    def _next(self) -> Group:
        if len(self.pending) == 1:
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
                if key[0] == best[0] and key[1] in loop.body and key[1] != best[1]:
                    return key
        if loop.spins:
            turns = self._spins[best] = self._spins.get(best, 0) + 1
            if turns % SPIN_PATIENCE == 0:
                return order[1 + (turns // SPIN_PATIENCE) % (len(order) - 1)]
        return best

    def _run_group(self, group: Group) -> None:
        tally = self.tally
        limits = tally.limits
        while True:
            code = group.frames[-1].code
            block = code.blocks[group.block]
            lanes = group.lanes
            tally.thread_instructions += block.size * lanes.n
            tally.warp_instructions += block.size * lanes.n_warps
            block.executions += lanes.n
            self.clock += block.size
            tally.turns += 1
            if tally.thread_instructions > limits.instructions:
                raise LimitExceeded(
                    "instructions", block.line, f"more than {limits.instructions} thread-instructions were executed"
                )
            if not tally.turns & 127 and time.perf_counter() - tally.started > limits.seconds:
                raise LimitExceeded("time", block.line, f"the kernel did not end within {limits.seconds:g} s")
            for step in block.steps:
                step(group)
            if not block.finish(group):
                return
            if self.pending:
                self.queue(group)
                return

    def retire(self, lanes: Lanes) -> None:
        """The lanes have returned from the kernel."""
        if lanes is self.layout.root:
            self.alive[:] = 0
        else:
            self.alive -= np.bincount(lanes.blocks, minlength=self.layout.blocks)

    # -- barriers ----------------------------------------------------------------------

    def park(self, parked: Parked) -> None:
        """A group has arrived at a barrier."""
        self.parked.append(parked)

    def _note_bypass(self, group: Group) -> None:
        """Lanes that go on past a barrier where others of their block wait."""
        code = group.frames[-1].code
        block = code.blocks[group.block]
        if not block.does_something:
            return
        for parked in self.parked:
            if parked.expected or parked.arrive_only or parked.group.chain != group.chain:
                continue
            if group.block not in code.forward_reach(parked.group.block):
                continue
            blocks = np.intersect1d(parked.group.lanes.blocks, group.lanes.blocks)
            if not len(blocks):
                continue
            key = (id(parked.block), id(block))
            if key in self._bypassed:
                continue
            self._bypassed.add(key)
            first = group.lanes.ids[np.searchsorted(group.lanes.blocks, blocks[0])]
            waiting = parked.group.lanes.ids[np.searchsorted(parked.group.lanes.blocks, blocks[0])]
            barrier = parked.block.last
            self.hazards.add(
                self,
                "barrier_divergence",
                "bypassed",
                barrier,
                int(first),
                int(np.isin(group.lanes.blocks, blocks).sum()),
                op="barrier",
                other=block.first,
                other_op="bypass",
                other_thread=self.coordinates(int(waiting)),
            )

    def _release_barriers(self) -> None:
        parked = self.parked
        whole = self.layout.root.n
        if len(parked) == 1 and not parked[0].arrive_only and not parked[0].expected:
            only = parked[0]
            alive = int(self.alive.sum())
            if only.group.lanes.n == alive:
                if alive != whole:
                    self._remark_exited(only, self.layout.threads - self.alive)
                self.parked = []
                self._resume(only, only.group)
                self._announce(None)
                return
        self._release_blocks()

    def _release_blocks(self) -> None:
        """Release, block by block, every barrier that is complete."""
        blocks = self.layout.blocks
        numbers = sorted({parked.barrier for parked in self.parked})
        ready: dict[int, Array] = {}
        for number in numbers:
            waiting = [parked for parked in self.parked if parked.barrier == number]
            expected = max(parked.expected for parked in waiting)
            arrived = np.zeros(blocks, np.int64)
            for parked in waiting:
                arrived += np.bincount(parked.group.lanes.blocks, minlength=blocks)
            if expected:
                complete = arrived >= expected
            else:
                complete = (arrived >= self.alive) & (arrived > 0)
            if not complete.any():
                continue
            ready[number] = complete
            sites = [parked for parked in waiting if not parked.arrive_only]
            if not expected:
                self._report_mixed(sites, complete)
                self._remark_exited(sites[0], np.where(complete, self.layout.threads - self.alive, 0))
        if not ready:
            self._deadlock()
        self.parked, before = [], self.parked
        released = np.zeros(blocks, np.bool_)
        for parked in before:
            complete = ready.get(parked.barrier)
            if complete is None:
                self.parked.append(parked)
                continue
            released |= complete
            go = complete[parked.group.lanes.blocks]
            if not go.all():
                stay = parked.group.lanes.select(np.flatnonzero(~go))
                group = parked.group
                self.parked.append(
                    Parked(
                        group.split(stay, parked.block.next) if go.any() else group,
                        parked.block,
                        parked.barrier,
                        parked.expected,
                        parked.arrive_only,
                        parked.release,
                    )
                )
                self.parked[-1].group.block = parked.block.index
                if not go.any():
                    continue
                parked.group = group.split(group.lanes.select(np.flatnonzero(go)), parked.block.next)
            if not parked.arrive_only:
                self._resume(parked, parked.group)
        self._announce(None if released.all() else released)

    def _resume(self, parked: Parked, group: Group) -> None:
        if parked.release is not None:
            parked.release(group)
        group.block = parked.block.next
        group.from_back_edge = False
        self.queue(group)

    def _announce(self, released: Array | None) -> None:
        for votes in self.votes.values():
            votes[slice(None) if released is None else released] = 0
        for listener in self.on_barrier:
            listener(self, released)

    def _report_mixed(self, sites: list[Parked], complete: Array) -> None:
        if len({id(parked.block) for parked in sites}) < 2:
            return
        for index, parked in enumerate(sites):
            for other in sites[:index]:
                if parked.block is other.block:
                    continue
                both = np.intersect1d(parked.group.lanes.blocks, other.group.lanes.blocks)
                both = both[complete[both]]
                if not len(both):
                    continue
                first = other.group.lanes.ids[np.searchsorted(other.group.lanes.blocks, both[0])]
                second = parked.group.lanes.ids[np.searchsorted(parked.group.lanes.blocks, both[0])]
                self.hazards.add(
                    self,
                    "barrier_divergence",
                    "different_barriers",
                    other.block.last,
                    int(first),
                    int(np.isin(other.group.lanes.blocks, both).sum()),
                    op="barrier",
                    other=parked.block.last,
                    other_op="barrier",
                    other_thread=self.coordinates(int(second)),
                )

    def _remark_exited(self, parked: Parked, exited: Array) -> None:
        # From compute capability 7.0 on, threads that have returned count as arrived.
        waiting = np.bincount(parked.group.lanes.blocks, minlength=self.layout.blocks) > 0
        count = int(exited[waiting].sum())
        if count:
            key = ("exited_before_barrier", parked.block.last.location.line)
            self.remarks[key] = max(self.remarks.get(key, 0), count)

    def _deadlock(self) -> None:
        first = min(self.parked, key=lambda parked: parked.block.last.location.line)
        line = first.block.last.location.line
        raise LimitExceeded("deadlock", line, "every remaining thread waits at a barrier that can never be complete")


class DeviceTrap(PtxError):
    """The kernel executed `trap` or a failed assertion, at `line`."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


def take_branch(group: Group, predicate: Any, negated: bool, taken: int, fallthrough: int) -> bool:
    """Send a group's lanes to one or two blocks; True when the same group simply goes on at `group.block`."""
    code = group.frames[-1].code
    if isinstance(predicate, (Vec, Shifted)):
        assert isinstance(predicate, Vec)
        mask = predicate.array
        if mask.dtype != np.bool_:
            mask = mask != 0
        count = int(np.count_nonzero(mask))
        if 0 < count < len(mask):
            if negated:
                mask = ~mask
            here = group.block
            lanes = group.lanes
            for selected, target in ((np.flatnonzero(mask), taken), (np.flatnonzero(~mask), fallthrough)):
                part = group.split(lanes.select(selected), target)
                part.from_back_edge = (here, target) in code.back_edges
                group.chunk.queue(part)
            return False
        truth = count > 0
    else:
        truth = bool(predicate)
    target = taken if truth != negated else fallthrough
    group.from_back_edge = (group.block, target) in code.back_edges
    group.block = target
    return True
