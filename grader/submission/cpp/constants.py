"""Values of C expressions, as far as a file tells them; what a program reads at run time (argv) stays unknown.

The preprocessor's macros are replaced first, token by token.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.submission.cpp.nodes import (
    DTYPES,
    FUNCTIONS,
    SIZES_OF_TYPES,
    Binary,
    Call,
    Cast,
    Conditional,
    Expression,
    Name,
    Number,
    SizeOf,
    Unary,
    Unknown,
    Value,
    binary,
    unary,
)
from grader.submission.cpp.syntax import MAX_DEPTH, MAX_TOKENS, NotReadable, Token, parse_tokens, tokens
from grader.submission.lexical import spend

MAX_STEPS = 4096


@dataclass(frozen=True, slots=True)
class Macro:
    """A `#define`: `parameters` is None for one without parentheses."""

    body: str
    parameters: tuple[str, ...] | None = None
    line: int = 0


def expand(given: Sequence[Token], macros: Mapping[str, Macro]) -> list[Token]:
    """Macros replaced token by token, as the preprocessor does: `#define N 4+4` keeps `N*2` at 12.

    Raises
    ------
    NotReadable : the result has more than `MAX_TOKENS` tokens, or the way there takes too many steps.
    """
    return _expand(given, macros, frozenset(), iter(range(MAX_STEPS)))


def _expand(
    given: Sequence[Token], macros: Mapping[str, Macro], hidden: frozenset[str], steps: Iterator[int]
) -> list[Token]:
    # Macros may double at each level and still come to nothing: the work is bounded, not only the result.
    if len(hidden) > MAX_DEPTH or next(steps, None) is None:
        raise NotReadable("macros nested too deep")
    spend(4)
    result: list[Token] = []
    index = 0
    while index < len(given):
        token = given[index]
        index += 1
        macro = macros.get(token.text) if token.kind == "name" and token.text not in hidden else None
        if macro is None:
            result.append(token)
        else:
            body = tokens(macro.body)
            if macro.parameters is not None:
                if index >= len(given) or given[index].text != "(":
                    result.append(token)
                    continue
                arguments, index = _macro_arguments(given, index)
                expanded = [_expand(argument, macros, hidden, steps) for argument in arguments]
                by_name = dict(zip(macro.parameters, expanded, strict=False))
                body = [inner for t in body for inner in (by_name.get(t.text, [t]) if t.kind == "name" else [t])]
            result.extend(_expand(body, macros, hidden | {token.text}, steps))
        if len(result) > MAX_TOKENS:
            raise NotReadable("macros grow too large")
    return result


def _macro_arguments(given: Sequence[Token], opening: int) -> tuple[list[list[Token]], int]:
    """The arguments of a macro whose "(" is at `opening`, and the index after its ")"."""
    arguments: list[list[Token]] = [[]]
    depth = 0
    for index in range(opening, len(given)):
        token = given[index]
        if token.text == "(":
            depth += 1
            if depth == 1:
                continue
        elif token.text == ")":
            depth -= 1
            if depth == 0:
                return arguments, index + 1
        if token.text == "," and depth == 1:
            arguments.append([])
        else:
            arguments[-1].append(token)
    raise NotReadable("a macro call without its )")


Lookup = Callable[[str], Expression | None]

LARGEST = 1 << 64

_NOT_OF_TYPE = frozenset(["const", "volatile", "restrict", "__restrict__", "struct", "typename"])


@dataclass(slots=True)
class Constants:
    """What names stand for in a file: macros, constants, types."""

    macros: dict[str, Macro] = field(default_factory=dict)
    values: dict[str, Expression] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    def parse(self, text: str) -> Expression | None:
        """The expression that `text` is after macro replacement; None where it is not readable."""
        try:
            return parse_tokens(expand(tokens(text), self.macros))
        except NotReadable:
            return None

    def dtype(self, type_text: str) -> str | None:
        """NumPy's name for a plain number type, through typedefs and macros; None for anything else."""
        words = _type_words(type_text)
        for _step in range(8):
            text = " ".join(words)
            if text in DTYPES:
                return DTYPES[text]
            base = [w for w in words if w not in {"int", "signed"}] or ["int"]
            if sorted(base) != sorted(words) or "unsigned" in base:
                base.sort(key=lambda w: w != "unsigned")
                return DTYPES.get(" ".join(base))
            if len(words) != 1:
                return None
            name = words[0]
            if name in self.types:
                words = _type_words(self.types[name])
            elif name in self.macros and self.macros[name].parameters is None:
                words = _type_words(self.macros[name].body)
            else:
                return None
        return None

    def evaluate(self, expression: Expression | str | None, extra: Lookup | None = None) -> Value | None:
        """The value of `expression`, or None where something in it is not known.

        extra: looked up before the file's constants, e.g. a function's variables.

        Integers follow C: division and remainder truncate toward zero, comparisons give 0 or 1.  Overflow does not
        wrap: what exceeds 64 bits is unknown.
        """
        if isinstance(expression, str):
            expression = self.parse(expression)
        if expression is None:
            return None
        try:
            return _Evaluation(self, extra).value(expression, 0)
        except (ArithmeticError, ValueError, TypeError, NotReadable):
            return None

    def integer(self, expression: Expression | str | None, extra: Lookup | None = None) -> int | None:
        """As `evaluate`, where an integer is wanted: a float is truncated as in a conversion to int."""
        value = self.evaluate(expression, extra)
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return None
        return int(value)


