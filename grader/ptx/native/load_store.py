"""Loads and stores as WebAssembly: a place for each lane, bounds and all, then the elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.ptx.frontend.nodes import Address, Instruction, Operand, Symbol, Vector
from grader.ptx.memory.access import AccessSpec
from grader.ptx.native.types import TYPES

SEEN = ("global", "shared", "generic")
"""Spaces whose accesses other threads see and observers are told of."""


class Unfit(Exception):
    """The function has something that generated code does not do."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A load or store: what `AccessSpec` says, where its address comes from, its value registers.

    space: that of a named variable where the instruction does not say.
    """

    instruction: Instruction
    spec: AccessSpec
    space: str
    address: Address
    elements: tuple[Operand, ...]

    @property
    def is_load(self) -> bool:
        return self.spec.op == "load"

    @property
    def log(self) -> int:
        """Of the bytes a lane moves, the logarithm."""
        return self.spec.width.bit_length() - 1


def transfer_of(instruction: Instruction, space_of: Callable[[str], str]) -> Transfer:
    """Read a load or store.  Raises Unfit for those meant for communication between threads."""
    op = "store" if instruction.opcode == "st" else "load"
    spec = AccessSpec(instruction, op)
    if spec.strong or spec.type_name not in TYPES or spec.width > 16:
        raise Unfit(instruction.text)
    value, address = instruction.operands if op == "load" else instruction.operands[::-1]
    if not isinstance(address, Address):
        raise Unfit(instruction.text)
    space = spec.space
    if space == "generic" and isinstance(address.base, Symbol):
        space = space_of(address.base.name)
    elements = value.elements if isinstance(value, Vector) else (value,)
    return Transfer(instruction, spec, space, address, elements)


def element_load(type_name: str, offset: int) -> tuple[str, str]:
    """(expression, PTX type) of one element at `$p` + offset."""
    wasm, bits, signed = TYPES[type_name]
    place = f"offset={offset} (local.get $p)"
    if bits >= 32:
        return f"({wasm}.load {place})", type_name
    return f"(i32.load{bits}_{'s' if signed else 'u'} {place})", type_name


def element_store(type_name: str, value: str, offset: int) -> str:
    """Store one element at `$p` + offset."""
    wasm, bits, _ = TYPES[type_name]
    narrow = str(bits) if bits < 32 else ""
    return f"({wasm}.store{narrow} offset={offset} (local.get $p) {value})"
