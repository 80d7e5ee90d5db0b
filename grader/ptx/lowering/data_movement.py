"""Moving data: mov, cvta, loads, stores, atomics, and what does nothing on an emulator.

PTX ISA, "Data Movement and Conversion Instructions" and "Parallel Synchronization and Communication Instructions".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader.ptx import affine
from grader.ptx.access import AccessSpec, InlineCache, element_dtype
from grader.ptx.dataflow import destinations, moved_operand
from grader.ptx.frontend.nodes import Address, Instruction, Operand, Register, Sink, Symbol, Vector
from grader.ptx.limits import DeviceTrap, UnsupportedInstruction
from grader.ptx.machine import load_store
from grader.ptx.machine.batch import Group
from grader.ptx.machine.code import Code, Getter, Step
from grader.ptx.machine.operands import asks_for_grid, getter, symbol_getter
from grader.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES, WINDOWS
from grader.ptx.values import UNSIGNED, Affine, Value, Vec, as_array, from_array


def _vector_atomic(code: Code, instruction: Instruction, count: int) -> Step:
    """Make an atomic of each element: the access as a whole is not atomic (PTX ISA, atom)."""
    operands = list(instruction.operands)
    targets: Sequence[Operand] = (Sink(),) * count
    if instruction.opcode == "atom":
        target = operands.pop(0)
        targets = target.elements if isinstance(target, Vector) else targets
    where, values, *rest = operands
    if rest or not isinstance(where, Address) or not isinstance(values, Vector):
        raise UnsupportedInstruction(instruction.text)
    if {len(targets), len(values.elements)} != {count}:
        raise UnsupportedInstruction(instruction.text, reason=f"{len(values.elements)} values for {count}")
    modifiers = tuple(modifier for modifier in instruction.modifiers if modifier != f"v{count}")
    dtype = element_dtype(modifiers[-1])
    if dtype is None:
        raise UnsupportedInstruction(instruction.text)
    steps = []
    for element, (target, value) in enumerate(zip(targets, values.elements, strict=True)):
        place = replace(where, offset=where.offset + element * dtype.itemsize)
        own = replace(instruction, opcode="atom", modifiers=modifiers, operands=(target, place, value))
        steps.append(_atomic(code, own))

    def step(group: Group) -> None:
        for one in steps:
            one(group)

    return step


def _atomic(code: Code, instruction: Instruction) -> Step:
    count = next((int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")), 1)
    if count > 1:
        return _vector_atomic(code, instruction, count)
    spec = AccessSpec(instruction, "atomic")
    operands = list(instruction.operands)
    target = operands.pop(0) if instruction.opcode == "atom" else Sink()
    settle_space(code, operands[0], spec)
    address, offset = address_getter(code, operands.pop(0))
    readers = [getter(code, operand, spec.element_bytes) for operand in operands]
    index = target.index if isinstance(target, Register) else None
    size = spec.element_bytes if index is None else code.register_bytes[index]
    spec.looked_at = code.uses.is_looked_at(instruction)
    swap = spec.operation == "cas"
    if len(readers) != 1 + swap:
        raise UnsupportedInstruction(instruction.text, reason="operands")

    def step(group: Group) -> None:
        values = [read(group) for read in readers]
        compare = values[0] if swap else None
        old = load_store.atomic(group, spec, address(group), offset, values[-1], compare, size)
        if index is not None:
            group.registers[index] = old

    return step


def _size(instruction: Instruction) -> int:
    """Return the bytes of the type that an instruction ends with, 0 for predicates."""
    type_name = instruction.modifiers[-1]
    if type_name == "pred":
        return 0
    dtype = element_dtype(type_name)
    if dtype is None:
        raise UnsupportedInstruction(instruction.text, reason=f"type .{type_name}")
    return dtype.itemsize


def _mov(code: Code, instruction: Instruction) -> Step:
    size = _size(instruction)
    target, source = instruction.operands
    if isinstance(source, Vector):
        return _pack(code, target, source, size)
    if isinstance(target, Vector):
        return _unpack(code, target, getter(code, source, size), size)
    assert isinstance(target, Register)
    index = target.index
    read = getter(code, source, size)

    def step(group: Group) -> None:
        group.registers[index] = read(group)

    return step


def _pack(code: Code, target: Operand, source: Vector, size: int) -> Step:
    assert isinstance(target, Register)
    part = size // len(source.elements)
    readers = [getter(code, element, part) for element in source.elements]
    index = target.index
    narrow, wide = UNSIGNED[part], UNSIGNED[size]

    def step(group: Group) -> None:
        result: Any = wide.type(0)
        for position, read in enumerate(readers):
            piece = as_array(read(group), narrow).astype(wide)
            result = result | (piece << wide.type(8 * part * position))
        group.registers[index] = from_array(result, group.lanes, size)

    return step


def _unpack(code: Code, target: Vector, read: Getter, size: int) -> Step:
    part = size // len(target.elements)
    wide, narrow = UNSIGNED[size], UNSIGNED[part]
    indices = [element.index if isinstance(element, Register) else None for element in target.elements]

    def step(group: Group) -> None:
        whole = as_array(read(group), wide)
        for position, index in enumerate(indices):
            if index is not None:
                piece = (whole >> wide.type(8 * part * position)).astype(narrow)
                group.registers[index] = from_array(piece, group.lanes, code.register_bytes[index])

    return step


def _cvta(code: Code, instruction: Instruction) -> Step:
    modifiers = instruction.modifiers
    back = modifiers[0] == "to"
    space = modifiers[1 if back else 0].split("::")[0]
    if space not in WINDOWS:
        raise UnsupportedInstruction(instruction.text)
    window = -WINDOWS[space] if back else WINDOWS[space]
    target, source = instruction.operands
    assert isinstance(target, Register)
    index = target.index
    read = getter(code, source)

    def step(group: Group) -> None:
        value: Value | None = read(group)
        if window:
            value = affine.add(_to_64(value, group), window & (1 << 64) - 1, 64)
        group.registers[index] = value

    return step


def _to_64(value: Any, group: Group) -> Value:
    if isinstance(value, (Vec, Affine)) and (value.vec if isinstance(value, Affine) else value).bits != 64:
        return from_array(as_array(value, UNSIGNED[8]), group.lanes, 8)
    return value


def address_getter(code: Code, operand: Operand) -> tuple[Getter, int]:
    """Return a getter of an address's base, and the offset that is added to it."""
    if not isinstance(operand, Address):
        raise UnsupportedInstruction(str(operand), reason="address")
    base = operand.base
    if isinstance(base, Register):
        index = base.index
        return (lambda group: group.registers[index]), operand.offset
    if isinstance(base, Symbol):
        return symbol_getter(code, base.name, base.offset), operand.offset
    return (lambda group: 0), operand.offset


