"""What a block covers, read off the division in a launch's grid: `(n + 15) / 16` is 16 elements of `n`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.submission.cpp.scopes import MAX_STEPS, Scope
from grader.submission.effort import spend
from grader.submission.expressions.nodes import Binary, Call, Cast, Conditional, Expression, Name, Number, Unary
from grader.submission.kernels.symbolic import names_in

if TYPE_CHECKING:
    pass


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
