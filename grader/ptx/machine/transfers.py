"""Carries out loads, stores and atomics: elements of arrays move, faults are told, observers see where lanes went."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.ptx.isa.atomic import apply
from grader.ptx.isa.modifiers import DTYPES
from grader.ptx.machine.chunk import Chunk
from grader.ptx.machine.groups import Group
from grader.ptx.machine.written import check_written, mark_written
from grader.ptx.memory.access import Access, AccessSpec
from grader.ptx.memory.placing import Fault, Place, locate, scatter
from grader.ptx.memory.repeats import Repeat
from grader.ptx.memory.spaces import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BITS, WINDOW_BYTES, Owner, Space
from grader.ptx.values.kinds import UNSIGNED, Shifted, Value, Vec, as_array, from_array, select, split_shift
from grader.ptx.values.lanes import Array, Lanes


def resolve(chunk: Chunk, spec_space: str, address: Value, offset: int) -> tuple[Space, int] | None:
    """(space, offset) of an access; None when generic addresses of one access lie in several spaces."""
    if spec_space in ("global", "const"):
        return chunk.device, offset
    if spec_space == "shared":
        return chunk.shared, offset
    if spec_space in ("local", "param"):
        return chunk.local, offset
    if isinstance(address, (Vec, Shifted)):
        vec, shift = split_shift(address)
        low, high = vec.signed_bounds()
        low, high = low + shift + offset, high + shift + offset
    else:
        low = high = address + offset
    for base, space in ((LOCAL_WINDOW, chunk.local), (SHARED_WINDOW, chunk.shared)):
        if low >= base and high < base + WINDOW_BYTES:
            return space, offset - base
    # The windows lie side by side; what is in neither is a device's address, or nobody's.
    if high < SHARED_WINDOW or low >= LOCAL_WINDOW + WINDOW_BYTES:
        return chunk.device, offset
    return None


def pieces(group: Group, spec: AccessSpec, address: Value, offset: int) -> list[tuple[Array | None, Place]]:
    """The access taken apart into places; positions are None when one place holds all lanes.  Reports faults."""
    chunk, lanes = group.chunk, group.lanes
    found = resolve(chunk, spec.space, address, offset)
    if found is not None:
        space, offset = found
        place = locate(space, address, offset, spec.width, lanes)
        if place is not None:
            return [(None, place)]
        parts, faults = scatter(space, address, offset, spec.width, lanes)
        for fault in faults:
            _report(chunk, spec, fault, lanes)
        return list(parts)
    # Generic pointers into several spaces at once: one space after the other.
    result: list[tuple[Array | None, Place]] = []
    full = as_array(address, UNSIGNED[8]) + np.uint64(offset & (1 << 64) - 1)  # lanes differ: one element each
    windows = np.clip((full.view(np.int64) - SHARED_WINDOW) >> WINDOW_BITS, -1, 2)
    spaces: tuple[tuple[Space, int], ...] = (
        (chunk.device, 0),
        (chunk.shared, SHARED_WINDOW),
        (chunk.local, LOCAL_WINDOW),
    )
    windows[windows == 2] = -1
    for window in np.unique(windows).tolist():
        space, base = spaces[window + 1]
        positions = np.flatnonzero(windows == window)
        subset = lanes if len(positions) == lanes.n else lanes.select(positions)
        parts, faults = scatter(space, Vec(full[positions], subset), -base, spec.width, subset)
        for fault in faults:
            _report(chunk, spec, fault, subset)
        result += [(positions[inner], place) for inner, place in parts]
    return result


def _report(chunk: Chunk, spec: AccessSpec, fault: Fault, lanes: Lanes) -> None:
    lane = int(lanes.ids[fault.positions[0]])
    array, offset = fault.array, int(fault.offsets[0])
    owner = array.owner(offset) if array else Owner("", 0, 0)
    chunk.hazards.add(
        chunk.geometry,
        "out_of_bounds",
        fault.detail,
        spec.instruction,
        lane,
        len(fault.positions),
        op=spec.op,
        space=array.space if array else spec.space,
        array=owner.name,
        offset=offset - owner.start,
        width=spec.width,
        array_bytes=owner.size,
    )


def load_again(group: Group, spec: AccessSpec, last: Repeat, address: Value, size: int) -> Value | None:
    """A load of one element by lanes whose address is the last one moved; None where it must be looked at anew."""
    if isinstance(address, Shifted):
        vec, shift = address.vec, address.shift
    elif isinstance(address, Vec):
        vec, shift = address, 0
    else:
        return None
    if vec is not last.vec:
        return None
    position = shift + last.delta
    array, width, view, indices = last.array, spec.width, last.view, last.indices
    assert array is not None and view is not None and indices is not None
    if position < 0 or position + last.span + width > array.size or position % width:
        return None
    chunk = group.chunk
    if chunk.watchers.access or array.valid is not None:
        place = Place(array, vec, shift + last.place_shift, group.lanes)
        _check_initialised(chunk, spec, place)
        _observe(chunk, spec, place, None)
    start = (array.storage + position) // width
    return from_array(view[start:].take(indices), group.lanes, size)


def load(
    group: Group, spec: AccessSpec, address: Value, offset: int, register_bytes: list[int], last: Repeat
) -> list[Value]:
    """Carry out a load; lanes at fault get 0."""
    parts = pieces(group, spec, address, offset)
    if len(parts) == 1 and parts[0][0] is None:
        place = parts[0][1]
        if place.vec is not None and spec.count == 1:
            last.note(spec, place, address.shift if isinstance(address, Shifted) else 0)
        _check_initialised(group.chunk, spec, place)
        _observe(group.chunk, spec, place, None)
        return [_fetch(place, spec, element, register_bytes[element], group.lanes) for element in range(spec.count)]
    results = [np.zeros(group.lanes.n, spec.dtype) for _ in range(spec.count)]
    for positions, place in parts:
        _check_initialised(group.chunk, spec, place)
        _observe(group.chunk, spec, place, None, parts)
        for element, result in enumerate(results):
            result[positions] = as_array(_fetch(place, spec, element, spec.element_bytes, place.lanes), spec.dtype)
    return [from_array(result, group.lanes, size) for result, size in zip(results, register_bytes, strict=True)]


def _fetch(place: Place, spec: AccessSpec, element: int, register_bytes: int, lanes: Lanes) -> Value:
    indices, start = place.index(spec.element_bytes)
    start += element
    view = place.array.view(spec.dtype)
    if isinstance(indices, int):
        return from_array(view[start : start + 1].copy(), lanes, register_bytes)
    return from_array(view[start:].take(indices), lanes, register_bytes)


def store(group: Group, spec: AccessSpec, address: Value, offset: int, values: list[Value]) -> None:
    """Carry out a store; where lanes write the same element, the highest lane's value stays."""
    parts = pieces(group, spec, address, offset)
    for positions, place in parts:
        stored = values if positions is None else [select(value, place.lanes) for value in values]
        if place.array.read_only:
            _read_only(group.chunk, spec, place)
            continue
        _observe(group.chunk, spec, place, stored, parts)
        group.chunk.note_change()
        indices, start = place.index(spec.element_bytes)
        view = place.array.view(spec.dtype)
        for element, value in enumerate(stored):
            data = as_array(value, spec.dtype)
            if isinstance(indices, int):
                view[start + element] = data[-1]
            else:
                view[start + element :][indices] = data
        mark_written(place, spec)


