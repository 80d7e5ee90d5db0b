"""Copies and fills: rows of bytes, directions, sizes, what nobody wrote, and the order of streams."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from grader.message import msg
from grader.programs.device import plain_name
from grader.programs.device_memory import Allocation, Bytes, Piece
from grader.programs.records import LIBRARY, MAX_COPIES
from grader.programs.runtime import silent
from grader.programs.runtime.arguments import note_read_back
from grader.programs.runtime.memory import freed_by_copy, shared_at
from grader.programs.runtime.ordering import Place, Stream, StreamAccess
from grader.programs.runtime.outcomes import falsify, note_largest
from grader.programs.runtime.registration import load
from grader.programs.runtime.silent import overwritten, read
from grader.programs.runtime.state import CudaError, Handlers, State
from grader.programs.runtime.streams import takes
from grader.submission.kernels.records import SeenCopy

MAX_ROWS = 1 << 22


@dataclass(frozen=True, slots=True)
class Rows:
    """`depth` slices of `height` rows of `width` bytes.

    to, source: how far apart on either side rows are, and slices.
    """

    width: int
    height: int = 1
    depth: int = 1
    to: tuple[int, int] = (0, 0)
    source: tuple[int, int] = (0, 0)

    @property
    def total(self) -> int:
        return self.width * self.height * self.depth

    def end(self, apart: tuple[int, int]) -> int:
        """Return where the last row ends, from where the first begins."""
        return apart[0] * (self.height - 1) + apart[1] * (self.depth - 1) + self.width

    def listed(self) -> list[tuple[int, int, int]]:
        """(offset in to, offset in source, bytes) of each; for a copy that is known to keep to its memory."""
        (to_row, to_slice), (from_row, from_slice) = self.to, self.source
        return [
            (z * to_slice + y * to_row, z * from_slice + y * from_row, self.width)
            for z in range(self.depth)
            for y in range(self.height)
        ]


def checked(state: State, rows: Rows) -> Rows:
    """Return `rows`.  Raises CudaError where a copy cannot have so many."""
    if min(rows.width, rows.height, rows.depth, *rows.to, *rows.source) < 0 or rows.height * rows.depth > MAX_ROWS:
        raise CudaError(1)
    state.meter.charge(rows=rows.height * rows.depth if rows.width else 0)
    return rows


H2H, H2D, D2H, D2D, DEFAULT = range(5)
_SIDES = {H2H: ("host", "host"), H2D: ("device", "host"), D2H: ("host", "device"), D2D: ("device", "device")}


@dataclass(frozen=True, slots=True)
class Side:
    """One end of a copy: memory of the device from `offset` on, or of the host at `address`."""

    address: int
    allocation: Allocation | None = None
    offset: int = 0

    @property
    def is_device(self) -> bool:
        return self.allocation is not None and not self.allocation.host


def _side(state: State, address: int, place: Place) -> Side:
    """Return what an address lies in.  Raises CudaError where that is freed, or no memory of the device."""
    if state.memory.is_device_address(address):
        allocation = state.memory.find(address)
        if allocation is None or allocation.host:
            freed = state.memory.find_freed(address)
            if freed is not None:
                message, copied = msg("programs.use_after_free", array=freed.name), freed_by_copy(state, freed)
                if copied is not None:
                    message, place = msg("programs.freed_by_copy", **copied[0]), copied[1]
                raise CudaError(1, state.tell("use_after_free", "error", message, place))
            raise CudaError(1, state.tell("bad_pointer", "error", msg("programs.unknown_pointer"), place))
        return Side(address, allocation, address - allocation.base)
    shared = shared_at(state, address)
    return Side(address, shared, address - shared.host if shared else 0)


def _check_direction(state: State, to: Side, source: Side, kind: int, place: Place) -> None:
    """Report a wrong direction.  Raises CudaError where the driver refuses it, as of host memory named the device's."""
    if kind == DEFAULT:
        return
    if kind not in _SIDES:
        raise CudaError(21)
    # Managed and pinned memory is both.
    others = [
        (wanted, role)
        for side, wanted, role in zip((to, source), _SIDES[kind], ("to", "from"), strict=True)
        if side.is_device != (wanted == "device") and not (side.allocation is not None and side.allocation.host)
    ]
    if others:
        # What is named the device's first: that the driver refuses.
        wanted, role = min(others)
        named = "cudaMemcpy" + ("HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice")[kind]
        is_refused = wanted == "device"
        message = msg(f"programs.copy_{role}_{wanted}", kind=named)
        finding = state.tell("copy_direction", "error" if is_refused else "warning", message, place)
        if is_refused:
            raise CudaError(1, finding)


