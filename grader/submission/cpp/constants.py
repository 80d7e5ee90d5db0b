"""Values of C expressions, as far as a file tells them; what a program reads at run time (argv) stays unknown.

The preprocessor's macros are replaced first, token by token.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.submission.cpp import syntax
from grader.submission.lexical import spend

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
"""Formats of Python's `struct`, for types that have one."""


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


MAX_STEPS = 4096


@dataclass(frozen=True, slots=True)
class Macro:
    """A `#define`: `parameters` is None for one without parentheses."""

    body: str
    parameters: tuple[str, ...] | None = None
    line: int = 0


def expand(given: Sequence[syntax.Token], macros: Mapping[str, Macro]) -> list[syntax.Token]:
    """Macros replaced token by token, as the preprocessor does: `#define N 4+4` keeps `N*2` at 12.

    Raises NotReadable: the result has more than `MAX_TOKENS` tokens, or the way there takes too many steps.
    """
    return _expand(given, macros, frozenset(), iter(range(MAX_STEPS)))


def _expand(
    given: Sequence[syntax.Token], macros: Mapping[str, Macro], hidden: frozenset[str], steps: Iterator[int]
) -> list[syntax.Token]:
    # Macros may double at each level and still come to nothing: the work is bounded, not only the result.
    if len(hidden) > syntax.MAX_DEPTH or next(steps, None) is None:
        raise syntax.NotReadable("macros nested too deep")
    spend(4)
    result: list[syntax.Token] = []
    index = 0
    while index < len(given):
        token = given[index]
        index += 1
        macro = macros.get(token.text) if token.kind == "name" and token.text not in hidden else None
        if macro is None:
            result.append(token)
        else:
            body = syntax.tokens(macro.body)
            if macro.parameters is not None:
                if index >= len(given) or given[index].text != "(":
                    result.append(token)
                    continue
                arguments, index = _macro_arguments(given, index)
                expanded = [_expand(argument, macros, hidden, steps) for argument in arguments]
                by_name = dict(zip(macro.parameters, expanded, strict=False))
                body = [inner for t in body for inner in (by_name.get(t.text, [t]) if t.kind == "name" else [t])]
            result.extend(_expand(body, macros, hidden | {token.text}, steps))
        if len(result) > syntax.MAX_TOKENS:
            raise syntax.NotReadable("macros grow too large")
    return result


def _macro_arguments(given: Sequence[syntax.Token], opening: int) -> tuple[list[list[syntax.Token]], int]:
    """The arguments of a macro whose "(" is at `opening`, and the index after its ")"."""
    arguments: list[list[syntax.Token]] = [[]]
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
    raise syntax.NotReadable("a macro call without its )")


Lookup = Callable[[str], syntax.Expression | None]

LARGEST = 1 << 64

_NOT_OF_TYPE = frozenset(["const", "volatile", "restrict", "__restrict__", "struct", "typename"])


@dataclass(slots=True)
class Constants:
    """What names stand for in a file: macros, constants, types."""

    macros: dict[str, Macro] = field(default_factory=dict)
    values: dict[str, syntax.Expression] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    def parse(self, text: str) -> syntax.Expression | None:
        """The expression that `text` is after macro replacement; None where it is not readable."""
        try:
            return syntax.parse_tokens(expand(syntax.tokens(text), self.macros))
        except syntax.NotReadable:
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

    def evaluate(self, expression: syntax.Expression | str | None, extra: Lookup | None = None) -> Value | None:
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
        except (ArithmeticError, ValueError, TypeError, syntax.NotReadable):
            return None

    def integer(self, expression: syntax.Expression | str | None, extra: Lookup | None = None) -> int | None:
        """See `evaluate`; where an integer is wanted, a float is truncated as in a conversion to int."""
        value = self.evaluate(expression, extra)
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return None
        return int(value)


@dataclass(slots=True)
class _Evaluation:
    constants: Constants
    extra: Lookup | None
    steps: int = 0
    values_by_name: dict[str, Value] = field(default_factory=dict)

    def value(self, expression: syntax.Expression, depth: int) -> Value:
        self.steps += 1
        spend(2)
        if depth > syntax.MAX_DEPTH or self.steps > MAX_STEPS:
            raise Unknown
        result = self._value(expression, depth)
        if abs(result) > LARGEST:
            raise Unknown
        return result

    def _value(self, expression: syntax.Expression, depth: int) -> Value:
        match expression:
            case syntax.Number(number):
                return number
            case syntax.Name(name):
                if name not in self.values_by_name:
                    # Once: constants defined through each other (a = b + b, b = c + c, …) double the work each time.
                    self.values_by_name[name] = self.value(self.definition(name), depth + 1)
                return self.values_by_name[name]
            case syntax.Unary(operator, operand):
                return unary(operator, self.value(operand, depth + 1))
            case syntax.Binary("&&", left, right):
                return int(bool(self.value(left, depth + 1)) and bool(self.value(right, depth + 1)))
            case syntax.Binary("||", left, right):
                return int(bool(self.value(left, depth + 1)) or bool(self.value(right, depth + 1)))
            case syntax.Binary(operator, left, right):
                return binary(operator, self.value(left, depth + 1), self.value(right, depth + 1))
            case syntax.Conditional(condition, then, otherwise):
                return self.value(then if self.value(condition, depth + 1) else otherwise, depth + 1)
            case syntax.Cast(type_text, operand):
                return self.cast(type_text, self.value(operand, depth + 1))
            case syntax.SizeOf(text):
                return self.size_of(text)
            case syntax.Call(function, arguments):
                if function not in FUNCTIONS:
                    raise Unknown
                return FUNCTIONS[function](*(self.value(a, depth + 1) for a in arguments))

    def definition(self, name: str) -> syntax.Expression:
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
