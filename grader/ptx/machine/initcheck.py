"""Which bytes were ever written: flags beside the memory of arrays that started out unwritten."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.memory.access import AccessSpec
from grader.ptx.memory.address_resolution import ResolvedAddress
from grader.ptx.memory.arrays import MemoryArray
from grader.ptx.values.kinds import UNSIGNED
from grader.ptx.values.lanes import Array, remember

_ALL_WRITTEN = {size: np.array(int.from_bytes(b"\x01" * size, "little"), UNSIGNED[size]) for size in (1, 2, 4, 8)}


def _flag_slices(resolved: ResolvedAddress, spec: AccessSpec, array: MemoryArray) -> list[tuple[Array, Array | int]]:
    """(flags from an element on, indices into them) for each element of the access, as wide as the element."""
    indices, start = resolved.index(spec.element_bytes)
    assert array.valid is not None
    flags = array.valid.view(UNSIGNED[spec.element_bytes])
    return [(flags[start + element :], indices) for element in range(spec.count)]


def _known_key(resolved: ResolvedAddress, spec: AccessSpec) -> tuple[Any, ...]:
    # Validity only grows while a batch runs, so what was found all written once stays so.
    return ("written", resolved.array.storage, resolved.shift, spec.width)


def _known(batch: BlockBatch, resolved: ResolvedAddress, key: tuple[Any, ...]) -> bool:
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
    key = _known_key(resolved, spec)
    if _known(batch, resolved, key):
        return
    bad: Array | None = None
    for flags, indices in _flag_slices(resolved, spec, array):
        if isinstance(indices, int):
            element = np.broadcast_to(flags[:1] != _ALL_WRITTEN[spec.element_bytes], (resolved.lanes.n,))
        else:
            element = flags.take(indices) != _ALL_WRITTEN[spec.element_bytes]
        if element.any():
            bad = element if bad is None else bad | element
    if bad is not None and spec.is_copy and spec.dtype.kind == "u":
        # Structs are copied in words, padding and all, which nobody ever writes.
        bad &= ~_any_written(resolved, spec, array)
        if not bad.any():
            return
    if bad is None:
        _note(batch, resolved, key)
        return
    positions = np.flatnonzero(bad)
    offset = int(resolved.offsets()[positions[0]])
    owner = array.owner(offset)
    batch.hazards.add(
        batch.geometry,
        "uninitialized",
        "",
        spec.instruction,
        int(resolved.lanes.ids[positions[0]]),
        len(positions),
        op=spec.op,
        space=array.space,
        array=owner.name,
        offset=offset - owner.start,
        width=spec.width,
        array_bytes=owner.size,
    )


def _any_written(resolved: ResolvedAddress, spec: AccessSpec, array: MemoryArray) -> Array:
    """(n,) bool: whether any byte of each lane's access was written."""
    found = np.zeros(resolved.lanes.n, np.bool_)
    for flags, indices in _flag_slices(resolved, spec, array):
        found |= flags[0] != 0 if isinstance(indices, int) else flags.take(indices) != 0
    return found


def mark_written(batch: BlockBatch, resolved: ResolvedAddress, spec: AccessSpec) -> None:
    """Note what a store or an atomic wrote."""
    array = resolved.array
    if array.valid is None:
        return
    key = _known_key(resolved, spec)
    if _known(batch, resolved, key):
        return
    for flags, indices in _flag_slices(resolved, spec, array):
        flags[indices] = _ALL_WRITTEN[spec.element_bytes]
    _note(batch, resolved, key)
