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
        built_in = [(role, fixed.constants[name]) for role, name in matched.items() if name not in fixed.changeable]
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


def solve(known: dict[str, int], shape: Sequence[str | int], elements: int) -> None:
    """Add the size that is left over in an array's shape, from the number of its elements."""
    unknown = [axis for axis in shape if isinstance(axis, str) and axis not in known]
    rest = prod(known[axis] if isinstance(axis, str) else axis for axis in shape if axis not in unknown)
    if unknown and rest and elements % rest == 0:
        side = round((elements // rest) ** (1 / len(unknown)))
        if side ** len(unknown) == elements // rest:
            known |= dict.fromkeys(unknown, side)
