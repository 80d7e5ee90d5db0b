"""C expressions as small trees: read from text, nothing evaluated yet.

Only what sizes, blocks and grids are written with: numbers, names, arithmetic, casts, calls, `a.x`, `{1, 2}`.

The tree of the file (`cpp/tree`) says where an expression stands, not what it is: it is made of the text before macros
are replaced, and a macro's body need not be an expression (`#define GRID (n + T - 1) / T, 1`).  So macros are replaced
token by token, here, and what comes of that is read from the tokens.  Printed again, as a declaration of its own, it
could be given to tree-sitter; but the tokens would be needed all the same, and the nodes turned into these records by
as many lines as the reader below has; its steps could not be counted (`effort`), and what it makes of a wrong text by
recovery would have to be told from what was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.preprocessor import COMMENT
from grader.submission.lexical import spend

MAX_TOKENS = 512


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


_TOKEN = re.compile(
    rf"""\s+ | {COMMENT}
    | (?P<number>0[xX][0-9a-fA-F']+[uUlL]* | 0[bB][01']+[uUlL]*
        | (?:\d[\d']*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*)
    | (?P<name>[^\W\d]\w*(?:\s*::\s*[^\W\d]\w*)*)
    | (?P<operator><<|>>|<=|>=|==|!=|&&|\|\||->|[-+*/%&|^~!<>?:()\[\]{{}},.=])
    """,
    re.VERBOSE | re.DOTALL,
)


class NotReadable(ValueError):
    """The text is no expression of the kind that is read here."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str


def tokens(text: str) -> list[Token]:
    """The tokens of `text`.

    Raises NotReadable: a character that no expression has, or more than `MAX_TOKENS` tokens.
    """
    all_tokens: list[Token] = []
    position = 0
    while position < len(text):
        spend(1)
        match = _TOKEN.match(text, position)
        if match is None or match.end() == position:
            raise NotReadable(f"{text[position]!r} is not part of an expression")
        position = match.end()
        if match.lastgroup is not None:
            all_tokens.append(Token(match.lastgroup, re.sub(r"\s+", "", match.group())))
            if len(all_tokens) > MAX_TOKENS:
                raise NotReadable(f"more than {MAX_TOKENS} tokens")
    return all_tokens


def number(text: str) -> int | float:
    """The value of a C number, suffixes and digit separators allowed.

    Raises NotReadable: too long for any number of a program, or no number.
    """
    body = text.replace("'", "").lower()
    if len(body) > 64:
        raise NotReadable("a number of more than 64 characters")
    try:
        if body.startswith("0x"):
            return int(body.rstrip("ul"), 16)
        if body.startswith("0b"):
            return int(body.rstrip("ul"), 2)
        if any(c in body for c in ".ef"):
            return float(body.rstrip("fl"))
        digits = body.rstrip("ul")
        return int(digits, 8) if digits.startswith("0") and len(digits) > 1 else int(digits)
    except ValueError as error:
        raise NotReadable(f"{text!r} is no number") from error


MAX_DEPTH = 48

_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    "==": 6,
    "!=": 6,
    "<": 7,
    ">": 7,
    "<=": 7,
    ">=": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "%": 10,
}

TYPE_WORDS = frozenset(
    [
        "unsigned",
        "signed",
        "int",
        "long",
        "short",
        "char",
        "float",
        "double",
        "bool",
        "size_t",
        "half",
        "__half",
        "int8_t",
        "uint8_t",
        "int16_t",
        "uint16_t",
        "int32_t",
        "uint32_t",
        "int64_t",
        "uint64_t",
        "uint",
        "const",
    ]
)

_TRUTHS = {"false": 0, "true": 1}


def parse_tokens(given: Sequence[Token]) -> Expression:
    """The expression that tokens are, macros replaced.  Raises NotReadable: no expression of the kind read here."""
    reader = _Reader(given)
    expression = reader.conditional(0)
    if reader.position != len(given):
        raise NotReadable(f"unexpected {given[reader.position].text!r}")
    return expression


class _Reader:
    def __init__(self, given: Sequence[Token]) -> None:
        self.tokens = given
        self.position = 0

    def peek(self, ahead: int = 0) -> str:
        index = self.position + ahead
        return self.tokens[index].text if index < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> Token:
        if self.position >= len(self.tokens):
            raise NotReadable("the expression ends too early")
        token = self.tokens[self.position]
        if expected is not None and token.text != expected:
            raise NotReadable(f"{expected!r} expected, got {token.text!r}")
        self.position += 1
        return token

    def conditional(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise NotReadable("nested too deep")
        condition = self.binary(1, depth)
        if self.peek() != "?":
            return condition
        self.take()
        then = self.conditional(depth + 1)
        self.take(":")
        return Conditional(condition, then, self.conditional(depth + 1))

    def binary(self, least: int, depth: int) -> Expression:
        left = self.unary(depth)
        while (precedence := _PRECEDENCE.get(self.peek(), 0)) >= least:
            operator = self.take().text
            left = Binary(operator, left, self.binary(precedence + 1, depth + 1))
        return left

    def unary(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise NotReadable("nested too deep")
        if self.peek() in {"-", "+", "~", "!"}:
            return Unary(self.take().text, self.unary(depth + 1))
        if self.peek() == "(":
            type_text = self._type_in_parentheses()
            if type_text:
                return Cast(type_text, self.unary(depth + 1))
        return self.postfix(depth)

    def _type_in_parentheses(self) -> str:
        """The type of a cast at the current "(", which is then consumed; "" where it is no cast."""
        words = []
        ahead = 1
        while self.peek(ahead) in TYPE_WORDS:
            words.append(self.peek(ahead))
            ahead += 1
        if not words or self.peek(ahead) != ")":
            return ""
        self.position += ahead + 1
        return " ".join(words)

    def postfix(self, depth: int) -> Expression:
        token = self.take()
        if token.kind == "number":
            return Number(number(token.text))
        if token.text == "(":
            inner = self.conditional(depth + 1)
            self.take(")")
            return inner
        if token.text == "{":
            return Call("", self._arguments("}", depth))
        if token.kind != "name":
            raise NotReadable(f"unexpected {token.text!r}")
        if token.text == "sizeof":
            return self._sizeof()
        if token.text in {"static_cast", "reinterpret_cast"}:
            self.take("<")
            type_text = self._words(">")
            self.take("(")
            operand = self.conditional(depth + 1)
            self.take(")")
            return Cast(type_text, operand)
        return self._name_or_call(token.text, depth)

    def _name_or_call(self, name: str, depth: int) -> Expression:
        # "half" alone is a fine name for a variable.
        if name in TYPE_WORDS and (self.peek() == "(" or self.peek() in TYPE_WORDS):
            words = [name]
            while self.peek() in TYPE_WORDS:
                words.append(self.take().text)
            self.take("(")
            operand = self.conditional(depth + 1)
            self.take(")")
            return Cast(" ".join(words), operand)
        while self.peek() in {".", "->"}:
            self.take()
            member = self.take()
            if member.kind != "name":
                raise NotReadable(f"unexpected {member.text!r}")
            name += "." + member.text
        if self.peek() == "<":
            name += self._template_arguments()
        if self.peek() in {"(", "{"}:
            closing = ")" if self.take().text == "(" else "}"
            return Call(name.removeprefix("std::"), self._arguments(closing, depth))
        if self.peek() == "[":
            self.take()
            index = self.conditional(depth + 1)
            self.take("]")
            return Call("[]", (Name(name), index))
        if name in _TRUTHS:
            return Number(_TRUTHS[name])
        return Name(name)

    def _template_arguments(self) -> str:
        """`<16, float>` at the current "<", which is then consumed; "" where that is less than."""
        ahead, words = 1, []
        while self.peek(ahead) not in {"", ">"}:
            index = self.position + ahead
            if self.tokens[index].kind == "operator" and self.tokens[index].text not in {",", "*", "+", "-", "/"}:
                return ""
            words.append(self.tokens[index].text)
            ahead += 1
        if not words or self.peek(ahead) != ">" or self.peek(ahead + 1) not in {"", ",", ")", "(", "}", ";"}:
            return ""
        self.position += ahead + 1
        return f"<{' '.join(words)}>"

    def _arguments(self, closing: str, depth: int) -> tuple[Expression, ...]:
        arguments: list[Expression] = []
        while self.peek() != closing:
            arguments.append(self.conditional(depth + 1))
            if self.peek() != closing:
                self.take(",")
        self.take(closing)
        return tuple(arguments)

    def _sizeof(self) -> Expression:
        if self.peek() != "(":
            return SizeOf(self.take().text)
        self.take("(")
        return SizeOf(self._words(")"))

    def _words(self, closing: str) -> str:
        words = []
        while self.peek() != closing:
            words.append(self.take().text)
        self.take(closing)
        return " ".join(words)
