"""Carries out loads, stores and atomics: elements of arrays move, faults are told, observers see where lanes went.

Which bytes were ever written is kept as flags beside the memory of arrays that started out unwritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from grader.ptx.access import Access, AccessSpec, Fault, InlineCache, ResolvedAddress, locate, scatter
from grader.ptx.isa.atomic import apply
from grader.ptx.isa.instructions import DTYPES
from grader.ptx.limits import ATOMIC_LANES, FAULT_STEPS, OBSERVED_STEPS
from grader.ptx.machine.batch import BlockBatch, Group
from grader.ptx.memory import LOCAL_WINDOW, NOWHERE, SHARED_WINDOW, WINDOW_BITS, WINDOW_BYTES, MemoryArray, Owner, Space
from grader.ptx.observers.interface import BlamedOperation
from grader.ptx.values import (
    UNSIGNED,
    Affine,
    Array,
    Lanes,
    Value,
    Vec,
    as_array,
    from_array,
    remember,
    select,
    split_shift,
)

_ALL_WRITTEN = {size: np.array(int.from_bytes(b"\x01" * size, "little"), UNSIGNED[size]) for size in (1, 2, 4, 8)}


def _flag_slices(resolved: ResolvedAddress, spec: AccessSpec, array: MemoryArray) -> list[tuple[Array, Array | int]]:
    """(flags from an element on, indices into them) for each element of the access, as wide as the element."""
    indices, start = resolved.index(spec.element_bytes)
    assert array.valid is not None
    flags = array.valid.view(UNSIGNED[spec.element_bytes])
    return [(flags[start + element :], indices) for element in range(spec.count)]


def _written_key(resolved: ResolvedAddress, spec: AccessSpec) -> tuple[Any, ...]:
    # Validity only grows while a batch runs, so what was found all written once stays so.
    return ("written", resolved.array.storage, resolved.shift, spec.width)


def _is_noted(batch: BlockBatch, resolved: ResolvedAddress, key: tuple[Any, ...]) -> bool:
    vec = resolved.vec
    if vec is None:
        return False
    memo = batch.written.get(id(vec), _NOTHING) if vec.lasting else vec.memo
    return memo.get(key) is resolved.array.valid


def _note(batch: BlockBatch, resolved: ResolvedAddress, key: tuple[Any, ...]) -> None:
    vec = resolved.vec
    if vec is not None:
        # A lasting value outlives the batch.
        memo = batch.written.setdefault(id(vec), {}) if vec.lasting else vec.memo
        remember(memo, key, resolved.array.valid)


_NOTHING: dict[Any, Any] = {}


def check_written(batch: BlockBatch, spec: AccessSpec, resolved: ResolvedAddress, array: MemoryArray) -> None:
    """Report lanes of a load that read what nobody wrote."""
    key = _written_key(resolved, spec)
    if _is_noted(batch, resolved, key):
        return
    bad: Array | None = None
    parts: list[Array] = []
    for flags, indices in _flag_slices(resolved, spec, array):
        if isinstance(indices, int):
            element = np.broadcast_to(flags[:1] != _ALL_WRITTEN[spec.element_bytes], (resolved.lanes.n,))
        else:
            element = flags.take(indices) != _ALL_WRITTEN[spec.element_bytes]
        parts.append(element)
        if element.any():
            bad = element if bad is None else bad | element
    if bad is not None and spec.is_copy and spec.dtype.kind == "u":
        # Structs are copied in words, padding and all, which nobody ever writes.
        bad = bad & ~_any_written(resolved, spec, array)
        if not bad.any():
            return
    if bad is None:
        _note(batch, resolved, key)
        return
    positions = np.flatnonzero(bad)
    offset = int(resolved.offsets()[positions[0]])
    owner = array.owner(offset)
    lane = int(resolved.lanes.ids[positions[0]])
    width = spec.width
    if array.space in ("shared", "global") and len(parts) * spec.element_bytes == width:
        # What was loaded together may have been written in part.
        offset += next(n for n, part in enumerate(parts) if part[positions[0]]) * spec.element_bytes
        # The compiler makes one load of several of shared memory alone.
        width = spec.element_bytes if array.space == "shared" else width
    blamed = BlamedOperation(spec.instruction, lane, spec.op, array.space, owner, offset, width)
    batch.hazards.add(batch.geometry, "uninitialized", "", blamed, len(positions))


def _any_written(resolved: ResolvedAddress, spec: AccessSpec, array: MemoryArray) -> Array:
    """(n,) bool: whether any byte of each lane's access was written."""
    written = np.zeros(resolved.lanes.n, np.bool_)
    for flags, indices in _flag_slices(resolved, spec, array):
        written |= flags[0] != 0 if isinstance(indices, int) else flags.take(indices) != 0
    return written


