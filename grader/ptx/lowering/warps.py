"""Instructions that the lanes of a warp carry out together: shuffles, votes, and products on tensor cores.

PTX ISA, "Warp-level Matrix Instructions": `wmma.load`, `wmma.store`, `wmma.mma`, `mma.sync`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from grader.ptx.access import AccessSpec, InlineCache
from grader.ptx.frontend.nodes import Instruction, Operand, Register, Vector
from grader.ptx.isa import warp
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.lowering.data_movement import address_getter
from grader.ptx.machine import load_store
from grader.ptx.machine.batch import FULL, Group, missing, remark_returned, report_missing, report_outsiders
from grader.ptx.machine.code import Code, Getter, Step
from grader.ptx.machine.operands import getter
from grader.ptx.observers.interface import BlamedOperation
from grader.ptx.values import BOOL, UNSIGNED, Array, Lanes, Value, as_array, from_array, select

U32 = UNSIGNED[4]


def _table(value: Value, lanes: Lanes, dtype: np.dtype[Any]) -> Array:
    array = as_array(value, dtype)
    if len(array) != lanes.n:
        array = np.broadcast_to(array, (lanes.n,))
    return lanes.to_warps(array, dtype.type(0))


def _members(group: Group, instruction: Instruction, mask: Value) -> Array:
    """(n_warps, 32) member masks; a mask that names lanes which are not there, or not the lane itself, is a hazard."""
    lanes = group.lanes
    table = _table(mask, lanes, U32)
    if not lanes.whole_warps:
        report_missing(group, instruction, missing(group.batch, lanes, mask))
        remark_returned(group, instruction, mask)
    report_outsiders(group, instruction, mask)
    return table


def _register(operand: Operand) -> int | None:
    return operand.index if isinstance(operand, Register) else None


def _shfl(code: Code, instruction: Instruction) -> Step:
    modifiers = instruction.modifiers
    if modifiers[0] != "sync" or modifiers[-1] != "b32":
        raise UnsupportedInstruction(instruction.text)
    mode = modifiers[1]
    target, *sources = instruction.operands
    outputs = _registers(target)
    value, lane, clamp, mask = (getter(code, operand, 4) for operand in sources)
    index = _register(outputs[0])
    predicate = _register(outputs[1]) if len(outputs) > 1 else None

    def step(group: Group) -> None:
        lanes = group.lanes
        values, by, within, named = value(group), lane(group), clamp(group), mask(group)
        if lanes.whole_warps and named == FULL and isinstance(by, int) and isinstance(within, int):
            result, alike = warp.shuffle_alike(mode, _table(values, lanes, U32), by, within)
            in_range = np.broadcast_to(alike, result.shape)
        else:
            members = _members(group, instruction, named)
            result, in_range, inactive = warp.shuffle(
                mode,
                _table(values, lanes, U32),
                lanes.active_table(),
                _table(by, lanes, U32),
                _table(within, lanes, U32),
                members,
            )
            if inactive.any():
                _report_inactive(group, instruction, inactive)
        if index is not None:
            group.registers[index] = from_array(lanes.from_warps(result), lanes, 4)
        if predicate is not None:
            group.registers[predicate] = from_array(lanes.from_warps(in_range), lanes, 0)

    return step


def _report_inactive(group: Group, instruction: Instruction, inactive: Array) -> None:
    lanes = group.lanes
    positions = np.flatnonzero(lanes.from_warps(inactive))
    if len(positions):
        blamed = BlamedOperation(instruction, int(lanes.ids[positions[0]]), "shuffle")
        group.batch.hazards.add(group.batch.geometry, "warp_sync", "inactive_source", blamed, len(positions))


def _exchange(
    code: Code,
    instruction: Instruction,
    source_bytes: int,
    dtype: np.dtype[Any],
    compute: Callable[[Array, Array, Array], tuple[Array, ...]],
) -> Step:
    """The step of a vote, match or reduction; compute: (values, active lanes, member masks) → results by warps."""
    target, source, mask = instruction.operands
    read, read_mask = getter(code, source, source_bytes), getter(code, mask, 4)
    indices = [_register(operand) for operand in _registers(target)]

    def step(group: Group) -> None:
        lanes = group.lanes
        members = _members(group, instruction, read_mask(group))
        results = compute(_table(read(group), lanes, dtype), lanes.active_table(), members)
        for index, result in zip(indices, results, strict=False):
            if index is not None:
                group.registers[index] = from_array(lanes.from_warps(result), lanes, code.register_bytes[index])

    return step


def _vote(code: Code, instruction: Instruction) -> Step:
    # Hand-written PTX has them in either order: vote.sync.ballot and vote.ballot.sync.
    modes = [modifier for modifier in instruction.modifiers if modifier in ("all", "any", "uni", "ballot")]
    if "sync" not in instruction.modifiers or len(modes) != 1:
        raise UnsupportedInstruction(instruction.text)
    return _exchange(code, instruction, 0, BOOL, lambda *operands: (warp.vote(modes[0], *operands),))


def _match(code: Code, instruction: Instruction) -> Step:
    mode, dtype = instruction.modifiers[0], UNSIGNED[int(instruction.modifiers[-1][1:]) // 8]
    return _exchange(code, instruction, dtype.itemsize, dtype, lambda *operands: warp.match(mode, *operands))


def _redux(code: Code, instruction: Instruction) -> Step:
    operation = instruction.modifiers[1]
    dtype = np.dtype(np.int32) if instruction.modifiers[-1] == "s32" else U32
    return _exchange(code, instruction, 4, dtype, lambda *operands: (warp.redux(operation, *operands),))


def _activemask(code: Code, instruction: Instruction) -> Step:
    index = _register(instruction.operands[0])
    assert index is not None

    def step(group: Group) -> None:
        lanes = group.lanes
        active = lanes.active_table()
        masks = (active * (np.uint32(1) << np.arange(32, dtype=np.uint32))).sum(axis=1, dtype=np.uint32)
        table = np.broadcast_to(masks[:, None], active.shape)
        group.registers[index] = from_array(lanes.from_warps(table), lanes, 4)

    return step


def _elect(code: Code, instruction: Instruction) -> Step:
    """Elect one of the members, here the first: which one is the device's choice (PTX ISA, elect.sync)."""
    target, mask = instruction.operands
    if instruction.modifiers != ("sync",) or not isinstance(target, Vector):
        raise UnsupportedInstruction(instruction.text)
    leader, predicate = (_register(element) for element in target.elements)
    read_mask = getter(code, mask, 4)

    def step(group: Group) -> None:
        lanes = group.lanes
        members = _members(group, instruction, read_mask(group))
        here = members & warp.pack(lanes.active_table())[:, None]
        lowest = np.bitwise_count(~here & (here - np.uint32(1))).astype(np.uint32)
        if leader is not None:
            group.registers[leader] = from_array(lanes.from_warps(lowest), lanes, 4)
        if predicate is not None:
            group.registers[predicate] = from_array(lanes.from_warps(lowest == warp.LANES), lanes, 0)

    return step


