"""Launch configurations as formulas of the sizes: `threads * N * N * sizeof(float)` at whatever N is graded.

What a block covers is read off the division in a launch's grid: `(n + 15) / 16` is 16 elements of `n`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from grader.submission.cpp.constants import SIZES_OF_TYPES, Constants
from grader.submission.cpp.scopes import MAX_STEPS, Scope
from grader.submission.cpp.syntax import Binary, Call, Cast, Conditional, Expression, Name, Number, SizeOf, Unary
from grader.submission.lexical import spend

MAX_NODES = 200
# Constants made of each other double the work at each level; what fits a formula needs a fraction of this.
MAX_WALK = 2048
MAX_FORMULA = 300

_OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "//", "%": "%", "|": "|", "&": "&", "^": "^", "<<": "<<", ">>": ">>"}
_COMPARISONS = {
    "!=": "min(1, max({a} - {b}, {b} - {a}))",
    "==": "(1 - min(1, max({a} - {b}, {b} - {a})))",
    "<": "min(1, max(0, {b} - {a}))",
    ">": "min(1, max(0, {a} - {b}))",
    "<=": "(1 - min(1, max(0, {a} - {b})))",
    ">=": "(1 - min(1, max(0, {b} - {a})))",
}
"""Comparisons of integers as 0 or 1."""
_TRUTHS = frozenset([*_COMPARISONS, "&&", "||"])
_ROUNDED = {
    "ceil": "ceil({})",
    "ceilf": "ceil({})",
    "std::ceil": "ceil({})",
    "floor": "({} // 1)",
    "floorf": "({} // 1)",
    "std::floor": "({} // 1)",
}
_FRACTION = re.compile(r"\b(?:float|double)\b")
_FUNCTIONS = {"min": "min", "max": "max", "std::min": "min", "std::max": "max", "cuda::ceil_div": "ceil_div"}


def named_constants(constants: Constants) -> Constants:
    """`constants` with macros that stand for one number made constants, so that expressions keep their names."""
    numbers = {
        name: macro
        for name, macro in constants.macros.items()
        if macro.parameters is None and _is_closed(macro.body) and constants.integer(macro.body) is not None
    }
    macros = {name: macro for name, macro in constants.macros.items() if name not in numbers}
    named = replace(constants, macros=macros, values=dict(constants.values))
    for name, macro in numbers.items():
        # Read once these names are none of the macros: `#define HALF (N / 2)` goes on speaking of N.
        expression = named.parse(macro.body)
        if expression is not None:
            named.values[name] = expression
    return named


def inline(scope: Scope, expression: Expression, position: int, keep: Collection[str]) -> Expression:
    """`expression` with every local variable replaced by what it holds at `position`; names in `keep` stay."""
    return _Inlining(scope, position, keep).of(expression, 0)


def formula_of(
    expression: Expression | None, roles: Mapping[str, str], constants: Constants, *, top: bool = True
) -> str | None:
    """`expression` as a formula of the lab's sizes, None where something in it is not known or it names no size.

    roles: the size that each variable or constant stands for.
    """
    if expression is None:
        return None
    try:
        formula = _Formula(roles, constants)
        text = formula.text(expression, 0)
        return text if text is not None and (not top or formula.names_size(expression)) else None
    except _TooLong:
        return None


class _TooLong(Exception):
    """A formula, or the way to it, is too long."""


def _is_closed(body: str) -> bool:
    """Whether a macro's body means the same in any expression: one token, or in parentheses."""
    body = body.strip()
    return body.isalnum() or (body.startswith("(") and body.endswith(")") and body.find(")") == len(body) - 1)


