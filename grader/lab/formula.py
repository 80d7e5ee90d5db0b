"""Arithmetic in lab files and launches: "4 * threads * n * n", evaluated at the sizes of a case.

Numbers, names, `+ - * / // %`, `| & ^ << >> ~` of integers, unary minus, and the functions of `FUNCTIONS`; nothing else
is a formula.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache

Value = int | float

LONGEST = 400
LARGEST = 1e18


class FormulaError(ValueError):
    """The text is no formula, or has no value: says what is wrong with it."""


def _ceil_div(a: Value, b: Value) -> int:
    return -int(-a // b)


def _whole(number: Value) -> int:
    if not isinstance(number, int):
        raise TypeError(f"{number} is no integer")
    return number


def _shift(bits: Value) -> Value:
    """How far a number is shifted: no further than its 64 bits."""
    if not 0 <= bits < 64:
        raise ValueError(f"a shift by {bits} bits")
    return bits


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "min": min,
    "max": max,
    "ceil": lambda x: math.ceil(x),
    "ceil_div": _ceil_div,
    "sqrt": lambda x: math.sqrt(x),
    "log2": lambda x: math.log2(x),
}

_BINARY: Mapping[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.LShift: lambda number, bits: operator.lshift(number, _shift(bits)),
    ast.RShift: lambda number, bits: operator.rshift(number, _shift(bits)),
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.USub: operator.neg,
    ast.Invert: lambda number: -1 - _whole(number),
}


def names_of(text: str) -> set[str]:
    """The variables of a formula.  Raises FormulaError: `text` is no formula."""
    tree = _parse(text)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}


def evaluate(
    text: str, values: Mapping[str, Value], functions: Mapping[str, Callable[..., Value]] = FUNCTIONS
) -> Value:
    """The value of a formula.

    functions: those that it may call beside `FUNCTIONS`.

    Raises FormulaError: `text` is no formula, names what `values` lacks, or has no finite value.
    """
    try:
        result = _value(_parse(text), values, functions)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise FormulaError(f"{text!r}: {error}") from error
    if not math.isfinite(result):
        raise FormulaError(f"{text!r} has no finite value")
    return result


def integer(text: str, values: Mapping[str, Value]) -> int:
    """The value of a formula, fractions cut off.  Raises FormulaError: see `evaluate`."""
    return int(evaluate(text, values))


@lru_cache(maxsize=512)
def _parse(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise FormulaError(f"a formula has at most {LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormulaError(f"{text!r} is no formula") from error
    for node in ast.walk(tree):
        if isinstance(node, (ast.operator, ast.unaryop, ast.expr_context, ast.Name)):
            continue
        plain = (
            (isinstance(node, ast.Constant) and type(node.value) in (int, float))
            or (isinstance(node, ast.BinOp) and type(node.op) in _BINARY)
            or (isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY)
            or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords)
        )
        if not plain:
            raise FormulaError(f"{text!r} is no formula: {type(node).__name__} is not allowed")
    return tree


def _value(node: ast.expr, values: Mapping[str, Value], functions: Mapping[str, Callable[..., Value]]) -> Value:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            if name not in values:
                raise FormulaError(f"unknown name {name!r}")
            return values[name]
        case ast.UnaryOp(operand=operand, op=op):
            return _UNARY[type(op)](_value(operand, values, functions))
        case ast.BinOp(left=left, op=op, right=right):
            result = _BINARY[type(op)](_value(left, values, functions), _value(right, values, functions))
            if abs(result) > LARGEST:
                raise FormulaError("a value grows too large")
            return result
        case ast.Call(func=ast.Name(id=name), args=arguments):
            function = functions.get(name) or FUNCTIONS.get(name)
            if function is None:
                raise FormulaError(f"unknown function {name!r}")
            return function(*(_value(argument, values, functions) for argument in arguments))
    raise FormulaError(f"{type(node).__name__} is not allowed")