EXCHANGES: dict[str, Callable[[Code, Instruction], Step | None]] = {
    "shfl": _shfl,
    "vote": _vote,
    "match": _match,
    "redux": _redux,
    "activemask": _activemask,
    "elect": _elect,
}


# Tensor cores.

U64 = UNSIGNED[8]
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")
_KINDS = ("f16", "bf16", "tf32", "f32", "s8", "u8", "s32", "f64")


class Words:
    """The modifiers of an instruction on matrices, by what they mean."""

    def __init__(self, instruction: Instruction) -> None:
        words = [m for m in instruction.modifiers if m not in ("sync", "aligned")]
        self.orders = [word for word in words if word in ("row", "col")]
        self.kinds = [word for word in words if word in _KINDS]
        shapes = [shape for shape in map(_SHAPE.match, words) if shape]
        self.spaces = [word for word in ("global", "shared") if word in words or f"{word}::cta" in words]
        self.rest = [
            word
            for word in words
            if word not in ("row", "col", *_KINDS, "global", "shared", "shared::cta") and not _SHAPE.match(word)
        ]
        if "f64" in self.kinds and "rn" in self.rest:
            # What is rounded once each is rounded so anyway.
            self.rest.remove("rn")
        if len(shapes) != 1 or "sync" not in instruction.modifiers:
            raise UnsupportedInstruction(instruction.text)
        self.size = int(shapes[0][1]), int(shapes[0][2]), int(shapes[0][3])


def _registers(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, Vector) else (operand,)


def _check_warp(group: Group, instruction: Instruction) -> None:
    if not group.lanes.whole_warps:
        report_missing(group, instruction, missing(group.batch, group.lanes, FULL))


def _gathered(group: Group, readers: Sequence[Getter], fragment: warp.Fragment) -> Array:
    """Return (warps, 32, n) words: the contents of a fragment's registers."""
    lanes, word = group.lanes, UNSIGNED[fragment.register_bytes]
    columns = [np.broadcast_to(as_array(read(group), word), (lanes.n,)) for read in readers]
    return np.stack([lanes.to_warps(np.ascontiguousarray(column), word.type(0)) for column in columns], axis=-1)


def _put(group: Group, code: Code, targets: Sequence[Operand], registers: Array) -> None:
    for number, target in enumerate(targets):
        if isinstance(target, Register):
            values = group.lanes.from_warps(np.ascontiguousarray(registers[:, :, number]))
            group.registers[target.index] = from_array(values, group.lanes, code.register_bytes[target.index])


