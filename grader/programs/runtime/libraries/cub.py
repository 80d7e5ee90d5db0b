"""CUB's radix sort of many numbers, as Thrust's `sort` calls it, by NumPy.

In the emulator its kernels take ten microseconds of processor time a key: threads rank their keys by votes, digit by
digit, and blocks wait for the sums of those before them.
"""

from __future__ import annotations

import numpy as np

from grader.programs.device_memory import DeviceMemory
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, served, takes
from grader.programs.runtime.memory import shared_at
from grader.programs.runtime.state import Handlers, State

FEWEST = 1 << 14
"""Keys; fewer are sorted by CUB's kernels, which are listed and counted then."""
_COST = 16
"""Cost of sorting a key, in multiplications."""
_BY_KERNELS = 1
_UNSIGNED, _SIGNED, _FLOAT = range(3)


@takes("keys sorted values moved count kind key_bytes value_bytes begin_bit end_bit is_descending stream")
def radix_sort(call: Call, args: Arguments) -> int | None:
    """Sort; `_BY_KERNELS` where that is left to CUB: of few keys, and where kernels do not run here and now."""
    state, count = call.state, args.count
    is_here = isinstance(state.memory, DeviceMemory) and not state.hollow and args.stream not in state.graphs.captures
    is_sound = args.key_bytes in (1, 2, 4, 8) and 0 <= args.begin_bit < args.end_bit <= 8 * args.key_bytes
    if count < FEWEST or not is_here or not is_sound or args.value_bytes < 0:
        return _BY_KERNELS
    key_bytes, moved_bytes = count * args.key_bytes, count * args.value_bytes
    operands = (args.keys, key_bytes), (args.sorted, key_bytes), (args.values, moved_bytes), (args.moved, moved_bytes)
    if not all(_is_within(state, address, size) for address, size in operands if size):
        # Accesses beyond an array are reported by the kernels.
        return _BY_KERNELS
    call.work(count, _COST + args.value_bytes)
    keys = call.array(args.keys, count, f"u{args.key_bytes}")
    values = call.array(args.values, count * args.value_bytes, "u1")
    if any((valid := allocation.valid()) is not None and not valid.all() for _, allocation in (keys, values)):
        # Reads of what nobody has written are reported by the kernels.
        return _BY_KERNELS
    ranks = _ranks(keys[0], args)
    if args.value_bytes or args.kind == _FLOAT or args.end_bit - args.begin_bit < 8 * args.key_bytes:
        order = _order(ranks)
        moved = values[0].reshape(count, -1)[order].reshape(-1) if args.value_bytes else None
        call.store(call.array(args.sorted, count, keys[0].dtype.str), keys[0][order])
        if moved is not None:
            call.store(call.array(args.moved, len(moved), "u1"), moved)
        return None
    ranks.sort()
    if args.is_descending:
        ranks = ~ranks
    sign = keys[0].dtype.type(1 << 8 * args.key_bytes - 1) if args.kind == _SIGNED else keys[0].dtype.type(0)
    call.store(call.array(args.sorted, count, keys[0].dtype.str), ranks ^ sign)
    return None


def _is_within(state: State, address: int, size: int) -> bool:
    """Whether so many bytes lie in one array."""
    allocation = state.memory.find(address)
    begin = allocation.base if allocation is not None else 0
    if allocation is None and (allocation := shared_at(state, address)) is not None:
        begin = allocation.host
    return allocation is not None and begin <= address and address + size <= begin + allocation.size


def _ranks(keys: Array, args: Arguments) -> Array:
    """Return unsigned numbers in whose order the keys go (cub/util_type.cuh, `Traits::TwiddleIn`): -0 is 0."""
    of = keys.dtype.type
    sign = of(1 << 8 * args.key_bytes - 1)
    ranks = keys.copy()
    if args.kind == _SIGNED:
        ranks ^= sign
    elif args.kind == _FLOAT:
        ranks[ranks == sign] = 0
        ranks ^= np.where(ranks & sign, ~of(0), sign)
    if args.is_descending:
        ranks = ~ranks
    bits = args.end_bit - args.begin_bit
    return ranks if bits == 8 * args.key_bytes else ranks >> of(args.begin_bit) & of((1 << bits) - 1)


def _order(ranks: Array) -> Array:
    """Return the places of the keys in order; of equal ones the first comes first."""
    if ranks.dtype.itemsize > 4 or len(ranks) >= 1 << 32:
        return np.argsort(ranks, kind="stable")
    both = ranks.astype(np.uint64) << np.uint64(32) | np.arange(len(ranks), dtype=np.uint64)
    both.sort()
    return both & np.uint64(0xFFFFFFFF)


HANDLERS: Handlers = {"graderRadixSort": served(radix_sort, is_bound=False)}
