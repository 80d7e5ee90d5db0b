"""Copies to shared memory that go on by themselves (`cp.async`), and barriers in shared memory (`mbarrier`).

PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy" and "Parallel Synchronization and Communication
Instructions: mbarrier".  What the memory of an `mbarrier` holds the ISA leaves open (`grader.ptx.isa.atomic`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from grader.ptx.access import AccessSpec, InlineCache
from grader.ptx.frontend.nodes import Address, Instruction, Operand, Register, Sink, Vector
from grader.ptx.isa.atomic import MBARRIER_FIELD_BITS, mbarrier_phase, mbarrier_start
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.lowering.data_movement import address_getter
from grader.ptx.machine import load_store
from grader.ptx.machine.async_copies import AsyncCopies, copies_of, places_of
from grader.ptx.machine.batch import Group
from grader.ptx.machine.code import Code, Getter, Step
from grader.ptx.machine.operands import getter
from grader.ptx.values import BOOL, UNSIGNED, Affine, Array, Lanes, Value, Vec, as_array, from_array, select

U32, U64 = UNSIGNED[4], UNSIGNED[8]
_SIZES = (4, 8, 16)


def _accesses(instruction: Instruction, op: str, *modifiers: str) -> AccessSpec:
    opcode = {"load": "ld", "store": "st", "atomic": "atom"}[op]
    return AccessSpec(replace(instruction, opcode=opcode, modifiers=modifiers, operands=()), op)


def _place(code: Code, operand: Operand) -> Getter:
    """The address that an operand in brackets says, offset included."""
    if not isinstance(operand, Address):
        raise UnsupportedInstruction(str(operand), reason="operand")
    base, offset = address_getter(code, operand)

    def read(group: Group) -> Value:
        value = base(group)
        if not offset:
            return value
        if isinstance(value, (Vec, Affine)):
            return from_array(as_array(value, U64) + np.uint64(offset & (1 << 64) - 1), group.lanes, 8)
        return int(value) + offset

    return read


# -- cp.async ----------------------------------------------------------------------------------------------------------


def _copy(code: Code, instruction: Instruction) -> Step | None:
    match instruction.modifiers:
        case ("async", "commit_group"):
            return lambda group: copies_of(group.batch).close(group.lanes)
        case ("async", "wait_group"):
            newest = getter(code, instruction.operands[0], 4)
            return lambda group: copies_of(group.batch).wait(group, int(as_array(newest(group), U32)[0]))
        case ("async", "wait_all"):
            return _wait_for_all
        case ("async", "mbarrier", "arrive", *rest):
            return _arrive_behind_copies(code, instruction, "noinc" in rest)
        case ("async", ("ca" | "cg"), ("shared" | "shared::cta"), "global", *hints):
            if all(hint.startswith("L2::") and hint != "L2::cache_hint" for hint in hints):
                return _begin_copy(code, instruction)
    raise UnsupportedInstruction(instruction.text)


def _wait_for_all(group: Group) -> None:
    copies_of(group.batch).close(group.lanes)
    copies_of(group.batch).wait(group, 0)


def _begin_copy(code: Code, instruction: Instruction) -> Step:
    target, source, size, *rest = instruction.operands
    width = getattr(size, "value", 0)
    if width not in _SIZES or len(rest) > 1:
        raise UnsupportedInstruction(instruction.text)
    words = width // 4
    vector = () if words == 1 else (f"v{words}",)
    whole = _accesses(instruction, "load", "global", *vector, "b32")
    whole.is_copy = True
    # The rest of a copy that is shorter than its place; bytes, as its length may be any.
    byte = _accesses(instruction, "load", "global", "b8")
    byte.is_copy, byte.is_counted = True, False
    begun, arrived = (_accesses(instruction, "store", "shared", *vector, "b32") for _ in range(2))
    begun.of_copy, arrived.of_copy = "begun", "arrived"
    # Which requests to shared memory a device makes of it is not known.
    begun.is_counted = arrived.is_counted = False
    to, from_ = _place(code, target), _place(code, source)
    ignores = bool(rest) and isinstance(rest[0], Register) and code.register_bytes[rest[0].index] == 0
    length = getter(code, rest[0], 0 if ignores else 4) if rest else None
    last = InlineCache()

    def lengths(group: Group) -> Array | int:
        if length is None:
            return width
        said = length(group)
        if ignores:
            said = as_array(said, BOOL)
            return np.broadcast_to(np.where(said, 0, width), (group.lanes.n,))
        counts = np.minimum(as_array(said, U32).astype(np.int64), width)
        return width if (counts == width).all() else np.broadcast_to(counts, (group.lanes.n,))

    def step(group: Group) -> None:
        where, count = from_(group), lengths(group)
        if isinstance(count, int):
            last.forget()
            values = load_store.load(group, whole, where, 0, [4] * words, last)
            last.forget()
        else:
            values = _short(group, where, count)
        copies_of(group.batch).begin(group, begun, arrived, to(group), values)

    def _short(group: Group, where: Value, count: Array) -> list[Value]:
        """What a copy of some lanes' bytes brings, zeros behind them."""
        content = np.zeros((group.lanes.n, width), np.uint8)
        addresses = np.broadcast_to(as_array(where, U64), (group.lanes.n,))
        complete = count == width
        for chosen, spec, starts in ((complete, whole, (0,)), (~complete, byte, range(width))):
            for start in starts:
                positions = np.flatnonzero(chosen & (count > start))
                if not len(positions):
                    continue
                lanes = group.lanes if len(positions) == group.lanes.n else group.lanes.select(positions)
                place = from_array(np.ascontiguousarray(addresses[positions]), lanes, 8)
                last.forget()
                sizes = [spec.element_bytes] * spec.count
                parts = load_store.load(group.part(lanes), spec, place, start, sizes, last)
                columns = [np.broadcast_to(as_array(part, spec.dtype), (lanes.n,)) for part in parts]
                raw = np.ascontiguousarray(np.stack(columns, axis=1)).view(np.uint8)
                content[positions, start : start + raw.shape[1]] = raw
        last.forget()
        table = content.view(np.uint32)
        return [from_array(np.ascontiguousarray(table[:, k]), group.lanes, 4) for k in range(words)]

    return step


