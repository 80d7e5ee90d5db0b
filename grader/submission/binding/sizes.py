"""Sizes as a program has them: at which it made its launch, and how many blocks it launches at others.

How many blocks it launches is what its text says, where that agrees with what was seen.  Where the text says nothing
that can be believed, the number follows from what was seen: the sizes covered, rounded up or down, or the same number
at any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from math import isqrt, prod
from typing import Any

from grader.lab import formula
from grader.lab.records import Lab, Parameter
from grader.submission.binding.roles import sizes_in
from grader.submission.compile_time import MAX_ELEMENTS, SET_BY_HOST, match_sizes
from grader.submission.cpp.constants import SIZES_OF_TYPES
from grader.submission.cpp.syntax import Binary, Call, Cast, Expression, Name, Number, Unary
from grader.submission.kernels.records import Kernel, LaunchSite, SeenArgument


@dataclass(frozen=True, slots=True)
class CompileTime:
    """What is fixed when the kernel is compiled: constants that it depends on and its template's arguments, by name.

    changeable: the constants whose definitions the grader can change.
    """

    constants: Mapping[str, int] = field(default_factory=dict)
    changeable: frozenset[str] = frozenset()
    template: Mapping[str, str] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    """Those of the constants whose values the host was seen to copy to the device."""
    elements: Mapping[int, int] = field(default_factory=dict)
    """By the place of an array among the parameters, the elements that it was seen to have in all."""
    from_host: Mapping[str, str] = field(default_factory=dict)
    """The constants that lie in constant memory and that the file gives no value, with the variable of the host that
    is copied there, "" where that is not known."""


@dataclass(frozen=True, slots=True)
class NamedSizes:
    """The sizes that an interpretation leaves to constants and to the template; see `Interpretation`."""

    constants: tuple[tuple[str, str], ...]
    template: tuple[tuple[str, str], ...]
    pinned: tuple[tuple[str, int], ...]
    declared: tuple[tuple[str, int], ...]
    sources: tuple[tuple[str, str], ...] = ()
    """For constants that the host fills, the variable that it copies there."""

    @property
    def of_host(self) -> dict[str, str]:
        """Sizes by the host's variables that are copied into constants."""
        sources = dict(self.sources)
        return {source: role for role, name in self.constants if (source := sources.get(name))}

    @classmethod
    def of(cls, roles: tuple[str, ...], fixed: CompileTime, lab: Lab) -> NamedSizes:
        """The lab's sizes that are not among the `roles` of the kernel's parameters."""
        in_template = match_sizes(list(fixed.template), lab, sizes_in(roles, lab))
        by_name = {name: role for role, name in in_template.items()}
        template = tuple((text, by_name.get(name, "")) for name, text in fixed.template.items())
        settled = sizes_in(roles, lab)
        matched = match_sizes(list(fixed.constants), lab, {*settled, *in_template})
        matched |= _by_value(roles, fixed, lab, {*settled, *in_template, *matched}, set(matched.values()))
        matched |= _of_host(roles, fixed, lab, {*settled, *in_template, *matched}, set(matched.values()))
        built_in = [(role, fixed.constants[name]) for role, name in matched.items() if name not in fixed.changeable]
        settled = {*settled, *dict(built_in)}
        given = {*settled, *in_template, *matched}
        built_in += [
            (p.name, p.usual) for p in lab.parameters if p.is_size and p.usual is not None and p.name not in given
        ]
        constants = tuple((role, name) for role, name in matched.items() if name in fixed.changeable)
        constants += _same_in_array(constants, fixed)
        declared = tuple((role, value) for role, name in constants if (value := fixed.constants[name]) != SET_BY_HOST)
        sources = tuple(fixed.from_host.items())
        return cls(constants, template if in_template else (), tuple(built_in), declared, sources)

    def readings(self, lab: Lab) -> list[NamedSizes]:
        """This, and with two constants in each other's place whose names are not the task's own: M and N."""
        by_role = dict(self.constants)
        in_array = [role for role, name in self.constants if "[" in name]
        if len(in_array) > 2 and len(set(in_array)) == len(in_array):
            return [self._in_order(dict(zip(in_array, order, strict=True))) for order in permutations(in_array)]
        if len(lab.equal_sizes) != 2 or not set(lab.equal_sizes) <= set(by_role):
            return [self]
        first, second = lab.equal_sizes
        if by_role[first].lower() == first and by_role[second].lower() == second:
            return [self]
        other = {first: second, second: first}

        def swapped(pairs: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
            values = dict(pairs)
            return tuple((role, values.get(other.get(role, role), value)) for role, value in pairs)

        # A size may be several elements of an array.
        constants = [(other.get(role, role), name) for role, name in self.constants]
        constants.sort(key=lambda pair: list(by_role).index(pair[0]))
        return [self, replace(self, constants=tuple(constants), declared=swapped(self.declared))]

    def _in_order(self, others: Mapping[str, str]) -> NamedSizes:
        """This with the constant of another size in the place of each size's."""
        constants, declared = dict(self.constants), dict(self.declared)
        return replace(
            self,
            constants=tuple((role, constants[others.get(role, role)]) for role in constants),
            declared=tuple((role, declared.get(others.get(role, role), value)) for role, value in declared.items()),
        )

    def all_roles(self) -> set[str]:
        """The sizes that can be chosen when the kernel is compiled."""
        return {role for role, _name in self.constants} | {role for _text, role in self.template if role}


def _by_value(roles: Sequence[str], fixed: CompileTime, lab: Lab, settled: set[str], taken: set[str]) -> dict[str, str]:
    """The constant, whatever it is called, of the value that the only size left has by the lengths of the arrays."""
    left = [name for name in lab.size_names if name not in settled and lab.parameter(name).usual is None]
    if not left or (len(left) > 1 and set(left) != set(lab.equal_sizes)):
        return {}
    arrays = {p.name: p.shape for p in lab.parameters if p.is_array}
    values = set()
    for place, elements in fixed.elements.items():
        sizes: dict[str, int] = {}
        shape = arrays.get(roles[place], ()) if place < len(roles) else ()
        if all(axis in left for axis in shape if isinstance(axis, str)):
            solve(sizes, shape, elements)
        values |= {sizes[name] for name in left if name in sizes}
    names = [n for n, value in fixed.constants.items() if value in values and n not in taken and n in fixed.changeable]
    return {left[0]: names[0]} if len(values) == 1 and len(names) == 1 else {}


def _of_host(roles: Sequence[str], fixed: CompileTime, lab: Lab, settled: set[str], taken: set[str]) -> dict[str, str]:
    """What the host fills constant memory with that is the sizes left, by the lengths that arrays were seen to have.

    Where no lengths were seen, elements of an array, and as many numbers as there are sizes, in the lab's order.
    """
    names = [
        name
        for name, value in fixed.constants.items()
        if name in fixed.changeable
        and name not in taken
        and ("[" in name or (name in fixed.filled and value != SET_BY_HOST))
    ][:MAX_ELEMENTS]
    left = [name for name in lab.size_names if name not in settled and lab.parameter(name).usual is None]
    shapes = {p.name: p.shape for p in lab.parameters if p.is_array}
    lengths = [
        (shapes[roles[place]], elements)
        for place, elements in fixed.elements.items()
        if place < len(roles) and roles[place] in shapes
    ]
    for chosen in permutations(names, len(left)) if left else ():
        values = {role: fixed.constants[name] for role, name in zip(left, chosen, strict=True)}
        fits = [
            prod(values[axis] if isinstance(axis, str) else axis for axis in shape) == elements
            for shape, elements in lengths
            if all(axis in values for axis in shape if isinstance(axis, str))
        ]
        if SET_BY_HOST not in values.values() and not all(fits):
            continue
        if not fits and len(names) > len(left) and not all("[" in name for name in chosen):
            continue
        return dict(zip(left, chosen, strict=True))
    return {}


def _same_in_array(constants: Sequence[tuple[str, str]], fixed: CompileTime) -> tuple[tuple[str, str], ...]:
    """Further elements of an array of sizes that were as large as one of them: three of square matrices' sides."""
    of_arrays = {name.partition("[")[0] for _role, name in constants if "[" in name}
    by_value = {fixed.constants[name]: role for role, name in reversed(constants) if "[" in name}
    taken = {name for _role, name in constants}
    return tuple(
        (by_value[value], name)
        for name, value in fixed.constants.items()
        if name not in taken and name in fixed.changeable and "[" in name and value in by_value
        if name.partition("[")[0] in of_arrays
    )


def solve(sizes: dict[str, int], shape: Sequence[str | int], elements: int) -> None:
    """Add the size that is left over in an array's shape, from the number of its elements."""
    unknown = [axis for axis in shape if isinstance(axis, str) and axis not in sizes]
    rest = prod(sizes[axis] if isinstance(axis, str) else axis for axis in shape if axis not in unknown)
    if unknown and rest and elements % rest == 0:
        side = round((elements // rest) ** (1 / len(unknown)))
        if side ** len(unknown) == elements // rest:
            sizes |= dict.fromkeys(unknown, side)


@dataclass(frozen=True, slots=True)
class OwnSizes:
    """The sizes at which a program made its launch of a kernel, with these roles for its parameters.

    site: the launch, None where none is known.  named: the sizes that the kernel is not handed.
    """

    kernel: Kernel
    roles: tuple[str, ...]
    site: LaunchSite | None
    named: NamedSizes
    lab: Lab

    def sizes(self) -> dict[str, int]:
        """The sizes at which the program made its launch, as far as its arguments and constants tell."""
        return self.choices()[0]

    def choices(self) -> list[dict[str, int]]:
        """The same, and what else they may be: a program may multiply oblong matrices where the lab's are square."""
        if self.site is None:
            return [{}]
        return self.choices_of(self.site.seen, self.constant_sizes())

    def choices_of(
        self, arguments: Sequence[SeenArgument], constants: Mapping[str, int] | None = None
    ) -> list[dict[str, int]]:
        """`sizes_of`, and the same with each other value that is handed in for one of the sizes."""
        first = self.sizes_of(arguments, constants)
        by_name = {argument.name: argument.value for argument in arguments if argument.name}
        values = [
            (role, by_name.get(parameter.name))
            for parameter, role in zip(self.kernel.parameters, self.roles, strict=True)
            if role in self.lab.size_names
        ]
        others = [{**first, r: v} for r, v in values if isinstance(v, int) and v != first.get(r)]
        return [first, *others]

    def constant_sizes(self) -> dict[str, int]:
        """The sizes that were constants of the program when it made its launch."""
        declared = dict(self.named.declared)
        if self.site is not None and self.site.changed[0]:
            # The others may be made of the one that was changed.
            name, value = self.site.changed
            declared = {role: value for role, constant in self.named.constants if constant == name}
        return dict(self.named.pinned) | declared

    def sizes_of(self, arguments: Sequence[SeenArgument], constants: Mapping[str, int] | None) -> dict[str, int]:
        """The sizes at which a launch with these arguments was made; constants: some of them."""
        sizes = dict(constants or {})
        by_name = {argument.name: argument for argument in arguments if argument.name}
        arrays: list[tuple[str, SeenArgument, str]] = []
        for parameter, role in zip(self.kernel.parameters, self.roles, strict=True):
            argument = by_name.get(parameter.name)
            if argument is None:
                continue
            if role in self.lab.size_names and isinstance(argument.value, int):
                sizes.setdefault(role, argument.value)
            elif argument.buffer_bytes and parameter.is_pointer:
                arrays.append((role, argument, parameter.dtype or self.lab.parameter(role).dtype))
        for size in self.lab.parameters:
            # A window, "=2 * radius + 1", tells the radius where that is the usual one.
            if size.is_size and size.usual is not None and size.name not in sizes and self._is_usual(size, by_name):
                sizes[size.name] = size.usual
        for role, argument, dtype in arrays:
            solve(sizes, self.lab.parameter(role).shape, argument.buffer_bytes // SIZES_OF_TYPES.get(dtype, 4))
        return sizes

    def _is_usual(self, size: Parameter, arguments: Mapping[str, SeenArgument]) -> bool:
        """Whether a number was handed in that follows from this size alone, and is what follows from the usual one."""
        for parameter, role in zip(self.kernel.parameters, self.roles, strict=True):
            value = arguments[parameter.name].value if parameter.name in arguments else None
            if role.startswith("=") and value is not None and formula.names_of(role[1:]) == {size.name}:
                return abs(formula.evaluate(role[1:], {size.name: size.usual or 0}) - value) <= 1e-6 * abs(value)
        return False


_AXES = 3
_LARGE = 8
"""A number from here on that is equal to a size is that size."""
LOOPED = 7
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
    expression = site.grid_expressions[axis] if axis < len(site.grid_expressions) else None
    if not any((_extent(covers[axis], sizes) or 0) > 0 for sizes in own):
        return f"(({covers[axis]}) // {tile[axis]})" if _rounds_down(expression) else usual
    threads = site.block[axis] if site.block is not None and axis < len(covers) else 0
    steps = [step for step in dict.fromkeys([tile[axis], threads]) if step > 0]
    over = covers[axis]
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
        models += [_rounded_up(over, threads << power) for power in range(1, LOOPED)]
    fitting = (text for text in models if any(_value(text, sizes) == blocks for sizes in own) and agrees(text))
    # A launch at sizes that the lab never has says nothing where nothing fits it.
    return next(fitting, str(blocks) if len(own) == 1 else usual)


def is_unsure(
    site: LaunchSite,
    formula_of: Callable[[Expression, str], str | None],
    covers: tuple[str, ...],
    own: Sequence[Mapping[str, int]],
) -> bool:
    """Whether it takes a run at other sizes to see how a grid that was seen is rounded."""
    if site.grid is None or site.probes:
        return False
    for axis in range(min(len(covers), _AXES)):
        read = _read(site, axis, formula_of, covers[axis], own)
        if site.grid[axis] > 1 and (read is None or not _may_be(read, own, site.grid[axis])):
            return True
    return False


def _rounds_down(expression: Expression | None) -> bool:
    """Whether an expression is a mere division of integers, whatever is divided: `B.width / block.x`."""
    match expression:
        case Binary("/", left, right):
            parts = (left, right)
            return not any(isinstance(part, Cast) or _is_sum(part) or _is_fraction(part) for part in parts)
    return False


def _is_sum(expression: Expression) -> bool:
    return isinstance(expression, Binary) and expression.operator in ("+", "-")


def _is_fraction(expression: Expression) -> bool:
    return isinstance(expression, Number) and isinstance(expression.value, float)


def _rounded_up(over: str, step: int) -> str:
    return f"ceil_div({over}, {step})"


def _extent(covered: str, own: Mapping[str, int]) -> int | None:
    names = covered.split("*")
    return prod(own[name] for name in names) if all(name in own for name in names) else None


def _may_be(text: str, choices: Sequence[Mapping[str, int]], blocks: int) -> bool:
    """Whether a formula gives so many blocks at any of some sizes, or has no value there."""
    return any(_value(text, sizes) in (blocks, None) for sizes in choices)


def _value(text: str, sizes: Mapping[str, int]) -> int | None:
    try:
        return formula.integer(text, sizes)
    except formula.FormulaError:
        return None


def _same(formulas: list[str], usual: list[str], tile: tuple[int, ...], lab: Lab) -> bool:
    """Whether two grids have as many blocks at whatever sizes."""
    usual = [*usual, *["1"] * (len(formulas) - len(usual))]
    return all(
        [_value(text, sizes) for text in formulas] == [_value(text, sizes) for text in usual]
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
