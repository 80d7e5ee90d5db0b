"""Literals and constant expressions of PTX (PTX ISA, "Constants")."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from grader.ptx.frontend.nodes import Immediate

_INTEGER = re.compile(r"(-?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|(0[0-7]*)|([1-9]\d*))U?", re.ASCII)
_HEX_FLOAT = re.compile(r"(-?)0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))", re.ASCII)
_DECIMAL_FLOAT = re.compile(r"-?\d+(?:\.\d*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)", re.ASCII)
_TERM = re.compile(r"\s*(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>()?:]|0[xX][0-9a-fA-F]+U?|\d\w*|WARP_SZ)", re.ASCII)

WARP_SIZE = 32
MAX_DIGITS = 80
"""More than any constant has: 64 binary digits, signs and prefixes.  What is longer is none."""

_PRECEDENCE: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a) or bool(b))},
    {"&&": lambda a, b: int(bool(a) and bool(b))},
    {"|": lambda a, b: a | b},
    {"^": lambda a, b: a ^ b},
    {"&": lambda a, b: a & b},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<": lambda a, b: int(a < b),
        ">": lambda a, b: int(a > b),
        "<=": lambda a, b: int(a <= b),
        ">=": lambda a, b: int(a >= b),
    },
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": lambda a, b: _quotient(a, b), "%": lambda a, b: a - b * _quotient(a, b)},
)


def parse_integer(text: str) -> int | None:
    """An integer literal (decimal, hexadecimal, octal, binary; optional minus and U), or None if it is none."""
    match = _INTEGER.fullmatch(text)
    if match is None or len(text) > MAX_DIGITS:
        return None
    minus, hexadecimal, binary, octal, decimal = match.groups()
    if decimal:
        value = int(decimal)
    elif hexadecimal:
        value = int(hexadecimal, 16)
    elif binary:
        value = int(binary, 2)
    else:
        value = int(octal, 8)
    return -value if minus else value


def parse_immediate(text: str) -> Immediate | None:
    """A literal or a constant expression; None if `text` is neither.

    `0f`/`0d` give the bits as written; a decimal float is an f64, as in PTX; `WARP_SZ` is 32.
    """
    value = parse_integer(text)
    if value is not None:
        return Immediate(value)
    match = _HEX_FLOAT.fullmatch(text)
    if match is not None:
        minus, single, double = match.groups()
        if single is not None:
            return Immediate(int(single, 16) ^ (0x80000000 if minus else 0), "f32")
        return Immediate(int(double, 16) ^ (1 << 63 if minus else 0), "f64")
    if _DECIMAL_FLOAT.fullmatch(text):
        return Immediate(int.from_bytes(struct.pack("<d", float(text)), "little"), "f64")
    value = evaluate(text)
    return None if value is None else Immediate(value)


def evaluate(text: str) -> int | None:
    """Value of an integer constant expression, None if it cannot be read.

    Operators and precedence are C's; division and remainder truncate towards zero.
    """
    tokens: list[str] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TERM.match(text, at)
        if match is None:
            return None
        tokens.append(match.group(1))
        at = match.end()
    try:
        value = _Expression(tokens).whole()
    except (ValueError, ZeroDivisionError, IndexError, RecursionError):
        return None
    return value


def _quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


class _Expression:
    """Recursive descent over the tokens; raises ValueError or IndexError where they form no expression."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def whole(self) -> int:
        value = self.ternary()
        if self.at != len(self.tokens):
            raise ValueError("text after the expression")
        return value

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def ternary(self) -> int:
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.at += 1
        first = self.ternary()
        if self.peek() != ":":
            raise ValueError("expected :")
        self.at += 1
        second = self.ternary()
        return first if condition else second

    def binary(self, level: int) -> int:
        if level == len(_PRECEDENCE):
            return self.unary()
        value = self.binary(level + 1)
        while (compute := _PRECEDENCE[level].get(self.peek())) is not None:
            self.at += 1
            # Constant expressions are of type .s64 or .u64.
            value = compute(value, self.binary(level + 1))
            if not -(1 << 63) <= value < 1 << 64:
                value = ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)
        return value

    def unary(self) -> int:
        token = self.tokens[self.at]
        self.at += 1
        if token == "-":
            return -self.unary()
        if token == "+":
            return self.unary()
        if token == "~":
            return ~self.unary()
        if token == "!":
            return int(not self.unary())
        if token == "(":
            value = self.ternary()
            if self.peek() != ")":
                raise ValueError("expected )")
            self.at += 1
            return value
        if token == "WARP_SZ":
            return WARP_SIZE
        literal = parse_integer(token)
        if literal is None:
            raise ValueError(f"no operand: {token}")
        return literal
