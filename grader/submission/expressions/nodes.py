"""C expressions as small trees of records, nothing evaluated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Number:
    value: int | float


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, a member of one, or a function with its template's arguments: "d", "blockDim.x", "k<16 , float>"."""

    name: str


@dataclass(frozen=True, slots=True)
class Unary:
    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Cast:
    """`(type)x`, `type(x)`, `static_cast<type>(x)`."""

    type_text: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A call, a constructor ("dim3") or, with the empty name, a braced list."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class SizeOf:
    """`sizeof(x)`; `text` is what stands in the parentheses."""

    text: str


Expression = Number | Name | Unary | Binary | Conditional | Cast | Call | SizeOf
