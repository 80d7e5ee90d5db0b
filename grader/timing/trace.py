"""Which blocks of a launch are followed, and what they do: the code their warps execute, where their requests go, and
how long one warp takes for it with nobody in its way.

The blocks run on the emulator one by one, at the launch's own sizes, in memory that takes room only where it is
touched. Each pattern of lanes is worked out once and kept with the value that addresses it, so a further iteration of
a loop costs a record. A warp's path is its blocks of code scheduled one after another, by their data flow, as the
assembler leaves them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.ptx.access import Access
from grader.ptx.frontend.nodes import Instruction, Module
from grader.ptx.launch import Launch, launch
from grader.ptx.limits import Limits, PtxError
from grader.ptx.memory import Buffer, Device
from grader.ptx.observers import traffic
from grader.ptx.observers.interface import Enough, Observer, Scene
from grader.ptx.values import WARP_SIZE, Lanes, remember
from grader.timing.instructions import MOST_TOGETHER, Processor, Schedule, Step, aligned_loads, schedule

Array = npt.NDArray[Any]

SECTOR_BYTES = traffic.SECTOR_BYTES
JOINED_BYTES = 16
"""The widest load of a lane."""
FEWEST_BESIDE = 4
"""Lanes in a row at one address, or at neighbouring ones, from which on they are no lanes apart."""
LINE_SECTORS = 4
"""Sectors of a cache line (128 bytes), which one tag of the L1 cache stands for."""


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """What one instruction of some warps asks for, wherever it lies.

    warps: (k,) numbers of the warps in their block.  cost: (k,) sectors of each (global), wavefronts (shared).
    ideal: (k,) the fewest that would do, were lanes that lie apart next to one another.  lines: (k,) lines of 128 bytes
    touched.  passes: (k,) through the L1 cache's memory, which has the banks of shared memory.  lanes: (k,) lanes that
    take part.
    same: (k,) most lanes of a warp that go to one address.
    sectors: (m,) sectors relative to the place of the access, warp by warp; of: (m,) which of `warps` each is of.
    joined: (k,) wavefronts in shared memory if it loads the whole 16 bytes around; None where it cannot.
    """

    warps: Array
    cost: Array
    ideal: Array
    lines: Array
    passes: Array
    lanes: Array
    same: Array
    sectors: Array
    of: Array
    joined: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One memory instruction carried out by some warps.

    place: number of the sector that `pattern.sectors` count from.  array: number of the array among the launch's.
    """

    instruction: Instruction
    op: str
    space: str
    pattern: Pattern
    place: int
    array: int


@dataclass(frozen=True, slots=True, eq=False)
class Executed:
    """One basic block of code, executed by some warps."""

    schedule: Schedule
    warps: Array


@dataclass(slots=True)
class BlockTrace:
    """One block of the grid.

    events: what its warps executed and asked for, in order.  complete: to the block's end.  sizes: bytes of the arrays
    that it asked for, by number.
    """

    number: int
    warps: int
    events: list[Executed | Request] = field(default_factory=list)
    complete: bool = False
    steps: int = 0
    sizes: dict[int, int] = field(default_factory=dict)


