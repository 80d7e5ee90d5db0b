"""Sizes as a program has them: at which it made its launch, and which of its constants stand for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from math import prod
from typing import Any

from grader.lab import formula
from grader.lab.records import Lab, Parameter
from grader.submission.binding.roles import sizes_in, window_of
from grader.submission.compile_time import MAX_ELEMENTS, SET_BY_HOST, match_sizes
from grader.submission.cpp.constants import SIZES_OF_TYPES
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
    changed: tuple[str, int] = ("", 0)
    """The constant that had another value when those arrays were seen, and that value; ("", 0) for none."""
    handed: Mapping[int, str] = field(default_factory=dict)
    """By the place of a parameter, what a launch hands in for it, where the kernel names that too: `N` of
    `k<<<…>>>(a, b, N)`."""
    reaches: tuple[int, ...] = ()
    """How many neighbours on either side the kernel may read, the likeliest first."""


@dataclass(frozen=True, slots=True)
class NamedSizes:
    """The sizes that an interpretation leaves to constants and to the template; see `Interpretation`."""

    constants: tuple[tuple[str, str], ...]
    template: tuple[tuple[str, str], ...]
    pinned: tuple[tuple[str, int], ...]
    declared: tuple[tuple[str, int], ...]
    sources: tuple[tuple[str, str], ...] = ()
    """For constants that the host fills, the variable that it copies there."""
    unsaid: tuple[tuple[str, int], ...] = ()
    """The size that has a usual value and that nothing of the program is called after, with each value that the kernel
    may be written for, the likeliest first."""

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
        usual = [(p.name, p.usual) for p in lab.parameters if p.is_size and p.usual is not None and p.name not in given]
        built_in += usual
        unsaid = dict.fromkeys((name, reach or value) for name, value in usual[:1] for reach in (*fixed.reaches, 0))
        constants = tuple((role, name) for role, name in matched.items() if name in fixed.changeable)
        constants += _same_in_array(constants, fixed)
        declared = tuple((role, value) for role, name in constants if (value := fixed.constants[name]) != SET_BY_HOST)
        # A kernel that is handed a size has to be right at others.
        constants += _handed_in_too(roles, constants, fixed, lab)
        sources = tuple(fixed.from_host.items())
        return cls(
            constants, template if in_template else (), tuple(built_in), declared, sources, tuple(dict.fromkeys(unsaid))
        )

    def readings(self, lab: Lab) -> list[NamedSizes]:
        """This with each value of what is `unsaid`, and with two constants in each other's place whose names are not
        the task's own: M and N."""
        if self.unsaid:
            plain = replace(self, unsaid=())
            pinned = [{**dict(self.pinned), name: value} for name, value in self.unsaid]
            return [r for one in pinned for r in replace(plain, pinned=tuple(one.items())).readings(lab)]
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
    as_seen = dict([*fixed.constants.items(), fixed.changed])
    names = [n for n in fixed.constants if as_seen[n] in values and n not in taken and n in fixed.changeable]
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


def _handed_in_too(
    roles: Sequence[str], constants: Sequence[tuple[str, str]], fixed: CompileTime, lab: Lab
) -> tuple[tuple[str, str], ...]:
    """Constants that the kernel uses beside a parameter for which the program hands them in: they are that size."""
    taken = {name for _role, name in constants}
    return tuple(
        (roles[place], name)
        for place, name in fixed.handed.items()
        if place < len(roles) and roles[place] in lab.size_names
        if name in fixed.constants and name in fixed.changeable and name not in taken
    )


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
            # A window, "=2 * radius + 1", tells the radius; another formula tells whether that is the usual one.
            if size.is_size and size.usual is not None and size.name not in sizes:
                windows = [
                    by_name[p.name].value
                    for p, r in zip(self.kernel.parameters, self.roles, strict=True)
                    if r == f"={window_of(size)}" and p.name in by_name
                ]
                if windows and isinstance(windows[0], int):
                    sizes[size.name] = (windows[0] - 1) // 2
                elif self._is_usual(size, by_name):
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
