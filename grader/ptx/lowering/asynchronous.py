"""Copies to shared memory that go on by themselves (`cp.async`), and barriers in shared memory (`mbarrier`).

A device may write what is copied at any moment from the copy's beginning until the thread has waited.  Here it is
written when the thread waits, as late as may be, so that a thread that does not wait finds what was there before.
Observers are told of the write at its beginning as well, and an access to its place in between is in a race with it,
whatever barriers there are.

PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy" and "Parallel Synchronization and Communication
Instructions: mbarrier".  What the memory of an `mbarrier` holds the ISA leaves open (`grader.ptx.isa.atomic`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.ptx.access import Access, AccessSpec, InlineCache, ResolvedAddress
from grader.ptx.frontend.nodes import Address, Instruction, Operand, Register, Sink, Vector
from grader.ptx.isa.atomic import MBARRIER_FIELD_BITS, mbarrier_phase, mbarrier_start
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.lowering.data_movement import address_getter
from grader.ptx.machine import load_store
from grader.ptx.machine.batch import BlockBatch, Group
from grader.ptx.machine.code import Code, Getter, Step
from grader.ptx.machine.load_store import mark_written
from grader.ptx.machine.operands import getter
from grader.ptx.observers.interface import BlamedOperation, OtherOperation
from grader.ptx.values import BOOL, UNSIGNED, Affine, Array, Lanes, Value, Vec, as_array, from_array, select

UNIT = 4
"""Bytes: the least that is copied."""
Parts = list[tuple[Array | None, ResolvedAddress]]


@dataclass(slots=True)
class _Copy:
    """One copy of some lanes, who began it as `group`.

    serial: how many were begun before it.  number: (n,) of the lane's group of copies that it is in.  parts: where it
    goes.  values: what arrives there.
    """

    serial: int
    group: Group
    spec: AccessSpec
    lanes: Lanes
    number: Array
    address: Value
    parts: Parts
    values: list[Value]


@dataclass(slots=True)
class _Promise:
    """Lanes that arrive at a barrier when their copies before `serial` are complete; places: (n,) their barriers."""

    serial: int
    lanes: Lanes
    places: Array
    arrive: Callable[[Lanes], None]


def copies_of(batch: BlockBatch) -> AsyncCopies:
    copies: AsyncCopies | None = batch.extensions.get("copies")
    if copies is None:
        copies = batch.extensions["copies"] = AsyncCopies(batch)
    return copies


class AsyncCopies:
    def __init__(self, batch: BlockBatch) -> None:
        self._batch = batch
        self._copies: list[_Copy] = []
        self._closed = np.zeros(batch.layout.blocks * batch.layout.padded, np.int64)
        """(lanes,) how many groups of copies each has closed."""
        self._copier: Array | None = None
        """(units of shared memory,) 1 + the lane whose copy is on its way there, 0 for none."""
        self._serial = np.zeros(0, np.int64)
        """(units,) which copy that is."""
        self._begun = 0
        self._promises: list[_Promise] = []
        if not batch.watchers.nobody:
            batch.watchers.access.append(self._look)

    def begin(self, group: Group, begun: AccessSpec, arrived: AccessSpec, address: Value, values: list[Value]) -> None:
        """Begin a copy to shared memory; faults are reported now."""
        parts = load_store.split_by_allocation(group, begun, address, 0)
        load_store.announce(self._batch, begun, parts, values)
        for _positions, resolved in parts:
            # Who reads too early is told so, and not that nobody ever wrote there.
            mark_written(self._batch, resolved, begun)
        number = self._closed[group.lanes.ids]
        copy = _Copy(self._begun, group.part(group.lanes), arrived, group.lanes, number, address, parts, values)
        self._begun += 1
        self._mark(copy, is_coming=True)
        self._copies.append(copy)

    def close(self, lanes: Lanes) -> None:
        """Close a group of copies: all that the lanes began since they closed the last one."""
        self._closed[lanes.ids] += 1

    def wait(self, group: Group, newest: int) -> None:
        """Wait for all groups of the lanes but the `newest` ones: their copies are completed, in order."""
        waits = np.zeros(len(self._closed), np.bool_)
        waits[group.lanes.ids] = True
        self._let_arrive(lambda copy: waits[copy.lanes.ids] & (copy.number < self._closed[copy.lanes.ids] - newest))

    @property
    def are_promised(self) -> bool:
        """Whether lanes are to arrive at barriers when copies are complete."""
        return bool(self._promises)

    def promise(self, group: Group, places: Array, arrive: Callable[[Lanes], None]) -> None:
        """Let lanes arrive at their barriers, by `arrive`, when what they have begun so far is complete."""
        self._promises.append(_Promise(self._begun, group.lanes, places, arrive))

    def keep_promises(self, places: Array) -> None:
        """Let lanes arrive that promised to arrive at these barriers, with their copies completed."""
        left: list[_Promise] = []
        for promise in self._promises:
            due = np.isin(promise.places, places)
            if due.any():
                self._keep(promise, promise.lanes.select(np.flatnonzero(due)))
            if not due.all():
                rest = promise.lanes.select(np.flatnonzero(~due))
                left.append(_Promise(promise.serial, rest, promise.places[~due], promise.arrive))
        self._promises = left

    def _keep(self, promise: _Promise, lanes: Lanes) -> None:
        arriving = np.zeros(len(self._closed), np.bool_)
        arriving[lanes.ids] = True
        nobody = np.zeros(len(self._closed), np.bool_)
        self._let_arrive(lambda copy: (arriving if copy.serial < promise.serial else nobody)[copy.lanes.ids])
        promise.arrive(lanes)

    def _let_arrive(self, chosen: Callable[[_Copy], Array]) -> None:
        left: list[_Copy] = []
        for copy in self._copies:
            arrives = chosen(copy)
            if arrives.all():
                self._arrive(copy)
            elif arrives.any():
                self._arrive(self._part(copy, arrives))
                left.append(self._part(copy, ~arrives))
            else:
                left.append(copy)
        self._copies = left

    def _arrive(self, copy: _Copy) -> None:
        self._mark(copy, is_coming=False)
        load_store.put(self._batch, copy.spec, copy.parts, copy.values)

    def _mark(self, copy: _Copy, *, is_coming: bool) -> None:
        """Note that a copy is under way to its places, or no longer is."""
        for _positions, resolved in copy.parts:
            units = _units(resolved, copy.spec.width)
            if self._copier is None:
                self._copier = np.zeros(len(resolved.array.data) // UNIT + 1, np.int32)
                self._serial = np.zeros(len(self._copier), np.int64)
            self._copier[units] = resolved.lanes.ids[:, None] + 1 if is_coming else 0
            self._serial[units] = copy.serial

    def _look(self, event: Access) -> None:
        """Report an access to the target of a copy under way: it is in a race with the copy."""
        resolved = event.address
        if not self._copies or self._copier is None or resolved.array.space != "shared":
            return
        where = _units(resolved, event.width)
        copies = self._copier[where]
        if not copies.any():
            return
        positions, units = np.nonzero(copies)
        first = int(positions[0])
        lane = int(resolved.lanes.ids[first])
        copier, serial = int(copies[first, units[0]]) - 1, int(self._serial[where[first, units[0]]])
        copy = next(copy for copy in self._copies if copy.serial == serial)
        count = len(np.unique(positions))
        offset = int(resolved.offsets()[first])
        owner = resolved.array.owner(offset)
        self._batch.hazards.add(
            self._batch.geometry,
            "race",
            "unfinished_copy",
            BlamedOperation(event.instruction, lane, event.op, "shared", owner, offset, event.width),
            count,
            OtherOperation(copy.spec.instruction, "store", copier, within_warp=lane >> 5 == copier >> 5),
        )

    def _part(self, copy: _Copy, chosen: Array) -> _Copy:
        lanes = copy.lanes.select(np.flatnonzero(chosen))
        address = select(copy.address, lanes)
        inside = np.zeros(copy.lanes.n, np.bool_)
        for positions, _resolved in copy.parts:
            inside[slice(None) if positions is None else positions] = True
        if not inside[chosen].all():
            # Lanes at fault have been told of, and write nothing.
            return self._part(copy, chosen & inside)
        group = copy.group.part(lanes)
        parts = load_store.split_by_allocation(group, copy.spec, address, 0) if lanes.n else []
        return _Copy(
            copy.serial,
            group,
            copy.spec,
            lanes,
            copy.number[chosen],
            address,
            parts,
            [select(v, lanes) for v in copy.values],
        )


def places_of(group: Group, spec: AccessSpec, address: Value) -> Array:
    """(n,) where the lanes of an access go in shared memory, each block's apart; -1 for those at fault."""
    places = np.full(group.lanes.n, -1, np.int64)
    for positions, resolved in load_store.split_by_allocation(group, spec, address, 0):
        places[slice(None) if positions is None else positions] = _starts(resolved)
    return places