def _read_only(chunk: Chunk, spec: AccessSpec, place: Place) -> None:
    array = place.array
    chunk.hazards.add(
        chunk.geometry, "out_of_bounds", "read_only", spec.instruction, int(place.lanes.ids[0]), place.lanes.n,
        op=spec.op, space=array.space, array=array.name, width=spec.width, array_bytes=array.size,
    )  # fmt: skip


def atomic(
    group: Group, spec: AccessSpec, address: Value, offset: int, operand: Value, compare: Value | None, size: int
) -> Value:
    """Carry out an atomic, lanes in ascending order; returns the old values."""
    dtype = DTYPES[spec.type_name]
    result = np.zeros(group.lanes.n, dtype)
    parts = pieces(group, spec, address, offset)
    for positions, place in parts:
        _check_initialised(group.chunk, spec, place)
        lanes = place.lanes
        indices, start = place.index(spec.element_bytes)
        index = np.full(lanes.n, start, np.int64) if isinstance(indices, int) else indices + start

        def spread(value: Value, lanes: Lanes = lanes, whole: bool = positions is None) -> Array:
            array = as_array(value if whole else select(value, lanes), dtype)
            return np.broadcast_to(array, (lanes.n,)) if len(array) != lanes.n else array

        bits = place.array.view(UNSIGNED[spec.element_bytes])
        before = bits.take(index)
        old = apply(
            spec.operation,
            spec.type_name,
            place.array.view(dtype),
            index,
            spread(operand),
            None if compare is None else spread(compare),
            # PTX ISA, atom: add.f32 on global memory flushes subnormals, on shared memory it does not.
            place.array.space == "global",
        )
        # A compare-and-swap that fails is a read.
        changed = None if compare is None else old == spread(compare)
        _observe(group.chunk, spec, place, None, parts, changed)
        if not np.array_equal(before, bits.take(index)):
            # A failed compare-and-swap changes nothing: loops that only try again can be told from those that advance.
            group.chunk.note_change()
        if positions is None:
            result = old
        else:
            result[positions] = old
        mark_written(place, spec)
    return from_array(result, group.lanes, size)


def _check_initialised(chunk: Chunk, spec: AccessSpec, place: Place) -> None:
    array = place.array
    if spec.op != "store" and array.valid is not None:
        check_written(chunk, spec, place, array)


def _observe(
    chunk: Chunk,
    spec: AccessSpec,
    place: Place,
    stored: list[Value] | None,
    parts: Sequence[tuple[Array | None, Place]] = (),
    changed: Array | None = None,
) -> None:
    array = place.array
    watchers = chunk.watchers.access
    if watchers and array.space in ("global", "shared"):
        event = Access(spec, place, chunk.geometry, stored, changed)
        if len(parts) > 1:
            event.together = [other for _, other in parts if other.array.space == array.space]
        for tell in watchers:
            tell(event)
