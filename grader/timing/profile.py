"""What a launch asks of a multiprocessor, its caches and the memory: from traces of a few of its blocks.

Blocks that are resident on one multiprocessor together (every `multiprocessors`-th of the grid) are replayed one
request at a time in turn through an L1 cache of lines that are filled by the sector; neighbours in the grid say how
much of a block's footprint is another's too, and so what one wave of blocks touches (a layer condition, as in
Kerncraft and in Ernst et al., JPDC 173, 2023): what a wave touches stays in the L2 cache if it fits there, else it is
fetched every wave.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, prod

import numpy as np

from grader.timing.instructions import PIPES, Processor, Schedule
from grader.timing.trace import (
    LINE_SECTORS,
    SECTOR_BYTES,
    BlockTrace,
    Executed,
    Request,
    busiest,
    path_of,
    shared_waits,
)

MOSTLY = 0.75
"""Share of the written sectors' bytes; with fewer, most sectors are written in part."""

TAGS = 2
"""Lines that the L1 cache looks up in a cycle: requests for 32 lines without bank conflicts take 13 to 17 (H200)."""


OF_INTEGERS = 0.41
"""Cycles of an atomic of integers as a share of those of one of floats, where all go to one line (1.45 and 3.5,
H200)."""


@dataclass(slots=True)
class Work:
    """What a source line asks of a block's units: as the fields of `Profile` of the same names.

    path: cycles by which the line's results come later than all earlier ones of the warp that is followed.
    """

    by_pipe: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PIPES, 0.0))
    shared: float = 0.0
    shared_ideal: float = 0.0
    tags: float = 0.0
    l2_sectors: float = 0.0
    stored_sectors: float = 0.0
    barriers: float = 0.0
    atomic_requests: float = 0.0
    path: float = 0.0

    @property
    def issued(self) -> float:
        """Machine instructions of warps."""
        return sum(self.by_pipe.values())


@dataclass(slots=True)
class Profile:
    """One launch on one device, before times.  Of a block: instructions by pipe (`by_pipe`, of warps), `shared`,
    `shared_ideal` and `tags` (wavefronts of shared memory, and without bank conflicts; lines looked up by global
    requests), `l2_sectors` (that loads ask for and miss in L1), `stored_sectors` (of the
    lines that stores and atomics go to), `barriers` (of warps), `atomic_requests` (lines), `hot_requests` and
    `hot_lanes` (to the line that most atomics of all blocks go to; lanes beyond the first at one address; those of
    integers count `OF_INTEGERS`).  Of the launch: bytes read from and written to memory.  Of a warp: cycles between
    start and end with the units idle (`path`), and of these without global memory's (`path_inside`).

    mean_work, most_work: instructions of the blocks' mean, and of the block that has most, over those of this block.
    *_dense: were the bytes that each warp asks for next to one another.  path_unconflicted: without bank conflicts.
    lines: by source line, 0 for what is of none.
    """

    blocks: int
    resident: int
    warps: int
    by_pipe: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PIPES, 0.0))
    issued: float = 0.0
    shared: float = 0.0
    shared_ideal: float = 0.0
    tags: float = 0.0
    l2_sectors: float = 0.0
    stored_sectors: float = 0.0
    barriers: float = 0.0
    atomic_requests: float = 0.0
    hot_requests: float = 0.0
    hot_lanes: float = 0.0
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    path: float = 0.0
    path_inside: float = 0.0
    path_unconflicted: float = 0.0
    mean_work: float = 1.0
    most_work: float = 1.0
    tags_dense: float = 0.0
    l2_dense: float = 0.0
    stored_dense: float = 0.0
    lines: dict[int, Work] = field(default_factory=dict)

    def line(self, number: int) -> Work:
        """What is known of a line so far."""
        return self.lines.setdefault(number, Work())


def _work(trace: BlockTrace) -> float:
    return sum(e.schedule.issued * len(e.warps) for e in trace.events if isinstance(e, Executed))


def _sectors_asked(trace: BlockTrace) -> float:
    return sum(float(event.pattern.cost.sum()) for event in _global(trace))


