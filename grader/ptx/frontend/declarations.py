"""Declarations of PTX: state spaces, alignments, types, array sizes, initialisers and their constant expressions.

PTX ISA, "Constants" and "State Spaces, Types, and Variables".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator

from grader.ptx.frontend.nodes import IDENTIFIER, Cursor, Immediate, Symbol, Variable

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


TYPE_BYTES = {
    **{f"{kind}{bits}": bits // 8 for kind in "bsu" for bits in (8, 16, 32, 64)},
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
    "f16x2": 4,
    "bf16x2": 4,
    "b128": 16,
    "pred": 1,
    # Opaque handles of the texture unit: 64-bit addresses in unified mode.
    "texref": 8,
    "samplerref": 8,
    "surfref": 8,
}
_FLOAT_FORMAT = {"f16": "<e", "f32": "<f", "f64": "<d"}
_PLAIN_INTEGERS = re.compile(r"\s*\{([\s\d,-]*)\}", re.ASCII)
_SYMBOL = re.compile(rf"(?:generic\s*\(\s*({IDENTIFIER})\s*\)|({IDENTIFIER}))\s*(?:([+-])\s*(\d\w*))?", re.ASCII)
_ELEMENT = re.compile(r"[^,{}();]*(?:\([^()]*\)[^,{}();]*)*")


def read_registers(cursor: Cursor) -> Iterator[tuple[str, str, int | None]]:
    """The rest of a `.reg` declaration, up to its `;`: (name, type, count of `name<count>` or None)."""
    directive = cursor.take()
    type_ = directive[1:]
    if directive[0] != "." or type_ not in TYPE_BYTES:
        raise cursor.error(f"expected a register type, got `{directive}`", cursor.pos - len(directive))
    while True:
        name = cursor.identifier("a register's name")
        count = None
        if cursor.accept("<"):
            count = cursor.integer("the number of registers")
            cursor.expect(">")
        yield name, type_, count
        if not cursor.accept(","):
            break
    cursor.expect(";")


def read_variables(cursor: Cursor, space: str, is_extern: bool) -> list[Variable]:
    """The rest of a variable declaration after its space, up to and with its `;`."""
    align, type_, lanes = _read_qualifiers(cursor)
    variables = [_read_declarator(cursor, space, align, type_, lanes, is_extern=is_extern)]
    while cursor.accept(","):
        variables.append(_read_declarator(cursor, space, align, type_, lanes, is_extern=is_extern))
    cursor.expect(";")
    return variables


def read_parameters(cursor: Cursor) -> tuple[Variable, ...]:
    """A parenthesised list of `.param` declarations."""
    cursor.expect("(")
    parameters: list[Variable] = []
    if cursor.accept(")"):
        return ()
    while True:
        space = cursor.take()
        if space not in (".param", ".reg"):
            raise cursor.error(f"expected .param, got `{space}`", cursor.pos - len(space))
        align, type_, lanes = _read_qualifiers(cursor)
        parameters.append(_read_declarator(cursor, space[1:], align, type_, lanes, is_extern=False))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return tuple(parameters)


def _read_qualifiers(cursor: Cursor) -> tuple[int | None, str, int]:
    """Alignment (None: natural), type and vector length; pointer hints (`.ptr .global`) say nothing a run needs."""
    align: int | None = None
    lanes = 1
    while True:
        directive = cursor.peek()
        name = directive[1:]
        if directive[:1] != ".":
            raise cursor.error(f"expected a type, got `{directive or 'end of text'}`")
        cursor.take()
        if name == "align":
            align = cursor.integer("an alignment in bytes")
            if align <= 0 or align & (align - 1):
                raise cursor.error(f"an alignment must be a power of two, got {align}")
        elif name == "attribute":
            cursor.expect("(")
            while not cursor.accept(")"):
                cursor.take()
        elif name in ("v2", "v4", "v8"):
            lanes = int(name[1:])
        elif name in TYPE_BYTES:
            if cursor.accept(".ptr"):
                while (hint := cursor.peek())[:1] == ".":
                    cursor.take()
                    if hint == ".align":
                        cursor.integer("an alignment in bytes")
            return align, name, lanes
        else:
            raise cursor.error(f"`{directive}` is not known here", cursor.pos - len(directive))


def _read_declarator(
    cursor: Cursor, space: str, align: int | None, type_: str, lanes: int, *, is_extern: bool
) -> Variable:
    name = "_" if cursor.accept("_") else cursor.identifier("a variable's name")
    element = TYPE_BYTES[type_] * lanes
    dims: list[int | None] = []
    while cursor.accept("["):
        dims.append(None if cursor.peek() == "]" else cursor.integer("an array size"))
        cursor.expect("]")
    initial: bytes | None = None
    relocations: tuple[tuple[int, Symbol], ...] = ()
    if cursor.accept("="):
        initial, relocations = _read_initialiser(cursor, type_, dims)
    if None in dims[1:]:
        raise cursor.error("only the first size of an array may be left out")
    count = 1
    for size in dims:
        count *= size or 0
    size_bytes = element * count
    if dims and dims[0] is None and initial is not None:
        size_bytes = len(initial)
    if initial is not None:
        if len(initial) > size_bytes:
            raise cursor.error(f"the initialiser of `{name}` has {len(initial)} bytes, the variable {size_bytes}")
        initial = initial.ljust(size_bytes, b"\0")
    return Variable(name, space, align or element, size_bytes, initial, is_extern, relocations)


def _read_initialiser(
    cursor: Cursor, type_: str, dims: list[int | None]
) -> tuple[bytes, tuple[tuple[int, Symbol], ...]]:
    """Bytes of a scalar or a braced list; symbols leave zeros and a relocation."""
    element = TYPE_BYTES[type_]
    plain = _PLAIN_INTEGERS.match(cursor.text, cursor.pos)
    if plain is not None and type_[0] in "bsu" and len(dims) <= 1:
        mask = (1 << 8 * element) - 1
        try:
            parts = plain[1].split(",") if plain[1].strip() else []
            values = [int(part if len(part) < 80 else "") & mask for part in parts]
        except ValueError:
            raise cursor.error("expected a list of integers") from None
        cursor.pos = plain.end()
        if element == 1:
            return bytes(values), ()
        return b"".join(value.to_bytes(element, "little") for value in values), ()
    data = bytearray()
    relocations: list[tuple[int, Symbol]] = []
    _read_value(cursor, type_, dims, data, relocations)
    return bytes(data), tuple(relocations)


def _read_value(
    cursor: Cursor, type_: str, dims: list[int | None], data: bytearray, relocations: list[tuple[int, Symbol]]
) -> None:
    if not cursor.accept("{"):
        _read_element(cursor, type_, data, relocations)
        return
    if not dims:
        raise cursor.error("more braces than the array has dimensions")
    inner = dims[1:]
    row = TYPE_BYTES[type_]
    for size in inner:
        row *= size or 0
    while not cursor.accept("}"):
        start = len(data)
        braced = cursor.peek() == "{"
        _read_value(cursor, type_, inner, data, relocations)
        if braced:
            # A row may name fewer values than it has; the rest is zero.
            data.extend(bytes(max(0, start + row - len(data))))
        if not cursor.accept(","):
            cursor.expect("}")
            break


def _read_element(cursor: Cursor, type_: str, data: bytearray, relocations: list[tuple[int, Symbol]]) -> None:
    at = cursor.skip_blank()
    match = _ELEMENT.match(cursor.text, at)
    text = match.group().strip() if match else ""
    element = TYPE_BYTES[type_]
    immediate = parse_immediate(text)
    if immediate is not None:
        data.extend(_encode(cursor, immediate.value, immediate.float_type, type_))
    else:
        symbol = _SYMBOL.fullmatch(text)
        offset = parse_integer(symbol[4] or "0") if symbol else None
        if symbol is None or offset is None or element != 8:
            raise cursor.error(f"cannot read the initial value `{text}`")
        relocations.append((len(data), Symbol(symbol[1] or symbol[2], -offset if symbol[3] == "-" else offset)))
        data.extend(bytes(element))
    cursor.pos = at + len(match.group() if match else "")


def _encode(cursor: Cursor, value: int, float_type: str | None, type_: str) -> bytes:
    element = TYPE_BYTES[type_]
    if type_ not in _FLOAT_FORMAT:
        if float_type is not None and TYPE_BYTES[float_type] != element:
            raise cursor.error(f"a float literal cannot initialise a .{type_}")
        return (value & ((1 << 8 * element) - 1)).to_bytes(element, "little")
    if float_type == type_:
        return value.to_bytes(element, "little")
    if float_type is None:
        number = float(value)
    else:
        number = struct.unpack("<f" if float_type == "f32" else "<d", value.to_bytes(TYPE_BYTES[float_type], "little"))[
            0
        ]
    try:
        return struct.pack(_FLOAT_FORMAT[type_], number)
    except OverflowError:
        raise cursor.error(f"{number} does not fit into a .{type_}") from None