def settle_space(code: Code, operand: Operand, spec: AccessSpec) -> None:
    """Take the space of a named variable where the instruction does not say one."""
    if spec.space == "generic" and isinstance(operand, Address) and isinstance(operand.base, Symbol):
        spec.space = code.program.space_of(operand.base.name)


def load_spec(code: Code, instruction: Instruction) -> AccessSpec:
    """Return the static side of a load, with the use of its value.  Raises UnsupportedInstruction."""
    spec = AccessSpec(instruction, "load")
    spec.is_copy, spec.compared = code.uses.is_copy(instruction), code.uses.is_compared(instruction)
    spec.looked_at = code.uses.is_looked_at(instruction)
    spec.may_be_dropped = code.uses.may_be_dropped(instruction)
    spec.polls = spec.strong and code.polls(instruction)
    decisive = code.decisive
    if decisive is not None and moved_operand(instruction) is not None:
        spec.moves = not decisive.isdisjoint(register.index for register in destinations(instruction))
    return spec


def _load(code: Code, instruction: Instruction) -> Step:
    spec = load_spec(code, instruction)
    target, source = instruction.operands
    settle_space(code, source, spec)
    address, offset = address_getter(code, source)
    elements = target.elements if isinstance(target, Vector) else (target,)
    indices = [element.index if isinstance(element, Register) else None for element in elements]
    sizes = [spec.element_bytes if index is None else code.register_bytes[index] for index in indices]
    parameter = _parameter(code, source, spec)
    if parameter is not None:
        return _load_parameter(spec, *parameter, indices, sizes)
    last = InlineCache()
    code.repeats.append(last)

    def step(group: Group) -> None:
        values = load_store.load(group, spec, address(group), offset, sizes, last)
        for index, value in zip(indices, values, strict=True):
            if index is not None:
                group.registers[index] = value

    if spec.count > 1 or indices[0] is None:
        return step
    target_index, size = indices[0], sizes[0]

    def single(group: Group) -> None:
        where = address(group)
        value = load_store.load_again(group, spec, last, where, size)
        if value is None:
            value = load_store.load(group, spec, where, offset, sizes, last)[0]
        group.registers[target_index] = value

    return single