def profile(
    together: Sequence[BlockTrace],
    neighbours: Sequence[BlockTrace | None],
    grid: tuple[int, int, int],
    resident: int,
    l1_bytes: int,
    processor: Processor,
    spread: Sequence[BlockTrace] = (),
) -> Profile:
    """A launch, from its traces; the first of `together` is complete.  spread: of `further_blocks`."""
    base = together[0]
    total = prod(grid)
    profile = Profile(total, resident, base.warps)
    _count(base, profile)
    if spread:
        works = [_work(trace) / max(1.0, _work(base)) for trace in (base, *spread)]
        profile.mean_work, profile.most_work = sum(works) / len(works), max(works)
    missed, loads = _replay(
        together, l1_bytes * len(together) // max(1, min(resident, ceil(total / processor.multiprocessors)))
    )
    fetched = sum(m for m, _n, _w in missed.values())
    ratio = fetched / max(1.0, sum(n for _m, n, _w in missed.values()))
    profile.l2_sectors = loads * ratio
    _sectors(base, missed, profile)
    profile.hot_requests, profile.hot_lanes = _hottest(base, neighbours)
    wave = min(total, resident * processor.multiprocessors)
    profile.read_bytes, profile.written_bytes, each_wave = _memory_bytes(
        base, neighbours, grid, wave, loads * ratio, processor
    )
    if spread:
        followed = [_sectors_asked(trace) for trace in (base, *spread)]
        touched = sum(followed) / len(followed) / max(1.0, followed[0])
        profile.read_bytes, profile.written_bytes = touched * profile.read_bytes, touched * profile.written_bytes
    # Blocks of a wave go on together: what is new to the wave all of them wait for.
    from_memory = min(1.0, profile.read_bytes / max(1.0, each_wave * total / wave))
    late = processor.latency
    far = late["l2"] + from_memory * (late["dram"] - late["l2"])
    waits = {key: late["l1"] + (far - late["l1"]) * w / max(1, n) for key, (_m, n, w) in missed.items()}
    warp = busiest(base)
    conflicts = shared_waits(base)
    by_line: dict[int, float] = {}
    profile.path = path_of(base, warp, processor, waits, far, conflicts, by_line)
    profile.path_inside = path_of(base, warp, processor, {}, 0.0, conflicts, {})
    profile.path_unconflicted = profile.path
    if any(conflicts.values()):
        profile.path_unconflicted = path_of(base, warp, processor, waits, far, dict.fromkeys(conflicts, 0.0), {})
    for number, cycles in by_line.items():
        profile.line(number).path = cycles
    return profile


def _global(trace: BlockTrace) -> list[Request]:
    return [e for e in trace.events if isinstance(e, Request) and e.space == "global"]


def _count(base: BlockTrace, counts: Profile) -> None:
    joined: frozenset[int] = frozenset()
    executed: dict[int, tuple[Schedule, int]] = {}
    for event in base.events:
        if isinstance(event, Executed):
            joined = event.schedule.joined
            key = id(event.schedule)
            executed[key] = (event.schedule, executed.get(key, (None, 0))[1] + len(event.warps))
            continue
        pattern = event.pattern
        line = counts.line(event.instruction.location.line)
        if event.space == "shared":
            if pattern.joined is not None and id(event.instruction) in joined:
                # Part of a wider load: no instruction of its own, and a third of what that takes beyond the first.
                more = float(np.maximum(0, pattern.joined - pattern.cost).sum()) / 3
                counts.shared += more
                counts.shared_ideal += more
                line.shared += more
                line.shared_ideal += more
                counts.issued -= len(pattern.warps)
                counts.by_pipe["memory"] -= len(pattern.warps)
                line.by_pipe["memory"] -= len(pattern.warps)
                continue
            cost, ideal = float(pattern.cost.sum()), float(pattern.ideal.sum())
            counts.shared += cost
            counts.shared_ideal += ideal
            line.shared += cost
            line.shared_ideal += ideal
        else:
            of_warps = np.maximum(pattern.lines / TAGS, pattern.passes)
            tags = float(of_warps.sum())
            counts.tags += tags
            line.tags += tags
            # Where every sector is needed, neighbouring threads are at neighbouring addresses as it is.
            closer = np.ceil(pattern.ideal / LINE_SECTORS)
            counts.tags_dense += float(np.where(pattern.ideal >= pattern.cost, of_warps, closer).sum())
            if event.op == "atomic":
                counts.atomic_requests += float(pattern.lines.sum())
                line.atomic_requests += float(pattern.lines.sum())
    for schedule, warps in executed.values():
        counts.issued += schedule.issued * warps
        counts.barriers += schedule.barriers * warps
        for pipe, count in schedule.by_pipe:
            counts.by_pipe[pipe] += count * warps
        for number, pipes, barriers in schedule.by_line:
            line = counts.line(number)
            line.barriers += barriers * warps
            for pipe, count in pipes:
                line.by_pipe[pipe] += count * warps


