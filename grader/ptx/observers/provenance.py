"""Where an element of an array came from, and whether an output depends on what went through shared memory.

`Provenance` tells who wrote an element last, and what that thread had read to make it.  It keeps every access of the
launch, so it is for small launches: attach it to one that is known to go wrong.  A launch without it pays nothing.

`AlteredShared` does not watch but changes: what was stored to shared memory is another value when it is first loaded.
An output that stays what it was does not depend on it, however the kernel mixes it in: `x + 0 * tile[i]`,
`tile[i] - tile[i]`, a comparison that never holds.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from grader.ptx.access import Access
from grader.ptx.affine import Geometry
from grader.ptx.dataflow import BackwardSlice, backward_slice
from grader.ptx.frontend.nodes import Function, Instruction, Module, Vector
from grader.ptx.isa.instructions import facts
from grader.ptx.memory import MemoryArray
from grader.ptx.observers.interface import Observer, Scene
from grader.ptx.records import Read, Write
from grader.ptx.values import UNSIGNED, Array, Lanes, as_array

KEPT_LANES = 6_000_000
"""Accesses (of single threads) that are kept; a launch with more leaves no history."""
MAX_DEPTH = 8
"""Links of a chain of shared memory that are followed."""
MAX_READS = 4096
"""Reads that are followed for one element."""


class Provenance(Observer):
    """The history of a launch's memory.  Attach it, then ask `writes` and `reads`.

    >>> import numpy as np
    >>> from grader.ptx.frontend.parser import parse
    >>> from grader.ptx.launch import Launch, launch
    >>> from grader.ptx.memory import Device
    >>> text = '''.version 8.0
    ... .target sm_75
    ... .address_size 64
    ... .visible .entry copy(.param .u64 p, .param .u64 q) {
    ...     .reg .b64 %a<5>; .reg .b32 %r<2>; .reg .f32 %f<2>;
    ...     ld.param.u64 %a0, [p];
    ...     ld.param.u64 %a1, [q];
    ...     mov.u32 %r0, %tid.x;
    ...     mul.wide.u32 %a2, %r0, 4;
    ...     add.s64 %a3, %a0, %a2;
    ...     add.s64 %a4, %a1, %a2;
    ...     ld.global.f32 %f0, [%a3];
    ...     st.global.f32 [%a4+4], %f0;
    ...     ret;
    ... }'''
    >>> module, device = parse(text), Device()
    >>> source, target = device.buffer("source", np.arange(8, dtype=np.float32)), device.buffer("target", 32)
    >>> history = Provenance(module)
    >>> report = launch(module, Launch("copy", (1,), (7,), [source, target], observers=[history]))
    >>> last = history.writes("target", 20, 4)[-1]
    >>> last.thread, [(read.array, read.offset_bytes) for read in history.reads(last)]
    ((4, 0, 0), [('source', 16)])
    >>> history.writes("target", 0, 4)
    []
    """

    def __init__(self, module: Module) -> None:
        self.complete = True
        """False when the launch made more accesses than are kept; there is no history then."""
        self._functions: dict[Instruction, Function] = {
            item: function
            for function in module.functions.values()
            for item in function.body
            if isinstance(item, Instruction) and facts(item.opcode).memory in ("store", "atomic")
        }
        self._events: list[Access] = []
        self._kept = 0
        self._stores: dict[int, list[int]] = defaultdict(list)
        self._by_instruction: dict[Instruction, list[int]] = defaultdict(list)
        self._indices: dict[int, StoreIndex] = {}
        self._slices: dict[tuple[Instruction, int], BackwardSlice] = {}
        self._left = MAX_READS

    def writes(self, array: str, offset_bytes: int, width_bytes: int) -> list[Write]:
        """Every write to those bytes of a global array, in order; the last is the one whose value stayed."""
        writes: list[Write] = []
        for key, numbers in self._stores.items():
            memory = self._events[numbers[0]].address.array
            if memory.name == array and memory.space == "global":
                hits = self._index(key).find(0, offset_bytes, width_bytes)
                writes += [self._write(*hit, offset_bytes) for hit in hits]
        return sorted(writes, key=lambda write: write.event)

    def written(self, array: str, size_bytes: int) -> Array:
        """(size_bytes,) bool: which bytes of a global array any thread wrote."""
        mask = np.zeros(size_bytes, np.bool_)
        for numbers in self._stores.values():
            memory = self._events[numbers[0]].address.array
            if memory.name == array and memory.space == "global":
                for number in numbers:
                    event = self._events[number]
                    mask[(event.address.offsets()[:, None] + np.arange(event.width)).ravel()] = True
        return mask

    def reads(self, write: Write) -> list[Read]:
        """What the thread had read to make the value it wrote, in the order of reading.

        Only loads that the value is made from count, since the thread's last write by the same instruction; a load
        that the thread made only once counts wherever it was.  Where the value passes through local memory or calls,
        all loads since then count.
        """
        self._left = MAX_READS
        return self._reads(write, 0)

    # -- recording ---------------------------------------------------------------------

    def access(self, event: Access) -> None:
        if not self.complete or event.spec.of_copy == "arrived":
            # What an asynchronous copy brings was read when it began.
            return
        self._kept += event.address.lanes.n
        if self._kept > KEPT_LANES:
            self.complete = False
            self._events, self._stores, self._by_instruction = [], defaultdict(list), defaultdict(list)
            return
        number = len(self._events)
        self._events.append(event)
        self._by_instruction[event.instruction].append(number)
        if event.op != "load":
            self._stores[id(event.address.array)].append(number)

    # -- questions ---------------------------------------------------------------------

    def _index(self, key: int) -> StoreIndex:
        index = self._indices.get(key)
        if index is None:
            index = self._indices[key] = StoreIndex([(n, self._events[n]) for n in self._stores[key]])
        return index

    def _write(self, number: int, position: int, offset: int) -> Write:
        """Return the write of the lane at `position` of an event, of the element that holds the byte at `offset`."""
        event = self._events[number]
        each = event.width // _elements(event.instruction)
        start = int(event.address.offsets()[position])
        element = max(0, (offset - start) // each)
        block, thread = event.geometry.coordinates(int(event.address.lanes.ids[position]))
        array, line = event.address.array, event.instruction.location.line
        bits = None
        if event.stored is not None:
            values = as_array(event.stored[element], UNSIGNED[each])
            bits = int(values[position if len(values) > 1 else 0])
        return Write(
            array.name, array.space, start + element * each, each, line, event.op, block, thread, number, element, bits
        )

    def _reads(self, write: Write, depth: int) -> list[Read]:
        event = self._events[write.event]
        geometry = event.geometry
        layout = geometry.layout
        lane = geometry.lane(write.block, write.thread)
        if event.spec.of_copy:
            return self._copied(write, event, lane, depth)
        key = (event.instruction, write.element)
        feeding = self._slices.get(key)
        if feeding is None:
            function = self._functions.get(event.instruction)
            feeding = backward_slice(function, *key) if function else BackwardSlice.of_anything()
            self._slices[key] = feeding
        start = self._previous(event, write.event, lane)
        lanes = [lane]
        if feeding.exchanged:
            warp = lane // 32 * 32
            lanes = [i for i in range(warp, warp + 32) if i % layout.padded < layout.threads]
        loads: list[tuple[int, int, int]] = []
        for instruction, numbers in self._by_instruction.items():
            elements = feeding.by_load.get(instruction)
            if self._events[numbers[0]].op == "store" or (elements is None and feeding.complete):
                continue
            wanted = sorted(elements) if elements is not None and feeding.complete else range(_elements(instruction))
            for reader in lanes:
                earlier = [n for n in numbers if n < write.event and self._takes_part(n, geometry, reader)]
                inside = [n for n in earlier if n > start]
                if not inside and len(earlier) == 1:
                    inside = earlier
                loads += [(number, reader, element) for number in inside for element in wanted]
        reads = []
        for number, reader, element in sorted(loads):
            if self._left <= 0:
                break
            self._left -= 1
            reads.append(self._read(number, reader, element, depth))
        if write.op == "atomic":
            # It read what stood there; how that came about is the matter of earlier writes.
            reads.append(self._read(write.event, lane, 0, MAX_DEPTH))
        return reads

    def _copied(self, write: Write, event: Access, lane: int, depth: int) -> list[Read]:
        """Return what an asynchronous copy read for one of its elements: its loads come right before it."""
        offset = write.element * write.width_bytes
        number = write.event - 1
        while number >= 0 and self._events[number].instruction.text == event.instruction.text:
            load = self._events[number]
            if load.op == "load" and load.width == event.width and self._takes_part(number, event.geometry, lane):
                return [self._read(number, lane, offset // (load.width // _elements(load.instruction)), depth)]
            number -= 1
        return []

    def _previous(self, event: Access, number: int, lane: int) -> int:
        """The event before `number` in which the same thread stored by the same instruction, -1 when there is none."""
        for other in reversed(self._by_instruction[event.instruction]):
            if other < number and self._takes_part(other, event.geometry, lane):
                return other
        return -1

    def _takes_part(self, number: int, geometry: Geometry, lane: int) -> bool:
        event = self._events[number]
        return event.geometry is geometry and _position(event.address.lanes, lane) is not None

    def _read(self, number: int, lane: int, element: int, depth: int) -> Read:
        event = self._events[number]
        array = event.address.array
        each = event.width // _elements(event.instruction)
        position = _position(event.address.lanes, lane)
        assert position is not None
        offset = int(event.address.offsets()[position]) + element * each
        row = lane // event.geometry.layout.padded if array.rows == "block" else 0
        hits = self._index(id(array)).find(row, offset, each) if id(array) in self._stores else []
        # Atomics of one instruction are carried out in the order of lanes.
        before = [hit for hit in hits if hit < (number, position)]
        after = [hit for hit in hits if hit[0] > number]
        put = self._write(*before[-1], offset) if before else None
        origin = "written" if put else "input" if _was_initialised(array, offset, bool(hits)) else "nothing"
        block, thread = event.geometry.coordinates(lane)
        reads: list[Read] = []
        is_cut = put is not None and (depth >= MAX_DEPTH or self._left <= 0)
        if put is not None and not is_cut:
            reads = self._reads(put, depth + 1)
        line = event.instruction.location.line
        later = self._write(*after[0], offset) if after and origin == "nothing" else None
        return Read(
            array.name, array.space, offset, each, line, block, thread, origin, put, tuple(reads), later, is_cut
        )


class StoreIndex:
    """Finds the writes to some bytes of one array among many."""

    def __init__(self, stores: list[tuple[int, Access]]) -> None:
        self._unit = min(event.width // _elements(event.instruction) for _, event in stores)
        self._row_units = 1 << 48
        keys, events, positions = [], [], []
        for number, event in stores:
            lanes = event.address.lanes
            units = event.address.offsets() // self._unit
            if event.address.array.rows == "block":
                units = units + lanes.blocks * self._row_units
            each = event.width // self._unit
            keys.append((units[:, None] + np.arange(each)).ravel())
            events.append(np.full(lanes.n * each, number))
            positions.append(np.repeat(np.arange(lanes.n), each))
        unsorted = np.concatenate(keys)
        order = np.argsort(unsorted, kind="stable")
        self._keys = unsorted[order]
        self._events = np.concatenate(events)[order]
        self._positions = np.concatenate(positions)[order]

    def find(self, row: int, offset_bytes: int, width_bytes: int) -> list[tuple[int, int]]:
        """(event, position of the lane) of the writes to some bytes of a row, in order."""
        first = row * self._row_units + offset_bytes // self._unit
        last = row * self._row_units + (offset_bytes + width_bytes - 1) // self._unit
        low, high = np.searchsorted(self._keys, [first, last + 1])
        pairs = zip(self._events[low:high].tolist(), self._positions[low:high].tolist(), strict=True)
        return sorted(set(pairs))


def _elements(instruction: Instruction) -> int:
    for operand in instruction.operands:
        if isinstance(operand, Vector):
            return len(operand.elements)
    return 1


def _position(lanes: Lanes, lane: int) -> int | None:
    """Return the position of a lane in a set, None when it is not there."""
    position = int(np.searchsorted(lanes.ids, lane))
    return position if position < lanes.n and lanes.ids[position] == lane else None


def _was_initialised(array: MemoryArray, offset: int, written: bool) -> bool:
    """Whether a byte held something before the launch, given that nobody had written it when it was read.

    The flags are those of the end of the launch: one that is set although no thread ever wrote was set by the host.
    """
    return array.valid is None or (array.rows == "" and not written and bool(array.valid[array.storage + offset]))


_MIRROR = 0.75
_STRETCH = 1.25
"""A number x becomes 0.75 − 1.25 x: of the same magnitude, never x but for 1/3, and not x again when it is done twice.

