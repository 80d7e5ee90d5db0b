"""Instructions as data: facts about every opcode, modifiers, and which function computes which instruction.

Liveness, control flow, lowering, provenance and the check of an instruction's form read the table of opcodes.  An
opcode that it does not name computes: its first operand is written, all others are read.

`Modifiers` reads an instruction's modifiers with nothing left over.  `Semantics` says operand types in, function,
result types out: functions see NumPy arrays only (one element a thread, or length 1 when every thread has the same
value) and know nothing of registers, memory, masks or observers.

What the assembler would refuse is told before anything runs.  NVRTC's own output is always well-formed; inline
assembly need not be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

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
from grader.ptx.limits import InvalidInstruction, UnsupportedInstruction

MANY = 64


@dataclass(frozen=True, slots=True)
class OpcodeFacts:
    """One opcode.

    ends: what it does to a block: "" (nothing), "branch", "leave" (of the function or the grid); "barrier", "call":
    threads may be held behind it.
    collective: every lane named in its member mask, the last operand, executes it together.
    memory: "load", "store", "atomic", "fence", "texture" (read by coordinates), "surface" (written so), "copy" (from
    one place to another), or "".
    writes_first: its first operand is written (an address is never).
    operands: fewest and most; modifiers: fewest.
    idle: a thread that has nothing else before it is as good as gone.
    exchanges: its result comes from other lanes of the warp.
    hint: it changes nothing that a program could see.
    fragments: its operands are parts of matrices that a whole warp holds.
    checked: its operands are of the usual form.
    """

    ends: str = ""
    collective: bool = False
    memory: str = ""
    writes_first: bool = True
    operands: tuple[int, int] = (1, MANY)
    modifiers: int = 0
    idle: bool = False
    exchanges: bool = False
    hint: bool = False
    fragments: bool = False
    checked: bool = True


_READS = OpcodeFacts(writes_first=False, operands=(0, MANY), checked=False)
_BARRIER = OpcodeFacts("barrier", writes_first=False, operands=(0, 4))
_FENCE = OpcodeFacts(memory="fence", writes_first=False, operands=(0, MANY))
_HINT = OpcodeFacts(writes_first=False, operands=(0, MANY), hint=True)
_TRAP = OpcodeFacts(writes_first=False, operands=(0, 0))

OPCODES: dict[str, OpcodeFacts] = (
    {
        "bra": OpcodeFacts("branch", writes_first=False, operands=(1, 1), idle=True),
        "brx": OpcodeFacts("branch", writes_first=False, operands=(2, 2)),
        "ret": OpcodeFacts("leave", writes_first=False, operands=(0, 0), idle=True),
        "exit": OpcodeFacts("leave", writes_first=False, operands=(0, 0), idle=True),
        "trap": _TRAP,
        "brkpt": _TRAP,
        "call": OpcodeFacts("call", writes_first=False, operands=(3, 4)),
        "bar": _BARRIER,
        "barrier": _BARRIER,
        "shfl": OpcodeFacts(collective=True, exchanges=True, operands=(5, 5), modifiers=3),
        "vote": OpcodeFacts(collective=True, exchanges=True, operands=(3, 3), modifiers=2),
        "match": OpcodeFacts(collective=True, exchanges=True, operands=(3, 3), modifiers=3),
        "redux": OpcodeFacts(collective=True, exchanges=True, operands=(3, 3), modifiers=3),
        "activemask": OpcodeFacts(exchanges=True, operands=(1, 1)),
        "ld": OpcodeFacts(memory="load", operands=(2, 3), modifiers=1),
        "ldu": OpcodeFacts(memory="load", operands=(2, 2), modifiers=1),
        "st": OpcodeFacts(memory="store", writes_first=False, operands=(2, 3), modifiers=1),
        "atom": OpcodeFacts(memory="atomic", operands=(3, 5), modifiers=2),
        "red": OpcodeFacts(memory="atomic", writes_first=False, operands=(2, 4), modifiers=2),
        "tex": OpcodeFacts(memory="texture", operands=(2, 4), modifiers=3),
        "suld": OpcodeFacts(memory="texture", operands=(2, 2), modifiers=3),
        "sust": OpcodeFacts(memory="surface", writes_first=False, operands=(2, 2), modifiers=3),
        "wmma": OpcodeFacts(
            collective=True, exchanges=True, operands=(2, MANY), modifiers=4, fragments=True, checked=False
        ),
        "mma": OpcodeFacts(
            collective=True, exchanges=True, operands=(4, MANY), modifiers=4, fragments=True, checked=False
        ),
        "ldmatrix": OpcodeFacts(
            collective=True, memory="matrix", operands=(2, 2), modifiers=4, fragments=True, checked=False
        ),
        "elect": OpcodeFacts(collective=True, exchanges=True, operands=(2, 2), modifiers=1),
        "cp": OpcodeFacts(memory="copy", writes_first=False, operands=(0, MANY), modifiers=2, checked=False),
        "mbarrier": OpcodeFacts(memory="atomic", operands=(1, 4), modifiers=2, checked=False),
        "membar": _FENCE,
        "fence": _FENCE,
        "mov": OpcodeFacts(operands=(2, 2), modifiers=1),
        "cvta": OpcodeFacts(operands=(2, 2), modifiers=2),
        "isspacep": OpcodeFacts(operands=(2, 2), modifiers=1),
    }
    | dict.fromkeys(("pmevent", "stmatrix", "setmaxnreg", "stackrestore", "sured"), _READS)
    | dict.fromkeys(
        ("applypriority", "discard", "griddepcontrol", "nanosleep", "pragma", "prefetch", "prefetchu"), _HINT
    )
)
"""PTX ISA, chapter "Instruction set"."""

_COMPUTES = OpcodeFacts()


def facts(opcode: str) -> OpcodeFacts:
    return OPCODES.get(opcode, _COMPUTES)


def is_barrier(opcode: str) -> bool:
    """Whether threads meet at it."""
    return facts(opcode).ends == "barrier"


_NAMES = """
    abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call
    clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma
    fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier
    membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red
    redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix
    sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd
    vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4
    wgmma wmma xor pragma