def _sectors(base: BlockTrace, missed: Mapping[int, tuple[float, float, float]], counts: Profile) -> None:
    """Return the sectors that go to the L2 cache, by line; `made.l2_sectors` are known."""
    asked: dict[int, list[float]] = {}
    for event, is_together in _with_meetings(base):
        cost, ideal = float(event.pattern.cost.sum()), float(event.pattern.ideal.sum())
        if event.op == "load":
            entry = asked.setdefault(id(event.instruction), [event.instruction.location.line, 0.0, 0.0])
            entry[1] += cost
            entry[2] += ideal
        else:
            # The L2 cache takes as long for one sector of a line as for four.
            lines = _stored_lines(event, is_together)
            counts.stored_sectors += LINE_SECTORS * lines
            is_dense = bool((event.pattern.ideal >= event.pattern.cost).all())
            closer = lines if is_dense else float(np.ceil(event.pattern.ideal / LINE_SECTORS).sum())
            counts.stored_dense += LINE_SECTORS * closer
            counts.line(event.instruction.location.line).stored_sectors += LINE_SECTORS * lines
    measured = {key: missed.get(key, (1.0, 1.0, 1.0)) for key in asked}
    fetched = {key: asked[key][1] * m / max(1.0, n) for key, (m, n, _waiting) in measured.items()}
    scale = counts.l2_sectors / max(1.0, sum(fetched.values()))
    for key, (number, _cost, ideal) in asked.items():
        counts.line(int(number)).l2_sectors += scale * fetched[key]
        # What is fetched once and used by several requests is not fetched more often than that.
        counts.l2_dense += scale * min(fetched[key], ideal)


GATHERED = 16
"""Lines of a request up to which L1 hands the stores of several warps to one line on as one, where these come one after
another: of 16 it did, of 32 none (H200)."""


def _with_meetings(base: BlockTrace) -> Iterator[tuple[Request, bool]]:
    """Yield requests for global memory, and whether its warps come to each together: behind a barrier with no load
    from global memory since, which they wait for one by one."""
    is_together = ends_at_barrier = False
    for event in base.events:
        if isinstance(event, Executed):
            is_together, ends_at_barrier = is_together or ends_at_barrier, event.schedule.barriers > 0
        elif event.space == "global":
            yield event, is_together
            is_together = is_together and event.op != "load"


