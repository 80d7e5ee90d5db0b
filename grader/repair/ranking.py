"""The changes of a kernel and of the functions that it calls, likeliest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.launching.kernel import BoundKernel
from grader.repair.clues import Clues, clues_of
from grader.repair.conditions import clip_changes, guard_changes, surplus_changes
from grader.repair.expressions import expression_changes
from grader.repair.function import Change, Function
from grader.repair.left_out import left_out_changes
from grader.repair.pitfalls import PRECISION, pitfall_changes
from grader.repair.several_places import array_changes, idea_changes
from grader.repair.statements import barrier_changes, value_changes
from grader.repair.symptom import Symptom
from grader.repair.terms import term_changes
from grader.result import Check
from grader.submission.cpp.tree import LOOPS


def ranked_changes(
    functions: Sequence[Function], kernel: BoundKernel, checks: Sequence[Check], symptom: Symptom
) -> list[tuple[Function, Change]]:
    """All changes of a kernel that was run by itself, each text once."""
    diagnosis = next((c.diagnosis for c in checks if c.check == symptom.check), None)
    names = _names(kernel)
    clues = clues_of(functions, symptom.check, symptom.hazards, diagnosis, symptom.lines, names)
    changes = changes_of(functions, _extents(kernel, names), _covered(kernel, names))
    # What goes with a return that ends what is stopped is the call in its condition, not that threads end there.
    return in_order(clues, ((f, c) for f, c in changes if not (symptom.is_stopped and c.group == "returns")))


def changes_of(
    functions: Sequence[Function], extents: Mapping[str, Sequence[str]], covers: Sequence[str]
) -> Iterator[tuple[Function, Change]]:
    """All of them, function by function; extents, covers: see `guard_changes` and `surplus_changes`."""
    shares = any(f.uses_shared for f in functions)
    for function in functions:
        changes = [*barrier_changes(function, shares), *expression_changes(function), *array_changes(function)]
        changes += [*guard_changes(function, extents), *value_changes(function), *idea_changes(function)]
        changes += [*surplus_changes(function, covers), *clip_changes(function), *term_changes(function)]
        changes += [*left_out_changes(function), *pitfall_changes(function)]
        yield from ((function, _with_part(function, change)) for change in changes)


def _with_part(function: Function, change: Change) -> Change:
    """A change of a loop's head with the part of it that is changed."""
    if change.group == "round_up":
        return replace(change, kind="bound", detail="rounded")
    if change.kind != "bound" or change.detail:
        return change
    place = min(edit.start for edit in change.edits)
    for loop in function.nodes:
        for name, detail in (("initializer", "start"), ("condition", "end"), ("update", "step")):
            part = loop.child_by_field_name(name) if loop.type in LOOPS else None
            if part is not None and function.at(part.start_byte) <= place <= function.at(part.end_byte):
                return replace(change, detail=detail)
    return change


def in_order(clues: Clues, changes: Iterable[tuple[Function, Change]]) -> list[tuple[Function, Change]]:
    """Likeliest first, each text once."""
    rows = [
        (clues.cost(change), number, function, change)
        for number, (function, change) in enumerate(changes)
        if change.group != PRECISION or "close" in clues.symptoms
    ]
    rows.sort(key=lambda row: row[:2])
    ranked: dict[str, tuple[Function, Change]] = {}
    for _cost, _number, function, change in rows:
        key = repr(sorted((e.start, e.end, "".join(e.text.split())) for e in change.edits))
        ranked.setdefault(key, (function, change))
    return list(ranked.values())


def _names(kernel: BoundKernel) -> dict[str, str]:
    """What the lab's arrays and sizes are called in the kernel, by role."""
    roles = zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True)
    names = {role: f"{p.owner}.{p.name}" if p.owner else p.name for role, p in roles}
    names |= dict(kernel.interpretation.constants)
    return names | {role: text for text, role in kernel.interpretation.template if role}


def _covered(kernel: BoundKernel, names: dict[str, str]) -> list[str]:
    """What the sizes that the grid's axes run over are called in the kernel, "" where it does not know one."""
    equal = [names[n] for n in kernel.lab.equal_sizes if n in names]
    found = []
    for axis in kernel.interpretation.launch.covers:
        known = [names.get(n) or (equal[0] if equal and n in kernel.lab.equal_sizes else "") for n in axis.split("*")]
        found.append(" * ".join(known) if all(known) else "")
    return found


def _extents(kernel: BoundKernel, names: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """What the axes of the lab's arrays are called in the kernel, by the arrays' names there."""
    sizes = set(kernel.lab.size_names)
    equal = [names[n] for n in kernel.lab.equal_sizes if n in names]
    extents = {}
    for parameter in kernel.lab.parameters:
        if parameter.is_size or parameter.name not in names:
            continue
        axes = []
        for axis in parameter.shape:
            extent = names.get(str(axis)) if axis in sizes else str(axis)
            if extent is None and axis in kernel.lab.equal_sizes and equal:
                extent = equal[0]
            axes.append(extent)
        if all(axes):
            extents[names[parameter.name]] = tuple(str(a) for a in axes)
    return extents