def _starts(resolved: ResolvedAddress) -> Array:
    rows = resolved.array.row_starts(resolved.lanes, 1)
    places = resolved.offsets() + resolved.array.storage
    return places if rows is None else places + rows


def _units(resolved: ResolvedAddress, width: int) -> Array:
    """(n, k) the units of shared memory that each lane's access of some bytes touches."""
    units: Array = _starts(resolved)[:, None] // UNIT + np.arange(-(-width // UNIT))
    return units


U32, U64 = UNSIGNED[4], UNSIGNED[8]
_SIZES = (4, 8, 16)


def _accesses(instruction: Instruction, op: str, *modifiers: str) -> AccessSpec:
    opcode = {"load": "ld", "store": "st", "atomic": "atom"}[op]
    return AccessSpec(replace(instruction, opcode=opcode, modifiers=modifiers, operands=()), op)


def _place(code: Code, operand: Operand) -> Getter:
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
    to, origin = _place(code, target), _place(code, source)
    ignores = bool(rest) and isinstance(rest[0], Register) and code.register_bytes[rest[0].index] == 0
    length = getter(code, rest[0], 0 if ignores else 4) if rest else None
    last = InlineCache()

    def lengths(group: Group) -> Array | int:
        if length is None:
            return width
        value = length(group)
        if ignores:
            value = as_array(value, BOOL)
            return np.broadcast_to(np.where(value, 0, width), (group.lanes.n,))
        counts = np.minimum(as_array(value, U32).astype(np.int64), width)
        return width if (counts == width).all() else np.broadcast_to(counts, (group.lanes.n,))

    def step(group: Group) -> None:
        where, count = origin(group), lengths(group)
        if isinstance(count, int):
            last.forget()
            values = load_store.load(group, whole, where, 0, [4] * words, last)
            last.forget()
        else:
            values = _short(group, where, count)
        copies_of(group.batch).begin(group, begun, arrived, to(group), values)

    def _short(group: Group, where: Value, count: Array) -> list[Value]:
        """Load what each lane copies where lengths differ, with zeros behind it."""
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
    # Copies that are not counted take back what they added when they were begun; who waits knows of them.
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
    """Test whether a phase is over, by the state that an arrival returned or by its parity."""
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
        awaited = as_array(read(group), U32 if by_parity else U64)
        over: Any = (now & np.uint64(1)) != awaited if by_parity else now != mbarrier_phase(awaited)
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