def mark_written(batch: BlockBatch, resolved: ResolvedAddress, spec: AccessSpec) -> None:
    array = resolved.array
    if array.valid is None:
        return
    key = _written_key(resolved, spec)
    if _is_noted(batch, resolved, key):
        return
    for flags, indices in _flag_slices(resolved, spec, array):
        flags[indices] = _ALL_WRITTEN[spec.element_bytes]
    _note(batch, resolved, key)


def _is_generic(address: Value, offset: int) -> bool:
    """Whether a generic pointer stands for an address of shared memory, of which all but 32 bits are cut off.

    PTX ISA, "ld": addresses are truncated "if the register width exceeds the state space address width".
    """
    if isinstance(address, (Vec, Affine)):
        vec, shift = split_shift(address)
        return vec.signed_bounds()[0] + shift + offset >= SHARED_WINDOW
    return address + offset >= SHARED_WINDOW


def resolve(batch: BlockBatch, spec_space: str, address: Value, offset: int) -> tuple[Space, int] | None:
    """(space, offset) of an access; None when generic addresses of one access lie in several spaces."""
    if spec_space in ("global", "const"):
        return batch.device, offset
    if spec_space == "shared":
        return batch.shared, offset - SHARED_WINDOW if _is_generic(address, offset) else offset
    if spec_space in ("local", "param"):
        return batch.local, offset
    if isinstance(address, (Vec, Affine)):
        vec, shift = split_shift(address)
        low, high = vec.signed_bounds()
        low, high = low + shift + offset, high + shift + offset
    else:
        low = high = address + offset
    for base, space in ((LOCAL_WINDOW, batch.local), (SHARED_WINDOW, batch.shared)):
        if low >= base and high < base + WINDOW_BYTES:
            return space, offset - base
    # The windows lie side by side; what is in neither is a device's address, or nobody's.
    if high < SHARED_WINDOW or low >= LOCAL_WINDOW + WINDOW_BYTES:
        return batch.device, offset
    return None


def split_by_allocation(
    group: Group, spec: AccessSpec, address: Value, offset: int, faults: list[Fault] | None = None
) -> list[tuple[Array | None, ResolvedAddress]]:
    """Split an access by array; positions are None when one array holds all lanes.

    Reports faults.  faults: is given those of an access whose addresses lie in one space, by positions in the group.
    """
    batch, lanes = group.batch, group.lanes
    in_space = resolve(batch, spec.space, address, offset)
    if in_space is not None:
        space, offset = in_space
        resolved = locate(space, address, offset, spec.width, lanes)
        if resolved is not None:
            return [(None, resolved)]
        parts, of_parts = scatter(space, address, offset, spec.width, lanes)
        for fault in of_parts:
            _report(batch, spec, fault, lanes)
        if faults is not None:
            faults += of_parts
        return list(parts)
    # Generic pointers into several spaces at once: one space after the other.
    result: list[tuple[Array | None, ResolvedAddress]] = []
    full = as_array(address, UNSIGNED[8]) + np.uint64(offset & (1 << 64) - 1)  # lanes differ: one element each
    windows = np.clip((full.view(np.int64) - SHARED_WINDOW) >> WINDOW_BITS, -1, 2)
    spaces: tuple[tuple[Space, int], ...] = (
        (batch.device, 0),
        (batch.shared, SHARED_WINDOW),
        (batch.local, LOCAL_WINDOW),
    )
    windows[windows == 2] = -1
    for window in np.unique(windows).tolist():
        space, base = spaces[window + 1]
        positions = np.flatnonzero(windows == window)
        subset = lanes if len(positions) == lanes.n else lanes.select(positions)
        parts, of_parts = scatter(space, Vec(full[positions], subset), -base, spec.width, subset)
        for fault in of_parts:
            _report(batch, spec, fault, subset)
        result += [(positions[inner], resolved) for inner, resolved in parts]
    return result


def _report(batch: BlockBatch, spec: AccessSpec, fault: Fault, lanes: Lanes) -> None:
    batch.budget.steps += FAULT_STEPS
    lane = int(lanes.ids[fault.positions[0]])
    array, offset = fault.array, int(fault.offsets[0])
    owner, space = (array.owner(offset), array.space) if array else (NOWHERE, spec.space)
    blamed = BlamedOperation(spec.instruction, lane, spec.op, space, owner, offset, spec.width)
    batch.hazards.add(batch.geometry, "out_of_bounds", fault.detail, blamed, len(fault.positions))


