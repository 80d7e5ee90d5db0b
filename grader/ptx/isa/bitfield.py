"""Bit fields: bfe, bfi, bmsk, szext."""

# mypy: disable-error-code="no-any-return"
# NumPy's stubs make arithmetic on arrays Any when the dtype is known at run time only.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.ptx.isa.modifiers import DTYPES, Array, Modifiers, Table, make, register
from grader.ptx.isa.semantics import Semantics


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


TABLE: Table = {}
register(TABLE, "bfe", ("u32", "u64", "s32", "s64"), extract_field)
register(TABLE, "bfi", ("b32", "b64"), insert_field)
register(TABLE, "bmsk", ("b32",), bit_mask)
register(TABLE, "szext", ("u32", "s32"), extend)
