"""Bits and predicates.

Logic, shifts, lop3, prmt, counting and finding bits; bit fields: bfe, bfi, bmsk, szext; comparisons and selection:
setp, set, selp, slct.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.ptx.isa.instructions import (
    BITS,
    DTYPES,
    FLOATS,
    INTEGERS,
    Array,
    Lanes,
    Modifiers,
    Semantics,
    Table,
    make,
    plain,
    register,
)
from grader.ptx.isa.rounding import flush

SHIFTABLE = (*BITS, "u16", "u32", "u64", "s16", "s32", "s64")


def is_zero(a: Array) -> Array:
    """cnot: 1 where a is 0, else 0."""
    return (a == 0).astype(a.dtype)


def shift(m: Modifiers) -> Semantics:
    """shl, shr: amounts of the width or more leave 0, or the sign for shr.s*."""
    name = m.type()
    m.end()
    dtype = DTYPES[name]
    width = dtype.itemsize * 8
    ufunc = np.left_shift if m.opcode == "shl" else np.right_shift

    # NumPy itself defines shifts by the width or more the same way, so only the amount's dtype
    # must be made equal to the value's without wrapping round.
    def compute(a: Array, amount: Array) -> Array:
        if width == 16:
            return ufunc(a, np.minimum(amount, np.uint32(16)).astype(dtype))
        if width == 32:
            return ufunc(a, amount.view(dtype))
        return ufunc(a, amount.astype(dtype))

    return make(f"{name} u32", name, compute)


def funnel_shift(m: Modifiers) -> Semantics:
    """shf.{l,r}.{wrap,clamp}.b32 d, a, b, c: shift the pair b:a; `.l` keeps the upper word, `.r` the lower."""
    direction = m.one_of(("l", "r"))
    mode = m.one_of(("wrap", "clamp"))
    m.type(("b32",))
    m.end()
    left, clamp = direction == "l", mode == "clamp"

    def compute(low: Array, high: Array, amount: Array) -> Array:
        count = (np.minimum(amount, np.uint32(32)) if clamp else amount & np.uint32(31)).astype(np.uint64)
        pair = high.astype(np.uint64) << np.uint64(32) | low
        shifted = (pair << count) >> np.uint64(32) if left else pair >> count
        return shifted.astype(np.uint32)

    return make("b32 b32 b32", "b32", compute)


_TWO_INPUT: tuple[Callable[[Array, Array], Array], ...] = (
    # Indexed by truth table: bit 2*b + c of the index is the function's value at (b, c).
    lambda b, c: np.zeros_like(b & c),
    lambda b, c: ~(b | c),
    lambda b, c: ~b & c,
    lambda b, c: ~b | (b & c & 0),
    lambda b, c: b & ~c,
    lambda b, c: ~c | (b & c & 0),
    lambda b, c: b ^ c,
    lambda b, c: ~(b & c),
    lambda b, c: b & c,
    lambda b, c: ~(b ^ c),
    lambda b, c: c | (b & c & 0),
    lambda b, c: ~b | c,
    lambda b, c: b | (b & c & 0),
    lambda b, c: b | ~c,
    lambda b, c: b | c,
    lambda b, c: ~np.zeros_like(b & c),
)


def logic_3(a: Array, b: Array, c: Array, table: Array) -> Array:
    """Bit i of the result is bit 4*a_i + 2*b_i + c_i of the 8-bit table (the table is the same for all lanes)."""
    value = int(table[0])
    where_one, where_zero = value >> 4 & 15, value & 15
    if where_one == where_zero:
        return _TWO_INPUT[where_one](b, c) ^ (a & 0)
    if where_one == 15 - where_zero:
        return a ^ _TWO_INPUT[where_zero](b, c)
    if where_zero == 0:
        return a & _TWO_INPUT[where_one](b, c)
    if where_one == 15:
        return a | _TWO_INPUT[where_zero](b, c)
    zero = _TWO_INPUT[where_zero](b, c)
    return zero ^ (a & (zero ^ _TWO_INPUT[where_one](b, c)))


def logic_3_factory(m: Modifiers) -> Semantics:
    """lop3.b32 d, a, b, c, lut and lop3.{or,and}.b32 d|p, a, b, c, lut, q with p = (d != 0) op q."""
    m.type(("b32",))
    operation = m.one_of(("or", "and"), default="")
    m.end(results=2 if operation else 1)
    if not operation:
        return make("b32 b32 b32 u32", "b32", logic_3)
    combine = np.logical_or if operation == "or" else np.logical_and

    def compute(a: Array, b: Array, c: Array, table: Array, q: Array) -> tuple[Array, Array]:
        result = logic_3(a, b, c, table)
        return result, combine(result != 0, q)

    return make("b32 b32 b32 u32 pred", "b32 pred", compute)


_PRMT_MODES = {
    # Byte numbers of the result, lowest byte first, by the low two bits of c.
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


def permute(m: Modifiers) -> Semantics:
    """prmt.b32: pick four of the eight bytes of b:a; in the plain mode a nibble's top bit replicates the sign."""
    mode = m.one_of(_PRMT_MODES, default="")
    m.type(("b32",))
    m.end()
    selectors = [sum(byte << 4 * i for i, byte in enumerate(row)) for row in _PRMT_MODES.get(mode, ())]

    def compute(a: Array, b: Array, c: Array) -> Array:
        if c.size == 1:
            selector = int(c[0])
            return _pick_bytes(a, b, selectors[selector & 3] if selectors else selector)
        if selectors:
            c = np.array(selectors, np.uint32)[c & np.uint32(3)]
        pair = b.astype(np.uint64) << np.uint64(32) | a
        result = np.zeros(np.broadcast_shapes(pair.shape, c.shape), np.uint32)
        for position in range(4):
            nibble = c >> np.uint32(4 * position)
            byte = (pair >> ((nibble & np.uint32(7)).astype(np.uint64) << np.uint64(3))).astype(np.uint32)
            byte = byte & np.uint32(0xFF)
            replicate = nibble & np.uint32(8)
            if replicate.any():
                byte = np.where(replicate != 0, (byte >> np.uint32(7)) * np.uint32(0xFF), byte)
            result |= byte << np.uint32(8 * position)
        return result

    return make("b32 b32 b32", "b32", compute)


