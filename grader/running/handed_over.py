"""Launches of the program that do not go with the arrays that they are handed, though the kernel is right with others.

An instance of a template for another size than the arrays have; two arrays from places that do not belong together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

from grader.lab.records import Parameter
from grader.launching.kernel import BoundKernel
from grader.message import msg
from grader.running.evidence import Evidence, HostFault
from grader.submission.cpp.nodes import SIZES_OF_TYPES
from grader.submission.kernels.records import SeenArgument, SeenLaunch

Placed = tuple[Parameter, SeenArgument, int]
"""An array that a launch is handed: its role, the argument, bytes of an element."""


def with_own_launches(evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with what is wrong of the launches that its program makes, of a kernel that is right."""
    if evidence.interpretation is None or not evidence.runs or not all(run.is_right for run in evidence.runs):
        return evidence
    kernel = kernel.read_as(evidence.interpretation)
    launches = list(_launches(kernel))
    faults = list(_of_instances(kernel, launches))
    own = evidence.own_check
    if not faults and own is not None and not own.is_right and own.case_is_right:
        faults = list(_of_places(kernel, launches))
    known = {(fault.file, fault.line) for fault in evidence.host.of_launch}
    new = tuple(dict.fromkeys(fault for fault in faults if (fault.file, fault.line) not in known))
    if not new:
        return evidence
    host = replace(evidence.host, of_launch=(*evidence.host.of_launch, *new), misleads=True)
    own = replace(own, is_explained=True) if own is not None else None
    return replace(evidence, host=host, own_check=own)


def _launches(kernel: BoundKernel) -> Iterator[SeenLaunch]:
    """Those of the kernel, at the program's own sizes, with an argument for each parameter."""
    names = [p.name for p in kernel.binding.kernel.parameters]
    for run in kernel.submission.observed.runs:
        for launch in () if run.probe or run.change is not None else run.launches:
            is_own = launch.kernel == kernel.binding.kernel.name and not launch.refused and launch.exchanged is None
            if is_own and [argument.name for argument in launch.arguments] == names:
                yield launch


def _of_instances(kernel: BoundKernel, launches: Sequence[SeenLaunch]) -> Iterator[HostFault]:
    """Launches of an instance for one size on arrays of another, where all others go with their arrays."""
    template = [role for _text, role in kernel.interpretation.template]
    if not any(template):
        return
    wrong: list[SeenLaunch] = []
    fitting = 0
    for launch in launches:
        sizes, arrays = _sizes(kernel, launch), list(_arrays(kernel, launch))
        if sizes is None or not arrays or any(argument.offset_bytes for _role, argument, _width in arrays):
            return
        if _fits(arrays, sizes):
            fitting += 1
        else:
            wrong.append(launch)
    for launch in wrong if 2 * len(wrong) < fitting else ():
        sizes, arrays = _sizes(kernel, launch), list(_arrays(kernel, launch))
        for role in template:
            values = [v for v in range(1, 2049) if role and sizes and _fits(arrays, {**sizes, role: v})]
            if len(values) == 1 and sizes is not None:
                instance = f"{launch.kernel}<{', '.join(launch.template_arguments)}>"
                said = msg("checks.launch.instance", kernel=instance, size=role, got=sizes[role], value=values[0])
                yield HostFault("launch", launch.file, launch.line, said)


def _sizes(kernel: BoundKernel, launch: SeenLaunch) -> dict[str, int] | None:
    """The lab's sizes as a launch has them, by its template's arguments and its numbers; None where one is unknown."""
    template = kernel.interpretation.template
    roles = zip(kernel.interpretation.roles, launch.arguments, strict=True)
    sizes = {role: argument.value for role, argument in roles if isinstance(argument.value, int)}
    if len(template) == len(launch.template_arguments):
        given = zip(template, launch.template_arguments, strict=True)
        sizes |= {role: int(text) for (_text, role), text in given if role and text.isdigit()}
    known = {name: sizes[name] for name in kernel.lab.size_names if name in sizes}
    return known if set(known) == set(kernel.lab.size_names) else None


def _arrays(kernel: BoundKernel, launch: SeenLaunch) -> Iterator[Placed]:
    roles = {p.name: p for p in kernel.lab.parameters if p.is_array}
    parameters = kernel.binding.kernel.parameters
    for name, parameter, argument in zip(kernel.interpretation.roles, parameters, launch.arguments, strict=True):
        width = SIZES_OF_TYPES.get(parameter.dtype or "", 0)
        if name in roles and width and argument.buffer_bytes:
            yield roles[name], argument, width


def _fits(arrays: Sequence[Placed], sizes: Mapping[str, int]) -> bool:
    """Whether every array has as many elements as follow from the sizes."""
    return all(
        width * prod(n if isinstance(n, int) else sizes[n] for n in role.shape) == argument.buffer_bytes
        for role, argument, width in arrays
    )


def _of_places(kernel: BoundKernel, launches: Sequence[SeenLaunch]) -> Iterator[HostFault]:
    """Launches on parts of arrays of one shape that begin at different elements."""
    names = dict(zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True))
    for launch in launches:
        for one, other in combinations(_arrays(kernel, launch), 2):
            (first, a, width), (second, b, other_width) = one, other
            is_alike = first.shape == second.shape and width == other_width and a.buffer_bytes == b.buffer_bytes
            if is_alike and a.offset_bytes != b.offset_bytes:
                places = {"first_at": a.offset_bytes // width, "second_at": b.offset_bytes // width}
                called = {"first": names[first.name].name, "second": names[second.name].name}
                said = msg("checks.launch.places", kernel=launch.kernel, **called, **places)
                yield HostFault("launch", launch.file, launch.line, said)
                return