class _Inlining:
    def __init__(self, scope: Scope, position: int, keep: Collection[str]) -> None:
        self.scope = scope
        self.position = position
        self.keep = keep
        self.nodes = 0

    def of(self, expression: Expression, depth: int) -> Expression:
        self.nodes += 1
        if depth > MAX_STEPS or self.nodes > MAX_NODES:
            return expression
        match expression:
            case Name(name):
                if name in self.keep:
                    return expression
                value = self.scope.value(expression, self.position)
                definition = self.scope.definition(name, self.position)
                if definition is not None and definition != expression:
                    return self.of(definition, depth + 1)
                return Number(value) if value is not None and name not in self.scope.constants.values else expression
            case Binary(operator, left, right):
                return Binary(operator, self.of(left, depth + 1), self.of(right, depth + 1))
            case Unary(operator, operand):
                return Unary(operator, self.of(operand, depth + 1))
            case Cast(type_text, operand):
                return Cast(type_text, self.of(operand, depth + 1))
            case Conditional(condition, then, otherwise):
                holds = self.scope.value(condition, self.position)
                if holds is not None and not self._keeps(condition):
                    return self.of(then if holds else otherwise, depth + 1)
                return Conditional(
                    self.of(condition, depth + 1), self.of(then, depth + 1), self.of(otherwise, depth + 1)
                )
            case Call(function, arguments):
                return Call(function, tuple(self.of(argument, depth + 1) for argument in arguments))
        return expression

    def _keeps(self, expression: Expression) -> bool:
        """Whether something in it stays by name: a size that the grader chooses decides."""
        return any(name in self.keep for name in names_in(expression))


def names_in(expression: Expression) -> Iterator[str]:
    """Every variable that `expression` names."""
    return (leaf.name for leaf in leaves_of(expression) if isinstance(leaf, Name))


def leaves_of(expression: Expression) -> Iterator[Name | Number | SizeOf]:
    """What `expression` is computed from: names, numbers, sizes of types."""
    match expression:
        case Name() | Number() | SizeOf():
            yield expression
        case Binary(_, left, right):
            yield from leaves_of(left)
            yield from leaves_of(right)
        case Cast(_, operand) | Unary(_, operand):
            yield from leaves_of(operand)
        case Conditional(condition, then, otherwise):
            for part in (condition, then, otherwise):
                yield from leaves_of(part)
        case Call(_, arguments):
            for argument in arguments:
                yield from leaves_of(argument)