def _pick_bytes(a: Array, b: Array, selector: int) -> Array:
    """prmt with the same selector in all lanes: bytes that move by the same distance move together."""
    masks: dict[tuple[int, int], int] = {}
    result = np.zeros(np.broadcast_shapes(a.shape, b.shape), np.uint32)
    for position in range(4):
        nibble = selector >> 4 * position & 15
        source, byte = nibble >> 2 & 1, nibble & 3
        if nibble & 8:
            sign = ((a, b)[source] >> np.uint32(8 * byte + 7)) & np.uint32(1)
            result |= sign * np.uint32(0xFF << 8 * position)
        else:
            key = source, position - byte
            masks[key] = masks.get(key, 0) | 0xFF << 8 * position
    for (source, distance), mask in masks.items():
        operand = (a, b)[source]
        if distance:
            bits = np.uint32(8 * abs(distance))
            operand = operand << bits if distance > 0 else operand >> bits
        result |= operand & np.uint32(mask)
    return result


def highest_bit(a: Array) -> Array:
    """Position of the most significant 1 of an unsigned value, -1 for zero (int64)."""
    if a.dtype.itemsize < 8:
        return np.frexp(a.astype(np.float64))[1].astype(np.int64) - 1
    upper, lower = a >> np.uint64(32), a & np.uint64(0xFFFFFFFF)
    return np.where(upper != 0, highest_bit(upper.astype(np.uint32)) + 32, highest_bit(lower.astype(np.uint32)))


def count_leading_zeros(a: Array) -> Array:
    """clz: the width for zero."""
    return (a.dtype.itemsize * 8 - 1 - highest_bit(a)).astype(np.uint32)