def load_again(group: Group, spec: AccessSpec, last: InlineCache, address: Value, size: int) -> Value | None:
    """Load one element at the last address moved; None where the address must be resolved anew."""
    if isinstance(address, Affine):
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
    batch = group.batch
    if batch.watchers.access or array.valid is not None:
        resolved = ResolvedAddress(array, vec, shift + last.resolved_shift, group.lanes)
        _check_initialised(batch, spec, resolved)
        _observe(batch, spec, resolved, None)
    if not spec.moves:
        return 0
    start = (array.storage + position) // width
    return from_array(view[start:].take(indices), group.lanes, size)


def load(
    group: Group, spec: AccessSpec, address: Value, offset: int, register_bytes: list[int], last: InlineCache
) -> list[Value]:
    """Carry out a load; lanes at fault get 0, but for those elements that are inside."""
    faults: list[Fault] = []
    parts = split_by_allocation(group, spec, address, offset, faults)
    if len(parts) == 1 and parts[0][0] is None:
        resolved = parts[0][1]
        if resolved.vec is not None and spec.count == 1:
            last.note(spec, resolved, address.shift if isinstance(address, Affine) else 0)
        _check_initialised(group.batch, spec, resolved)
        _observe(group.batch, spec, resolved, None)
        if not spec.moves:
            return [0] * spec.count
        return [_fetch(resolved, spec, element, register_bytes[element], group.lanes) for element in range(spec.count)]
    results = [np.zeros(group.lanes.n, spec.dtype) for _ in range(spec.count)]
    for positions, resolved in parts:
        _check_initialised(group.batch, spec, resolved)
        _observe(group.batch, spec, resolved, None, parts)
        for element, result in enumerate(results if spec.moves else ()):
            result[positions] = as_array(
                _fetch(resolved, spec, element, spec.element_bytes, resolved.lanes), spec.dtype
            )
    for element, positions, array, places in _inside(spec, faults):
        results[element][positions] = array.view(spec.dtype).take(places)
    return [from_array(result, group.lanes, size) for result, size in zip(results, register_bytes, strict=True)]


def _fetch(resolved: ResolvedAddress, spec: AccessSpec, element: int, register_bytes: int, lanes: Lanes) -> Value:
    indices, start = resolved.index(spec.element_bytes)
    start += element
    view = resolved.array.view(spec.dtype)
    if isinstance(indices, int):
        return from_array(view[start : start + 1].copy(), lanes, register_bytes)
    return from_array(view[start:].take(indices), lanes, register_bytes)


def store(group: Group, spec: AccessSpec, address: Value, offset: int, values: list[Value]) -> None:
    """Carry out a store; where lanes write the same element, the highest lane's value stays."""
    faults: list[Fault] = []
    put(group.batch, spec, split_by_allocation(group, spec, address, offset, faults), values)
    for element, positions, array, places in _inside(spec, faults if spec.moves else ()):
        if array.read_only:
            continue
        group.batch.note_change()
        array.digest = None
        data = as_array(values[element], spec.dtype)
        array.view(spec.dtype)[places] = data[positions] if len(data) == group.lanes.n else data[-1]
        if array.valid is not None:
            array.valid.view(UNSIGNED[spec.element_bytes])[places] = _ALL_WRITTEN[spec.element_bytes]


def _inside(spec: AccessSpec, faults: Sequence[Fault]) -> Iterator[tuple[int, Array, MemoryArray, Array]]:
    """What of vectors that reach beyond an array's end lies in it: (element, lanes, array, places in elements).

    On a device all of such a vector is there, within the page that the driver has mapped.
    """
    for fault in faults:
        array = fault.array
        if spec.count == 1 or array is None or array.space != "global" or fault.detail != "after":
            continue
        for element in range(spec.count):
            begin = fault.offsets + element * spec.element_bytes
            inside = (begin + spec.element_bytes <= array.size) & ((array.base + fault.offsets) % spec.width == 0)
            if inside.any():
                yield element, fault.positions[inside], array, (array.storage + begin[inside]) // spec.element_bytes


def announce(
    batch: BlockBatch, spec: AccessSpec, parts: Sequence[tuple[Array | None, ResolvedAddress]], values: list[Value]
) -> None:
    """Tell observers of a store that is about to happen, whenever its values arrive."""
    for positions, resolved in parts:
        stored = values if positions is None else [select(value, resolved.lanes) for value in values]
        _observe(batch, spec, resolved, stored, parts)