class _Formula:
    """Writes expressions as formulas of sizes."""

    def __init__(self, roles: Mapping[str, str], constants: Constants) -> None:
        self.roles = roles
        self.constants = constants
        self.steps = 0
        self.of_size: dict[str, bool] = {}

    def step(self) -> None:
        spend(1)
        self.steps += 1
        if self.steps > MAX_WALK:
            raise _TooLong

    def names_size(self, expression: Expression, depth: int = 0) -> bool:
        """Whether a size stands in `expression`, or in a constant that it is made of."""
        self.step()
        if depth > MAX_STEPS:
            return False
        match expression:
            case Name(name):
                if name not in self.of_size:
                    definition = self.constants.values.get(name)
                    self.of_size[name] = name in self.roles or (
                        definition is not None and self.names_size(definition, depth + 1)
                    )
                return self.of_size[name]
            case Binary(_, left, right):
                parts: tuple[Expression, ...] = (left, right)
            case Unary(_, operand) | Cast(_, operand):
                parts = (operand,)
            case Conditional(condition, then, otherwise):
                parts = (condition, then, otherwise)
            case Call(_, arguments):
                parts = arguments
            case _:
                parts = ()
        return any(self.names_size(part, depth + 1) for part in parts)

    def text(self, expression: Expression, depth: int) -> str | None:
        """`expression` as a formula, None where something in it is not known."""
        self.step()
        text = self.written(expression, depth) if depth <= MAX_STEPS else None
        if text is not None and len(text) >= MAX_FORMULA:
            raise _TooLong
        return text

    def written(self, expression: Expression, depth: int) -> str | None:
        match expression:
            case Number(number):
                return str(number)
            case Name(name):
                if name in self.roles:
                    return self.roles[name]
                value = self.constants.integer(expression)
                # A constant may itself be made of one that stands for a size.
                definition = self.constants.values.get(name)
                if definition is not None and self.names_size(definition):
                    return self.text(definition, depth + 1)
                return None if value is None else str(value)
            case Cast(type_text, operand):
                inner = self.text(operand, depth + 1)
                cuts = self.is_fraction(operand, depth + 1) and not _FRACTION.search(type_text)
                return inner if inner is None or not cuts else f"({inner} // 1)"
            case SizeOf(text):
                dtype = self.constants.dtype(text)
                return "8" if text.endswith("*") else str(SIZES_OF_TYPES[dtype]) if dtype else None
            case Binary(operator, left, right) if operator in _OPERATORS:
                parts = [self.text(left, depth + 1), self.text(right, depth + 1)]
                sign = "/" if operator == "/" and self.is_fraction(expression, depth + 1) else _OPERATORS[operator]
                return None if None in parts else f"({parts[0]} {sign} {parts[1]})"
            case Binary("&&" | "||" as operator, left, right):
                parts = [self.truth(left, depth), self.truth(right, depth)]
                return None if None in parts else f"{'min' if operator == '&&' else 'max'}({parts[0]}, {parts[1]})"
            case Unary("!", operand):
                holds = self.truth(operand, depth)
                return None if holds is None else f"(1 - {holds})"
            case Unary("-" | "~" | "+" as operator, operand):
                inner = self.text(operand, depth + 1)
                return inner if inner is None or operator == "+" else f"({operator}{inner})"
            case Binary(operator, left, right) if operator in _COMPARISONS:
                parts = [self.text(left, depth + 1), self.text(right, depth + 1)]
                return None if None in parts else _COMPARISONS[operator].format(a=parts[0], b=parts[1])
            case Conditional(Binary(operator, left, right), then, otherwise) if operator in {"<", "<=", ">", ">="}:
                # `n < 1024 ? n : 1024` and its kin are a minimum or a maximum.
                if {left, right} != {then, otherwise}:
                    return self.either(Binary(operator, left, right), then, otherwise, depth)
                smaller = (then == left) == (operator in {"<", "<="})
                parts = [self.text(left, depth + 1), self.text(right, depth + 1)]
                return None if None in parts else f"{'min' if smaller else 'max'}({parts[0]}, {parts[1]})"
            case Call(function, arguments) if function in _FUNCTIONS:
                texts = [self.text(argument, depth + 1) for argument in arguments]
                return None if None in texts else f"{_FUNCTIONS[function]}({', '.join(str(t) for t in texts)})"
            case Conditional(condition, then, otherwise):
                return self.either(condition, then, otherwise, depth)
            case Call(function, (argument,)) if function in _ROUNDED:
                inner = self.text(argument, depth + 1)
                return None if inner is None else _ROUNDED[function].format(inner)
        return None

    def either(self, condition: Expression, then: Expression, otherwise: Expression, depth: int) -> str | None:
        """`condition ? then : otherwise` as arithmetic, the condition being 0 or 1."""
        parts = [self.truth(condition, depth), self.text(then, depth + 1), self.text(otherwise, depth + 1)]
        return None if None in parts else f"({parts[2]} + {parts[0]} * ({parts[1]} - {parts[2]}))"

    def truth(self, condition: Expression, depth: int) -> str | None:
        """Whether `condition` holds, as 0 or 1."""
        holds = self.text(condition, depth + 1)
        is_truth = (isinstance(condition, Binary) and condition.operator in _TRUTHS) or (
            isinstance(condition, Unary) and condition.operator == "!"
        )
        return holds if holds is None or is_truth else _COMPARISONS["!="].format(a=holds, b="0")

    def is_fraction(self, expression: Expression, depth: int) -> bool:
        """Whether C++ computes it with fractions: something in it is no integer."""
        self.step()
        if depth > MAX_STEPS:
            return False
        match expression:
            case Number(number):
                return isinstance(number, float)
            case Name(name):
                value = self.constants.values.get(name)
                return name not in self.roles and value is not None and self.is_fraction(value, depth + 1)
            case Cast(type_text, operand):
                return _FRACTION.search(type_text) is not None
            case Unary(_, operand):
                return self.is_fraction(operand, depth + 1)
            case Binary(operator, left, right) if operator in "+-*/":
                return self.is_fraction(left, depth + 1) or self.is_fraction(right, depth + 1)
            case Conditional(_, then, otherwise):
                return self.is_fraction(then, depth + 1) or self.is_fraction(otherwise, depth + 1)
            case Call(function, _):
                return function in _ROUNDED
        return False


# What a block covers, read off the division in a launch's grid: `(n + 15) / 16` is 16 elements of `n`.