A mean that passes through shared memory before and after it is taken would not change were it done and undone.
"""
_FACTOR, _SUMMAND = 3, 0x15
"""The same for whole numbers, which wrap around."""


class AlteredShared(Observer):
    """Alters each element of shared memory once after it was stored, before it is loaded.

    number_bytes: elements of so many bytes are floating-point numbers, whatever an instruction calls them; 0: none.
    """

    def __init__(self, number_bytes: int) -> None:
        self._number_bytes = number_bytes
        self._done: Array | None = None

    def begin(self, scene: Scene) -> None:
        self._done = None

    def access(self, event: Access) -> None:
        array = event.address.array
        if array.space != "shared":
            return
        if self._done is None or len(self._done) != len(array.data):
            # (bytes,) which stand altered since they were stored.
            self._done = np.zeros(len(array.data), np.bool_)
        size = event.spec.element_bytes
        indices, start = event.address.index(size)
        first = np.unique(np.asarray(indices) + start)
        for element in range(event.spec.count):
            elements = first + element
            if event.op != "load":
                counts = event.op == "atomic" and event.spec.operation != "exch"
                self._done[_bytes_of(elements, size)] = counts
                continue
            fresh = elements[~self._done[elements * size]]
            self._done[_bytes_of(fresh, size)] = True
            self._alter(array.view(self._type_of(event, size)), fresh)

    def _type_of(self, event: Access, size: int) -> np.dtype[Any]:
        if size == self._number_bytes:
            return np.dtype(f"f{size}")
        return event.spec.dtype

    @staticmethod
    def _alter(view: Array, elements: Array) -> None:
        if view.dtype.kind == "f":
            view[elements] = _MIRROR - _STRETCH * view[elements]
        else:
            view[elements] = view[elements] * view.dtype.type(_FACTOR) + view.dtype.type(_SUMMAND)


def _bytes_of(elements: Array, size: int) -> Array:
    return (elements[:, None] * size + np.arange(size)).ravel()