def find_highest(m: Modifiers) -> Semantics:
    """bfind: position of the top bit that is not a copy of the sign; `.shiftamt` counts from the top; else all ones."""
    name = m.type(("u32", "u64", "s32", "s64"))
    amount = m.flag("shiftamt")
    m.end()
    unsigned = DTYPES["u" + name[1:]]
    last = unsigned.itemsize * 8 - 1

    def compute(a: Array) -> Array:
        # Complementing negative values makes the top non-sign bit the top 1.
        bits = (a ^ (a >> a.dtype.type(last))).view(unsigned) if a.dtype.kind == "i" else a
        position = highest_bit(bits)
        if amount:
            position = np.where(position >= 0, last - position, -1)
        return position.astype(np.uint32)

    return make(name, "u32", compute)


def reverse_bits(a: Array) -> Array:
    """brev: bit i goes to width - 1 - i; neighbours, pairs and nibbles are swapped, then the bytes."""
    dtype = a.dtype
    for distance, pattern in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        mask = dtype.type(pattern & np.iinfo(dtype.name).max)
        shift = dtype.type(distance)
        a = (a >> shift & mask) | (a & mask) << shift
    return a.byteswap()


def find_nth_set(mask: Array, base: Array, offset: Array) -> Array:
    """fns: the |offset|-th set bit of mask from bit `base` (upwards for offset > 0), else 0xffffffff."""
    mask, base, offset = (x.astype(np.int64) for x in np.broadcast_arrays(mask, base, offset))
    positions = np.full(mask.shape, 0xFFFFFFFF, np.int64)
    counts = np.zeros(mask.shape, np.int64)
    wanted = np.where(offset == 0, 1, np.abs(offset))
    direction = np.where(offset < 0, -1, 1)
    for step in range(32):
        bit = base + direction * step
        inside = (base < 32) & (bit >= 0) & (bit < 32) & ((offset != 0) | (step == 0))
        is_set = inside & ((mask >> np.clip(bit, 0, 31) & 1) != 0)
        counts += is_set
        positions = np.where(is_set & (counts == wanted), bit, positions)
    # PTX leaves this open; an H200 answers 0.
    return np.where(offset == -(2**31), 0, positions).astype(np.uint32)


def _fixed(inputs: str, outputs: str, compute: Callable[..., Lanes]) -> Callable[[Modifiers], Semantics]:
    def factory(m: Modifiers) -> Semantics:
        m.type()
        m.end()
        return make(inputs, outputs, compute)

    return factory


_WORDS: Table = {}
register(_WORDS, "and", (*BITS, "pred"), plain(np.bitwise_and, 2))
register(_WORDS, "or", (*BITS, "pred"), plain(np.bitwise_or, 2))
register(_WORDS, "xor", (*BITS, "pred"), plain(np.bitwise_xor, 2))
register(_WORDS, "not", (*BITS, "pred"), plain(np.invert, 1))
register(_WORDS, "cnot", BITS, plain(is_zero, 1))
register(_WORDS, "shl shr", SHIFTABLE, shift)
register(_WORDS, "shf", ("b32",), funnel_shift)
register(_WORDS, "lop3", ("b32",), logic_3_factory)
register(_WORDS, "prmt", ("b32",), permute)
register(_WORDS, "bfind", ("u32", "u64", "s32", "s64"), find_highest)
register(_WORDS, "brev", ("b32", "b64"), plain(reverse_bits, 1))
register(_WORDS, "fns", ("b32",), _fixed("b32 b32 s32", "b32", find_nth_set))
for _bits in ("b32", "b64"):
    register(_WORDS, "popc", (_bits,), _fixed(_bits, "u32", lambda a: np.bitwise_count(a).astype(np.uint32)))
    register(_WORDS, "clz", (_bits,), _fixed(_bits, "u32", count_leading_zeros))


def _field(name: str) -> tuple[np.dtype[Any], int]:
    unsigned = DTYPES["u" + name[1:]]
    return unsigned, unsigned.itemsize * 8


def _low_ones(length: Array, dtype: np.dtype[Any]) -> Array:
    """Masks with `length` ones at the bottom; shifted out completely, the 1 leaves 0 - 1: all ones."""
    one = dtype.type(1)
    return (one << length.astype(dtype)) - one


