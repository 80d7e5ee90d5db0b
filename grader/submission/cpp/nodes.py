"""Small trees of C expressions, the types of their numbers, and C's arithmetic on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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


SIZES_OF_TYPES = {
    "char": 1,
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "float16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
}

DTYPES = {
    "float": "float32",
    "double": "float64",
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "int8_t": "int8",
    "unsigned char": "uint8",
    "uint8_t": "uint8",
    "uchar": "uint8",
    "short": "int16",
    "int16_t": "int16",
    "unsigned short": "uint16",
    "uint16_t": "uint16",
    "ushort": "uint16",
    "int": "int32",
    "signed": "int32",
    "int32_t": "int32",
    "unsigned": "uint32",
    "uint": "uint32",
    "uint32_t": "uint32",
    "long": "int64",
    "long long": "int64",
    "int64_t": "int64",
    "ptrdiff_t": "int64",
    "intptr_t": "int64",
    "unsigned long": "uint64",
    "ulong": "uint64",
    "uintptr_t": "uint64",
    "unsigned long long": "uint64",
    "uint64_t": "uint64",
    "size_t": "uint64",
    "half": "float16",
    "__half": "float16",
}

NUMBER_WORDS = frozenset(word for name in DTYPES for word in name.split())
"""Words that names of number types are made of."""

FORMATS = {
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
"""Of `struct`, for those that have one."""


# C's arithmetic on numbers that are known: division truncates toward zero, comparisons give 0 or 1.

Value = int | float


class Unknown(ValueError):
    """Something in an expression has no value that is known."""


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "ceil": lambda x: float(math.ceil(x)),
    "ceilf": lambda x: float(math.ceil(x)),
    "floor": lambda x: float(math.floor(x)),
    "floorf": lambda x: float(math.floor(x)),
    "round": lambda x: float(math.floor(x + 0.5)),
    "sqrt": lambda x: math.sqrt(x),
    "sqrtf": lambda x: math.sqrt(x),
    "pow": lambda x, y: math.pow(x, y),
    "log2": lambda x: math.log2(x),
    "abs": lambda x: abs(x),
    "min": lambda x, y: min(x, y),
    "max": lambda x, y: max(x, y),
}


def unary(operator: str, value: Value) -> Value:
    if operator == "-":
        return -value
    if operator == "+":
        return value
    if operator == "!":
        return int(not value)
    return ~_whole(value)


def _whole(value: Value) -> int:
    if isinstance(value, float):
        raise Unknown
    return value


def binary(operator: str, left: Value, right: Value) -> Value:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            if isinstance(left, int) and isinstance(right, int):
                quotient = abs(left) // abs(right)
                return quotient if (left < 0) == (right < 0) else -quotient
            return left / right
        case "%":
            remainder = abs(_whole(left)) % abs(_whole(right))
            return remainder if left >= 0 else -remainder
        case "<<" | ">>":
            if not 0 <= right < 64:
                raise Unknown
            return _whole(left) << _whole(right) if operator == "<<" else _whole(left) >> _whole(right)
        case "&":
            return _whole(left) & _whole(right)
        case "|":
            return _whole(left) | _whole(right)
        case "^":
            return _whole(left) ^ _whole(right)
    return int(_COMPARISONS[operator](left, right))


_COMPARISONS: Mapping[str, Callable[[Value, Value], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}
