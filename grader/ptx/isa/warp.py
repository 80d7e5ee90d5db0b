"""What the 32 lanes of a warp compute together: shfl, vote, match, redux, and products of small matrices.

Arrays have shape (W, 32): warps by lanes.  `active` marks the lanes that execute the instruction.  Every lane works
with its own member mask, so that parts of a warp with different masks may execute together.  Results in lanes that are
not active mean nothing.

A *fragment* is a lane's part of a matrix.  Those of `mma.sync` lie as the PTX ISA says ("Matrix Fragments for
mma.m16n8k8" and its like).  Where those of `wmma` lie the ISA leaves open; here
they lie as on an H200, made of the same pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from grader.ptx.isa.atomic import UFUNCS
from grader.ptx.isa.instructions import DTYPES, Array
from grader.ptx.isa.rounding import fma_f64, narrow, widen

LANES = np.arange(32, dtype=np.int64)
_WEIGHTS = np.uint32(1) << np.arange(32, dtype=np.uint32)


def pack(bits: Array) -> Array:
    """Booleans along the last axis of 32 as uint32 masks, lane 0 in bit 0."""
    return np.packbits(bits, axis=-1, bitorder="little").view("<u4")[..., 0]


def shuffle(
    mode: str, value: Array, active: Array, lane_operand: Array, clamp_operand: Array, member_mask: Array
) -> tuple[Array, Array, Array]:
    """shfl.sync by the pseudo-code of PTX ISA, "shfl.sync".

    mode: "up", "down", "bfly" or "idx".
    lane_operand, clamp_operand: uint32, the operands b and c; c holds the clamp in bits 0-4 and the mask that splits
        the warp into segments in bits 8-12.
    Returns result, in_range, source_inactive: the value read (the lane's own where the source is out of range); the
    predicate; where the source was not there, or is no member.  PTX leaves undefined what is read then: an H200 gives 0
    for a lane that has exited or is elsewhere, named or not, and its value for one that is there and not named.
    """
    source, in_range = _sources(mode, lane_operand.astype(np.int64), clamp_operand.astype(np.int64))
    member = (member_mask.astype(np.int64) >> source & 1) != 0
    there = np.take_along_axis(active, source, axis=1)
    source_inactive = active & ~(there & member)
    read = np.take_along_axis(value, source, axis=1)
    return np.where(there, read, value.dtype.type(0)), in_range, source_inactive


def shuffle_alike(mode: str, value: Array, lane_operand: int, clamp_operand: int) -> tuple[Array, Array]:
    """`shuffle` of whole warps that name all of their lanes, where the operands are the same everywhere.

    Returns the values read and the predicate, (32,).
    """
    source, in_range = _sources_alike(mode, lane_operand, clamp_operand)
    return value[:, source], in_range


@lru_cache(maxsize=256)
def _sources_alike(mode: str, lane_operand: int, clamp_operand: int) -> tuple[Array, Array]:
    return _sources(mode, np.full(32, lane_operand, np.int64), np.full(32, clamp_operand, np.int64))


def _sources(mode: str, lane_operand: Array, clamp_operand: Array) -> tuple[Array, Array]:
    """The lane that each reads from, by itself where that would be out of range, and whether it is in range."""
    offset = lane_operand & 31
    clamp = clamp_operand & 31
    segment = clamp_operand >> 8 & 31
    last = (LANES & segment) | (clamp & ~segment)
    if mode == "up":
        source = LANES - offset
        in_range = source >= last
    else:
        if mode == "down":
            source = LANES + offset
        elif mode == "bfly":
            source = LANES ^ offset
        elif mode == "idx":
            source = (LANES & segment) | (offset & ~segment)
        else:
            raise ValueError(f"shuffle mode {mode!r}: allowed are up, down, bfly, idx")
        in_range = source <= last
    return np.where(in_range, source, LANES), in_range


def vote(mode: str, predicate: Array, active: Array, member_mask: Array) -> Array:
    """vote.sync: bool (W, 32) for "all", "any" and "uni", uint32 masks for "ballot"; over active members.

    Where a mask leaves out a lane that calls with it, which is undefined, all lanes with that mask vote, as on an H200.
    """
    outside = active & (member_mask & _WEIGHTS == 0)
    if outside.any():
        alike = pack((member_mask[:, :, None] == member_mask[:, None, :]) & active[:, None, :])
        member_mask = np.where(pack(outside)[:, None] & alike != 0, alike, member_mask)
    true = pack(predicate & active)[:, None] & member_mask
    if mode == "ballot":
        return true
    if mode == "any":
        return true != 0
    everyone = true == pack(active)[:, None] & member_mask
    if mode == "all":
        return everyone
    if mode == "uni":
        return everyone | (true == 0)
    raise ValueError(f"vote mode {mode!r}: allowed are all, any, uni, ballot")


def match(mode: str, values: Array, active: Array, member_mask: Array) -> tuple[Array, Array]:
    """match.sync of bit patterns (W, 32): masks of the members with equal values, and whether all are equal.

    "any" gives each lane the members that hold its value; "all" gives all members, or 0 when they differ.
    """
    members = pack(active)[:, None] & member_mask
    equal = pack(values[:, :, None] == values[:, None, :]) & members
    unanimous = equal == members
    if mode == "any":
        return equal, unanimous
    if mode == "all":
        return np.where(unanimous, members, np.uint32(0)), unanimous
    raise ValueError(f"match mode {mode!r}: allowed are any, all")


def redux(op: str, values: Array, active: Array, member_mask: Array) -> Array:
    """redux.sync: the reduction over active members, in the values' dtype (int32 or uint32, wrapping)."""
    if op not in UFUNCS:
        raise ValueError(f"redux {op!r}: allowed are {', '.join(UFUNCS)}")
    limits = np.iinfo(values.dtype.name)
    identity = {"min": limits.max, "max": limits.min, "and": -1 if limits.min else limits.max}.get(op, 0)
    members = (member_mask[:, :, None] & _WEIGHTS != 0) & active[:, None, :]
    chosen = np.where(members, values[:, None, :], values.dtype.type(identity))
    return UFUNCS[op].reduce(chosen, axis=2, dtype=values.dtype)


TF32_MASK = np.uint32(0xFFFFE000)
"""The bits of a .b32 that a multiplier for tf32 looks at."""
_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "s8": 1, "u8": 1, "s32": 4, "f64": 8}


