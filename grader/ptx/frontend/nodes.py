"""What a PTX module is made of, as plain records (no behaviour).

`parse` in `grader.ptx.frontend.parser` builds these; everything else reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where an instruction comes from in the CUDA source.

    `line` is 1-based, 0 when the module was built without line information.  Inlined code is attributed to the
    innermost location that lies in the student's file.
    """

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register; `index` is dense and unique within its function, `type` without dot (b32, f32, pred)."""

    index: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal. `value` is a Python int; for floats it holds the IEEE bits and `float_type` is "f32" or "f64"."""

    value: int
    float_type: str | None = None


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable (or a function), plus a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """A special register without its percent sign: "tid.x", "laneid", "clock64"."""

    name: str


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`, offset in bytes. `base` is None for an absolute address."""

    base: Register | Symbol | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, …}`, and the two destinations of `p|q`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """The target of a branch."""

    name: str


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a destination that is thrown away."""


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p` as a source operand."""

    register: Register


@dataclass(frozen=True, slots=True)
class Selected:
    """`%r.h1`, `%r.b0`, `%v.x`: a part of a register."""

    register: Register
    part: str


Operand = Register | Immediate | Symbol | Special | Address | Vector | Label | Sink | Negated | Selected


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or `@!p` in front of an instruction."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """One PTX instruction; compared by identity.

    `opcode` is the part before the first dot, `modifiers` the rest ("ld", ("global", "v4", "f32")).
    `call` instructions have operands (return params Vector, Symbol target or Register, argument Vector
    of Symbols naming `.param` variables).
    `ptx_line` is 1-based in the PTX text, `text` the statement as written, for messages.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    location: SourceLocation
    ptx_line: int
    text: str


@dataclass(frozen=True, slots=True)
class LabelMark:
    """A label's position in a function body."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable: a kernel parameter, a `.param` of a call, shared, local, global or constant memory.

    `size_bytes` is 0 for an unsized `extern .shared` array.  `initial` holds the initialiser's bytes
    (None: none given).  `relocations` lists (byte offset, symbol) pairs of an initialiser that holds addresses.
    """

    name: str
    space: str
    align: int
    size_bytes: int
    initial: bytes | None = None
    is_extern: bool = False
    relocations: tuple[tuple[int, Symbol], ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel (`is_entry`) or a device function."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    registers: tuple[Register, ...]
    variables: tuple[Variable, ...]
    """Shared, local and call-`.param` variables declared in the body (names made unique)."""
    body: tuple[Instruction | LabelMark, ...]
    location: SourceLocation
    launch_bounds: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Performance directives such as ("maxntid", (256, 1, 1))."""
    text: str = field(default="", repr=False)
    """The whole of it as written, comments left out."""

    def parameter_offsets(self) -> list[int]:
        """Where each parameter begins where all lie in memory one after the other."""
        offsets, end = [], 0
        for parameter in self.parameters:
            end += -end % parameter.align
            offsets.append(end)
            end += parameter.size_bytes
        return offsets

    @property
    def parameter_bytes(self) -> int:
        """What all parameters take then."""
        return self.parameter_offsets()[-1] + self.parameters[-1].size_bytes if self.parameters else 0


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed PTX module."""

    version: str
    target: str
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    """Module-scope global, constant and shared variables."""
    files: dict[int, str] = field(default_factory=dict)
    derived: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What others have made out of the module and keep with it."""

    def entries(self) -> tuple[str, ...]:
        """Names of the kernels, in the order of the text."""
        return tuple(name for name, function in self.functions.items() if function.is_entry)