def _arrive_behind_copies(code: Code, instruction: Instruction, counted: bool) -> Step:
    """An arrival that is made when the thread's copies have come; uncounted ones leave the barrier as it was.

    They come, at the latest, when somebody looks at the barrier.
    """
    where = instruction.operands[0]
    address = _place(code, where)
    spec = _accesses(instruction, "atomic", *_order(instruction, "release"), *_space(instruction), "exch", "b64")
    # Those that are not counted take back what they added when they were begun; who waits knows of the copies.
    spec.operation, coming = ("mbarrier_arrive", 1) if counted else ("or", 0)
    spec.is_counted = spec.looked_at = False

    def step(group: Group) -> None:
        place = address(group)
        now = group.part(group.lanes)

        def arrive(lanes: Lanes) -> None:
            load_store.atomic(now.part(lanes), spec, select(place, lanes), 0, coming, None, 8)

        copies_of(group.batch).promise(group, places_of(group, spec, place), arrive)

    return step


# -- mbarrier ----------------------------------------------------------------------------------------------------------


def _order(instruction: Instruction, usual: str) -> tuple[str, str]:
    """(order, scope) of an arrival or a wait, by the modifiers."""
    words = instruction.modifiers
    order = next((word for word in words if word in ("release", "acquire", "relaxed")), usual)
    return order, "cluster" if "cluster" in words else "cta"


def _space(instruction: Instruction) -> tuple[str, ...]:
    if "shared::cluster" in instruction.modifiers:
        raise UnsupportedInstruction(instruction.text)
    return ("shared",) if {"shared", "shared::cta"} & set(instruction.modifiers) else ()