@dataclass(frozen=True, slots=True)
class Fragment:
    """Where the elements of a matrix lie in a warp.

    kind: type of an element.  rows, columns: of the matrix.  row, column: (32, n) which element each of a lane's n is.
    registers: how many hold them; in some fragments of `wmma` every element is held several times over.
    """

    kind: str
    rows: int
    columns: int
    row: Array
    column: Array
    registers: int

    @property
    def element_bytes(self) -> int:
        """Size of one element in memory and in a register."""
        return _BYTES[self.kind]

    @property
    def register_bytes(self) -> int:
        """Size of one register: elements are packed into words, and none is divided."""
        return max(4, self.element_bytes)

    @property
    def own(self) -> int:
        """How many elements a lane holds, each counted once."""
        return int(self.row.shape[1])

    def unpack(self, registers: Array) -> Array:
        """(warps, 32, own) elements, as unsigned integers, of (warps, 32, registers) words."""
        elements = np.ascontiguousarray(registers).view(f"u{self.element_bytes}")
        return elements[..., : self.own]

    def pack(self, elements: Array) -> Array:
        """The inverse of `unpack`."""
        size = self.registers * self.register_bytes // self.element_bytes
        repeated = np.tile(elements, size // self.own)
        return np.ascontiguousarray(repeated).view(f"u{self.register_bytes}")

    def matrix(self, registers: Array) -> Array:
        """(warps, rows, columns) elements, as unsigned integers, of (warps, 32, registers) words."""
        result = np.empty((len(registers), self.rows, self.columns), f"u{self.element_bytes}")
        result[:, self.row, self.column] = self.unpack(registers)
        return result

    def spread(self, matrix: Array) -> Array:
        """The inverse of `matrix`."""
        return self.pack(np.ascontiguousarray(matrix[:, self.row, self.column]))


@dataclass(frozen=True, slots=True)
class Shape:
    """The fragments of a product: d = a · b + c, where d lies as c does."""

    a: Fragment
    b: Fragment
    c: Fragment
    d: Fragment


def _piece(rows: int, columns: int, per_register: int, across: bool) -> tuple[Array, Array]:
    """(32, n) rows and columns of a matrix made of 8 × (4 · per_register) pieces, one register of each lane a piece.

    Four neighbouring lanes hold a row.  Pieces are numbered as one instruction takes them, downwards first: of matrix a
    those of 16 rows before the next, of matrix b (across: the other way round) those of 8 columns.
    """
    height = 8 if across else 16
    if across:
        rows, columns = columns, rows
    lane, inside = np.arange(32)[:, None], np.arange(per_register)[None, :]
    pieces = [
        (down, right)
        for top in range(0, rows, height)
        for right in range(0, columns, 4 * per_register)
        for down in range(top, min(top + height, rows), 8)
    ]
    row = np.concatenate([np.broadcast_to(lane // 4 + down, (32, per_register)) for down, _ in pieces], axis=1)
    column = np.concatenate([lane % 4 * per_register + inside + right for _, right in pieces], axis=1)
    return (column, row) if across else (row, column)


def _fragment(kind: str, rows: int, columns: int, across: bool, registers: int = 0) -> Fragment:
    row, column = _piece(rows, columns, max(4 // _BYTES[kind], 1), across)
    return Fragment(kind, rows, columns, row, column, registers or _words(kind, row.shape[1]))


def _sums(kind: str, rows: int, columns: int, outer: int) -> Fragment:
    """An accumulator: two neighbouring elements of a row in each of its 8 × 8 pieces, downwards first.

    outer: rows of which all pieces come before those of the next rows.
    """
    parts = []
    for top in range(0, rows, outer):
        for left in range(0, columns, 8):
            for down in range(top, top + outer, 8):
                parts.append((down, left))
    lane = np.arange(32)[:, None]
    row = np.concatenate([np.broadcast_to(lane // 4 + down, (32, 2)) for down, _ in parts], axis=1)
    column = np.concatenate([lane % 4 * 2 + np.arange(2) + left for _, left in parts], axis=1)
    return Fragment(kind, rows, columns, row, column, _words(kind, row.shape[1]))


def _words(kind: str, elements: int) -> int:
    return elements * _BYTES[kind] // max(4, _BYTES[kind])


SYNC_SHAPES = {
    (16, 8, 8, "f16"),
    (16, 8, 16, "f16"),
    (16, 8, 8, "bf16"),
    (16, 8, 16, "bf16"),
    (16, 8, 4, "tf32"),
    (16, 8, 8, "tf32"),
    (8, 8, 16, "i8"),
    (16, 8, 16, "i8"),
    (16, 8, 32, "i8"),
    (8, 8, 4, "f64"),
}
"""m, n, k and type of `mma.sync`."""
WMMA_SHAPES = {(m, n, 16, kind) for m, n in ((16, 16), (8, 32), (32, 8)) for kind in ("f16", "bf16", "i8")} | {
    (16, 16, 8, "tf32"),
    (8, 8, 4, "f64"),
}
"""Shapes and types of `wmma`."""


def _is_known(shapes: set[tuple[int, int, int, str]], m: int, n: int, k: int, kind: str) -> bool:
    return (m, n, k, "i8" if kind in ("s8", "u8") else kind) in shapes


@cache
def sync_shape(m: int, n: int, k: int, a: str, b: str, c: str, d: str) -> Shape | None:
    """The fragments of `mma.sync.m·n·k·` with elements of these types; None where there is no such."""
    if not all(_is_known(SYNC_SHAPES, m, n, k, kind) for kind in (a, b)):
        return None
    left, right = _fragment(a, m, k, across=False), _fragment(b, k, n, across=True)
    return Shape(left, right, _sums(c, m, n, m), _sums(d, m, n, m))


@cache
def wmma_fragment(which: str, m: int, n: int, k: int, kind: str) -> Fragment | None:
    """Matrix "a", "b", or "c" and "d" of `wmma`, as an H200 has them; None where there is no such."""
    if (m, n) == (8, 32):
        # The product is computed transposed.
        other = wmma_fragment({"a": "b", "b": "a"}.get(which, which), n, m, k, kind)
        return other and replace(other, rows=other.columns, columns=other.rows, row=other.column, column=other.row)
    if which in ("c", "d"):
        return _sums(kind, m, n, min(m, 16)) if kind in ("f16", "f32", "s32", "f64") else None
    if not _is_known(WMMA_SHAPES, m, n, k, kind):
        return None
    rows, columns = (m, k) if which == "a" else (k, n)
    return _fragment(kind, rows, columns, which == "b", registers=8 if kind == "f16" else 0)


def product(shape: Shape, a: Array, b: Array, c: Array) -> Array:
    """The registers of d = a · b + c, from those of a, b and c: (warps, 32, registers) words.

    Products of floats are exact; they and c are added in float64, in the order of k, and the sum is rounded once.  A
    device adds them in an order and with a rounding of its own, so its last bits may differ.  Integers wrap round.  In
    double precision each product is added by a fused operation, in the order of k (PTX ISA, mma: as by `fma`).
    """
    left, right, start = shape.a.matrix(a), shape.b.matrix(b), shape.c.matrix(c)
    if shape.d.kind == "s32":
        integers = [m.view(f"i{m.itemsize}") if f.kind[0] == "s" else m for m, f in ((left, shape.a), (right, shape.b))]
        x, y = (m.astype(np.int64) for m in integers)
        total = x @ y + start.view(np.int32)
        return shape.d.spread(total.astype(np.int32).view(np.uint32))
    if shape.d.kind == "f64":
        return shape.d.spread(_fused(*(m.view(np.float64) for m in (left, right, start))).view(np.uint64))
    x, y = _values(left, shape.a.kind), _values(right, shape.b.kind)
    sums = _values(start, shape.c.kind)
    # No library's matrix product: its order of additions is another one on every processor.
    for k in range(shape.a.columns):
        sums = sums + x[:, :, k, None] * y[:, None, k, :]
    rounded = np.ascontiguousarray(narrow(shape.d.kind, "rn")(sums.reshape(-1))).reshape(sums.shape)
    return shape.d.spread(rounded.view(f"u{shape.d.element_bytes}"))


def _fused(x: Array, y: Array, sums: Array) -> Array:
    for k in range(x.shape[2]):
        left, right = np.broadcast_arrays(x[:, :, k, None], y[:, None, k, :])
        flat = fma_f64(np.ascontiguousarray(left).ravel(), np.ascontiguousarray(right).ravel(), sums.ravel())
        sums = flat.reshape(sums.shape)
    return np.ascontiguousarray(sums)


def _values(bits: Array, kind: str) -> Array:
    if kind == "tf32":
        bits, kind = bits & TF32_MASK, "f32"
    shape = bits.shape
    values: Array = widen(kind)(np.ascontiguousarray(bits).reshape(-1).view(DTYPES[kind]))
    return values.reshape(shape)
