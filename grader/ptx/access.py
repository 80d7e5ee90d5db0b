"""A load, store or atomic: as an instruction says it, as one set of lanes carries it out, and where its lanes go.

From addresses to places in arrays: bounds, alignment, and what a load remembers of the last time it was executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.ptx.affine import Geometry
from grader.ptx.frontend.nodes import Instruction
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.memory import MemoryArray, Space
from grader.ptx.values import SIGNED, UNSIGNED, Affine, Array, Lanes, Value, Vec, remember, split_shift


@dataclass(slots=True, eq=False)
class ResolvedAddress:
    """Where one access of one set of lanes goes: all of it inside one array, aligned.

    `vec` + `shift` is the byte offset of each lane within the array; `vec` None means every lane has offset `shift`.
    """

    array: MemoryArray
    vec: Vec | None
    shift: int
    lanes: Lanes

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
    elements = vec.memo.get("int64")
    if elements is None:
        elements = remember(vec.memo, "int64", vec.array.view(SIGNED[vec.dtype.itemsize]).astype(np.int64))
    return elements


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


@dataclass(slots=True, eq=False)
class Fault:
    """Lanes of one access that must not happen: all with the same reason in the neighbourhood of one array.

    detail: "before", "after", "misaligned", "freed" or "unmapped" (array None).
    positions: of the lanes within the access.  offsets: (n,) int64 byte offsets in the array (addresses when unmapped).
    """

    array: MemoryArray | None
    detail: str
    positions: Array
    offsets: Array


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
    everyone = np.arange(lanes.n)
    is_one = len(slots) > 0 and bool((slots == slots[0]).all())
    for slot in [int(slots[0])] if is_one else np.unique(slots).tolist():
        positions = everyone if is_one else np.flatnonzero(slots == slot)
        addresses = full if is_one else full[positions]
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
            for detail in () if verdicts is None else sorted(set(verdicts.tolist()) - {""}):
                chosen = inside[verdicts == detail]
                faults.append(Fault(array, detail, positions[chosen], offsets[chosen]))
                good[chosen] = False
        if good.any():
            kept, places = (positions, offsets) if good.all() else (positions[good], offsets[good])
            subset = lanes if len(kept) == lanes.n else lanes.select(kept)
            all_resolved.append((kept, ResolvedAddress(array, Vec(places, subset), 0, subset)))
    return all_resolved, faults


_SPACES = {"global", "shared", "local", "param", "const"}
_HINTS = {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "cta", "cluster", "gpu", "sys", "unified", "cta::"}
_ORDERS = {name: name for name in ("weak", "volatile", "relaxed", "acquire", "release", "acq_rel")} | {
    "mmio": "relaxed"
}
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}
_KINDS = {"u": "u", "s": "i", "b": "u", "f": "f"}


def element_dtype(name: str) -> np.dtype[Any] | None:
    """NumPy dtype of a PTX type name, None when there is none of that name."""
    if name in ("f16x2", "bf16x2"):
        return np.dtype(np.uint32)
    if name in ("f16", "bf16"):
        return np.dtype(np.uint16)
    kind, bits = _KINDS.get(name[:1]), name[1:]
    is_known = kind and bits in ("8", "16", "32", "64") and name != "f8"
    return np.dtype(f"{kind}{int(bits) // 8}") if is_known else None


class Access:
    """One memory instruction carried out by one set of lanes: what observers are told.

    op: "load", "store" or "atomic".  width: bytes a lane.  stored: the values stored, element by element.
    changed: (n,) bool, where an atomic wrote; a compare-and-swap may fail.  spec: what the instruction says.
    compared: a load whose value a compare-and-swap checks before anything comes of it.
    together: where lanes go to several arrays of one space there is an event for each; all their addresses.
    """

    __slots__ = (
        "address",
        "changed",
        "compared",
        "geometry",
        "instruction",
        "op",
        "spec",
        "stored",
        "together",
        "width",
    )

    def __init__(
        self,
        spec: AccessSpec,
        resolved: ResolvedAddress,
        geometry: Geometry,
        stored: list[Value] | None = None,
        changed: Array | None = None,
    ) -> None:
        self.instruction = spec.instruction
        self.op = spec.op
        self.width = spec.width
        self.compared = spec.compared
        self.spec = spec
        self.address = resolved
        self.geometry = geometry
        self.stored = stored
        self.changed = changed
        self.together: Sequence[ResolvedAddress] = (resolved,)

    def moved(self, distance: int) -> Access:
        """Return the same access by the same lanes, `distance` bytes further on."""
        address = self.address
        resolved = ResolvedAddress(address.array, address.vec, address.shift + distance, address.lanes)
        return Access(self.spec, resolved, self.geometry)


class AccessSpec:
    """The static side of a load, store or atomic.

    order: "weak", "volatile", "relaxed", "acquire", "release" or "acq_rel" (PTX ISA, memory consistency model).
    in_block_only: scope `.cta`.  is_copy: what is loaded is only stored elsewhere as it is.  compared: see `Access`.
    looked_at: what is read is used for anything.  may_be_dropped: it may be read and not be used.  polls: it decides
    whether a loop is left that waits for others.
    is_counted: a device makes just such a request; else how it gets there is not known, and not counted.
    moves: elements are loaded or stored; else observers are told of the access, and that is all.
    of_copy: of an asynchronous copy's store, which is told of twice: "begun" or "arrived"; "" for any other.
    """

    def __init__(self, instruction: Instruction, op: str) -> None:
        self.instruction = instruction
        self.op = op
        self.space = "generic"
        self.order = "relaxed" if op == "atomic" else "weak"
        self.in_block_only = "cta" in instruction.modifiers
        self.count = 1
        self.operation = self.of_copy = ""
        self.is_copy = self.compared = self.polls = self.may_be_dropped = False
        self.looked_at = self.is_counted = self.moves = True
        type_name = ""
        for modifier in instruction.modifiers:
            base = modifier.split("::")[0]
            if base in _SPACES and (base == modifier or modifier in ("shared::cta", "param::entry", "param::func")):
                self.space = base
            elif modifier in _ORDERS:
                self.order = _ORDERS[modifier]
            elif modifier in _VECTORS:
                self.count = _VECTORS[modifier]
            elif modifier in _HINTS or base in ("L1", "L2", "level"):
                continue
            elif op == "atomic" and modifier in ("add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"):
                self.operation = modifier
            elif op == "atomic" and modifier == "noftz":
                continue
            else:
                dtype = element_dtype(modifier)
                if dtype is None:
                    raise UnsupportedInstruction(instruction.text, instruction.location.line, f"modifier .{modifier}")
                self.dtype = dtype
                type_name = modifier
        if not type_name or (op == "atomic" and (not self.operation or self.count > 1)):
            raise UnsupportedInstruction(instruction.text, instruction.location.line)
        self.type_name = type_name
        self.strong = self.order != "weak"
        self.releases = self.order in ("release", "acq_rel")
        self.element_bytes = self.dtype.itemsize
        self.width = self.element_bytes * self.count


class InlineCache:
    """A load as it went last time: in a loop the same lanes come back to it with the same array, moved by a constant.

    delta: what makes the smallest lane's byte offset in the array out of the value's shift.  span: bytes from the
    smallest lane's element to the largest's.
    """

    __slots__ = ("array", "delta", "indices", "resolved_shift", "span", "vec", "view")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drop the arrays of a launch that is over."""
        self.vec: Vec | None = None
        self.array: MemoryArray | None = None
        self.indices: Array | None = None
        self.view: Array | None = None

    def note(self, spec: AccessSpec, resolved: ResolvedAddress, shift: int) -> None:
        """Remember a load that went well; `shift` is that of its address."""
        vec = resolved.vec
        assert vec is not None
        indices, _ = resolved.index(spec.element_bytes)
        if isinstance(indices, int):
            return
        low, high = vec.signed_bounds()
        self.array, self.vec, self.indices = resolved.array, vec, indices
        self.view = resolved.array.view(spec.dtype)
        self.resolved_shift = resolved.shift - shift
        self.delta = low + self.resolved_shift
        self.span = high - low