def _mbarrier(code: Code, instruction: Instruction) -> Step | None:
    operands = list(instruction.operands)
    words = [word for word in instruction.modifiers if word not in ("shared", "shared::cta", "b64")]
    match words:
        case ["init"]:
            return _initialise(code, instruction, operands[0], operands[1])
        case ["inval"]:
            return None
        case ["pending_count"]:
            return _pending_count(code, instruction)
        case [("arrive" | "arrive_drop") as name, *_] if "expect_tx" not in words:
            if isinstance(operands[0], Address):
                operands.insert(0, Sink())
            target, where, *count = operands
            return _arrival(code, instruction, where, target, count[0] if count else None, f"mbarrier_{name}")
        case [("test_wait" | "try_wait"), *_]:
            return _look(code, instruction, "parity" in words)
    raise UnsupportedInstruction(instruction.text)


def _initialise(code: Code, instruction: Instruction, where: Operand, count: Operand) -> Step:
    spec = _accesses(instruction, "store", *_space(instruction), "b64")
    spec.is_counted = False
    address, read = _place(code, where), getter(code, count, 4)

    def step(group: Group) -> None:
        value = mbarrier_start(as_array(read(group), U32))
        load_store.store(group, spec, address(group), 0, [from_array(value, group.lanes, 8)])

    return step


def _arrival(
    code: Code, instruction: Instruction, where: Operand, target: Operand | None, count: Operand | None, operation: str
) -> Step:
    spec = _accesses(instruction, "atomic", *_order(instruction, "release"), *_space(instruction), "exch", "b64")
    spec.operation = operation
    spec.is_counted = False
    index = target.index if isinstance(target, Register) else None
    spec.looked_at = False
    address, read = _place(code, where), getter(code, count, 4) if count is not None else None

    def step(group: Group) -> None:
        coming = 1 if read is None else from_array(as_array(read(group), U32).astype(U64), group.lanes, 8)
        before = load_store.atomic(group, spec, address(group), 0, coming, None, 8)
        if index is not None:
            group.registers[index] = before

    return step


def _look(code: Code, instruction: Instruction, by_parity: bool) -> Step:
    """Whether a phase is over, by the state that an arrival gave or by its parity."""
    spec = _accesses(instruction, "load", *_order(instruction, "acquire"), *_space(instruction), "b64")
    spec.is_counted = False
    spec.polls = True
    target, where, state, *_patience = instruction.operands
    first = target.elements[0] if isinstance(target, Vector) else target
    index = first.index if isinstance(first, Register) else None
    address, read = _place(code, where), getter(code, state, 4 if by_parity else 8)
    last = InlineCache()
    code.repeats.append(last)

    def step(group: Group) -> None:
        last.forget()
        where = address(group)
        copies: AsyncCopies | None = group.batch.extensions.get("copies")
        if copies is not None and copies.are_promised:
            copies.keep_promises(places_of(group, spec, where))
        now = mbarrier_phase(as_array(load_store.load(group, spec, where, 0, [8], last)[0], U64))
        asked = as_array(read(group), U32 if by_parity else U64)
        over: Any = (now & np.uint64(1)) != asked if by_parity else now != mbarrier_phase(asked)
        if index is not None:
            group.registers[index] = from_array(np.asarray(over), group.lanes, 0)

    return step


def _pending_count(code: Code, instruction: Instruction) -> Step:
    target, state = instruction.operands
    assert isinstance(target, Register)
    index, read = target.index, getter(code, state, 8)

    def step(group: Group) -> None:
        pending = as_array(read(group), U64) & np.uint64((1 << MBARRIER_FIELD_BITS) - 1)
        group.registers[index] = from_array(pending.astype(np.uint32), group.lanes, 4)

    return step


STEPS: dict[str, Callable[[Code, Instruction], Step | None]] = {"cp": _copy, "mbarrier": _mbarrier}
