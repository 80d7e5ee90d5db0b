"""From addresses to places in arrays: bounds, alignment, and which lanes go where."""

from __future__ import annotations

import numpy as np

from grader.ptx.memory.arrays import MemoryArray
from grader.ptx.memory.windows import Space
from grader.ptx.values.kinds import SIGNED, UNSIGNED, Affine, Value, Vec, split_shift
from grader.ptx.values.lanes import Array, Lanes, remember


class ResolvedAddress:
    """Where one access of one set of lanes goes: all of it inside one array, aligned.

    `vec` + `shift` is the byte offset of each lane within the array; `vec` None means every lane has offset `shift`.
    """

    __slots__ = ("array", "lanes", "shift", "vec")

    def __init__(self, array: MemoryArray, vec: Vec | None, shift: int, lanes: Lanes) -> None:
        self.array = array
        self.vec = vec
        self.shift = shift
        self.lanes = lanes

    def offsets(self) -> Array:
        """(n,) int64 byte offsets within the array."""
        if self.vec is None:
            return np.full(self.lanes.n, self.shift, np.int64)
        return as_int64(self.vec) + self.shift

    def index(self, element_bytes: int) -> tuple[Array | int, int]:
        """(indices, start): lane i's first element is element indices[i] + start of `array.view(...)`.

        `indices` is the int 0 when one element serves all lanes.
        """
        array = self.array
        rows = array.row_starts(self.lanes, element_bytes)
        if self.vec is None:
            return (0 if rows is None else rows), (array.storage + self.shift) // element_bytes
        low, high = self.vec.signed_bounds()
        start = (array.storage + low + self.shift) // element_bytes
        if low == high and rows is None:
            return 0, start
        key = ("index", array.rows, array.row_bytes, element_bytes)
        indices = self.vec.memo.get(key)
        if indices is None:
            indices = (as_int64(self.vec) - low) // element_bytes
            if rows is not None:
                indices = indices + rows
            remember(self.vec.memo, key, indices)
        return indices, start


def as_int64(vec: Vec) -> Array:
    """The elements sign-extended to 64 bits (addresses are small, so offsets may be negative)."""
    found = vec.memo.get("int64")
    if found is None:
        found = remember(vec.memo, "int64", vec.array.view(SIGNED[vec.dtype.itemsize]).astype(np.int64))
    return found


def locate(space: Space, address: Value, offset: int, width: int, lanes: Lanes) -> ResolvedAddress | None:
    """The resolved address of an access of `width` bytes at `address` + `offset`, or None when it is not all right.

    None means that some lane is out of bounds or misaligned, that lanes address different arrays or a divided one.
    """
    if not isinstance(address, (Vec, Affine)):
        start = address + offset
        array = space.find(start)
        if array is None or start < array.base or start + width > array.base + array.size or start % width:
            return None
        if array.parts is not None:
            return None
        return ResolvedAddress(array, None, start - array.base, lanes)
    vec, shift = split_shift(address)
    shift += offset
    low, high = vec.signed_bounds()
    array = space.find(low + shift)
    if array is None or low + shift < array.base or high + shift + width > array.base + array.size:
        return None
    if array.parts is not None:
        return None
    if width > 1:
        residue = vec.memo.get("residue")
        if residue is None:
            # The low four bits decide alignment up to 16 bytes: those of the first lane, and which ones differ.
            bits = vec.array.view(UNSIGNED[vec.dtype.itemsize])
            differing_bits = int(np.bitwise_or.reduce(bits ^ bits[0])) & 15
            residue = remember(vec.memo, "residue", (int(bits[0]) & 15, differing_bits))
        first, differing = residue
        if differing & (width - 1) or (first + shift) & (width - 1):
            return None
    return ResolvedAddress(array, vec, shift - array.base, lanes)


class Fault:
    """Lanes of one access that must not happen: all with the same reason in the neighbourhood of one array.

    detail: "before", "after", "misaligned", "freed" or "unmapped" (array None).
    positions: of the lanes within the access.  offsets: (n,) int64 byte offsets in the array (addresses when unmapped).
    """

    __slots__ = ("array", "detail", "offsets", "positions")

    def __init__(self, array: MemoryArray | None, detail: str, positions: Array, offsets: Array) -> None:
        self.array = array
        self.detail = detail
        self.positions = positions
        self.offsets = offsets


def _signed_64(number: int) -> int:
    return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def scatter(
    space: Space, address: Value, offset: int, width: int, lanes: Lanes
) -> tuple[list[tuple[Array, ResolvedAddress]], list[Fault]]:
    """What `locate` refused, taken apart: (positions, address) of the lanes that are all right, and the faults."""
    if isinstance(address, (Vec, Affine)):
        vec, shift = split_shift(address)
        full = as_int64(vec) + _signed_64(shift + offset)
        if vec.bits == 32:
            full &= (1 << 32) - 1
    else:
        full = np.full(lanes.n, _signed_64(address + offset), np.int64)
    slots = space.slots(full)
    all_resolved: list[tuple[Array, ResolvedAddress]] = []
    faults: list[Fault] = []
    for slot in np.unique(slots).tolist():
        positions = np.flatnonzero(slots == slot)
        addresses = full[positions]
        array = space.at(slot)
        if array is None:
            faults.append(Fault(None, "unmapped", positions, addresses))
            continue
        offsets = addresses - array.base
        after = offsets + width > array.size
        before = offsets < 0
        misaligned = ~before & ~after & (addresses % width != 0)
        for detail, mask in (("before", before), ("after", after & ~before), ("misaligned", misaligned)):
            if mask.any():
                faults.append(Fault(array, detail, positions[mask], offsets[mask]))
        good = ~(before | after | misaligned)
        if array.parts is not None and good.any():
            inside = np.flatnonzero(good)
            verdicts = array.parts.judge(offsets[inside], width)
            for detail in sorted({verdict for verdict in verdicts.tolist() if verdict}):
                chosen = inside[verdicts == detail]
                faults.append(Fault(array, detail, positions[chosen], offsets[chosen]))
                good[chosen] = False
        if good.any():
            kept = positions[good]
            subset = lanes if len(kept) == lanes.n else lanes.select(kept)
            all_resolved.append((kept, ResolvedAddress(array, Vec(offsets[good], subset), 0, subset)))
    return all_resolved, faults