def _restriction(width: int) -> Callable[[Array], Array]:
    """Positions and lengths: PTX restricts both to 0…255; GPUs take them modulo 256 for 32 bits, as they are for 64."""
    return (
        (lambda amount: amount & np.uint32(0xFF))
        if width == 32
        else (lambda amount: np.minimum(amount, np.uint32(255)))
    )


def extract_field(m: Modifiers) -> Semantics:
    """bfe: bits pos…pos+len-1 of a, sign-extended for s32 and s64.

    The sign is bit min(pos + len - 1, msb) of a; a field of length 0 is 0.
    """
    name = m.type(("u32", "u64", "s32", "s64"))
    m.end()
    dtype, width = _field(name)
    signed = DTYPES[name].kind == "i"
    restrict = _restriction(width)

    def compute(a: Array, position: Array, length: Array) -> Array:
        position, length = restrict(position), restrict(length)
        bits = a.view(dtype)
        ones = _low_ones(length, dtype)
        result = (bits >> position.astype(dtype)) & ones
        if signed:
            sign_bit = np.minimum(position + length - np.uint32(1), np.uint32(width - 1)).astype(dtype)
            negative = (bits >> sign_bit & dtype.type(1)) != 0
            present = np.maximum(np.int64(width) - position, 0)
            # Bits past the msb read as the sign as well, so extension starts where the real bits end.
            kept = _low_ones(np.minimum(length.astype(np.int64), present), dtype)
            result = np.where(negative & (length != 0), result | ~kept, result)
        return result.view(DTYPES[name])

    return make(f"{name} u32 u32", name, compute)


def insert_field(m: Modifiers) -> Semantics:
    """bfi d, a, b, pos, len: b with the low len bits of a at pos; bits past the msb are lost."""
    name = m.type(("b32", "b64"))
    m.end()
    dtype, width = _field(name)
    restrict = _restriction(width)

    def compute(a: Array, b: Array, position: Array, length: Array) -> Array:
        position, length = restrict(position).astype(dtype), restrict(length)
        mask = _low_ones(length, dtype) << position
        return (b & ~mask) | (a << position & mask)

    return make(f"{name} {name} u32 u32", name, compute)


def bit_mask(m: Modifiers) -> Semantics:
    """bmsk.{clamp,wrap}.b32: `width` ones starting at bit `position`."""
    mode = m.one_of(("clamp", "wrap"))
    m.type(("b32",))
    m.end()
    dtype = DTYPES["b32"]

    def compute(position: Array, length: Array) -> Array:
        if mode == "wrap":
            position, length = position & np.uint32(31), length & np.uint32(31)
        return _low_ones(length, dtype) << position

    return make("u32 u32", "b32", compute)


def extend(m: Modifiers) -> Semantics:
    """szext.{clamp,wrap}: keep the low n bits, sign- or zero-extended; n = 0 gives 0."""
    mode = m.one_of(("clamp", "wrap"))
    name = m.type(("u32", "s32"))
    m.end()
    dtype = DTYPES[name]

    def compute(a: Array, length: Array) -> Array:
        count = np.minimum(length, np.uint32(32)) if mode == "clamp" else length & np.uint32(31)
        unused = (np.uint32(32) - count).view(dtype)
        # An unused count of 32 shifts everything out and the sign bit after it is 0.
        return (a << unused) >> unused

    return make(f"{name} u32", name, compute)


_FIELDS: Table = {}
register(_FIELDS, "bfe", ("u32", "u64", "s32", "s64"), extract_field)
register(_FIELDS, "bfi", ("b32", "b64"), insert_field)
register(_FIELDS, "bmsk", ("b32",), bit_mask)
register(_FIELDS, "szext", ("u32", "s32"), extend)


# Comparisons and selection: setp, set, selp, slct.

Comparison = Callable[[Array, Array], Array]

INTEGER_COMPARISONS: dict[str, Comparison] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}