def _parameter(code: Code, operand: Operand, spec: AccessSpec) -> tuple[str, int] | None:
    """Return (name, offset) of the kernel parameter that a load reads, all of it inside."""
    if spec.space != "param" or not code.function.is_entry or not isinstance(operand, Address):
        return None
    if not isinstance(operand.base, Symbol):
        return None
    offset = operand.base.offset + operand.offset
    for parameter in code.function.parameters:
        if parameter.name == operand.base.name:
            inside = 0 <= offset <= parameter.size_bytes - spec.width and not offset % spec.width
            return (parameter.name, offset) if inside else None
    return None


def _load_parameter(
    spec: AccessSpec, name: str, offset: int, indices: Sequence[int | None], sizes: Sequence[int]
) -> Step:
    """Load a kernel parameter, which is the same for all threads: no address is looked up."""
    is_signed = spec.dtype.kind == "i"
    places = [
        (index, offset + element * spec.element_bytes, (1 << 8 * max(size, spec.element_bytes)) - 1)
        for element, (index, size) in enumerate(zip(indices, sizes, strict=True))
        if index is not None
    ]
    width = spec.element_bytes

    def step(group: Group) -> None:
        raw, registers = group.batch.parameters[name], group.registers
        for index, start, mask in places:
            registers[index] = int.from_bytes(raw[start : start + width], "little", signed=is_signed) & mask

    return step


def _store(code: Code, instruction: Instruction) -> Step:
    spec = AccessSpec(instruction, "store")
    target, source = instruction.operands
    settle_space(code, target, spec)
    address, offset = address_getter(code, target)
    elements = source.elements if isinstance(source, Vector) else (source,)
    readers = [getter(code, element, spec.element_bytes) for element in elements]
    if code.decisive is not None and moved_operand(instruction) is not None:
        spec.moves = not code.decisive.isdisjoint(e.index for e in elements if isinstance(e, Register))
        readers = readers if spec.moves else []

    def step(group: Group) -> None:
        load_store.store(group, spec, address(group), offset, [read(group) for read in readers])

    return step


def _isspacep(code: Code, instruction: Instruction) -> Step:
    space = instruction.modifiers[0].split("::")[0]
    target, source = instruction.operands
    assert isinstance(target, Register)
    index = target.index
    read = getter(code, source)
    if space not in ("shared", "local", "global", "const"):
        raise UnsupportedInstruction(instruction.text)

    def step(group: Group) -> None:
        address = as_array(read(group), UNSIGNED[8])
        if space in ("shared", "local"):
            low = WINDOWS[space]
            inside = (address >= low) & (address < low + WINDOW_BYTES)
        else:
            by_address = np.array([_in_space(group, int(a), space) for a in np.unique(address)])
            inside = by_address[np.searchsorted(np.unique(address), address)]
        group.registers[index] = from_array(inside, group.lanes, 0)

    return step


def _in_space(group: Group, address: int, space: str) -> bool:
    array = group.batch.device.find(address)
    if array is None:
        return space == "global" and not SHARED_WINDOW <= address < LOCAL_WINDOW + WINDOW_BYTES
    return array.space == space


def _fence(code: Code, instruction: Instruction) -> Step | None:
    """Tell observers of a fence; the emulator carries out every access at once and in order."""
    modifiers = instruction.modifiers
    if any(modifier.startswith(("proxy", "mbarrier_init")) for modifier in modifiers):
        return None
    in_block_only = "cta" in modifiers

    def step(group: Group) -> None:
        for notify in group.batch.watchers.fence:
            notify(group.lanes, in_block_only)

    return step


def _trap(code: Code, instruction: Instruction) -> Step:
    asks = asks_for_grid(code)

    def step(group: Group) -> None:
        line = instruction.location.line
        if asks and not group.batch.workspace:
            text = "the kernel waits for its whole grid, and the launch is not cooperative"
            raise DeviceTrap(line, text, "grid_sync")
        raise DeviceTrap(line, "the kernel executed a trap")

    return step


STEPS: dict[str, Callable[[Code, Instruction], Step | None]] = {
    "atom": _atomic,
    "red": _atomic,
    "mov": _mov,
    "cvta": _cvta,
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "isspacep": _isspacep,
    "trap": _trap,
    # Where no debugger is attached, that ends the kernel as well.
    "brkpt": _trap,
    "membar": _fence,
    "fence": _fence,
}