def _piece(state: State, side: Side, size: int, place: Place, role: str) -> Piece:
    """Return a side of a copy as bytes.  Raises CudaError where it reaches past its memory."""
    allocation = side.allocation
    if allocation is not None and (side.offset < 0 or side.offset + size > allocation.size):
        message = msg(
            "programs.set_past"
            if role == "set"
            else "programs.copy_reads_past"
            if role == "from"
            else "programs.copy_writes_past",
            array=allocation.name,
            size=allocation.size,
            bytes=side.offset + size,
        )
        finding = state.tell("copy_size", "error", message, place)
        raise CudaError(1, finding)
    if side.is_device:
        return Piece(allocation, side.offset)
    return Piece(allocation, side.offset, state.guest.view(side.address, size))


def _note(state: State, way: str, side: Side, size: int, place: Place, host: int = 0, byte: int = 0) -> None:
    """Record a copy into an array of the device's, or out of it."""
    allocation = side.allocation
    if allocation is None or len(state.copies) >= MAX_COPIES or (place.file == LIBRARY and way != "out"):
        return
    is_whole = side.offset == 0 and size >= allocation.size
    of, offset = allocation.size, side.offset
    if allocation.pitch:
        row, column = divmod(offset, allocation.pitch)
        of, offset = (rows * allocation.row_bytes for rows in (of // allocation.pitch, row))
        offset += column
    details = plain_name(allocation.name), allocation.serial, size, is_whole, host, state.launch_count, byte, of, offset
    state.copies.append(SeenCopy(way, place.file, place.line, *details))


def _parts(allocation: Allocation, rows: Sequence[tuple[int, int]]) -> list[Bytes]:
    """Return bytes of an array, rows of (offset, bytes); a GPU is waited for."""
    return [allocation.seen(offset, size) for offset, size in rows]


def _copied(state: State, to: Side, source: Side, rows: list[tuple[int, int, int]], place: Place) -> None:
    """Update what is valid and known of both sides after a copy of rows (offset in to, offset in source, bytes)."""
    if not source.is_device:
        silent.note_copied(state, to.allocation, [(row[0], row[2]) for row in rows], place, into=True)
        state.calls.copied(to.allocation, sum(row[2] for row in rows), into=True)
    elif not to.is_device:
        silent.note_copied(state, source.allocation, [(row[1], row[2]) for row in rows], place, into=False)
        state.calls.copied(source.allocation, sum(row[2] for row in rows), into=False, offset=rows[0][1])
    if source.is_device and source.allocation is not None:
        if not to.is_device or (to.allocation is not None and to.allocation.host):
            state.calls.moved(partial(_parts, source.allocation, [(row[1], row[2]) for row in rows]), into=False)
    elif to.is_device and to.allocation is not None:
        state.calls.moved(partial(_parts, to.allocation, [(row[0], row[2]) for row in rows]), into=True)
    unwritten = 0
    total = sum(size for _to, _from, size in rows)
    for to_offset, from_offset, size in rows:
        valid = None
        if source.is_device:
            assert source.allocation is not None
            valid = source.allocation.valid(from_offset, size)
        if to.is_device:
            assert to.allocation is not None
            mask = to.allocation.valid(to_offset, size)
            if mask is not None:
                mask[:] = 1 if valid is None else valid
        elif valid is not None:
            unwritten += size - int(np.count_nonzero(valid))
    if unwritten and not state.hollow:
        assert source.allocation is not None
        message = msg("programs.copy_unwritten", array=source.allocation.name, n=unwritten, total=total)
        state.tell("uninitialized", "error", message, place)
    if to.allocation is not None:
        to.allocation.digest = None
    if to.allocation is not None and not source.is_device:
        to.allocation.origins = {"copied"}
    elif to.allocation is not None and source.allocation is not None:
        to.allocation.origins |= source.allocation.origins
    if source.allocation is not None and not to.is_device:
        for launch in reversed(state.launches):
            if note_read_back(launch, source.allocation.name):
                break


@dataclass(frozen=True, slots=True)
class Copy:
    """Rows to be copied to an address from another; kind: the direction that the call names."""

    to: int
    source: int
    rows: Rows
    kind: int


def transfer(
    state: State, copy: Copy, stream: Stream, place: Place, *, blocking: bool, reaches_arrays: bool = False
) -> None:
    """Copy rows, in the order of a stream; reaches_arrays: CUDA arrays may be a side.

    Raises CudaError: the direction is wrong, or a row reaches past its memory; that is told.
    """
    to, source, rows = copy.to, copy.source, copy.rows
    total = rows.total
    if not total:
        return
    if not to or not source:
        raise CudaError(1, state.tell("bad_pointer", "error", msg("programs.null_pointer"), place))
    target, origin = _side(state, to, place), _side(state, source, place)
    for side in () if reaches_arrays else (target, origin):
        if side.allocation is not None and side.allocation.base in state.arrays:
            message = msg("programs.copy_of_array", array=side.allocation.name)
            raise CudaError(1, state.tell("bad_pointer", "error", message, place))
    _check_direction(state, target, origin, copy.kind, place)
    state.touch(total)
    to_end, from_end = rows.end(rows.to), rows.end(rows.source)
    for side, end, is_into in ((target, to_end, True), (origin, from_end, False)):
        if not side.is_device and side.allocation is None:
            silent.check_host_room(state, side.address, end, place, into=is_into)
    into = _piece(state, target, to_end, place, "to")
    out_of = _piece(state, origin, from_end, place, "from")
    for side, end in ((target, to_end), (origin, from_end)):
        if side.allocation is not None and not state.has_room(side.allocation, side.offset + end, place):
            return
    ticket = state.begin(stream)
    state.ask(
        "copy" if target.is_device and origin.is_device else "copy_in" if target.is_device else "copy_out",
        place,
        (stream, ticket),
        size=total,
        is_blocking=blocking,
        is_pageable=any(not side.is_device and side.allocation is None for side in (target, origin)),
    )
    for side, is_write, end in ((target, True, to_end), (origin, False, from_end)):
        if side.allocation is not None:
            access = StreamAccess(stream.number, ticket, side.offset, side.offset + end, place, is_write)
            state.access(side.allocation, stream, access)
    pieces = rows.listed()
    state.memory.copy(into, out_of, pieces, stream)
    if state.limits.executes and origin.is_device and not target.is_device:
        data, parts = state.guest.view(target.address, to_end), [(to_at, size) for to_at, _from, size in pieces]
        note_largest(state, origin.allocation, data, parts)
        if state.limits.falsifies:
            falsify(state, origin.allocation, data, parts)
    if target.is_device:
        way = "within" if origin.is_device else "in"
        _note(state, way, target, total, place, origin.address)
    elif origin.is_device:
        _note(state, "out", origin, total, place, target.address)
    shifted = [(target.offset + a, origin.offset + b, size) for a, b, size in pieces]
    _copied(state, target, origin, shifted, place)
    read(state, origin.allocation, place, target.allocation)
    if origin.is_device:
        state.results.pop(id(target.allocation), None)
    else:
        overwritten(state, target.allocation, target.offset, total, place)
    if len(pieces) == 1:
        silent.check_size(state, target.allocation if target.is_device else origin.allocation, total, place)
    # About what PCI Express 3 and a device's own memory do.
    takes(state, stream, 4_000 + int(total / (200 if target.is_device and origin.is_device else 12)))
    state.written(target.allocation)
    if blocking:
        state.wait(stream.clock, stream.ready_ns)
        return
    if target.allocation is not None and target.allocation.host and origin.is_device:
        into_host = [(target.address + row[0], row[2]) for row in pieces]
        silent.note_unwaited(state, target.allocation, into_host, (stream.number, ticket, place))
    if origin.allocation is not None and origin.allocation.kind == "pinned" and len(pieces) == 1:
        state.leave(origin.allocation, origin.address, total, stream, ticket, place)


def memcpy(state: State, place: Place, to: int, source: int, size: int, kind: int) -> None:
    if size < 0:
        raise CudaError(1)
    transfer(state, Copy(to, source, Rows(size), kind), state.streams[0], place, blocking=True)


def memcpy_async(state: State, place: Place, to: int, source: int, size: int, kind: int, stream: int) -> None:
    if size < 0:
        raise CudaError(1)
    queue = state.stream(stream)
    # From pageable memory it returns once the data are staged; to pageable memory once they are there.
    host = source if kind == H2D else to
    blocking = kind in (H2D, D2H) and shared_at(state, host) is None
    transfer(state, Copy(to, source, Rows(size), kind), queue, place, blocking=blocking)


def _pitched(state: State, to_pitch: int, from_pitch: int, width: int, height: int) -> Rows:
    rows = checked(state, Rows(width, height, to=(to_pitch, 0), source=(from_pitch, 0)))
    if width > to_pitch or width > from_pitch:
        raise CudaError(12)
    return rows


def _rows(state: State, place: Place, to: tuple[int, int], source: tuple[int, int], width: int, height: int) -> Rows:
    """The rows of a copy between two addresses, each with its pitch.

    Reports a pitch that is not the one of its memory, nor a multiple of it, as of every second row.
    """
    rows = _pitched(state, to[1], source[1], width, height)
    for address, pitch in (to, source):
        allocation = state.memory.find(address) if state.memory.is_device_address(address) else None
        if allocation is not None and allocation.pitch and rows.height > 1 and rows.width and pitch % allocation.pitch:
            message = msg("programs.copy_other_pitch", array=allocation.name, pitch=allocation.pitch, given=pitch)
            state.tell("copy_size", "warning", message, place)
    return rows


def memcpy_2d(state: State, place: Place, *numbers: int) -> None:
    """numbers: in the order of the runtime's; with a stream behind them the copy is not waited for."""
    to, to_pitch, source, from_pitch, width, height, kind, *stream = numbers
    rows = _rows(state, place, (to, to_pitch), (source, from_pitch), width, height)
    queue = state.stream(stream[0]) if stream else state.streams[0]
    transfer(state, Copy(to, source, rows, kind), queue, place, blocking=not stream)


def memcpy_peer(state: State, place: Place, *numbers: int) -> None:
    """numbers: in the order of the runtime's, with a stream behind them or not."""
    to, to_device, source, from_device, size, *stream = numbers
    if to_device or from_device:
        raise CudaError(101)
    (memcpy_async if stream else memcpy)(state, place, to, source, size, D2D, *stream)


def fill(state: State, pointer: int, value: int, rows: Rows, stream: Stream, place: Place, unit: int = 1) -> None:
    """Set rows to a value of `unit` bytes, the lowest of the number.  Raises CudaError 1 where it does not fit them."""
    pattern = (value & (1 << 8 * unit) - 1).to_bytes(unit, "little")
    if any(bytes_ % unit for bytes_ in (pointer, rows.width, rows.to[0])):
        raise CudaError(1)
    total = rows.total
    if not total:
        return
    side = _side(state, pointer, place)
    if side.allocation is None:
        raise CudaError(1, state.tell("copy_direction", "error", msg("programs.memset_host_pointer"), place))
    state.touch(total)
    end = rows.end(rows.to)
    _piece(state, side, end, place, "set")
    if not state.has_room(side.allocation, side.offset + end, place):
        return
    ticket = state.begin(stream)
    state.ask("fill", place, (stream, ticket), size=total)
    access = StreamAccess(stream.number, ticket, side.offset, side.offset + end, place, is_write=True)
    state.access(side.allocation, stream, access)
    side.allocation.digest = None
    pieces = [(offset, size) for offset, _from, size in rows.listed()]
    if not any(pattern) and total == side.allocation.size and len(pieces) == 1 and state.memory.clear(side.allocation):
        pieces = []
    if pieces:
        state.memory.fill(side.allocation, side.offset, pieces, pattern, stream)
    for offset, size in pieces:
        valid = side.allocation.valid(side.offset + offset, size)
        if valid is not None:
            valid[:] = 1
    _note(state, "set", side, total, place, byte=pattern[0] if unit == 1 else 0)
    overwritten(state, side.allocation, side.offset, total, place)
    side.allocation.origins = {"copied"} if any(pattern) else {"zeroed"}
    takes(state, stream, 2_000 + total // 200)


def memset(state: State, place: Place, pointer: int, value: int, size: int) -> None:
    if size < 0:
        raise CudaError(1)
    fill(state, pointer, value, Rows(size), state.streams[0], place)


def memset_async(state: State, place: Place, pointer: int, value: int, size: int, stream: int) -> None:
    if size < 0:
        raise CudaError(1)
    fill(state, pointer, value, Rows(size), state.stream(stream), place)


def memset_2d(state: State, place: Place, *numbers: int) -> None:
    """numbers: in the order of the runtime's, with a stream behind them or not."""
    pointer, pitch, value, width, height, *stream = numbers
    queue = state.stream(stream[0]) if stream else state.streams[0]
    fill(state, pointer, value, _pitched(state, pitch, pitch, width, height), queue, place)


def memset_of_numbers(state: State, place: Place, *numbers: int) -> None:
    """Set rows of numbers.  numbers: address, pitch, value, its 1, 2 or 4 bytes, how many a row, rows, and a stream."""
    pointer, pitch, value, unit, width, height, stream = numbers
    if unit not in (1, 2, 4) or width < 0:
        raise CudaError(1)
    pitch = pitch if height > 1 else width * unit
    fill(state, pointer, value, _pitched(state, pitch, pitch, width * unit, height), state.stream(stream), place, unit)


def symbol(state: State, address: int, place: Place) -> Allocation:
    """Return the device variable whose shadow on the host lies at `address`.  Raises CudaError 13."""
    registered = state.symbols.get(address)
    if registered is None:
        raise CudaError(13, state.tell("bad_symbol", "error", msg("programs.no_symbol"), place))
    unit, name, size = registered
    if (unit, name) not in state.variables:
        load(state, unit)
        allocation = state.gpu.variable(unit, name)
        if allocation is None:
            # No kernel uses it, so the compiler left it out.
            allocation = state.memory.allocate(name, size, "symbol", 0, "")
            written = allocation.valid()
            if written is not None:
                written[:] = 1
        state.variables[unit, name] = allocation
    variable = state.variables[unit, name]
    assert variable is not None
    variable.width = variable.width or _declared_width(state, name)
    return variable


def _declared_width(state: State, name: str) -> int:
    """Return the bytes of an element of a device variable by its declaration; 1 where that is unknown."""
    pattern = (
        rf"\b__(?:constant|device)__\s+(?:(?:const|static|volatile)\s+){{0,3}}([\w ]{{1,40}}?)\s+{re.escape(name)}\s*\["
    )
    declared = {match for text in state.sources.texts.values() for match in re.findall(pattern, text)}
    return silent.WIDTHS.get(declared.pop(), 1) if len(declared) == 1 else 1


def _note_partly_filled(state: State, allocation: Allocation, size: int) -> None:
    """Watch for reads of the rest where the first copy into a constant fills only a part of it."""
    array = allocation.array
    if array is None or array.space != "const" or array.valid is not None or not 0 < size < allocation.size:
        return
    if (allocation.serial, True, 0) not in state.copied:
        array.valid = np.zeros(len(array.data), np.uint8)


def to_symbol(state: State, place: Place, to: int, source: int, *numbers: int) -> None:
    """numbers: size, offset, direction, and a stream or none."""
    size, offset, kind, stream = (*numbers, 0)[:4]
    if min(size, offset) < 0 or kind not in (H2D, D2D, DEFAULT):
        raise CudaError(21 if kind not in (H2D, D2D, DEFAULT) else 1)
    target = symbol(state, to, place)
    _note_partly_filled(state, target, size)
    transfer(state, Copy(target.base + offset, source, Rows(size), kind), state.stream(stream), place, blocking=True)


def from_symbol(state: State, place: Place, to: int, source: int, *numbers: int) -> None:
    """numbers: size, offset, direction, and a stream or none."""
    size, offset, kind, stream = (*numbers, 0)[:4]
    if min(size, offset) < 0 or kind not in (D2H, D2D, DEFAULT):
        raise CudaError(21 if kind not in (D2H, D2D, DEFAULT) else 1)
    origin = symbol(state, source, place)
    transfer(state, Copy(to, origin.base + offset, Rows(size), kind), state.stream(stream), place, blocking=True)


def symbol_address(state: State, place: Place, pointer: int, address: int) -> None:
    state.guest.pack("Q", pointer, symbol(state, address, place).base)


def symbol_size(state: State, place: Place, size: int, address: int) -> None:
    state.guest.pack("Q", size, symbol(state, address, place).size)


HANDLERS: Handlers = {
    "cudaMemcpy": ("iiii", memcpy),
    "cudaMemcpyAsync": ("iiiii", memcpy_async),
    "cudaMemcpy2D": ("iiiiiii", memcpy_2d),
    "cudaMemcpy2DAsync": ("iiiiiiii", memcpy_2d),
    "cudaMemcpyPeer": ("iiiii", memcpy_peer),
    "cudaMemcpyPeerAsync": ("iiiiii", memcpy_peer),
    "cudaMemset": ("iii", memset),
    "cudaMemsetAsync": ("iiii", memset_async),
    "cudaMemset2D": ("iiiii", memset_2d),
    "cudaMemset2DAsync": ("iiiiii", memset_2d),
    "cuMemsetD2D32Async": ("iiiiiii", memset_of_numbers),
    "cudaMemcpyToSymbol": ("iiiii", to_symbol),
    "cudaMemcpyToSymbolAsync": ("iiiiii", to_symbol),
    "cudaMemcpyFromSymbol": ("iiiii", from_symbol),
    "cudaMemcpyFromSymbolAsync": ("iiiiii", from_symbol),
    "cudaGetSymbolAddress": ("ii", symbol_address),
    "cudaGetSymbolSize": ("ii", symbol_size),
}