def put(
    batch: BlockBatch, spec: AccessSpec, parts: Sequence[tuple[Array | None, ResolvedAddress]], values: list[Value]
) -> None:
    for positions, resolved in parts:
        stored = values if positions is None else [select(value, resolved.lanes) for value in values]
        if resolved.array.read_only:
            _read_only(batch, spec, resolved)
            continue
        _observe(batch, spec, resolved, stored, parts)
        if not spec.moves:
            continue
        batch.note_change()
        resolved.array.digest = None
        indices, start = resolved.index(spec.element_bytes)
        view = resolved.array.view(spec.dtype)
        for element, value in enumerate(stored):
            data = as_array(value, spec.dtype)
            if isinstance(indices, int):
                view[start + element] = data[-1]
            else:
                view[start + element :][indices] = data
        mark_written(batch, resolved, spec)


def _read_only(batch: BlockBatch, spec: AccessSpec, resolved: ResolvedAddress) -> None:
    array = resolved.array
    lane, owner = int(resolved.lanes.ids[0]), Owner(array.name, 0, array.size)
    blamed = BlamedOperation(spec.instruction, lane, spec.op, array.space, owner, 0, spec.width)
    batch.hazards.add(batch.geometry, "out_of_bounds", "read_only", blamed, resolved.lanes.n)


def atomic(
    group: Group, spec: AccessSpec, address: Value, offset: int, operand: Value, compare: Value | None, size: int
) -> Value:
    """Carry out an atomic, lanes in ascending order, and return the old values."""
    dtype = DTYPES[spec.type_name]
    result = np.zeros(group.lanes.n, dtype)
    group.batch.budget.steps += group.lanes.n // ATOMIC_LANES
    parts = split_by_allocation(group, spec, address, offset)
    for positions, resolved in parts:
        _check_initialised(group.batch, spec, resolved)
        lanes = resolved.lanes
        indices, start = resolved.index(spec.element_bytes)
        index = np.full(lanes.n, start, np.int64) if isinstance(indices, int) else indices + start

        def spread(value: Value, lanes: Lanes = lanes, whole: bool = positions is None) -> Array:
            array = as_array(value if whole else select(value, lanes), dtype)
            return np.broadcast_to(array, (lanes.n,)) if len(array) != lanes.n else array

        bits = resolved.array.view(UNSIGNED[spec.element_bytes])
        before = bits.take(index)
        old = apply(
            spec.operation,
            spec.type_name,
            resolved.array.view(dtype),
            index,
            spread(operand),
            None if compare is None else spread(compare),
            # PTX ISA, atom: add.f32 on global memory flushes subnormals, on shared memory it does not.
            resolved.array.space == "global",
        )
        # A compare-and-swap that fails is a read.
        changed = None if compare is None else old == spread(compare)
        _observe(group.batch, spec, resolved, None, parts, changed)
        if not np.array_equal(before, bits.take(index)):
            # A failed compare-and-swap changes nothing: loops that only try again can be told from those that advance.
            group.batch.note_change()
            resolved.array.digest = None
        if positions is None:
            result = old
        else:
            result[positions] = old
        if resolved.array.valid is not None:
            resolved.array.digest = None
        mark_written(group.batch, resolved, spec)
    return from_array(result, group.lanes, size)


def _check_initialised(batch: BlockBatch, spec: AccessSpec, resolved: ResolvedAddress) -> None:
    array = resolved.array
    # An exchange whose old value nobody looks at is a store; what is not moved need not have been written.
    only_stores = spec.op == "store" or not spec.moves or (spec.operation == "exch" and not spec.looked_at)
    if not only_stores and not spec.may_be_dropped and array.valid is not None:
        check_written(batch, spec, resolved, array)


def _observe(
    batch: BlockBatch,
    spec: AccessSpec,
    resolved: ResolvedAddress,
    stored: list[Value] | None,
    parts: Sequence[tuple[Array | None, ResolvedAddress]] = (),
    changed: Array | None = None,
) -> None:
    array = resolved.array
    watchers = batch.watchers.access
    if watchers and array.space in ("global", "shared"):
        batch.budget.steps += OBSERVED_STEPS
        event = Access(spec, resolved, batch.geometry, stored, changed)
        if len(parts) > 1:
            event.together = [other for _, other in parts if other.array.space == array.space]
        for notify in watchers:
            notify(event)