def _stored_lines(event: Request, is_together: bool) -> float:
    """Return the lines, each as often as L2 is asked to store in it."""
    lines = event.pattern.lines
    if event.op != "store" or not is_together or lines.max(initial=0) > GATHERED:
        return float(lines.sum())
    return float(np.unique((event.pattern.sectors + event.place) // LINE_SECTORS).size)


MOST_REPLAYED = 40_000
"""Sectors that an instruction asks for while requests are replayed: by then L1 was filled many times over."""


def _replay(together: Sequence[BlockTrace], capacity: int) -> tuple[dict[int, tuple[float, float, float]], float]:
    """({instruction: (sectors missed, sectors asked for, of them such as wait)}, sectors that loads of a block ask
    for).

    Warps that ask for what another misses at the same turn wait as long as that one.
    """
    lines: OrderedDict[int, int] = OrderedDict()
    most = max(8, capacity // (LINE_SECTORS * SECTOR_BYTES))
    result: dict[int, tuple[float, float, float]] = {}
    streams = [_global(trace) for trace in together]
    asked = sum(float(e.pattern.cost.sum()) for e in streams[0] if e.op == "load")
    shortest = min(len(s) for s in streams) if streams else 0
    kept: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for turn in range(shortest):
        fresh: set[int] = set()
        for stream in streams:
            event = stream[turn]
            if event.op != "load":
                # Stores go past what L1 holds.
                continue
            before = result.get(id(event.instruction), (0.0, 0.0, 0.0))
            if before[1] > MOST_REPLAYED:
                continue
            key = (id(event.pattern), event.place % LINE_SECTORS)
            parts = kept.get(key)
            if parts is None:
                parts = kept[key] = _lines(event, key[1])
            start = (event.place // LINE_SECTORS) + (event.array << 40)
            missed = count = waiting = 0
            for relative, mask, asks in parts:
                line = start + relative
                count += asks
                have = lines.get(line)
                if have is None:
                    missed += mask.bit_count()
                    fresh.add(line)
                    waiting += asks
                    lines[line] = mask
                    if len(lines) > most:
                        lines.popitem(last=False)
                    continue
                if mask & ~have:
                    missed += (mask & ~have).bit_count()
                    fresh.add(line)
                    waiting += asks
                    lines[line] = have | mask
                elif line in fresh:
                    waiting += asks
                lines.move_to_end(line)
            result[id(event.instruction)] = (before[0] + missed, before[1] + count, before[2] + waiting)
    return result, asked


def _lines(event: Request, phase: int) -> list[tuple[int, int, int]]:
    """Return (line, mask of its sectors, sectors asked for by all warps)."""
    sectors = event.pattern.sectors + phase
    masks: dict[int, list[int]] = {}
    for sector in sectors.tolist():
        entry = masks.setdefault(sector // LINE_SECTORS, [0, 0])
        entry[0] |= 1 << (sector % LINE_SECTORS)
        entry[1] += 1
    return [(line, mask, count) for line, (mask, count) in masks.items()]


def _hottest(base: BlockTrace, neighbours: Sequence[BlockTrace | None]) -> tuple[float, float]:
    """(requests, lanes beyond the first at an address) of atomics of a block at the line that most go to, 0 if it is
    this block's own; those of integers count for less."""
    counts: dict[int, list[float]] = {}
    for event in _global(base):
        if event.op == "atomic":
            lines = (event.pattern.sectors + event.place) // LINE_SECTORS
            # (line, warp) once each.
            asked = np.unique(np.stack([lines, event.pattern.of]), axis=1)[0]
            extra_lanes = float((event.pattern.same - 1).mean())
            weight = 1.0 if {"f32", "f64"} & set(event.instruction.modifiers) else OF_INTEGERS
            for line, times in zip(*(part.tolist() for part in np.unique(asked, return_counts=True)), strict=True):
                entry = counts.setdefault(line + (event.array << 40), [0.0, 0.0])
                entry[0] += weight * times
                entry[1] += weight * extra_lanes * times
    others: set[int] = set()
    for trace in neighbours:
        for event in _global(trace) if trace is not None else ():
            if event.op == "atomic":
                others.update(((event.pattern.sectors + event.place) // LINE_SECTORS + (event.array << 40)).tolist())
    requests, lanes = max((tuple(v) for k, v in counts.items() if k in others), default=(0.0, 0.0))
    return requests, lanes


def _footprint(requests: Sequence[Request], op: str) -> dict[int, np.ndarray]:
    """Return the sectors by array that loads, or stores and atomics, touch."""
    parts: dict[int, list[np.ndarray]] = {}
    visited: set[tuple[int, int]] = set()
    touched: dict[int, np.ndarray] = {}
    for event in requests:
        key = id(event.pattern)
        if (event.op == "load") != (op == "load") or (key, event.place) in visited:
            continue
        visited.add((key, event.place))
        if key not in touched:
            touched[key] = _distinct(event.pattern.sectors)
        parts.setdefault(event.array, []).append(touched[key] + event.place)
    return {array: _distinct(np.concatenate(sectors)) for array, sectors in parts.items()}


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return the different ones of some numbers, in order: sorted, as there are few different ones among many."""
    ordered = np.sort(values)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def _memory_bytes(
    base: BlockTrace,
    neighbours: Sequence[BlockTrace | None],
    grid: tuple[int, int, int],
    wave: int,
    asked: float,
    processor: Processor,
) -> tuple[float, float, float]:
    """Return (read, written) of the launch, and what loads of one wave touch."""
    total = prod(grid)
    pieces: list[tuple[str, float, float]] = []
    touched_sectors = 0
    loaded: set[int] = set()
    stored: dict[int, float] = {}
    asked_bytes: dict[int, float] = {}
    requests = _global(base)
    beside = [_global(trace) if trace is not None else None for trace in neighbours]
    most = min(len(one) for one in (requests, *beside) if one is not None)
    for event in requests:
        if event.op != "load":
            ideal = SECTOR_BYTES * float(event.pattern.ideal.sum())
            asked_bytes[event.array] = asked_bytes.get(event.array, 0.0) + ideal
    for op in ("load", "store"):
        whole = _footprint(requests, op)
        own = _footprint(requests[:most], op) if most < len(requests) else whole
        others = [None if one is None else _footprint(one[:most], op) for one in beside]
        if op == "load":
            touched_sectors = sum(map(len, whole.values()))
        for array, sectors in whole.items():
            chunk = processor.dram_fetch_bytes // SECTOR_BYTES if op == "load" else 1
            fetched = len(_distinct(sectors // chunk)) * chunk * SECTOR_BYTES
            shares = []
            for other in others:
                mine = own.get(array)
                if other is None or mine is None or array not in other:
                    shares.append(0.0)
                else:
                    shares.append(float(np.isin(mine // chunk, other[array] // chunk).mean()))
            across, down = shares
            if grid[1] * grid[2] == 1:
                down = across
            # Blocks that lie side by side may share nothing and others all: an array has no more than it holds.
            held = float(base.sizes[array])
            in_wave, in_all = (
                min(held, fetched * _blocks_worth(grid, blocks, across, down)) for blocks in (wave, total)
            )
            pieces.append((op, in_wave, in_all))
            if op == "load":
                loaded.add(array)
            elif array not in loaded:
                stored[array] = in_all
    touched = sum(piece[1] for piece in pieces)
    fits = touched < processor.l2_bytes * 0.7
    waves = total / wave
    written = 0.0
    # Memory reads the rest of a sector that is written in part, unless it was loaded before.
    read = sum(in_all for array, in_all in stored.items() if total * asked_bytes[array] < MOSTLY * in_all)
    for op, in_wave, in_all in pieces:
        size = (
            in_all
            if fits
            else max(in_all, min(in_wave * waves, total * asked * SECTOR_BYTES if op == "load" else in_wave * waves))
        )
        if op == "load":
            read += size
        else:
            written += size
    if not fits:
        # What a block asks for again, because L1 has lost it, comes around after the whole wave has gone by.
        again = total * max(0.0, asked - touched_sectors)
        read += again * processor.dram_fetch_bytes * (1 - processor.l2_bytes * 0.7 / touched)
    return read, written, sum(in_wave for op, in_wave, _in_all in pieces if op == "load")


def _blocks_worth(grid: tuple[int, int, int], blocks: int, across: float, down: float) -> float:
    """Footprints of one block that so many blocks have, in the order of the grid; across, down: what a block shares
    with the next along x and along y."""
    if grid[1] * grid[2] == 1:
        return 1 + (blocks - 1) * (1 - across)
    return (1 + (min(blocks, grid[0]) - 1) * (1 - across)) * (1 + (max(1.0, blocks / grid[0]) - 1) * (1 - down))
