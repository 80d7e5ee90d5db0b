"""The sizes of a lab that a kernel is not handed: constants of its program, template arguments, extents of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from grader.lab.records import Lab
from grader.submission.binding.scalars import sizes_in
from grader.submission.rewriting.compile_time import SET_BY_HOST, match_sizes


@dataclass(frozen=True, slots=True)
class CompileTime:
    """What is fixed when the kernel is compiled: constants that it depends on and its template's arguments, by name.

    changeable: the constants whose definitions the grader can change.
    """

    constants: Mapping[str, int] = field(default_factory=dict)
    changeable: frozenset[str] = frozenset()
    template: Mapping[str, str] = field(default_factory=dict)
    spans: Mapping[int, int] = field(default_factory=dict)
    """By the place of an array among the parameters, the numbers in each of its rows or structs."""
    elements: Mapping[int, int] = field(default_factory=dict)
    """By the place of an array among the parameters, the elements that it was seen to have in all."""


@dataclass(frozen=True, slots=True)
class NamedSizes:
    """The sizes that an interpretation leaves to constants and to the template; see `Interpretation`."""

    constants: tuple[tuple[str, str], ...]
    template: tuple[tuple[str, str], ...]
    pinned: tuple[tuple[str, int], ...]
    declared: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, roles: tuple[str, ...], fixed: CompileTime, lab: Lab) -> NamedSizes:
        """Those of the lab's sizes that are not among the `roles` of the kernel's parameters."""
        in_template = match_sizes(list(fixed.template), lab, sizes_in(roles, lab))
        by_name = {name: role for role, name in in_template.items()}
        template = tuple((text, by_name.get(name, "")) for name, text in fixed.template.items())
        told = sizes_in(roles, lab)
        matched = match_sizes(list(fixed.constants), lab, {*told, *in_template})
        of_spans = _sizes_of_spans(roles, fixed, lab)
        # A constant of another value is not what the type is made of.
        matched = {r: n for r, n in matched.items() if of_spans.get(r) in (None, fixed.constants[n])}
        matched |= _by_value(roles, fixed, lab, {*told, *in_template, *of_spans, *matched}, set(matched.values()))
        built_in = [(role, fixed.constants[name]) for role, name in matched.items() if name not in fixed.changeable]
        # `float a[N][N]`: the one constant is both of the sizes that are equal.
        both = {fixed.constants[n] for r, n in matched.items() if r in lab.equal_sizes and n in fixed.changeable}
        of_spans = {r: n for r, n in of_spans.items() if r not in lab.equal_sizes or n not in both}
        built_in += [(role, n) for role, n in of_spans.items() if role not in matched and role not in in_template]
        told = {*told, *dict(built_in)}
        given = {*told, *in_template, *matched}
        built_in += [
            (p.name, p.usual)
            for p in lab.parameters
            if p.kind == "size" and p.usual is not None and p.name not in given
        ]
        constants = tuple((role, name) for role, name in matched.items() if name in fixed.changeable)
        declared = tuple((role, value) for role, name in constants if (value := fixed.constants[name]) != SET_BY_HOST)
        return cls(constants, template if in_template else (), tuple(built_in), declared)

    def all_roles(self) -> set[str]:
        """The sizes that can be chosen when the kernel is compiled."""
        return {role for role, _name in self.constants} | {role for _text, role in self.template if role}


def _by_value(roles: Sequence[str], fixed: CompileTime, lab: Lab, known: set[str], taken: set[str]) -> dict[str, str]:
    """The constant, whatever it is called, of the value that the only size left has by the lengths of the arrays."""
    left = [name for name in lab.size_names if name not in known and lab.parameter(name).usual is None]
    if not left or (len(left) > 1 and set(left) != set(lab.equal_sizes)) or known & set(lab.size_names):
        return {}
    arrays = {p.name: p.shape for p in lab.parameters if p.kind != "size"}
    values = set()
    for place, elements in fixed.elements.items():
        sizes: dict[str, int] = {}
        solve(sizes, arrays.get(roles[place], ()) if place < len(roles) else (), elements)
        values |= {sizes[name] for name in left if name in sizes}
    names = [n for n, value in fixed.constants.items() if value in values and n not in taken and n in fixed.changeable]
    return {left[0]: names[0]} if len(values) == 1 and len(names) == 1 else {}


def _sizes_of_spans(roles: Sequence[str], fixed: CompileTime, lab: Lab) -> dict[str, int]:
    """Sizes that types of arrays' elements fix: `struct { float v[4][4]; }` has the last two axes of [count, n, n]."""
    found: dict[str, int] = {}
    arrays = {p.name: p.shape for p in lab.parameters if p.kind != "size"}
    for place, span in fixed.spans.items():
        shape = arrays.get(roles[place], ()) if place < len(roles) else ()
        for count in range(len(shape) - 1, 0, -1):
            known: dict[str, int] = {}
            solve(known, shape[-count:], span)
            if known and prod(known[axis] if isinstance(axis, str) else axis for axis in shape[-count:]) == span:
                found |= known
                break
    return found


def solve(known: dict[str, int], shape: Sequence[str | int], elements: int) -> None:
    """Add the size that is left over in an array's shape, from the number of its elements."""
    unknown = [axis for axis in shape if isinstance(axis, str) and axis not in known]
    rest = prod(known[axis] if isinstance(axis, str) else axis for axis in shape if axis not in unknown)
    if unknown and rest and elements % rest == 0:
        side = round((elements // rest) ** (1 / len(unknown)))
        if side ** len(unknown) == elements // rest:
            known |= dict.fromkeys(unknown, side)