FLOAT_COMPARISONS: dict[str, Comparison] = {
    # Ordered ones are false with a NaN, those ending in u are true; C's != is the unordered one.
    "eq": np.equal,
    "ne": lambda a, b: (a < b) | (a > b),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "equ": lambda a, b: ~((a < b) | (a > b)),
    "neu": np.not_equal,
    "ltu": lambda a, b: ~(a >= b),
    "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b),
    "geu": lambda a, b: ~(a < b),
    "num": lambda a, b: (a == a) & (b == b),
    "nan": lambda a, b: (a != a) | (b != b),
}

COMBINATIONS: dict[str, Comparison] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def comparison(m: Modifiers, name: str) -> Comparison:
    """Take the comparison operator and `.ftz` of an operand type."""
    if name in FLOATS:
        compare = FLOAT_COMPARISONS[m.one_of(FLOAT_COMPARISONS)]
        if name == "f32" and m.flag("ftz"):
            return lambda a, b: compare(flush(a), flush(b))
        return compare
    allowed: tuple[str, ...]
    if name.startswith("b"):
        allowed = ("eq", "ne")
    elif name.startswith("s"):
        allowed = ("eq", "ne", "lt", "le", "gt", "ge")
    else:
        allowed = tuple(INTEGER_COMPARISONS)
    return INTEGER_COMPARISONS[m.one_of(allowed)]


def set_predicate(m: Modifiers) -> Semantics:
    """setp: p = (a cmp b) op c and, when asked for, q = !(a cmp b) op c."""
    name = m.type()
    compare = comparison(m, name)
    combination = m.one_of(COMBINATIONS, default="")
    m.end(results=2)
    inputs = f"{name} {name} pred" if combination else f"{name} {name}"
    if m.results == 1 and not combination:
        return make(inputs, "pred", compare)
    combine = COMBINATIONS.get(combination)

    def compute(a: Array, b: Array, *c: Array) -> Array | tuple[Array, Array]:
        holds = compare(a, b)
        p = combine(holds, c[0]) if combine else holds
        if m.results == 1:
            return p
        return p, combine(~holds, c[0]) if combine else ~holds

    return make(inputs, " ".join(["pred"] * m.results), compute)


def set_value(m: Modifiers) -> Semantics:
    """set: all ones (u32, s32) or 1.0 (f32) where the comparison holds, else 0."""
    name = m.type()
    result = m.type(("u32", "s32", "f32"))
    compare = comparison(m, name)
    combination = m.one_of(COMBINATIONS, default="")
    m.end()
    combine = COMBINATIONS.get(combination)
    dtype = DTYPES[result]
    true = np.array(1 if result == "f32" else -1).astype(dtype)[()]

    def compute(a: Array, b: Array, *c: Array) -> Array:
        holds = compare(a, b)
        return (combine(holds, c[0]) if combine else holds) * true

    return make(f"{name} {name} pred" if combination else f"{name} {name}", result, compute)


def select_by_predicate(m: Modifiers) -> Semantics:
    """selp d, a, b, p: a where p."""
    name = m.type()
    m.end()
    return make(f"{name} {name} pred", name, lambda a, b, p: np.where(p, a, b))


def select_by_sign(m: Modifiers) -> Semantics:
    """slct d, a, b, c: a where c >= 0; -0.0 counts as 0 and NaN as negative."""
    sign = m.type(("s32", "f32"))
    name = m.type((*BITS, *INTEGERS, *FLOATS))
    ftz = sign == "f32" and m.flag("ftz")
    m.end()
    return make(f"{name} {name} {sign}", name, lambda a, b, c: np.where((flush(c) if ftz else c) >= 0, a, b))


_COMPARISONS: Table = {}
register(
    _COMPARISONS,
    "setp set",
    (*BITS, *INTEGERS, *FLOATS),
    lambda m: (set_predicate if m.opcode == "setp" else set_value)(m),
)
register(_COMPARISONS, "selp", (*BITS, *INTEGERS, *FLOATS, "f16", "bf16"), select_by_predicate)
register(_COMPARISONS, "slct", ("s32", "f32"), select_by_sign)

TABLE = {**_WORDS, **_FIELDS, **_COMPARISONS}