def _wmma(code: Code, instruction: Instruction) -> Step:
    words = Words(instruction)
    match words.rest:
        case ["mma"]:
            return _wmma_product(code, instruction, words)
        case ["load", ("a" | "b" | "c") as which]:
            target, where, *stride = instruction.operands
            return _load(code, instruction, words, which, target, where, stride)
        case ["store", "d"]:
            where, source, *stride = instruction.operands
            return _store(code, instruction, words, source, where, stride)
    raise UnsupportedInstruction(instruction.text)


def _placed(
    code: Code, instruction: Instruction, words: Words, which: str, where: Operand, stride: list[Operand], op: str
) -> tuple[warp.Fragment, AccessSpec, Callable[[Group], list[Any]]]:
    """Return a fragment in memory, an access to one element, and a function: group → each element's addresses."""
    if len(words.orders) != 1 or len(words.kinds) != 1:
        raise UnsupportedInstruction(instruction.text)
    fragment = warp.wmma_fragment(which, *words.size, words.kinds[0])
    if fragment is None:
        raise UnsupportedInstruction(instruction.text)
    size = fragment.element_bytes
    by_rows = words.orders[0] == "row"
    major, minor = (fragment.row, fragment.column) if by_rows else (fragment.column, fragment.row)
    packed = fragment.columns if by_rows else fragment.rows
    address, offset = address_getter(code, where)
    leading = getter(code, stride[0], 4) if stride else (lambda group: packed)
    one_element = (*words.spaces, f"b{8 * size}")
    moves = replace(instruction, opcode="ld" if op == "load" else "st", modifiers=one_element, operands=())
    spec = AccessSpec(moves, op)
    spec.is_counted = False

    def addresses(group: Group) -> list[Any]:
        lanes = group.lanes
        base = as_array(address(group), U64) + np.uint64(offset & (1 << 64) - 1)
        step = as_array(leading(group), U32).astype(np.int64)[:, None]
        own = lanes.ids & 31
        places = (major[own] * step + minor[own]) * size
        return [from_array(base + places[:, e].astype(np.uint64), lanes, 8) for e in range(fragment.own)]

    return fragment, spec, addresses


def _load(
    code: Code,
    instruction: Instruction,
    words: Words,
    which: str,
    target: Operand,
    where: Operand,
    stride: list[Operand],
) -> Step:
    fragment, spec, addresses = _placed(code, instruction, words, which, where, stride, "load")
    targets = _registers(target)
    if len(targets) != fragment.registers:
        raise UnsupportedInstruction(instruction.text, reason=f"{len(targets)} registers for {fragment.registers}")
    dtype = UNSIGNED[fragment.element_bytes]
    last = InlineCache()

    def step(group: Group) -> None:
        _check_warp(group, instruction)
        lanes = group.lanes
        elements = []
        for address in addresses(group):
            last.forget()
            (value,) = load_store.load(group, spec, address, 0, [fragment.element_bytes], last)
            elements.append(lanes.to_warps(np.broadcast_to(as_array(value, dtype), (lanes.n,)), dtype.type(0)))
        last.forget()
        _put(group, code, targets, fragment.pack(np.stack(elements, axis=-1)))

    return step


def _store(
    code: Code, instruction: Instruction, words: Words, source: Operand, where: Operand, stride: list[Operand]
) -> Step:
    fragment, spec, addresses = _placed(code, instruction, words, "d", where, stride, "store")
    readers = [getter(code, operand, fragment.register_bytes) for operand in _registers(source)]
    if len(readers) != fragment.registers:
        raise UnsupportedInstruction(instruction.text, reason=f"{len(readers)} registers for {fragment.registers}")

    def step(group: Group) -> None:
        _check_warp(group, instruction)
        lanes = group.lanes
        elements = fragment.unpack(_gathered(group, readers, fragment))
        for number, address in enumerate(addresses(group)):
            values = lanes.from_warps(np.ascontiguousarray(elements[:, :, number]))
            load_store.store(group, spec, address, 0, [from_array(values, lanes, fragment.element_bytes)])

    return step


def _wmma_product(code: Code, instruction: Instruction, words: Words) -> Step:
    kinds = words.kinds
    if len(words.orders) != 2 or len(kinds) not in (2, 4):
        raise UnsupportedInstruction(instruction.text)
    # .dtype.ctype for f16, else .dtype.atype.btype.ctype.
    d, c = kinds[0], kinds[-1]
    a, b = (kinds[1], kinds[2]) if len(kinds) == 4 else ("f16", "f16")
    parts = [warp.wmma_fragment(w, *words.size, kind) for w, kind in (("a", a), ("b", b), ("c", c), ("d", d))]
    return _product(code, instruction, parts)


