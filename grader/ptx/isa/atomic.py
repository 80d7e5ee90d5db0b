"""Atomic read-modify-write: exactly what a loop over the lanes in order would do, without looping where possible.

Lanes are sorted by address (stably, so lane order holds within an address).  Then either a prefix sum over
everything answers at once (integer add, xor, exch), or addresses with few lanes are done together in rounds,
first lanes first, and the rest address by address with `ufunc.accumulate`, which is sequential.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from grader.ptx.isa.instructions import DTYPES, Array, lookup
from grader.ptx.isa.rounding import NAN_32, canonical_nan, flush
from grader.ptx.limits import UnsupportedInstruction

TYPES: dict[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64", "s64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
    "inc": ("u32",),
    "dec": ("u32",),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64"),
    "cas": ("b16", "b32", "b64"),
    "mbarrier_arrive": ("b64",),
    "mbarrier_arrive_drop": ("b64",),
}
"""PTX types of each operation."""

UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}

_CHAINED = frozenset(UFUNCS)
"""Operations that go along the lanes of one place in one step (`_chain`)."""


def apply(
    op: str,
    dtype: str,
    flat: Array,
    index: Array,
    operand: Array,
    compare: Array | None = None,
    flush_subnormals: bool = False,
) -> Array:
    """Apply one atomic instruction to memory, lanes in order, and return what each lane read.

    op, dtype: operation and PTX type, a pair of `TYPES`, such as "add" and "f32".
    flat: (m,) memory in the dtype's NumPy type (`DTYPES`); written to.
    index: (n,) int64 positions in `flat`, one a lane.
    operand, compare: (n,) or (1,); `compare` only for "cas".
    flush_subnormals: add.f32 on global memory flushes subnormal inputs and results to zero (PTX ISA, atom).
    Raises UnsupportedInstruction: no such operation, or not on that type.
    """
    if dtype not in TYPES.get(op, ()):
        raise UnsupportedInstruction(f"atom.{op}.{dtype}")
    lanes = index.size
    operand = np.broadcast_to(operand, lanes)
    if compare is not None:
        compare = np.broadcast_to(compare, lanes)
    if lanes == 1:
        old = flat[index]
        flat[index] = _step(op, dtype, flush_subnormals)(old, operand, *(() if compare is None else (compare,)))
        return old
    low, high = int(index.min()), int(index.max())
    if low == high and op in _CHAINED:
        chain = _chain(op, dtype, flat[low : low + 1], [operand], flush_subnormals)
        flat[low] = chain[-1]
        return chain[:-1]
    order = _stable_order(index, low, high)
    address = index[order]
    starts = np.flatnonzero(np.concatenate(([True], address[1:] != address[:-1])))
    sizes = np.diff(starts, append=lanes)
    operands = [operand[order]] if compare is None else [operand[order], compare[order]]
    old = np.empty(lanes, flat.dtype)
    if starts.size == lanes:
        old_sorted = flat[address]
        flat[address] = _step(op, dtype, flush_subnormals)(old_sorted, *operands)
    elif op == "exch" or op == "xor" or (op == "add" and dtype[0] in "us"):
        old_sorted = _prefix(op, flat, address, operands[0], starts, sizes)
    else:
        old_sorted = _rounds(op, dtype, flat, address, operands, starts, flush_subnormals)
    old[order] = old_sorted
    return old


def _stable_order(index: Array, low: int, high: int) -> Array:
    if high - low < 65536:
        # Keys of 16 bits are sorted by radix, ten times faster.
        return np.argsort((index - low).astype(np.uint16), kind="stable")
    return np.argsort(index, kind="stable")


def _prefix(op: str, flat: Array, address: Array, operand: Array, starts: Array, sizes: Array) -> Array:
    first = flat[address[starts]]
    last = starts + sizes - 1
    if op == "exch":
        old = np.empty_like(operand)
        old[1:] = operand[:-1]
        old[starts] = first
        flat[address[last]] = operand[last]
        return old
    ufunc, inverse = (np.add, np.subtract) if op == "add" else (np.bitwise_xor, np.bitwise_xor)
    total = ufunc.accumulate(operand, dtype=operand.dtype)
    before = inverse(total, operand)
    old = ufunc(before, np.repeat(inverse(first, before[starts]), sizes))
    flat[address[last]] = ufunc(old[last], operand[last])
    return old


def _rounds(
    op: str, dtype: str, flat: Array, address: Array, operands: list[Array], starts: Array, flush_subnormals: bool
) -> Array:
    sizes = np.diff(starts, append=address.size)
    step = _step(op, dtype, flush_subnormals)
    old = np.empty(address.size, flat.dtype)
    rounds = _best_rounds(sizes)
    for rank in range(rounds):
        at = (starts[sizes > rank] if rank else starts) + rank
        old[at] = flat[address[at]]
        flat[address[at]] = step(old[at], *(x[at] for x in operands))
    for group in np.flatnonzero(sizes > rounds):
        lanes = slice(starts[group] + rounds, starts[group] + sizes[group])
        where = address[starts[group]]
        current = flat[where : where + 1].copy()
        chain = _chain(op, dtype, current, [x[lanes] for x in operands], flush_subnormals)
        old[lanes] = chain[:-1]
        flat[where] = chain[-1]
    return old


def _best_rounds(sizes: Array) -> int:
    ascending = np.sort(sizes)
    candidates = np.concatenate(([0], np.unique(ascending)))
    cost = candidates + (ascending.size - np.searchsorted(ascending, candidates, side="right"))
    return int(candidates[np.argmin(cost)])


def _chain(op: str, dtype: str, current: Array, operands: list[Array], flush_subnormals: bool) -> Array:
    """The values of one memory cell before each lane, and after the last (n + 1)."""
    values = np.concatenate((current, operands[0]))
    if op == "cas":
        return _chain_cas(current, operands)
    if op in ("inc", "dec"):
        return _chain_wrapping(op, values)
    if op in UFUNCS and (op != "add" or dtype[0] in "us"):
        return UFUNCS[op].accumulate(values, dtype=values.dtype)
    if dtype in ("f32", "f64"):
        chain = np.add.accumulate(values, dtype=values.dtype)
        if dtype == "f64":
            return chain
        if np.isnan(chain[1:]).any():
            chain[1:].view(np.uint32)[np.isnan(chain[1:])] = NAN_32
        tiny = np.finfo(np.float32).tiny
        if not flush_subnormals or not any(((np.abs(x) < tiny) & (x != 0)).any() for x in (values, chain)):
            return chain
    step = _step(op, dtype, flush_subnormals)
    chain = values.copy()
    for lane in range(operands[0].size):
        chain[lane + 1 : lane + 2] = step(chain[lane : lane + 1], operands[0][lane : lane + 1])
    return chain


def _chain_cas(current: Array, operands: list[Array]) -> Array:
    new_values, expected = operands[0].tolist(), operands[1].tolist()
    value = current.tolist()[0]
    chain = [value]
    for new, wanted in zip(new_values, expected, strict=True):
        if value == wanted:
            value = new
        chain.append(value)
    return np.array(chain, current.dtype)


def _chain_wrapping(op: str, values: Array) -> Array:
    value, *limits = values.tolist()
    chain = [value]
    for limit in limits:
        if op == "inc":
            value = 0 if value >= limit else value + 1
        else:
            value = limit if value == 0 or value > limit else value - 1
        chain.append(value)
    return np.array(chain, values.dtype)


def _step(op: str, dtype: str, flush_subnormals: bool) -> Callable[..., Array]:
    """One lane's update, vectorised over lanes with distinct addresses."""
    if op == "exch":
        return lambda old, operand: operand
    if op == "cas":
        return _compare_and_swap
    if op == "inc":
        return lambda old, limit: np.where(old >= limit, DTYPES[dtype].type(0), old + DTYPES[dtype].type(1))
    if op == "dec":
        return lambda old, limit: np.where((old == 0) | (old > limit), limit, old - DTYPES[dtype].type(1))
    if op == "add" and dtype == "f32":
        if flush_subnormals:
            return lambda old, operand: flush(canonical_nan(flush(old) + flush(operand)))
        return lambda old, operand: canonical_nan(old + operand)
    if op in ("and", "or", "xor"):
        return UFUNCS[op]
    if op in ("mbarrier_arrive", "mbarrier_arrive_drop"):
        return partial(_arrive, op == "mbarrier_arrive_drop")
    compute: Callable[..., Any] = lookup(op, (dtype,)).compute
    return compute