# Students' and samples' own ways to round a division up.
_DIVIDING = re.compile(r"(?i)\w*div\w*|\w*ceil\w*|\w*blocks?\w*")
_ROUNDING = frozenset(["ceil", "ceilf", "floor", "floorf", "round", "int"])
_ONE = Number(1)
# Divisions in a grid's expression are looked for through the variables that it names.
MAX_DIVISION_STEPS = 2048


def divisor_of(scope: Scope, grid: Expression, position: int, arguments: tuple[str, ...]) -> tuple[int | None, str]:
    """How many elements a block covers along an axis whose number of blocks is `grid`, and the variable divided.

    Read from the division in it, however it is rounded: `n / 16`, `(n + 15) / 16`, `(n - 1) / 16 + 1`, `n >> 4`,
    `ceil(n / 16.0)`, `div_up(n, 16)`, `n / 16 + (n % 16 != 0)`.
    """
    divisions = list(_divisions(scope, grid, position, 0, iter(range(MAX_DIVISION_STEPS))))
    values = {scope.value(divisor, position) for _dividend, divisor in divisions}
    variable = ""
    for dividend, divisor in divisions:
        in_divisor = set(names_in(divisor))
        names = [name for name in names_in(dividend) if name not in in_divisor]
        # `n * n / 256` runs over a product: no one variable.
        if len(set(names)) == 1 and not _has_product(dividend):
            variable = names[0]
    if len(values) == 1:
        value = values.pop()
        return (value, variable) if value is not None and value > 0 else (None, variable)
    if not divisions and isinstance(grid, Name) and grid.name in arguments:
        # One block an element: `kernel<<<n, 256>>>(a, n)`.
        return 1, grid.name
    return None, variable


def same_as_block(scope: Scope, grid: Expression, block_axis: Expression, threads: int, position: int) -> int | None:
    """`threads` where the grid divides by the very variable that the block has along this axis."""
    for _dividend, divisor in _divisions(scope, grid, position, 0, iter(range(MAX_DIVISION_STEPS))):
        if divisor == block_axis:
            return threads
    return None


def _divisions(
    scope: Scope, expression: Expression, position: int, depth: int, steps: Iterator[int]
) -> Iterator[tuple[Expression, Expression]]:
    """Dividend and divisor of every division in `expression`, through the variables that it names.

    steps: as many as the walk may take; variables made of each other double them at each level.
    """
    spend(1)
    if depth > MAX_STEPS or next(steps, None) is None:
        return
    match expression:
        case Name():
            resolved, inner, place = scope.resolve(expression, position)
            if not isinstance(resolved, Name) and inner is scope:
                yield from _divisions(inner, resolved, place, depth + 1, steps)
        case Binary("/", left, right):
            # n / 16 / 4
            inner_divisions = list(_divisions(scope, left, position, depth + 1, steps))
            if len(inner_divisions) == 1 and isinstance(left, Binary):
                dividend, divisor = inner_divisions[0]
                yield dividend, Binary("*", divisor, right)
            else:
                yield left, right
        case Binary(">>", left, right):
            yield left, Binary("<<", _ONE, right)
        case Binary("%", _, _):
            return
        case Binary(_, left, right):
            yield from _divisions(scope, left, position, depth + 1, steps)
            yield from _divisions(scope, right, position, depth + 1, steps)
        case Cast(_, operand) | Unary(_, operand):
            yield from _divisions(scope, operand, position, depth + 1, steps)
        case Conditional(_, then, otherwise):
            yield from _divisions(scope, then, position, depth + 1, steps)
            yield from _divisions(scope, otherwise, position, depth + 1, steps)
        case Call(function, arguments):
            if len(arguments) == 2 and function not in _ROUNDING and _DIVIDING.fullmatch(function):
                yield arguments[0], arguments[1]
            else:
                for argument in arguments:
                    yield from _divisions(scope, argument, position, depth + 1, steps)
        case _:
            return


def _has_product(expression: Expression) -> bool:
    match expression:
        case Binary("*", left, right):
            return bool(list(names_in(left))) and bool(list(names_in(right)))
        case Binary(_, left, right):
            return _has_product(left) or _has_product(right)
        case Cast(_, operand):
            return _has_product(operand)
    return False