class _Follower(Observer):
    """Records what the blocks of a launch do, each up to a number of issued instructions."""

    def __init__(self, blocks: Sequence[tuple[int, int]], schedules: dict[int, Any], aligned: Collection[int]) -> None:
        self.traces: list[BlockTrace] = []
        self._numbers = [number for number, _most in blocks]
        self._most = [most for _number, most in blocks]
        self._schedules = schedules
        self._aligned = aligned
        self._arrays: dict[int, int] = {}

    def begin(self, scene: Scene) -> None:
        number = len(self.traces)
        self.traces.append(BlockTrace(self._numbers[number], scene.geometry.layout.padded // WARP_SIZE))

    def executed(self, instructions: tuple[Instruction, ...], lanes: Lanes) -> None:
        trace = self.traces[-1]
        if trace.steps > self._most[len(self.traces) - 1]:
            raise Enough
        trace.steps += len(instructions)
        scheduled = self._schedules.get(id(instructions))
        if scheduled is None:
            # The instructions are kept beside: their id is nobody else's then.
            scheduled = self._schedules[id(instructions)] = (schedule(instructions, self._aligned), instructions)
        trace.events.append(Executed(scheduled[0], _warps_of(lanes)))

    def access(self, event: Access) -> None:
        parts = event.together
        if event.address is not parts[0] or event.spec.of_copy == "begun":
            return
        resolved = parts[0]
        shared = resolved.array.space == "shared"
        if len(parts) > 1:
            lanes = event.geometry.union([part.lanes for part in parts])
            pattern, shift = _pattern(lanes, traffic.addresses_of(parts, lanes), event.width, event.op, shared), 0
        else:
            base = resolved.array.storage if shared else resolved.array.base
            start = resolved.shift + base
            # Moved by whole words accesses meet in other banks, and as often.
            period = JOINED_BYTES if shared else SECTOR_BYTES
            shift = start - start % period
            memo = resolved.lanes.memo if resolved.vec is None else resolved.vec.memo
            key = ("pattern", event.op, event.width, shared, start % period, id(resolved.lanes))
            cached = memo.get(key)
            if cached is None:
                addresses = resolved.offsets() + (base - shift)
                new_pattern = _pattern(resolved.lanes, addresses, event.width, event.op, shared)
                cached = remember(memo, key, (new_pattern, resolved.lanes))
            pattern = cached[0]
        array = self._arrays.setdefault(id(resolved.array), len(self._arrays))
        self.traces[-1].sizes[array] = resolved.array.size
        space = "shared" if shared else "global"
        self.traces[-1].events.append(
            Request(event.instruction, event.op, space, pattern, shift // SECTOR_BYTES, array)
        )

    def end(self) -> None:
        self.traces[-1].complete = True


def _warps_of(lanes: Lanes) -> Array:
    warps: Array | None = lanes.memo.get("warps")
    if warps is None:
        warps = lanes.memo["warps"] = np.unique(lanes.ids >> 5)
    return warps


def _pattern(lanes: Lanes, addresses: Array, width: int, op: str, shared: bool) -> Pattern:
    active = lanes.active_table()
    offsets = lanes.to_warps(addresses, 0)
    count = active.sum(axis=1)
    words = np.where(active, offsets // max(width, 1), -1)
    words.sort(axis=1)
    same = np.ones(len(words), np.int64)
    if op == "atomic":
        run = np.ones(len(words), np.int64)
        for lane in range(1, WARP_SIZE):
            run = np.where((words[:, lane] == words[:, lane - 1]) & (words[:, lane] >= 0), run + 1, 1)
            same = np.maximum(same, run)
    none = np.zeros(0, np.int64)
    if shared:
        wavefronts, ideal = traffic.shared_wavefronts(offsets, active, width, op)
        phases = np.unique(addresses % JOINED_BYTES)
        phase = int(phases[0]) if len(phases) == 1 else -1
        joined = None
        if phase > 0 and op == "load":
            joined = traffic.shared_wavefronts(offsets - phase, active, JOINED_BYTES, op)[0]
        return Pattern(_warps_of(lanes), wavefronts, ideal, none, wavefronts, count, same, none, none, joined)
    unique = traffic.unique_bytes(offsets, active, width)
    ideal = -(-unique // SECTOR_BYTES)
    sectors = np.where(active, offsets // SECTOR_BYTES, np.iinfo(np.int64).max)
    sectors.sort(axis=1)
    new = np.ones(sectors.shape, np.bool_)
    new[:, 1:] = sectors[:, 1:] != sectors[:, :-1]
    new &= sectors != np.iinfo(np.int64).max
    if op == "load":
        # Rows of a block that read an element each, all of their threads the same one, have no lanes that lie apart.
        beside = active[:, 1:] & active[:, :-1]
        jumps = (beside & (np.abs(offsets[:, 1:] - offsets[:, :-1]) > width)).sum(axis=1)
        ideal = np.where((unique < count * width) & (jumps < count // FEWEST_BESIDE), new.sum(axis=1), ideal)
    rows, columns = np.nonzero(new)
    flat = sectors[rows, columns]
    lines = traffic.distinct(offsets // 128, active)
    passes = traffic.shared_wavefronts(offsets, active, width, "load")[0]
    return Pattern(_warps_of(lanes), new.sum(axis=1), ideal, lines, passes, count, same, flat, rows)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a launch: an array's size in bytes and the contents of its beginning, or a number's bytes."""

    size_bytes: int = 0
    contents: Array | None = None
    number: np.generic | None = None


def follow(
    module: Module,
    entry: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared_bytes: int,
    arguments: Iterable[Argument],
    blocks: Sequence[tuple[int, int]],
) -> list[BlockTrace]:
    """Run some blocks of a launch.

    blocks: of each its number in the grid, x fastest, and the PTX instructions after which it is followed no further.

    Returns a trace for each that could be followed, in order; fewer where the kernel did not go on (a fault, a wait
    for another block, an instruction that the emulator lacks).
    """
    device = Device(seed=1)
    values: list[Buffer | np.generic] = []
    for index, argument in enumerate(arguments):
        if argument.number is not None:
            values.append(argument.number)
            continue
        buffer = device.reserve(f"argument {index}", argument.size_bytes)
        if argument.contents is not None:
            buffer.write(argument.contents)
        values.append(buffer)
    traces: list[BlockTrace] = []
    schedules: dict[int, Any] = {}
    own = [function for name, function in module.functions.items() if name == entry or not function.is_entry]
    aligned = frozenset().union(*map(aligned_loads, own))
    pending = list(blocks)
    while pending:
        follower = _Follower(pending, schedules, aligned)
        what = Launch(
            entry,
            grid,
            block,
            values,
            device,
            shared_bytes,
            observers=[follower],
            limits=Limits(seconds=60.0),
            max_shared_bytes=232448,
            only=[n for n, _most in pending],
            moves_no_data=True,
        )
        try:
            launch(module, what)
        except Enough:
            pass
        except PtxError:
            return [*traces, *(t for t in follower.traces if t.complete)]
        traces += follower.traces
        pending = pending[len(follower.traces) :]
    return traces


REPLAYED = 3
"""Resident blocks that are replayed; the cache is made smaller in proportion where more are resident."""


def sampled_blocks(grid: tuple[int, int, int], resident: int, processor: Processor) -> tuple[list[int], list[int]]:
    """(resident together, neighbours in x and y) numbers of the blocks to follow; the first of all is followed to its
    end."""
    total = prod(grid)
    apart = processor.multiprocessors
    middle = _middle(grid)
    together = [middle + k * apart for k in range(min(resident, REPLAYED)) if middle + k * apart < total]
    neighbours = [(middle + step) if middle + step < total else middle - step for step in (1, grid[0])]
    return together, [n if 0 <= n < total and n != middle else -1 for n in neighbours]


GOLDEN = 0.618034
SPREAD_STEPS = 20_000
"""PTX instructions of the further blocks that are followed where blocks do not have the same work."""


def further_blocks(traces: Sequence[BlockTrace], grid: tuple[int, int, int]) -> list[int]:
    """Numbers of at most four blocks spread over the grid, where those followed to their ends have other work than the
    first; they tell how much all have."""
    base, total = traces[0], prod(grid)
    if all(trace.steps == base.steps for trace in traces if trace.complete):
        return []
    count = min(4, total, max(2, SPREAD_STEPS // max(1, base.steps)))
    # By the golden ratio they lie apart along every axis of the grid.
    return [int(total * (place * GOLDEN % 1)) for place in range(1, count + 1)]


def _middle(grid: tuple[int, int, int]) -> int:
    """Return the block in the middle of the launch; the last of an axis may have little to do."""
    across, down, _deep = grid
    number = prod(grid) // 2
    places = number % across, number // across % down, number // (across * down)
    x, y, z = (0 if blocks == 2 else place for place, blocks in zip(places, grid, strict=True))
    return x + across * (y + down * z)


def busiest(base: BlockTrace) -> int:
    """The number of the warp of a block that has most to do."""
    turns = np.zeros(base.warps)
    for event in base.events:
        if isinstance(event, Executed):
            turns[event.warps] += event.schedule.issued + 1
    return int(turns.argmax())


SHORT = 8.0
"""Machine instructions of a block that the assembler makes conditional."""


class _Planned(NamedTuple):
    """A step of a block, with what is the same of all its turns.

    wait: cycles from its begin to its result.  slots: machine instructions.  is_far: loads from global memory.
    """

    inside: tuple[int, ...]
    reads: tuple[int, ...]
    after: int
    wait: float
    slots: float
    is_barrier: bool
    is_far: bool
    line: int


def _planned(
    step: Step,
    late: Mapping[str, float],
    barrier_cycles: float,
    waits: Mapping[int, float],
    far: float,
    extra: Mapping[int, float],
) -> _Planned:
    is_barrier = step.cost.latency == "barrier"
    wait = late[step.cost.latency] * step.cost.times + (barrier_cycles if is_barrier else 0.0)
    is_far = False
    if step.memory == "load" or (step.memory == "atomic" and step.writes):
        key = id(step.instruction)
        near = extra[key] + late["shared"] if key in extra else late["l1"]
        is_far = key not in extra and not {"const", "local"} & set(step.instruction.modifiers)
        wait = waits.get(key, far) if is_far else near
    slots = step.cost.issued
    line = step.instruction.location.line
    return _Planned(step.inside, step.reads, step.after, max(wait, slots), slots, is_barrier, is_far, line)


def path_of(
    base: BlockTrace,
    warp: int,
    processor: Processor,
    waits: Mapping[int, float],
    far: float,
    extra: Mapping[int, float],
    by_line: dict[int, float],
) -> float:
    """Cycles from a warp's first instruction to its last result, nobody in its way; adds to `by_line` those by which a
    line's results come later than all before.

    extra: cycles that bank conflicts add to each instruction of shared memory.
    """
    late = processor.latency
    barrier_cycles = base.warps / processor.rates["barrier"]
    plans: dict[int, list[_Planned]] = {}
    ready: dict[int, float] = {}
    clock = last = float(late["start"])
    before: Schedule | None = None
    going = 0
    waited = 0.0
    passed: set[int] = set()
    # When the last loads from global memory end: a further one waits for the first of them, for want of a register.
    loads: deque[float] = deque(maxlen=MOST_TOGETHER)
    for event in base.events:
        if isinstance(event, Request) or warp not in event.warps:
            continue
        schedule = event.schedule
        # Where the assembler unrolls a loop, further iterations begin before the first is done.  A branch round a
        # few instructions becomes conditions on them, and what follows is moved before what waits.
        goes_on = before is schedule and going < schedule.unrolled
        going = going + 1 if goes_on else 1
        is_short = before is not None and min(before.issued, schedule.issued) <= SHORT
        if not goes_on and (not is_short or id(schedule) in passed):
            clock, waited = max(clock, waited), 0.0
            passed.clear()
        before = schedule
        passed.add(id(schedule))
        plan = plans.get(id(schedule))
        if plan is None:
            plan = plans[id(schedule)] = [_planned(s, late, barrier_cycles, waits, far, extra) for s in schedule.steps]
        done: list[float] = []
        begun: list[float] = []
        issue = latest = clock
        for inside, reads, after, wait, slots, is_barrier, is_far, line in plan:
            begin = issue
            for earlier in inside:
                if done[earlier] > begin:
                    begin = done[earlier]
            for register in reads:
                if register in ready and ready[register] > begin:
                    begin = ready[register]
            # A store waits for its value, and no load that may be of the same address goes before it.
            if after >= 0 and begun[after] > begin:
                begin = begun[after]
            if is_far:
                if len(loads) == MOST_TOGETHER and loads[0] > begin:
                    begin = loads[0]
                loads.append(begin + wait)
            begun.append(begin)
            ended = begin + wait
            done.append(ended)
            # Moved by the assembler where nothing forbids it: only a step's own slots keep the next from being issued.
            issue += slots
            latest = max(latest, ended if is_barrier else begin + slots)
            if ended > last:
                by_line[line] = by_line.get(line, 0.0) + ended - last
                last = ended
        waited = max(waited, latest)
        clock = issue
        if schedule.barriers:
            clock, waited = max(issue, waited), 0.0
            passed.clear()
        for step, ended in zip(schedule.steps, done, strict=True):
            for register in step.writes:
                ready[register] = ended
    return max(clock, waited, last)


def shared_waits(base: BlockTrace) -> dict[int, float]:
    """The cycles that bank conflicts add to the latency of each instruction of shared memory, by its id."""
    totals: dict[int, list[float]] = {}
    for event in base.events:
        if isinstance(event, Request) and event.space == "shared" and len(event.pattern.cost):
            entry = totals.setdefault(id(event.instruction), [0.0, 0.0])
            entry[0] += float(event.pattern.cost.mean()) - 1
            entry[1] += 1
    return {key: added / count for key, (added, count) in totals.items()}