MBARRIER_FIELD_BITS = 20
"""An `mbarrier` as a word: from the lowest bit on how many arrivals its phase still waits for, how many each phase
waits for (both of that many bits: PTX ISA, mbarrier.init, counts up to 2^20 - 1), and the number of the phase."""
_FIELD = np.uint64((1 << MBARRIER_FIELD_BITS) - 1)
_EXPECTED, _PHASE = np.uint64(MBARRIER_FIELD_BITS), np.uint64(2 * MBARRIER_FIELD_BITS)


def mbarrier_start(count: Array) -> Array:
    """A barrier whose phases wait for so many arrivals."""
    wide = count.astype(np.uint64) & _FIELD
    return wide | wide << _EXPECTED


def mbarrier_phase(word: Array) -> Array:
    """The number of the phase that a barrier is in, or was in when it gave a state."""
    return word >> _PHASE


def _arrive(drops: bool, word: Array, count: Array) -> Array:
    """Update a barrier for arriving threads, which are also taken out of later phases where one `drops` out."""
    expected = word >> _EXPECTED & _FIELD
    left = (word & _FIELD) - np.minimum(count, word & _FIELD)
    expected = expected - np.minimum(count, expected) if drops else expected
    over = left == 0
    phase = mbarrier_phase(word) + over
    return np.where(over, expected, left) | expected << _EXPECTED | phase << _PHASE


def _compare_and_swap(old: Array, new: Array, expected: Array) -> Array:
    return np.where(old == expected, new, old)