"""
MNEMONICS = frozenset(_NAMES.split())


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
    **{f"{kind}{8 * size}": np.dtype(f"{code}{size}") for kind, code in ("uu", "si", "bu") for size in (1, 2, 4, 8)},
    **{f"f{8 * size}": np.dtype(f"f{size}") for size in (2, 4, 8)},
    "f16x2": np.dtype("u4"),
    "bf16": np.dtype("u2"),
    "bf16x2": np.dtype("u4"),
    "u16x2": np.dtype("u4"),
    "s16x2": np.dtype("u4"),
    "e4m3x2": np.dtype("u2"),
    "e5m2x2": np.dtype("u2"),
    "tf32": np.dtype("u4"),
    "pred": np.dtype("?"),
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


FAMILIES = ("integer", "logic", "floating", "convert")
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
    return any(name.split(".")[0] == opcode for name, _ in table())


@cache
def lookup(opcode: str, modifiers: tuple[str, ...], results: int = 1) -> Semantics:
    """Semantics of an arithmetic instruction, e.g. ``lookup("add", ("s32",))``.

    opcode, modifiers: as in `grader.ptx.frontend.nodes.Instruction`.
    results: destinations the instruction is written with: 2 for ``setp… p|q`` and ``lop3… d|p``.
    Raises UnsupportedInstruction: unknown opcode, type or modifier, or a combination without a meaning.
    """
    text = ".".join((opcode, *modifiers))
    type_name = next((name for name in reversed(modifiers) if name in DTYPES), "")
    name = f"{opcode}.cc" if "cc" in modifiers else opcode
    factory = table().get((name, type_name))
    if factory is None:
        types = sorted({key_type for key_opcode, key_type in table() if key_opcode == name})
        raise UnsupportedInstruction(text, reason=f"known types: {', '.join(types)}" if types else "")
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
    opcode_facts, operands = facts(instruction.opcode), instruction.operands
    low, high = opcode_facts.operands
    if not low <= len(operands) <= high:
        return f"{len(operands)} operands"
    if len(instruction.modifiers) < opcode_facts.modifiers:
        return "a type is missing"
    if not opcode_facts.checked:
        return ""
    if opcode_facts.writes_first and opcode_facts.memory != "atomic" and operands and not _is_destination(operands[0]):
        return "its result goes nowhere"
    if opcode_facts.memory in ("load", "store", "atomic"):
        return _memory_fault(instruction, opcode_facts.memory)
    if opcode_facts.memory in ("texture", "surface"):
        return _coordinates_fault(instruction, opcode_facts.memory)
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
    """Check that an instruction that touches no memory reads values only."""
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