@dataclass(slots=True)
class _Evaluation:
    constants: Constants
    extra: Lookup | None
    steps: int = 0
    known: dict[str, Value] = field(default_factory=dict)

    def value(self, expression: Expression, depth: int) -> Value:
        self.steps += 1
        spend(2)
        if depth > MAX_DEPTH or self.steps > MAX_STEPS:
            raise Unknown
        result = self._value(expression, depth)
        if abs(result) > LARGEST:
            raise Unknown
        return result

    def _value(self, expression: Expression, depth: int) -> Value:
        match expression:
            case Number(number):
                return number
            case Name(name):
                if name not in self.known:
                    # Once: constants defined through each other (a = b + b, b = c + c, …) double the work each time.
                    self.known[name] = self.value(self.definition(name), depth + 1)
                return self.known[name]
            case Unary(operator, operand):
                return unary(operator, self.value(operand, depth + 1))
            case Binary("&&", left, right):
                return int(bool(self.value(left, depth + 1)) and bool(self.value(right, depth + 1)))
            case Binary("||", left, right):
                return int(bool(self.value(left, depth + 1)) or bool(self.value(right, depth + 1)))
            case Binary(operator, left, right):
                return binary(operator, self.value(left, depth + 1), self.value(right, depth + 1))
            case Conditional(condition, then, otherwise):
                return self.value(then if self.value(condition, depth + 1) else otherwise, depth + 1)
            case Cast(type_text, operand):
                return self.cast(type_text, self.value(operand, depth + 1))
            case SizeOf(text):
                return self.size_of(text)
            case Call(function, arguments):
                if function not in FUNCTIONS:
                    raise Unknown
                return FUNCTIONS[function](*(self.value(a, depth + 1) for a in arguments))

    def definition(self, name: str) -> Expression:
        expression = self.extra(name) if self.extra is not None else None
        if expression is None:
            # `Mode::tiled` is known as `tiled`.
            expression = self.constants.values.get(name) or self.constants.values.get(name.rpartition("::")[2])
        if expression is None:
            raise Unknown
        return expression

    def cast(self, type_text: str, value: Value) -> Value:
        dtype = self.constants.dtype(type_text)
        if dtype is None:
            raise Unknown
        return float(value) if dtype.startswith("float") else int(value)

    def size_of(self, text: str) -> int:
        if text.endswith("*"):
            return 8
        dtype = self.constants.dtype(text)
        if dtype is None:
            raise Unknown
        return SIZES_OF_TYPES[dtype]


def _type_words(text: str) -> list[str]:
    """The words that say which type `text` is; a namespace, as in `std::size_t`, says nothing of it."""
    return [word.rpartition("::")[2] for word in text.split() if word not in _NOT_OF_TYPE]
