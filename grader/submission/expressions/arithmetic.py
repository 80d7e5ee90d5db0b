"""C's arithmetic on numbers that are known: division truncates toward zero, comparisons give 0 or 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

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
