"""Integer arithmetic on uniform and shifted values without touching an array; and what such values are of: where the
threads of some blocks stand in their grid.

Each function of the arithmetic takes register values and returns one, or None when there is no short cut and the
general semantics must compute over all lanes.  It is all modulo 2^bits, as in PTX.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.ptx.records import Index3
from grader.ptx.values import (
    KEPT_BYTES,
    SIGNED,
    UNSIGNED,
    WARP_SIZE,
    Affine,
    Array,
    Lanes,
    Layout,
    Value,
    Vec,
    keep,
    remember,
    shifted,
    split_shift,
)


def to_signed(value: int, bits: int) -> int:
    """The two's complement reading of an unsigned bit pattern."""
    return value - (1 << bits) if value >> (bits - 1) else value


def add(a: Value, b: Value, bits: int) -> Value | None:
    """a + b where at least one of them is uniform or shifted."""
    if not isinstance(b, (Vec, Affine)):
        if not isinstance(a, (Vec, Affine)):
            return (a + b) & ((1 << bits) - 1)
        vec, shift = split_shift(a)
        return shifted(vec, shift + b) if vec.bits == bits else None
    if not isinstance(a, (Vec, Affine)):
        vec, shift = split_shift(b)
        return shifted(vec, shift + a) if vec.bits == bits else None
    (vec, shift), (other, other_shift) = split_shift(a), split_shift(b)
    lasting = vec.lasting and other.lasting
    if not lasting and not isinstance(a, Affine) and not isinstance(b, Affine):
        return None
    # In a loop the arrays stay and the constants move: the sum of the arrays is worth keeping.
    if vec.bits != bits or other.bits != bits:
        return None
    if (vec.lasting, id(vec)) > (other.lasting, id(other)):
        # Kept with one of the two, or they would hold on to each other; never with one that outlives the other.
        vec, other = other, vec
    cached = vec.memo.get(("sum", id(other)))
    if cached is None:
        dtype = UNSIGNED[bits // 8]
        total = Vec(vec.array.view(dtype) + other.array.view(dtype), vec.lanes)
        if lasting:
            keep(total)
        cached = remember(vec.memo, ("sum", id(other)), (other, total))
    return shifted(cached[1], shift + other_shift)


def sub(a: Value, b: Value, bits: int) -> Value | None:
    """a − b where b is uniform."""
    if isinstance(b, (Vec, Affine)):
        return None
    return add(a, -b & ((1 << bits) - 1), bits)


def _derived(vec: Vec, key: Any, compute: Callable[[], Array]) -> Vec:
    derived = vec.memo.get(key)
    if derived is None:
        derived = remember(vec.memo, key, Vec(compute(), vec.lanes))
        if vec.lasting:
            keep(derived)
    return derived


def mul_lo(a: Value, b: Value, bits: int) -> Value | None:
    """Low half of a·b where at least one of them is uniform."""
    if not isinstance(a, (Vec, Affine)):
        a, b = b, a
    if isinstance(b, (Vec, Affine)):
        return None
    mask = (1 << bits) - 1
    if not isinstance(a, (Vec, Affine)):
        return a * b & mask
    vec, shift = split_shift(a)
    if vec.bits != bits:
        return None
    dtype = UNSIGNED[bits // 8]
    factor = np.array([b & mask], dtype)
    return shifted(_derived(vec, ("mul", b), lambda: vec.array.view(dtype) * factor), shift * b)


def shl(a: Value, b: Value, bits: int) -> Value | None:
    """a << b for a uniform amount; amounts past the width give 0."""
    if isinstance(b, (Vec, Affine)):
        return None
    if b >= bits:
        return 0
    return mul_lo(a, 1 << b, bits)


def mul_wide(a: Value, b: Value, bits: int, signed: bool) -> Value | None:
    """Full 2·bits-wide product of `bits`-wide factors, one of them uniform."""
    if not isinstance(a, (Vec, Affine)):
        a, b = b, a
    if isinstance(b, (Vec, Affine)):
        return None
    factor = to_signed(b, bits) if signed else b
    if not isinstance(a, (Vec, Affine)):
        return (to_signed(a, bits) if signed else a) * factor & ((1 << 2 * bits) - 1)
    widened = widen(a, bits, 2 * bits, signed)
    return None if widened is None else mul_lo(widened, factor & ((1 << 2 * bits) - 1), 2 * bits)


def widen(a: Value, bits: int, wide_bits: int, signed: bool) -> Value | None:
    """Sign- or zero-extension; a shifted value stays shifted where the narrow sum does not wrap.

    A conversion may take its operand from a wider register, whose upper bits it does not look at.
    """
    if not isinstance(a, (Vec, Affine)):
        narrow_bits = a & ((1 << bits) - 1)
        return (to_signed(narrow_bits, bits) if signed else narrow_bits) & ((1 << wide_bits) - 1)
    vec, shift = split_shift(a)
    if vec.bits != bits:
        return None
    if shift:
        low, high = vec.signed_bounds() if signed else vec.unsigned_bounds()
        floor, ceiling = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
        if low + shift < floor or high + shift >= ceiling:
            return None
    kind = SIGNED if signed else UNSIGNED
    size, wide_size = bits // 8, wide_bits // 8
    wide = _derived(vec, ("wide", wide_bits, signed), lambda: vec.array.view(kind[size]).astype(kind[wide_size]))
    return shifted(wide, shift)


def same_bits(a: Value, bits: int) -> Value | None:
    """The low `bits` of a value that is as wide, or comes from a wider register."""
    if not isinstance(a, (Vec, Affine)):
        return a & ((1 << bits) - 1)
    return a if split_shift(a)[0].bits == bits else None


def narrow(a: Value, bits: int) -> Value | None:
    """The low `bits` of a wider value (truncation commutes with adding a constant)."""
    mask = (1 << bits) - 1
    if not isinstance(a, (Vec, Affine)):
        return a & mask
    vec, shift = split_shift(a)
    if vec.bits <= bits:
        return None
    unsigned, size = UNSIGNED[vec.bits // 8], UNSIGNED[bits // 8]
    return shifted(_derived(vec, ("narrow", bits), lambda: vec.array.view(unsigned).astype(size)), shift)


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "lo": operator.lt,
    "ls": operator.le,
    "hi": operator.gt,
    "hs": operator.ge,
}


def bounds(a: Value, bits: int, signed: bool) -> tuple[int, int] | None:
    """Smallest and largest element, or None where the shifted value wraps around."""
    if not isinstance(a, (Vec, Affine)):
        value = to_signed(a, bits) if signed else a
        return value, value
    vec, shift = split_shift(a)
    if vec.bits != bits:
        return None
    low, high = vec.signed_bounds() if signed else vec.unsigned_bounds()
    low, high = low + shift, high + shift
    floor, ceiling = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
    if low < floor or high >= ceiling:
        return None
    return low, high


def compare(name: str, a: Value, b: Value, bits: int, signed: bool) -> bool | None:
    """A comparison that comes out the same in every thread, by the operands' bounds; None otherwise."""
    relation = COMPARISONS[name]
    if not isinstance(a, (Vec, Affine)) and not isinstance(b, (Vec, Affine)):
        if signed:
            return relation(to_signed(a, bits), to_signed(b, bits))
        return relation(a, b)
    left = bounds(a, bits, signed)
    right = bounds(b, bits, signed)
    if left is None or right is None:
        return None
    (low, high), (other_low, other_high) = left, right
    if name in ("eq", "ne"):
        return name == "ne" if high < other_low or other_high < low else None
    if relation(low, other_high) and relation(high, other_low):
        return True
    if not relation(low, other_high) and not relation(high, other_low):
        return False
    return None


# Registers of a loop: values that move by a constant.

Moving = tuple[Value, int]
"""(what it is in the first iteration, what each iteration adds: signed)."""
Widened = list[tuple[Value, int, int, bool]]
"""(value, step, bits, whether it is signed) of what moves linearly as long as it does not wrap around."""


class Irregular(Exception):
    """The loop does not move by constants, or not in every thread the same way."""


def signed(value: int, bits: int) -> int:
    """The representative of a number modulo 2^bits that is nearest to 0."""
    half = 1 << bits - 1
    return ((value + half) & (2 * half - 1)) - half


def advance(value: Value, amount: int, bits: int) -> Value:
    """value + amount modulo 2^bits."""
    if isinstance(value, (Vec, Affine)):
        vec, shift = split_shift(value)
        return shifted(vec, shift + amount)
    return (value + amount) & ((1 << bits) - 1)


def difference(first: Value, second: Value, bits: int) -> int:
    """second − first, which is the same in all threads.  Raises Irregular where it is not."""
    if not isinstance(first, (Vec, Affine)) and not isinstance(second, (Vec, Affine)):
        return signed(second - first, bits)
    if isinstance(first, (Vec, Affine)) and isinstance(second, (Vec, Affine)):
        (vec, shift), (other, other_shift) = split_shift(first), split_shift(second)
        if vec is other:
            return signed(other_shift - shift, bits)
    raise Irregular


def certain(value: Value | None) -> Value:
    """Return the value of a short cut.  Raises Irregular where there is none."""
    if value is None:
        raise Irregular
    return value


def moving_sum(left: Moving, right: Moving, bits: int) -> Moving:
    return certain(add(left[0], right[0], bits)), signed(left[1] + right[1], bits)


def moving_converted(moving: Moving, bits: int, to_bits: int, is_signed: bool, widened: Widened) -> Moving:
    """Convert a moving value to `to_bits` bits."""
    value, step = moving
    if to_bits == bits:
        return certain(same_bits(value, bits)), step
    if to_bits < bits:
        return certain(narrow(value, to_bits)), signed(step, to_bits)
    if step:
        widened.append((value, step, bits, is_signed))
    return certain(widen(value, bits, to_bits, is_signed)), step


def moving_product(a: Moving, b: Moving, bits: int, wide: bool, is_signed: bool, widened: Widened) -> Moving:
    """a · b, in twice as many bits where it is `wide`."""
    if isinstance(b[0], (Vec, Affine)) or b[1]:
        a, b = b, a
    factor, factor_step = b
    if factor_step or isinstance(factor, (Vec, Affine)):
        raise Irregular
    if not wide:
        return certain(mul_lo(a[0], factor, bits)), signed(a[1] * factor, bits)
    value, step = moving_converted(a, bits, 2 * bits, is_signed, widened)
    factor = to_signed(factor, bits) if is_signed else factor
    product = mul_lo(value, factor & ((1 << 2 * bits) - 1), 2 * bits)
    return certain(product), signed(step * factor, 2 * bits)


MAX_UNIONS = 256
"""Unions of lane sets that are remembered."""
KEPT_SHAPES = 32
"""Shapes of parts of grids kept, at most."""


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which blocks, and the warps of a block, have their turns; CUDA promises none.

    number: 0: as they are counted; 1: the last comes first; from 2 on blocks are shuffled, by each number in its own
    way, and warps in the order of 1.  A block's last warp, where it is not full, stays the last.
    """

    number: int = 0

    def blocks(self, turns: Array, count: int) -> Array:
        """(n,) int64: which of `count` blocks has the n-th of these turns."""
        if not self.number:
            return turns
        if self.number == 1:
            return count - 1 - turns
        multiplier, start = self._steps(count)
        result: Array = (turns * multiplier + start) % count
        return result

    def turn_of_block(self, block: int, count: int) -> int:
        if self.number <= 1:
            return int(self.blocks(np.array([block]), count)[0])
        multiplier, start = self._steps(count)
        return (block - start) * pow(multiplier, -1, count) % count

    def _steps(self, count: int) -> tuple[int, int]:
        """Return (multiplier, start) of a walk round all of `count` blocks."""
        multiplier = max(1, int(count * _GOLDEN) + self.number - 2)
        while math.gcd(multiplier, count) > 1:
            multiplier += 1
        return multiplier, count // 2

    def threads(self, turns: Array, threads: int) -> Array:
        """(n,) int64: which of a block's threads stands at each of these places; this is its own inverse."""
        if not self.number:
            return turns
        full = threads // WARP_SIZE * WARP_SIZE
        result: Array = np.where(turns < full, full - WARP_SIZE - (turns & -WARP_SIZE) + turns % WARP_SIZE, turns)
        return result


IN_ORDER = Order()
_GOLDEN = 0.618033988749895


class Geometry:
    """The part of a grid that some blocks are which run side by side.

    layout: numbers their threads.  first_block: the turn of the first of them.  grid: blocks in x, y, z.
    order: which blocks of the grid have these turns.
    registers: values of special registers that follow from all that.  is_shared: the layout, and what follows from it
    alone, goes on to other parts of grids.
    """

    __slots__ = ("_unions", "first_block", "grid", "is_shared", "layout", "order", "registers")

    def __init__(
        self, layout: Layout, first_block: int, grid: Index3, order: Order = IN_ORDER, is_shared: bool = False
    ) -> None:
        self.layout = layout
        self.first_block = first_block
        self.grid = grid
        self.order = order
        self.is_shared = is_shared
        self.registers: dict[str, Value] = {}
        self._unions: dict[bytes, Lanes] = {}

    @property
    def first_thread(self) -> int:
        """The number of the first lane's thread in the grid, whole warps counted."""
        return self.first_block * self.layout.padded

    def coordinates(self, lane: int) -> tuple[Index3, Index3]:
        """(block, thread) of a lane, each (x, y, z)."""
        number, thread = divmod(int(lane), self.layout.padded)
        return self.block_index(self.first_block + number), self.thread_index(thread)

    def block_index(self, number: int) -> Index3:
        """Turn of a block of the grid → (x, y, z)."""
        x, y, z = self.grid
        number = int(self.order.blocks(np.array([number]), x * y * z)[0])
        return number % x, number // x % y, number // (x * y)

    def thread_index(self, thread: int) -> Index3:
        """Place of a thread within the block → (x, y, z)."""
        x, y, _ = self.layout.block
        thread = int(self.order.threads(np.array([thread]), self.layout.threads)[0])
        return thread % x, thread // x % y, thread // (x * y)

    def lane(self, block: Index3, thread: Index3) -> int:
        """The lane of a (block, thread) of this part of the grid."""
        (x, y, z), (across, down, _) = block, self.grid
        number = self.order.turn_of_block(x + across * (y + down * z), math.prod(self.grid)) - self.first_block
        (x, y, z), (across, down, _) = thread, self.layout.block
        place = self.order.threads(np.array([x + across * (y + down * z)]), self.layout.threads)
        return number * self.layout.padded + int(place[0])

    def union(self, parts: list[Lanes]) -> Lanes:
        """The union of disjoint sets; equal unions are the same object, so that memos survive."""
        total = sum(part.n for part in parts)
        if total == self.layout.root.n:
            return self.layout.root
        if not all(part.lasting for part in parts):
            return self._union(parts)
        memo, known_by = self.layout.root.memo, ("union", *sorted(id(part) for part in parts))
        kept = memo.get(known_by)
        if kept is None:
            kept = remember(memo, known_by, (self._union(parts).keep(), list(parts)))
        return kept[0]

    def _union(self, parts: list[Lanes]) -> Lanes:
        ids = np.concatenate([part.ids for part in parts])
        ids.sort()
        key = ids.tobytes()
        union = self._unions.get(key)
        if union is None:
            if len(self._unions) >= MAX_UNIONS:
                self._unions.clear()
            union = self._unions[key] = Lanes(self.layout, ids)
        return union

    def forget(self) -> None:
        """Release the memory of a launch that is over; the shape is kept for the next one."""
        self._unions.clear()
        layout = self.layout
        if not layout.keeps or layout.kept_bytes > KEPT_BYTES:
            layout.forget()
        else:
            layout.forget_launch()
            if self.is_shared:
                self.registers = {name: at for name, at in self.registers.items() if not name.startswith("ctaid.")}
            known_by = _known_by(layout.block, layout.blocks, self.first_block, self.grid, self.order, self.is_shared)
            with _lock:
                _kept[known_by] = self
        with _lock:
            while len(_kept) > KEPT_SHAPES or sum(kept.layout.kept_bytes for kept in _kept.values()) > KEPT_BYTES:
                _kept.pop(next(iter(_kept))).layout.forget()


_Key = tuple[Index3, int, int, Index3, Order]
_kept: dict[_Key, Geometry] = {}
"""Geometries that no launch uses, the most recently used last."""
_lock = threading.Lock()
"""Guards `_kept`: predicted times are made beside other launches, in a thread of their own."""


def geometry_of(
    block: Index3, blocks: int, first_block: int, grid: Index3, order: Order = IN_ORDER, shares: bool = False
) -> Geometry:
    """The first blocks of a grid, as many as are asked for; nobody else has them until they are told to forget.

    What an earlier launch of the same shape has found out of where threads stand, and of what follows from that alone,
    comes with it: most of what small launches cost.  Of grids that do not run side by side as a whole only what follows
    from where threads stand in their blocks is kept, for other parts of any grid, and that where it `shares`: who
    watches takes the threads of one layout for those of one part.
    """
    whole = blocks == math.prod(grid)
    is_shared = shares and not whole
    with _lock:
        kept = _kept.pop(_known_by(block, blocks, first_block, grid, order, is_shared), None)
    if kept is None:
        return Geometry(Layout(block, blocks, whole or is_shared), first_block, grid, order, is_shared)
    kept.first_block, kept.grid = first_block, grid
    return kept


def _known_by(block: Index3, blocks: int, first_block: int, grid: Index3, order: Order, is_shared: bool) -> _Key:
    return (block, blocks, -1, (0, 0, 0), order) if is_shared else (block, blocks, first_block, grid, order)
