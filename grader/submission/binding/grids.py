"""How many blocks a program launches at sizes other than its own.

That is what its text says, where that agrees with what was seen.  Where the text says nothing that can be believed, the
number follows from what was seen: the sizes covered, rounded up or down, or the same number at any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from math import isqrt, prod

from grader.lab import formula
from grader.lab.records import Lab
from grader.submission.cpp.syntax import Binary, Call, Cast, Expression, Name, Number, Unary
from grader.submission.kernels.records import LaunchSite

_AXES = 3
_LARGE = 8
"""A number from here on that is equal to a size is that size."""
_LOOPED = 7
"""A block of which each thread has fewer than two to this power of elements along an axis."""
THE_SIZE = Name("(the size)")
"""What an axis runs over, whatever the program calls it."""


def formulas_of(
    site: LaunchSite,
    formula_of: Callable[[Expression, str], str | None],
    covers: tuple[str, ...],
    tile: tuple[int, ...],
    own: Sequence[Mapping[str, int]],
    lab: Lab,
    probes: Sequence[tuple[tuple[int, int, int], Sequence[Mapping[str, int]]]],
) -> tuple[str, ...]:
    """Formulas of the sizes for each axis of the grid; () where the grid covers the sizes, rounded up.

    formula_of: a host expression as a formula of the sizes, None where it names none; last the size that a name stands
      for which may be several.
    covers, tile: what each axis runs over and how many elements a block covers along it, as it would be without this.
    own: the program's own sizes, as far as they are known: several where it works on arrays of which the lab's sides
      are equal and its own are not.
    probes: grids at other sizes, with these.
    """
    count = max(len(covers), len(site.grid_expressions))
    formulas = []
    for axis in range(min(count, _AXES)):
        over = covers[axis] if axis < len(covers) else ""
        read = _read(site, axis, formula_of, over, own)
        if read is not None and len(lab.equal_sizes) == 2 and axis < len(site.grid_expressions):
            read = _of_both_sides(site.grid_expressions[axis], formula_of, lab.equal_sizes) or read
        of_axis = [(grid[axis], sizes) for grid, sizes in probes]
        formulas.append(_axis(site, axis, read, covers, tile, own, of_axis))
    usual_all = [_rounded_up(over, step) for over, step in zip(covers, tile, strict=False)]
    return () if _same(formulas, usual_all, tile, lab) else tuple(formulas)


def _read(
    site: LaunchSite,
    axis: int,
    formula_of: Callable[[Expression, str], str | None],
    over: str,
    own: Sequence[Mapping[str, int]],
) -> str | None:
    """The number of blocks along an axis as the text says it; None where that does not follow from the sizes.

    A number that is divided there, and is what the axis runs over, is that size: 1600 of `1600 / 32` at n = 1600.
    """
    if axis >= len(site.grid_expressions):
        return None
    expression = site.grid_expressions[axis]
    read = formula_of(expression, over)
    value = own[0].get(over) if own and site.observed and not site.changed[0] else None
    if read is not None or value is None or value < _LARGE:
        return read
    return formula_of(_with_size(expression, value), over)


def _of_both_sides(
    expression: Expression, formula_of: Callable[[Expression, str], str | None], sides: Sequence[str]
) -> str | None:
    """A square that is written by one name, `(n / 32) * (n / 32)`, as the product of both sides, which may be of
    different lengths; None where there is none."""
    match expression:
        case Cast(_to, operand):
            return _of_both_sides(operand, formula_of, sides)
        case Binary(operator, left, right):
            one, other = (formula_of(right, side) for side in sides)
            if operator == "*" and one is not None and one == formula_of(left, sides[0]) and one != other:
                return f"({one} * {other})"
            product_of_sides = _of_both_sides(left, formula_of, sides)
            if product_of_sides is not None and isinstance(right, Number) and operator in ("+", "-", "/"):
                return f"({product_of_sides} {'//' if operator == '/' else operator} {right.value})"
    return None


def _with_size(expression: Expression, value: int) -> Expression:
    """`expression` with `THE_SIZE` in place of a number that is divided."""
    match expression:
        case Binary(operator, left, right):
            right = right if operator in ("/", "%", ">>") else _with_size(right, value)
            return Binary(operator, _with_size(left, value), right)
        case Unary(operator, operand):
            return Unary(operator, _with_size(operand, value))
        case Cast(to, operand):
            return Cast(to, _with_size(operand, value))
        case Call(function, arguments):
            return Call(function, tuple(_with_size(argument, value) for argument in arguments))
        case Number(number) if number == value:
            return THE_SIZE
    return expression


_ROUNDED = (
    ("ceil_div({over}, {step})", "Each element has a thread: (n + 255) / 256."),
    ("(({over}) // {step})", "The last elements have none: n / 256, which comes first where the text divides so."),
    ("(({over} - 1) // {step})", "One block is missing: (n - 1) / 256."),
    ("(({over}) // {step} + 1)", "One too many where the size is a multiple: n / 256 + 1."),
)
"""How many blocks an axis has, in order; the first that gives as many as were seen, and why a program has so many."""


def _axis(
    site: LaunchSite,
    axis: int,
    read: str | None,
    covers: tuple[str, ...],
    tile: tuple[int, ...],
    own: Sequence[Mapping[str, int]],
    probes: Sequence[tuple[int, Sequence[Mapping[str, int]]]],
) -> str:
    blocks = site.grid[axis] if site.grid is not None else None
    usual = _rounded_up(covers[axis], tile[axis]) if axis < len(covers) else "1"

    def agrees(text: str) -> bool:
        return all(_may_be(text, sizes, count) for count, sizes in probes)

    if read is not None and (blocks is None or _may_be(read, own, blocks)) and agrees(read):
        return read
    if blocks is None or axis >= len(covers):
        return usual if blocks is None else str(blocks)
    if site.offset and all(_reaches(usual, sizes, count) for count, sizes in [(blocks, own), *probes]):
        # The last of several parts may have blocks that no element is left for.
        return usual
    expression = site.grid_expressions[axis] if axis < len(site.grid_expressions) else None
    if not any((_extent(covers[axis], sizes) or 0) > 0 for sizes in own):
        return f"(({covers[axis]}) // {tile[axis]})" if _rounds_down(expression) else usual
    threads = site.block[axis] if site.block is not None and axis < len(covers) else 0
    steps = [step for step in dict.fromkeys([tile[axis], threads]) if step > 0]
    over = covers[axis]
    if any(-(-extent // step) == blocks for extent in _oblong(over, own) for step in steps) and agrees(usual):
        return usual
    patterns = [pattern for pattern, _why in _ROUNDED]
    if _rounds_down(expression):
        patterns[:2] = reversed(patterns[:2])
    models = [pattern.format(over=over, step=step) for pattern in patterns for step in steps]
    if axis == 0 and len(covers) == 2 and site.grid is not None and site.grid[1] == 1:
        # Tiles numbered along one axis.
        sides = [side for side in dict.fromkeys([isqrt(threads), tile[0], tile[1]]) if side > 1]
        models += [" * ".join(f"(({over}) // {side})" for over in covers) for side in sides]
        models += [" * ".join(_rounded_up(over, side) for over in covers) for side in sides]
    if blocks > 1 and threads:
        # A block that goes over its tile in a loop, as its text does not tell: a power of two of its threads.
        models += [_rounded_up(over, threads << power) for power in range(1, _LOOPED)]
    fitting = (text for text in models if any(value_at(text, sizes) == blocks for sizes in own) and agrees(text))
    # A launch at sizes that the lab never has says nothing where nothing fits it.
    return next(fitting, str(blocks) if len(own) == 1 else usual)


def is_unsure(
    site: LaunchSite,
    formula_of: Callable[[Expression, str], str | None],
    covers: tuple[str, ...],
    tile: tuple[int, ...],
    own: Sequence[Mapping[str, int]],
    probes: Sequence[tuple[tuple[int, int, int], Sequence[Mapping[str, int]]]],
) -> bool:
    """Whether it takes a run at other sizes to see how a grid that was seen is rounded.

    A program's own loop over multiples of the block says nothing of it.  probes: as of `formulas_of`.
    """
    if site.grid is None:
        return False
    for axis in range(min(len(covers), _AXES)):
        read = _read(site, axis, formula_of, covers[axis], own)
        if site.grid[axis] <= 1 or (read is not None and _may_be(read, own, site.grid[axis])):
            continue
        if site.probes and axis < len(site.grid_expressions) and isinstance(site.grid_expressions[axis], Number):
            # The same number at each size, by text and by sight.
            continue
        seen = [(site.grid[axis], own), *((grid[axis], sizes) for grid, sizes in probes)]
        up, down = (
            all(_may_be(pattern.format(over=covers[axis], step=tile[axis]), sizes, count) for count, sizes in seen)
            for pattern, _why in _ROUNDED[:2]
        )
        if not site.probes or (up and down):
            return True
    return False


def _rounds_down(expression: Expression | None) -> bool:
    """Whether an expression is a mere division of integers, whatever is divided: `B.width / block.x`."""
    match expression:
        case Binary("/", left, right):
            parts = (left, right)
            return not any(isinstance(part, Cast) or _is_sum(part) or _is_fraction(part) for part in parts)
    return False


def dividend(expression: Expression) -> Expression | None:
    """The number or the name that is divided by a name alone, as `n` of `n / threads.x`; None where there is none."""
    match expression:
        case Binary("/", Name() | Number(int()) as divided, Name()):
            return divided
    return None


def _is_sum(expression: Expression) -> bool:
    return isinstance(expression, Binary) and expression.operator in ("+", "-")


def _is_fraction(expression: Expression) -> bool:
    return isinstance(expression, Number) and isinstance(expression.value, float)


def _rounded_up(over: str, step: int) -> str:
    return f"ceil_div({over}, {step})"


def _extent(covered: str, own: Mapping[str, int]) -> int | None:
    names = covered.split("*")
    return prod(own[name] for name in names) if all(name in own for name in names) else None


def _oblong(covered: str, own: Sequence[Mapping[str, int]]) -> list[int]:
    """Elements of a matrix whose sides are different ones of a program's sizes, where the lab's matrices are square."""
    names = covered.split("*")
    if len(names) < 2 or len(set(names)) == len(names) or len(own) < 2:
        return []
    values = [sorted({sizes[name] for sizes in own if name in sizes}) for name in names]
    return [prod(sides) for sides in product(*values) if len(set(sides)) > 1]


def _may_be(text: str, choices: Sequence[Mapping[str, int]], blocks: int) -> bool:
    """Whether a formula gives so many blocks at any of some sizes, or has no value there."""
    return any(value_at(text, sizes) in (blocks, None) for sizes in choices)


def value_at(text: str, sizes: Mapping[str, int]) -> int | None:
    """What a formula comes to at some sizes, None where they do not tell."""
    try:
        return formula.integer(text, sizes)
    except formula.FormulaError:
        return None


def _reaches(text: str, choices: Sequence[Mapping[str, int]], blocks: int) -> bool:
    """Whether a formula gives no more blocks than these, at any of some sizes."""
    return any((needed := value_at(text, sizes)) is not None and needed <= blocks for sizes in choices)


def _same(formulas: list[str], usual: list[str], tile: tuple[int, ...], lab: Lab) -> bool:
    """Whether two grids have as many blocks at whatever sizes."""
    usual = [*usual, *["1"] * (len(formulas) - len(usual))]
    return all(
        [value_at(text, sizes) for text in formulas] == [value_at(text, sizes) for text in usual]
        for sizes in _samples(tile, lab)
    )


def _samples(tile: tuple[int, ...], lab: Lab) -> Iterator[dict[str, int]]:
    """Sizes around multiples of what a block covers, equal and different ones."""
    step = max(tile, default=1)
    values = (1, step - 1, step, step + 1, 3 * step, 5 * step + 1, 1009)
    names = lab.size_names
    if set(lab.equal_sizes) == set(names):
        yield from (dict.fromkeys(names, value) for value in values if value > 0)
    for chosen in product([v for v in values if v > 0], repeat=min(len(names), 2)):
        yield {name: chosen[index % len(chosen)] for index, name in enumerate(names)}
