"""An arithmetic instruction as data: its modifiers, the dtype of each PTX type, and its meaning.

`Modifiers` reads them with nothing left over.  `Semantics` says operand types in, function, result types out: functions
see NumPy arrays only (one element a thread, or length 1 when every thread has the same value) and know nothing of
registers, memory, masks or observers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.ptx.errors import UnsupportedInstruction

Lanes = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Semantics:
    """How to compute one instruction.

    inputs: dtype in which each source operand is handed over (bool for predicates).
    outputs: dtype of each result.
    compute: takes the inputs as arrays of equal length or length 1 (broadcasting), returns one array,
      or a tuple when there are several outputs.  Must not write into its inputs.
    reads_carry / writes_carry: the condition-code register is an extra last input / last output (uint8 0 or 1).
    """

    inputs: tuple[np.dtype[np.generic], ...]
    outputs: tuple[np.dtype[np.generic], ...]
    compute: Callable[..., Lanes | tuple[Lanes, ...]]
    reads_carry: bool = False
    writes_carry: bool = False


Array = np.ndarray[Any, np.dtype[Any]]
"""Lanes of a dtype that is known at run time only."""

DTYPES: dict[str, np.dtype[np.generic]] = {
    name: np.dtype(code)
    for name, code in {
        "u8": "u1",
        "u16": "u2",
        "u32": "u4",
        "u64": "u8",
        "s8": "i1",
        "s16": "i2",
        "s32": "i4",
        "s64": "i8",
        "b8": "u1",
        "b16": "u2",
        "b32": "u4",
        "b64": "u8",
        "f16": "f2",
        "f32": "f4",
        "f64": "f8",
        "f16x2": "u4",
        "bf16": "u2",
        "bf16x2": "u4",
        "u16x2": "u4",
        "s16x2": "u4",
        "pred": "?",
    }.items()
}
"""How a value of each PTX type is handed over; bf16 and the packed types travel as bit patterns."""

INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
BITS = ("b16", "b32", "b64")
FLOATS = ("f32", "f64")
HALVES = ("f16", "f16x2", "bf16", "bf16x2")
ROUNDINGS = ("rn", "rz", "rm", "rp")


class Modifiers:
    """The modifiers of one instruction, taken one by one; what nobody took is an error.

    `results` is the number of destinations the instruction is written with (2 for `p|q`).
    Every reading method raises `UnsupportedInstruction` when what it needs is not there.
    """

    def __init__(self, opcode: str, modifiers: tuple[str, ...], results: int) -> None:
        self.opcode = opcode
        self.text = ".".join((opcode, *modifiers))
        self.results = results
        self._left = list(modifiers)

    def fail(self, reason: str = "") -> UnsupportedInstruction:
        """The error to raise for this instruction."""
        return UnsupportedInstruction(self.text, reason=reason)

    def type(self, allowed: Iterable[str] = DTYPES) -> str:
        """Take the last modifier, which must be one of the allowed types."""
        if not self._left or self._left[-1] not in allowed:
            raise self.fail(f"type must be one of {', '.join(allowed)}")
        return self._left.pop()

    def one_of(self, options: Iterable[str], default: str | None = None) -> str:
        """Take the first modifier that is one of the options; without a default it must be there."""
        for name in self._left:
            if name in options:
                self._left.remove(name)
                return name
        if default is None:
            raise self.fail(f"needs one of .{', .'.join(options)}")
        return default

    def flag(self, name: str) -> bool:
        """Take a modifier if it is there."""
        if name in self._left:
            self._left.remove(name)
            return True
        return False

    def end(self, results: int = 1) -> None:
        """Nothing may be left, and there may be at most `results` destinations."""
        if self._left:
            raise self.fail(f"unknown modifier .{self._left[0]}")
        if self.results > results:
            raise self.fail(f"{self.results} destinations")


Factory = Callable[[Modifiers], Semantics]
Table = dict[tuple[str, str], Factory]


def register(table: Table, opcodes: str, types: Iterable[str], factory: Factory) -> None:
    """Enter a factory for every combination of opcode and operand type (the type that selects the family)."""
    for opcode in opcodes.split():
        for name in types:
            table[opcode, name] = factory


def make(
    inputs: str,
    outputs: str,
    compute: Callable[..., Lanes | tuple[Lanes, ...]],
    reads_carry: bool = False,
    writes_carry: bool = False,
) -> Semantics:
    """Semantics from blank-separated PTX type names."""
    return Semantics(
        tuple(DTYPES[name] for name in inputs.split()),
        tuple(DTYPES[name] for name in outputs.split()),
        compute,
        reads_carry,
        writes_carry,
    )


def plain(compute: Callable[..., Lanes], arity: int) -> Factory:
    """The rule of an instruction without modifiers but its type, which all operands and the result have."""

    def factory(m: Modifiers) -> Semantics:
        name = m.type()
        m.end()
        return make(" ".join([name] * arity), name, compute)

    return factory
