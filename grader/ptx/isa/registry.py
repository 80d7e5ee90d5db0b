"""Which function computes which instruction, and whether instructions are written as PTX has them.

What the assembler would refuse is told before anything runs.  NVRTC's own output is always well-formed; inline assembly
need not be.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from grader.ptx.errors import InvalidInstruction, UnsupportedInstruction
from grader.ptx.frontend.nodes import (
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    Operand,
    Register,
    Selected,
    Sink,
    Special,
    Vector,
)
from grader.ptx.isa.modifiers import DTYPES, Factory, Modifiers, Semantics
from grader.ptx.isa.opcodes import MNEMONICS, OPCODES, facts

FAMILIES = (
    "integer",
    "bitwise",
    "floating",
    "half",
    "compare",
    "convert",
)
"""Modules of this package with a `TABLE` of (opcode, type) → factory each; no key may occur in two."""


@cache
def table() -> dict[tuple[str, str], Factory]:
    """All families' tables in one; built at first use, since importing this package must cost nothing."""
    merged: dict[tuple[str, str], Factory] = {}
    for family in FAMILIES:
        entries: dict[tuple[str, str], Factory] = import_module(f"grader.ptx.isa.{family}").TABLE
        clash = merged.keys() & entries.keys()
        if clash:
            raise RuntimeError(f"grader.ptx.isa.{family} registers again: {sorted(clash)}")
        merged |= entries
    return merged


@cache
def is_arithmetic(opcode: str) -> bool:
    """Whether any family computes an opcode."""
    return any(name.split(".")[0] == opcode for name, _ in table())


@cache
def lookup(opcode: str, modifiers: tuple[str, ...], results: int = 1) -> Semantics:
    """Semantics of an arithmetic instruction, e.g. ``lookup("add", ("s32",))``.

    Parameters
    ----------
    opcode, modifiers : as in `grader.ptx.frontend.nodes.Instruction`.
    results : destinations the instruction is written with: 2 for ``setp… p|q`` and ``lop3… d|p``.

    Raises
    ------
    UnsupportedInstruction : unknown opcode, type or modifier, or a combination without a meaning.
    """
    text = ".".join((opcode, *modifiers))
    type_name = next((name for name in reversed(modifiers) if name in DTYPES), "")
    name = f"{opcode}.cc" if "cc" in modifiers else opcode
    factory = table().get((name, type_name))
    if factory is None:
        known = sorted({key_type for key_opcode, key_type in table() if key_opcode == name})
        raise UnsupportedInstruction(text, reason=f"known types: {', '.join(known)}" if known else "")
    return factory(Modifiers(opcode, modifiers, results))


_WIDTHS = {"v2": 2, "v4": 4, "v8": 8}


def check_forms(function: Function) -> None:
    """Raises InvalidInstruction for the first instruction of a function that cannot be."""
    for item in function.body:
        if isinstance(item, Instruction):
            reason = _fault(item)
            if reason:
                raise InvalidInstruction(item.text, item.location.line, reason)


def _fault(instruction: Instruction) -> str:
    if instruction.opcode not in OPCODES and not is_arithmetic(instruction.opcode):
        return "" if instruction.opcode in MNEMONICS else "there is no such instruction"
    known, operands = facts(instruction.opcode), instruction.operands
    low, high = known.operands
    if not low <= len(operands) <= high:
        return f"{len(operands)} operands"
    if len(instruction.modifiers) < known.modifiers:
        return "a type is missing"
    if not known.checked:
        return ""
    if known.writes_first and known.memory != "atomic" and operands and not _is_destination(operands[0]):
        return "its result goes nowhere"
    if known.memory in ("load", "store", "atomic"):
        return _memory_fault(instruction, known.memory)
    if known.memory in ("texture", "surface"):
        return _coordinates_fault(instruction, known.memory)
    if instruction.opcode in ("bra", "brx", "call"):
        return ""
    if instruction.opcode == "cvta" and instruction.modifiers[0] == "to" and len(instruction.modifiers) < 3:
        return "a type is missing"
    return _scalar_fault(instruction)


def _is_destination(operand: Operand) -> bool:
    if isinstance(operand, Vector):
        return bool(operand.elements) and all(isinstance(e, (Register, Sink)) for e in operand.elements)
    return isinstance(operand, (Register, Sink))


def _scalar_fault(instruction: Instruction) -> str:
    """Of an instruction that touches no memory: what it reads are values."""
    for operand in instruction.operands[1:]:
        if isinstance(operand, (Address, Label, Sink, Selected)):
            return "an operand that is no value"
        if isinstance(operand, Vector):
            if instruction.opcode != "mov":
                return "an operand that is no value"
            if not all(isinstance(element, (Register, Immediate, Special)) for element in operand.elements):
                return "an operand that is no value"
    if instruction.opcode == "mov":
        vectors = [operand for operand in instruction.operands if isinstance(operand, Vector)]
        bits = instruction.modifiers[-1].lstrip("busf")
        if len(vectors) > 1 or any(len(v.elements) not in (2, 4) for v in vectors):
            return "a vector of 2 or 4 elements is expected"
        if vectors and (
            not bits.isdecimal() or len(bits) > 3 or int(bits) % (8 * len(vectors[0].elements)) or int(bits) > 64
        ):
            return "a vector that does not fill its type"
    return ""


def _memory_fault(instruction: Instruction, memory: str) -> str:
    operands = list(instruction.operands)
    width = next((_WIDTHS[m] for m in instruction.modifiers if m in _WIDTHS), 1)
    if memory == "atomic":
        if instruction.opcode == "atom" and not _is_destination(operands.pop(0)):
            return "its result goes nowhere"
        if not isinstance(operands[0], Address):
            return "an address is expected"
        return "an operand that is no value" if any(isinstance(o, (Address, Label, Sink)) for o in operands[1:]) else ""
    data, address = (operands[0], operands[1]) if memory == "load" else (operands[1], operands[0])
    if not isinstance(address, Address):
        return "an address is expected"
    count = len(data.elements) if isinstance(data, Vector) else 1
    if count != width or (isinstance(data, Vector) and width == 1):
        return f"{count} values for {width}"
    if memory == "store":
        parts = data.elements if isinstance(data, Vector) else (data,)
        if any(isinstance(part, (Address, Label, Sink, Vector)) for part in parts):
            return "an operand that is no value"
    return ""


def _coordinates_fault(instruction: Instruction, memory: str) -> str:
    data, where = instruction.operands[:2] if memory == "texture" else instruction.operands[1::-1]
    if not isinstance(where, Vector) or len(where.elements) != 2:
        return "a handle with coordinates is expected"
    handle, coordinates = where.elements
    inner = coordinates.elements if isinstance(coordinates, Vector) else (coordinates,)
    if not 1 <= len(inner) <= 4 or not all(isinstance(part, (Register, Immediate)) for part in (handle, *inner)):
        return "a handle with coordinates is expected"
    count = len(data.elements) if isinstance(data, Vector) else 1
    width = next((_WIDTHS[m] for m in instruction.modifiers if m in _WIDTHS), 1)
    if count != width:
        return f"{count} values for {width}"
    parts = data.elements if isinstance(data, Vector) else (data,)
    if memory == "surface" and any(isinstance(part, (Address, Label, Sink, Vector)) for part in parts):
        return "an operand that is no value"
    return ""