def _mma(code: Code, instruction: Instruction) -> Step:
    words = Words(instruction)
    if words.rest or words.orders != ["row", "col"] or len(words.kinds) != 4:
        raise UnsupportedInstruction(instruction.text)
    d, a, b, c = words.kinds
    shape = warp.sync_shape(*words.size, a, b, c, d)
    return _product(code, instruction, [None] if shape is None else [shape.a, shape.b, shape.c, shape.d])


_SUMS = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "s8": ("s32",), "u8": ("s32",), "f64": ("f64",)}
"""What products of a type are added up in."""


def _product(code: Code, instruction: Instruction, parts: Sequence[warp.Fragment | None]) -> Step:
    present = [part for part in parts if part is not None]
    if len(present) != 4 or len(instruction.operands) != 4:
        raise UnsupportedInstruction(instruction.text)
    shape = warp.Shape(*present)
    kinds = {shape.a.kind, shape.b.kind}
    if not all(sums.kind in _SUMS.get(kind, ()) for kind in kinds for sums in (shape.c, shape.d)) or (
        len(kinds) > 1 and kinds != {"s8", "u8"}
    ):
        raise UnsupportedInstruction(instruction.text)
    target, *sources = (_registers(operand) for operand in instruction.operands)
    for registers, fragment in zip((target, *sources), (shape.d, shape.a, shape.b, shape.c), strict=True):
        if len(registers) != fragment.registers:
            raise UnsupportedInstruction(
                instruction.text, reason=f"{len(registers)} registers for {fragment.registers}"
            )
    fragments = (shape.a, shape.b, shape.c)
    readers = [
        [getter(code, operand, fragment.register_bytes) for operand in registers]
        for registers, fragment in zip(sources, fragments, strict=True)
    ]

    def step(group: Group) -> None:
        _check_warp(group, instruction)
        _put(group, code, target, warp.product(shape, *map(partial(_gathered, group), readers, fragments)))

    return step


def _ldmatrix(code: Code, instruction: Instruction) -> Step:
    """Matrices of 8 × 8 elements of 16 bits: eight lanes each say where a matrix's rows of 16 bytes lie."""
    words = [m for m in instruction.modifiers if m not in ("shared", "shared::cta")]
    # The assembler takes the shape, the number and what turns them in any order.
    what = sorted(words[2:-1])
    transposed = "trans" in what
    count = next((count for count in (1, 2, 4) if what == sorted(["m8n8", f"x{count}", *["trans"] * transposed])), 0)
    if not count or [*words[:2], words[-1]] != ["sync", "aligned", "b16"]:
        raise UnsupportedInstruction(instruction.text)
    target, where = instruction.operands
    targets = _registers(target)
    if len(targets) != count:
        raise UnsupportedInstruction(instruction.text, reason=f"{len(targets)} registers for {count}")
    spaces = () if len(words) == len(instruction.modifiers) else ("shared",)
    spec = AccessSpec(replace(instruction, opcode="ld", modifiers=(*spaces, "v4", "b32"), operands=()), "load")
    address, offset = address_getter(code, where)
    last = InlineCache()

    def step(group: Group) -> None:
        _check_warp(group, instruction)
        lanes = group.lanes
        # With fewer than four matrices the other lanes' addresses mean nothing.
        positions = np.flatnonzero((lanes.ids & 31) < 8 * count)
        addressing = lanes if len(positions) == lanes.n else lanes.select(positions)
        last.forget()
        values = load_store.load(
            group.part(addressing), spec, select(address(group), addressing), offset, [4] * 4, last
        )
        last.forget()
        columns = [
            addressing.to_warps(np.ascontiguousarray(np.broadcast_to(as_array(v, U32), (addressing.n,))), U32.type(0))
            for v in values
        ]
        # (warps, matrix, row, pair of elements); lane l holds pair l % 4 of row l / 4 of each.
        table = np.stack(columns, axis=-1)[:, : 8 * count].reshape(-1, count, 8, 4)
        if transposed:
            table = _transposed(table)
        _put(group, code, targets, table.reshape(-1, count, 32).swapaxes(1, 2))

    return step


def _transposed(table: Array) -> Array:
    """(warps, matrices, 8, 4) pairs of 16 bits, rows and columns exchanged."""
    halves = np.ascontiguousarray(table).view(np.uint16)
    return np.ascontiguousarray(halves.swapaxes(2, 3)).view(np.uint32)


STEPS: dict[str, Callable[[Code, Instruction], Step | None]] = {
    **EXCHANGES,
    "wmma": _wmma,
    "mma": _mma,
    "ldmatrix": _ldmatrix,
}
