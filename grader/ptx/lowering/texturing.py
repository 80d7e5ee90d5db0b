"""Textures and surfaces: `tex`, `suld`, `sust` (PTX ISA, "Texture Instructions" and "Surface Instructions")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.ptx.frontend.nodes import Immediate, Instruction, Operand, Register, Vector
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.machine.batch import Group
from grader.ptx.machine.code import Code, Getter, Step
from grader.ptx.machine.operands import getter
from grader.ptx.observers.interface import Offence
from grader.ptx.textures import Surface, Texture
from grader.ptx.values import UNSIGNED, Array, as_array, from_array

_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2}
_ELEMENT_BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}
_FLOAT = np.dtype(np.float32)
_INT = np.dtype(np.int32)


def _place(code: Code, operand: Operand, geometry: str, text: str) -> tuple[Getter, list[Getter], Getter | None]:
    """How to get at the handle, the coordinates, and the layer of a layered image."""
    if geometry not in _DIMENSIONS:
        raise UnsupportedInstruction(text, reason=f"geometry .{geometry}")
    assert isinstance(operand, Vector)
    handle, where = operand.elements
    parts = where.elements if isinstance(where, Vector) else (where,)
    layered = geometry[0] == "a"
    count = _DIMENSIONS[geometry]
    if len(parts) < count + layered:
        raise UnsupportedInstruction(text, reason="coordinates")
    assert all(isinstance(part, (Register, Immediate)) for part in parts)
    getters = [getter(code, part, 4) for part in parts]
    return getter(code, handle), getters[layered : layered + count], getters[0] if layered else None


def _image(group: Group, handle: Any, kind: type, instruction: Instruction) -> Any:
    """The texture or surface that all lanes mean; None, and told, where there is none."""
    numbers = np.unique(as_array(handle, UNSIGNED[8])).tolist()
    if len(numbers) > 1:
        raise UnsupportedInstruction(instruction.text, instruction.location.line, "several textures at once")
    image = group.batch.device.textures.get(numbers[0])
    if isinstance(image, kind):
        return image
    _report(group, instruction, "no_texture" if kind is Texture else "no_surface", np.arange(group.lanes.n))
    return None


def _report(group: Group, instruction: Instruction, detail: str, positions: Array, width: int = 0) -> None:
    batch = group.batch
    op = "store" if instruction.opcode == "sust" else "load"
    lane = int(group.lanes.ids[positions[0]])
    space = "texture" if instruction.opcode == "tex" else "surface"
    offence = Offence(instruction, lane, op, space, width_bytes=width)
    batch.hazards.add(batch.geometry, "out_of_bounds", detail, offence, len(positions))


def _tex(code: Code, instruction: Instruction) -> Step:
    modifiers = [m for m in instruction.modifiers if m not in ("level", "base")]
    if "level" in instruction.modifiers and len(instruction.operands) != 3:
        raise UnsupportedInstruction(instruction.text)
    if len(modifiers) != 4 or modifiers[1] != "v4" or modifiers[2] not in ("f32", "u32", "s32", "b32"):
        raise UnsupportedInstruction(instruction.text)
    handle, coordinates, layer = _place(code, instruction.operands[1], modifiers[0], instruction.text)
    by_index = modifiers[3] == "s32"
    if not by_index and modifiers[3] != "f32":
        raise UnsupportedInstruction(instruction.text)
    # Without mipmaps there is but one level; an offset of texels is another matter.
    if len(instruction.operands) > 2 and "level" not in instruction.modifiers:
        raise UnsupportedInstruction(instruction.text, reason="an offset")
    target = instruction.operands[0]
    assert isinstance(target, Vector)
    indices = [element.index if isinstance(element, Register) else None for element in target.elements]

    def step(group: Group) -> None:
        texture: Texture | None = _image(group, handle(group), Texture, instruction)
        if texture is None:
            bits: Array = np.zeros((1, 4), np.uint32)
        elif by_index:
            bits = texture.fetch([as_array(get(group), _INT) for get in coordinates])
        else:
            number = None if layer is None else as_array(layer(group), _INT)
            bits = texture.read([as_array(get(group), _FLOAT) for get in coordinates], number)
        for channel, index in enumerate(indices):
            if index is not None:
                values = np.ascontiguousarray(bits[:, channel])
                group.registers[index] = from_array(values, group.lanes, code.register_bytes[index])

    return step


def _surface(
    code: Code, instruction: Instruction, data: Operand, where: Operand
) -> tuple[Callable[[Group], tuple[Surface, Array, Array] | None], int, tuple[Operand, ...]]:
    """Of a surface access: function from a group to (surface, byte of each lane, whether it is inside), None where
    there is no such surface; bytes of an element; operands of the elements."""
    modifiers = instruction.modifiers
    kinds = [m for m in modifiers if m in _ELEMENT_BYTES]
    geometry = [m for m in modifiers if m in _DIMENSIONS]
    mode = modifiers[-1]
    if modifiers[0] != "b" or len(kinds) != 1 or len(geometry) != 1 or mode not in ("trap", "clamp", "zero"):
        raise UnsupportedInstruction(instruction.text)
    element_bytes = _ELEMENT_BYTES[kinds[0]]
    elements = data.elements if isinstance(data, Vector) else (data,)
    width = element_bytes * len(elements)
    handle, coordinates, layer = _place(code, where, geometry[0], instruction.text)

    def locate(group: Group) -> tuple[Surface, Array, Array] | None:
        surface: Surface | None = _image(group, handle(group), Surface, instruction)
        if surface is None:
            return None
        given = [np.broadcast_to(as_array(get(group), _INT), (group.lanes.n,)) for get in coordinates]
        none = np.zeros(group.lanes.n, np.int64)
        x, y, z = (*given, none, none)[:3]
        if layer is not None:
            z = np.broadcast_to(as_array(layer(group), _INT), (group.lanes.n,))
        places, inside = surface.place(x, y, z, width, mode)
        if mode == "trap" and not inside.all():
            _report(group, instruction, "outside_surface", np.flatnonzero(~inside), width)
        return surface, places, inside

    return locate, element_bytes, elements


def _suld(code: Code, instruction: Instruction) -> Step:
    data, where = instruction.operands
    locate, size, elements = _surface(code, instruction, data, where)
    indices = [element.index if isinstance(element, Register) else None for element in elements]

    def step(group: Group) -> None:
        located = locate(group)
        raw: Array = np.zeros((group.lanes.n, size * len(indices)), np.uint8)
        if located is not None:
            surface, places, inside = located
            bytes_of = places[:, None] + np.arange(raw.shape[1])
            raw[inside] = surface.image.storage.data[bytes_of[inside]]
        values = raw.view(UNSIGNED[size])
        for number, index in enumerate(indices):
            if index is not None:
                column = np.ascontiguousarray(values[:, number])
                group.registers[index] = from_array(column, group.lanes, code.register_bytes[index])

    return step


def _sust(code: Code, instruction: Instruction) -> Step:
    where, data = instruction.operands
    locate, size, elements = _surface(code, instruction, data, where)
    readers = [getter(code, element, size) for element in elements]

    def step(group: Group) -> None:
        located = locate(group)
        if located is None:
            return
        surface, places, inside = located
        columns = [np.broadcast_to(as_array(get(group), UNSIGNED[size]), (group.lanes.n,)) for get in readers]
        raw = np.stack(columns, axis=1).view(np.uint8)
        targets = places[:, None] + np.arange(raw.shape[1])
        storage = surface.image.storage
        storage.data[targets[inside]] = raw[inside]
        if storage.valid is not None:
            storage.valid[targets[inside]] = 1

    return step


STEPS: dict[str, Callable[[Code, Instruction], Step | None]] = {"tex": _tex, "suld": _suld, "sust": _sust}
