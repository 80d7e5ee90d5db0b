"""Counts requests, wavefronts and sectors, by source line: how many of each a warp's memory request takes.

The shared-memory model is for compute capability 5.0 and later: 32 banks of 4 bytes (CUDA C++
programming guide, "Shared Memory").  It gives what the counters `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_*`,
`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_*` and `l1tex__t_sectors_pipe_lsu_mem_global_op_*` of an H200 show
for 2,556 requests of all widths, to the digit (tests/ptx/observers/test_hardware_requests.py).  Nsight Compute's
`smsp__sass_…wavefronts_mem_shared*`, which are worked out from addresses and not counted, differ from them for a sixth
of the wide loads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.ptx.access import Access, ResolvedAddress
from grader.ptx.observers.interface import Observer, RepeatedAccesses
from grader.ptx.records import LaunchReport, LineCounter
from grader.ptx.values import Array, Lanes, Vec, remember

BANKS = 32
BANK_BYTES = 4
SECTOR_BYTES = 32
WAVEFRONT_BYTES = BANKS * BANK_BYTES


def shared_wavefronts(offsets: Array, active: Array, width: int, op: str) -> tuple[Array, Array]:
    """Wavefronts of shared-memory requests, and what they would be without bank conflicts.

    offsets: (n, 32) int64 byte addresses of the lanes' accesses.
    active: (n, 32) bool, which lanes take part.
    width: bytes each lane accesses: 1, 2, 4, 8 or 16.
    op: "load", "store" or "atomic".
    Returns (wavefronts, ideal): each (n,) int64.

    A request wider than 4 bytes is carried out in groups of lanes: two halves for 8 bytes, four quarters for 16.
    Within a group every bank serves one 4-byte word a wavefront; lanes that want the same word share it.  Two groups of
    a load are served at once where the two lanes of every neighbouring pair want one address, or one of them wants
    nothing (measured; NVIDIA states it for compute capability 7.x, without the lanes that take no part).  A request
    that no lane takes part in counts nothing, nor does a group.
    """
    n = len(offsets)
    if width <= 4:
        groups = np.ones(n, np.int64)
        return _conflicts(offsets // BANK_BYTES, active), groups * active.any(axis=1)
    words = width // 4
    wavefronts = np.zeros(n, np.int64)
    ideal = np.zeros(n, np.int64)
    at_once = lanes_at_once(offsets, active, width, op)
    for together in np.unique(at_once).tolist():
        rows = at_once == together
        some, mask = offsets[rows], active[rows]
        total = np.zeros(len(some), np.int64)
        used = np.zeros(len(some), np.int64)
        for start in range(0, 32, together):
            part = slice(start, start + together)
            base = some[:, part] // BANK_BYTES
            all_words = (base[:, :, None] + np.arange(words)).reshape(len(some), -1)
            total += _conflicts(all_words, np.repeat(mask[:, part], words, axis=1))
            used += mask[:, part].any(axis=1)
        wavefronts[rows], ideal[rows] = total, used
    return wavefronts, ideal


def lanes_at_once(offsets: Array, active: Array, width: int, op: str) -> Array:
    """(n,) how many neighbouring lanes of each shared-memory request are served together; see `shared_wavefronts`."""
    n = len(offsets)
    if width <= 4:
        return np.full(n, 32)
    lanes_per_group = 32 * 4 // width
    paired = _pairs_agree(offsets, active) if op == "load" else np.zeros(n, np.bool_)
    return np.where(paired, 2 * lanes_per_group, lanes_per_group)


def _pairs_agree(offsets: Array, active: Array) -> Array:
    """(n,) bool: no two active lanes l and l^1 have different addresses, or no two l and l^2."""
    result = np.zeros(len(offsets), np.bool_)
    lanes = np.arange(32)
    for distance in (1, 2):
        other = lanes ^ distance
        result |= ((offsets == offsets[:, other]) | ~active | ~active[:, other]).all(axis=1)
    return result & active.any(axis=1)


def _conflicts(words: Array, active: Array) -> Array:
    """(n,) the largest number of distinct words that one bank has to serve, for (n, k) word addresses."""
    n = len(words)
    if not n:
        return np.zeros(0, np.int64)
    # Sorted by (bank, word), equal words side by side: count what is new, bank by bank.
    low = int(words[active].min()) if active.any() else 0
    span = (int(words[active].max()) - low) // BANKS + 2 if active.any() else 1
    words = words - low // BANKS * BANKS
    keys = np.where(active, (words % BANKS) * span + words // BANKS, -1)
    keys.sort(axis=1)
    new = np.empty(keys.shape, np.bool_)
    new[:, 0] = True
    np.not_equal(keys[:, 1:], keys[:, :-1], out=new[:, 1:])
    new &= keys >= 0
    rows = np.broadcast_to(np.arange(n)[:, None] * BANKS, keys.shape)[new]
    counts = np.bincount(rows + keys[new] // span, minlength=n * BANKS)
    return counts.reshape(n, BANKS).max(axis=1)


def unique_bytes(offsets: Array, active: Array, width: int) -> Array:
    """(n,) distinct bytes that the active lanes of each request address (naturally aligned accesses)."""
    return distinct(offsets // width, active) * width


def global_sectors(offsets: Array, active: Array) -> Array:
    """(n,) distinct 32-byte sectors that each global-memory request touches.

    `offsets` are relative to something aligned to 32 bytes; accesses are naturally aligned and thus never straddle.
    """
    return distinct(offsets // SECTOR_BYTES, active)


def distinct(keys: Array, active: Array) -> Array:
    """(n,) number of distinct values among the active entries of each row."""
    big = np.iinfo(np.int64).max
    ordered = np.where(active, keys, big)
    ordered.sort(axis=1)
    new = ordered[:, 1:] != ordered[:, :-1]
    new &= ordered[:, 1:] != big
    return new.sum(axis=1) + (ordered[:, 0] != big)


def most_alike(keys: Array, active: Array) -> int:
    """The most active entries of one row that have the same value."""
    ordered = np.where(active, keys, np.iinfo(np.int64).max)
    ordered.sort(axis=1)
    ordered = np.where(np.arange(ordered.shape[1]) < active.sum(axis=1)[:, None], ordered, -1)
    run = most = np.ones(len(ordered), np.int64) * (ordered[:, 0] >= 0)
    for column in range(1, ordered.shape[1]):
        run = np.where(ordered[:, column] == ordered[:, column - 1], run + 1, 1) * (ordered[:, column] >= 0)
        most = np.maximum(most, run)
    return int(most.max(initial=0))


_HERE = (0,)


class Traffic(Observer):
    """Shared-memory banks and global-memory sectors of every access.

    What a request costs depends only on its lanes' addresses relative to each other and to a boundary of 128
    bytes (32 for sectors), so the result is kept with the address vector and serves every later iteration.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int, str, str, int], LineCounter] = {}
        self._by_instruction: dict[tuple[int, str], LineCounter] = {}

    def access(self, event: Access) -> None:
        resolved, together = event.address, event.together
        if event.spec.of_copy == "begun":
            # How many bytes go there is known, and not in what requests.
            self._counter(event).lanes += resolved.lanes.n
        if resolved is not together[0] or not event.spec.is_counted:
            return
        counter = self._counter(event)
        if len(together) == 1:
            cost = self._cost(resolved, event.op, event.width, counter.space)
            self._add(counter, resolved.lanes.n, cost, resolved)
        else:
            lanes = event.geometry.union([part.lanes for part in together])
            cost = _measure(lanes, addresses_of(together, lanes), event.op, event.width, counter.space)[0]
            self._add(counter, lanes.n, cost, None)

    def repeated(self, accesses: RepeatedAccesses) -> None:
        """Count the accesses of a loop, whose costs repeat after some iterations."""
        for event, step in zip(accesses.first, accesses.steps, strict=True):
            if not event.spec.is_counted:
                continue
            counter, resolved = self._counter(event), event.address
            memo, period = _memo(resolved, counter.space)
            key = ("loop", event.op, event.width, resolved.shift % period, step, accesses.times)
            total = memo.get(key)
            if total is None:
                total = remember(memo, key, self._together(resolved, event, counter.space, step, accesses.times))
            self._add(counter, resolved.lanes.n * accesses.times, total, None)

    def _together(self, resolved: ResolvedAddress, event: Access, space: str, step: int, times: int) -> tuple[Any, ...]:
        """Return the cost of `times` accesses to global memory, each `step` bytes after the last."""
        period = SECTOR_BYTES // math.gcd(step, SECTOR_BYTES)
        distances = [phase * step for phase in range(min(period, times))]
        costs = self._costs(resolved, event.op, event.width, space, distances)
        often = [-(-(times - phase) // period) for phase in range(len(costs))]
        sums = [sum(cost[k] * n for cost, n in zip(costs, often, strict=True)) for k in (0, 1, 2, 3, 4, 7, 8)]
        # Ways and words are those of shared memory.
        return (*sums[:5], costs[0][5], costs[0][6], *sums[5:], 0)

    def _counter(self, event: Access) -> LineCounter:
        space = "shared" if event.address.array.space == "shared" else "global"
        key = (id(event.instruction), space)
        counter = self._by_instruction.get(key)
        if counter is None:
            at = event.instruction.location
            key_of_line = (at.file, at.line, space, event.op, event.width)
            counter = self._lines.get(key_of_line)
            if counter is None:
                counter = LineCounter(at.line, space, event.op, event.width, file=at.file)
                self._lines[key_of_line] = counter
            self._by_instruction[key] = counter
        return counter

    def _add(self, counter: LineCounter, lanes: int, cost: tuple[Any, ...], resolved: ResolvedAddress | None) -> None:
        counter.lanes += lanes
        counter.requests += cost[0]
        counter.wavefronts += cost[1]
        counter.sectors += cost[2]
        counter.ideal += cost[3]
        counter.unique_bytes += cost[4]
        counter.few_requests += cost[7]
        counter.few_lanes += cost[8]
        if counter.op == "atomic":
            counter.same_address = max(counter.same_address, cost[9])
        if cost[5] > counter.ways or not counter.worst_words:
            counter.ways = max(counter.ways, cost[5])
            counter.worst_words = cost[6] if resolved is None else _own_words(resolved, cost)

    def _cost(self, resolved: ResolvedAddress, op: str, width: int, space: str) -> tuple[Any, ...]:
        memo, period = _memo(resolved, space)
        cost: tuple[Any, ...] | None = memo.get(("traffic", op, width, space, resolved.shift % period))
        return self._costs(resolved, op, width, space, _HERE)[0] if cost is None else cost

    def _costs(
        self, resolved: ResolvedAddress, op: str, width: int, space: str, distances: Sequence[int]
    ) -> list[tuple[Any, ...]]:
        memo, period = _memo(resolved, space)
        keys = [("traffic", op, width, space, (resolved.shift + distance) % period) for distance in distances]
        by_key = {key: memo[key] for key in keys if key in memo}
        missing = {key: distance for key, distance in zip(keys, distances, strict=True) if key not in by_key}
        if missing:
            if len(distances) > 1:
                # Other accesses of the loop will go to the places in between: all at once they cost little more.
                every = {
                    ("traffic", op, width, space, (resolved.shift + k) % period): k for k in range(0, period, width)
                }
                missing = {key: distance for key, distance in (missing | every).items() if key not in memo}
            addresses = addresses_of([resolved], resolved.lanes)
            costs = _measure(resolved.lanes, addresses, op, width, space, resolved.vec, list(missing.values()))
            for (key, distance), cost in zip(missing.items(), costs, strict=True):
                by_key[key] = remember(memo, key, (*cost, _start(resolved) + distance))
        return [by_key[key] for key in keys]

    def take(self, counters: Sequence[LineCounter]) -> None:
        """Take over what was counted elsewhere, by file, line, space, operation and width, each once."""
        for counter in counters:
            self._lines[counter.file, counter.line, counter.space, counter.op, counter.width_bytes] = counter

    def finish(self, report: LaunchReport) -> None:
        report.counters.by_line = sorted(
            self._lines.values(), key=lambda c: (c.line, c.space, c.op, c.width_bytes, c.file)
        )


def _memo(resolved: ResolvedAddress, space: str) -> tuple[dict[Any, Any], int]:
    """Return the memo that keeps an access's cost, and the period in bytes after which the cost repeats."""
    if resolved.vec is None:
        return resolved.lanes.memo, 1
    return resolved.vec.memo, WAVEFRONT_BYTES if space == "shared" else SECTOR_BYTES


def addresses_of(all_resolved: Sequence[ResolvedAddress], lanes: Lanes) -> Array:
    """(n,) int64: where each lane goes, in bytes of its block's shared memory or of the device's memory."""
    result = np.empty(lanes.n, np.int64)
    for resolved in all_resolved:
        start = resolved.array.storage if resolved.array.space == "shared" else resolved.array.base
        result[slice(None) if resolved.lanes is lanes else resolved.lanes.positions_in(lanes)] = (
            resolved.offsets() + start
        )
    return result


def _start(resolved: ResolvedAddress) -> int:
    """Return what all lanes' addresses grow with; costs kept with their offsets were found for one such start."""
    return resolved.shift + resolved.array.storage


def _own_words(resolved: ResolvedAddress, cost: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the words of an access's worst request; the kept ones may belong to an access that lies elsewhere."""
    words: tuple[int, ...] = cost[6]
    start, old_start = _start(resolved), cost[10]
    if start == old_start or not words:
        return words
    # Where offsets are kept both starts are at the same place of a row of banks; else all lanes share one word.
    further = start // BANK_BYTES - old_start // BANK_BYTES
    return tuple(word + further if word >= 0 else word for word in words)


def _measure(
    lanes: Lanes,
    addresses: Array,
    op: str,
    width: int,
    space: str,
    vec: Vec | None = None,
    distances: Sequence[int] = (0,),
) -> list[tuple[Any, ...]]:
    """(requests, wavefronts, sectors, ideal, unique bytes, ways, worst request's words, few_requests, few_lanes,
    most lanes at one address of an atomic).

    One for each distance that all addresses are moved by.  vec: what the addresses are a constant further than.
    """
    active = lanes.active_table()
    offsets = lanes.to_warps(addresses, 0)
    # Rows that are alike stay so wherever all of them are moved.
    cached = None if vec is None else vec.memo.get("rows")
    rows, weights = cached or _distinct_rows(offsets, active)
    if vec is not None and cached is None:
        remember(vec.memo, "rows", (rows, weights))
    sample, mask = offsets[rows], active[rows]
    count = len(distances)
    if count > 1:
        sample = (sample + np.array(distances, np.int64)[:, None, None]).reshape(-1, sample.shape[1])
        mask = np.tile(mask, (count, 1))
    else:
        sample = sample + distances[0]
    unique = unique_bytes(sample, mask, width)
    if space == "shared":
        wavefronts, ideal = shared_wavefronts(sample, mask, width, op)
        sectors = np.zeros_like(wavefronts)
        ways = -(-wavefronts // np.maximum(ideal, 1))
    else:
        sectors = global_sectors(sample, mask)
        ideal = -(-unique // SECTOR_BYTES)
        wavefronts = np.zeros_like(sectors)
        ways = np.ones_like(sectors)
    few = (0, 0) if lanes.whole_warps else _few(active, width)
    totals = np.stack((wavefronts, sectors, ideal, unique)).reshape(4, count, -1) @ weights
    most = ways.reshape(count, -1).max(axis=1)
    same = most_alike(sample, mask) if op == "atomic" else 0
    result = []
    for k, (sums, way) in enumerate(zip(totals.T.tolist(), most.tolist(), strict=True)):
        words: tuple[int, ...] = ()
        if space == "shared":
            own = slice(k * len(rows), (k + 1) * len(rows))
            words = _worst_words(wavefronts[own], rows, sample[own], mask[own])
        result.append((lanes.n_warps, *sums, way, words, *few, same))
    return result


def _worst_words(wavefronts: Array, rows: Array, sample: Array, mask: Array) -> tuple[int, ...]:
    # Among equally bad requests the first warp's: its words are the ones a reader can follow by hand.
    worst = int(min(np.flatnonzero(wavefronts == wavefronts.max()), key=lambda row: rows[row]))
    words: tuple[int, ...] = tuple(np.where(mask[worst], sample[worst] // BANK_BYTES, -1).tolist())
    return words


def _few(active: Array, width: int) -> tuple[int, int]:
    """Count requests of a few lanes (see `LineCounter`), and their lanes."""
    lanes = active.sum(axis=1)
    few = lanes * max(width, BANK_BYTES) <= SECTOR_BYTES
    return int(np.count_nonzero(few)), int(lanes[few].sum())


def _distinct_rows(offsets: Array, active: Array) -> tuple[Array, Array]:
    """Rows that differ after moving each to its own 128-byte boundary, and how often each occurs.

    Regular kernels have thousands of warps and a handful of patterns.
    """
    n = len(offsets)
    if n <= 4:
        return np.arange(n), np.ones(n, np.int64)
    whole = bool(active.all())
    first = (offsets if whole else np.where(active, offsets, np.iinfo(np.int64).max)).min(axis=1, keepdims=True)
    moved = offsets - (first & -128)
    if not whole:
        moved = np.where(active, moved, -1)
    # A row's pattern as one number: equal rows have equal keys, unequal ones differ but for chance of 2^-64.
    key = (moved.view(np.uint64) + np.uint64(1)) @ _MIX
    _, rows, weights = np.unique(key, return_index=True, return_counts=True)
    return rows, weights


# Powers of an odd multiplier (Knuth's MMIX generator): importing NumPy's random module costs 10 ms of every start.
_MIX = np.array([pow(6364136223846793005, power, 1 << 64) for power in range(1, 33)], np.uint64)
