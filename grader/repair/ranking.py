"""The changes of a kernel and of the functions that it calls, and those of what kernels share: likeliest first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.checks import checks_with
from grader.launching.kernel import BoundKernel, block_of, grid_of
from grader.repair.barriers import barrier_changes
from grader.repair.blocks import flat_changes, given_block_changes, limit_changes, other_arguments
from grader.repair.clues import Clues, clues_of
from grader.repair.comparisons import index_changes
from grader.repair.conditions import clip_changes, guard_changes, surplus_changes
from grader.repair.expressions import expression_changes
from grader.repair.function import Change, Function, functions_of
from grader.repair.host_arguments import field_changes
from grader.repair.launch_sites import Launch, launches_of, rows_of
from grader.repair.launches import (
    crosswise,
    given_grid_changes,
    grid_changes,
    launch_changes,
    named_like,
    shared_changes,
    sides_at,
)
from grader.repair.likenesses import likeness_changes, omission_changes
from grader.repair.loops import limit_slips, loop_changes
from grader.repair.mixups import mixup_changes
from grader.repair.pitfalls import PRECISION, pitfall_changes
from grader.repair.several_places import array_changes, constant_changes, idea_changes, macro_changes
from grader.repair.slips import slip_changes
from grader.repair.statements import value_changes
from grader.repair.symptom import Symptom
from grader.repair.terms import left_out_changes, term_changes
from grader.repair.typing_errors import typing_changes
from grader.result import Check
from grader.running.evidence import Evidence
from grader.submission.changes import Original
from grader.submission.compile_time import mentioned
from grader.submission.cpp.tree import LOOPS, ParsedFile


def ranked_changes(
    functions: Sequence[Function], kernel: BoundKernel, checks: Sequence[Check], symptom: Symptom
) -> list[tuple[Function, Change]]:
    """Return all changes of a kernel, likeliest first, each text once."""
    diagnosis = next((c.diagnosis for c in checks if c.check == symptom.check), None)
    names = _names(kernel)
    clues = clues_of(functions, symptom.check, symptom.hazards, diagnosis, symptom.lines, names)
    changes = changes_of(functions, _extents(kernel, names), _covered(kernel, names))
    if _is_in_a_row(kernel, symptom):
        changes = ((f, c) for f, c in changes if not any(IN_PLANE.search(e.text) for e in c.edits))
    # What goes with a return that ends what is stopped is the call in its condition, not that threads end there.
    return in_order(clues, ((f, c) for f, c in changes if not (symptom.is_stopped and c.group == "returns")))


OF_ROWS = 0.1
"""What a change of a table's row costs less than one of the launch that all rows share."""
IN_PLANE = re.compile(r"\b(?:threadIdx|blockIdx|blockDim|gridDim)\.[yz]\b")
"""What is the same for all threads of a launch with one axis."""


def _is_in_a_row(kernel: BoundKernel, symptom: Symptom) -> bool:
    """Whether grid and block have one axis, so that there is nothing along the others."""
    plan, sizes = kernel.interpretation.launch, symptom.cases[0].sizes
    return block_of(plan, sizes)[1:] == grid_of(plan, sizes)[1:] == (1, 1)


def changes_of(
    functions: Sequence[Function], extents: Mapping[str, Sequence[str]], covers: Sequence[str]
) -> Iterator[tuple[Function, Change]]:
    """Yield all changes, function by function; extents, covers: see `guard_changes` and `surplus_changes`."""
    shares = any(f.uses_shared for f in functions)
    for function in functions:
        changes = [*barrier_changes(function, shares), *expression_changes(function), *array_changes(function)]
        changes += [*guard_changes(function, extents), *value_changes(function), *idea_changes(function)]
        changes += [*surplus_changes(function, covers), *clip_changes(function), *term_changes(function)]
        changes += [*left_out_changes(function), *pitfall_changes(function)]
        changes += [*slip_changes(function), *typing_changes(function), *loop_changes(function)]
        changes += [*likeness_changes(function), *omission_changes(function), *mixup_changes(function)]
        changes += [*index_changes(function), *limit_slips(function)]
        yield from ((function, _with_part(function, change)) for change in changes)


def _with_part(function: Function, change: Change) -> Change:
    """Return a change of a loop's head with the part of the head that is changed."""
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
    """Return changes, likeliest first, each text once."""
    rows = [
        (clues.cost(change), number, function, change)
        for number, (function, change) in enumerate(changes)
        if change.group != PRECISION or "close" in clues.symptoms
    ]
    rows.sort(key=lambda row: row[:2])
    ranked: dict[object, tuple[Function, Change]] = {}
    for _cost, _number, function, change in rows:
        ranked.setdefault(change.key, (function, change))
    return list(ranked.values())


def _names(kernel: BoundKernel) -> dict[str, str]:
    roles = zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True)
    names = {role: f"{p.owner}.{p.name}" if p.owner else p.name for role, p in roles}
    names |= dict(kernel.interpretation.constants)
    return names | {role: text for text, role in kernel.interpretation.template if role}


def _covered(kernel: BoundKernel, names: dict[str, str]) -> list[str]:
    """Return the kernel's names of the sizes that the grid's axes run over, "" for an unknown one."""
    equal = [names[n] for n in kernel.lab.equal_sizes if n in names]
    covered = []
    for axis in kernel.interpretation.launch.covers:
        factors = [names.get(n) or (equal[0] if equal and n in kernel.lab.equal_sizes else "") for n in axis.split("*")]
        covered.append(" * ".join(factors) if all(factors) else "")
    return covered


def _extents(kernel: BoundKernel, names: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the kernel's names of the axes of the lab's arrays, by the arrays' names there."""
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


OF_RESULTS = frozenset(checks_with("result"))


@dataclass(frozen=True, slots=True)
class Failing:
    """A variant with a failed check: its kernel as it was graded, the file that holds it, the verdicts."""

    name: str
    kernel: BoundKernel
    parsed: ParsedFile
    evidence: Evidence
    checks: Sequence[Check]


def ranked(
    original: Original, failing: Sequence[Failing], passing: Sequence[tuple[BoundKernel, Evidence]]
) -> list[tuple[ParsedFile, Change, bool]]:
    """Return changes that kernels share, likeliest first, each with whether its text tells what launches become."""
    rows: list[tuple[float, int, ParsedFile, Change, bool]] = []
    shifts = _shifts(failing)
    wanted = {subject.kernel.binding.kernel.name: subject for subject in failing}
    # What is right but for the order of its threads has no wrong number, and its launch none: others may hide the race.
    is_order = all(_failed(s) & OF_RESULTS == {"races"} for s in failing)
    for parsed in original.files():
        launches = [
            (launch, wanted[name])
            for launch in launches_of(parsed)
            for name in kernels_at(original, parsed, launch)
            if name in wanted
        ]
        changes = list(crosswise([x for x, _subject in launches], [_meant(x, subject) for x, subject in launches]))
        for launch, subject in launches:
            any_block = _takes_any_block(subject)
            changes += launch_changes(launch, _constants(subject), _pairs(subject), takes_any_block=any_block)
            changes += [*limit_changes(launch), *flat_changes(launch, _constants(subject))]
        # Constants and macros are tried where every failing kernel is written with them.
        words = [mentioned(s.parsed, s.parsed.functions[s.kernel.binding.kernel.name]) for s in failing]
        shared = set.intersection(*words) if words else set()
        # What is right wherever tiles are whole has no wrong constant: another value may hide the guard that is wrong.
        # The value that others are right with may still be one that makes conflicts.
        right_with = _right(parsed, passing) if any(_failed(s) & OF_RESULTS for s in failing) else set()
        constants = set() if all(map(_is_ragged, failing)) or is_order else shared - right_with
        values = {name: value for s in failing for name, value in _constants(s).items()}
        changes += [*macro_changes(parsed, shared, _sizes(failing)), *constant_changes(parsed, constants, values)]
        # A block that a right kernel shares its tile in is none that is wrong.
        sides = _right_sides(original, parsed, passing)
        changes = [c for c in changes if c.group != "block" or not {edit.start for edit in c.edits} <= sides]
        if is_order:
            changes = [c for c in changes if c.kind not in ("launch", "constant") and c.group != "macro"]
        by_cost = [(change.cost + shifts.get(change.group, 0.0), change, True) for change in changes]
        by_cost += [
            (change.cost + shifts.get(change.group, 0.0), change, False)
            for launch in launches_of(parsed)
            if not kernels_at(original, parsed, launch) and _all_seen_at(original, parsed, launch, wanted)
            for change in (*grid_changes(launch), *shared_changes(launch, values))
        ]
        of_rows = [row for row, _called in rows_of(parsed) if row.callee in wanted]
        given = [c for row in of_rows for c in (*grid_changes(row), *shared_changes(row, values))]
        by_cost += [
            (change.cost + shifts.get(change.group, 0.0) - OF_ROWS, change, False)
            for change in (*given, *given_grid_changes(parsed), *given_block_changes(parsed))
        ]
        for launch, subject in launches:
            # What a kernel is handed then only a run shows.
            names = [p.name for p in subject.kernel.binding.kernel.parameters]
            others = other_arguments(launch, [x for x, _subject in launches], names)
            by_cost += [(change.cost, change, False) for change in others]
        by_cost += [(change.cost, change, False) for change in field_changes(parsed)]
        rows += [(cost, n, parsed, change, is_read) for n, (cost, change, is_read) in enumerate(by_cost)]
    rows.sort(key=lambda row: row[:2])
    unique: dict[object, tuple[ParsedFile, Change, bool]] = {}
    for _cost, _number, parsed, change, is_read in rows:
        unique.setdefault((parsed.file, change.key), (parsed, change, is_read))
    return list(unique.values())


def _right_sides(original: Original, parsed: ParsedFile, passing: Sequence[tuple[BoundKernel, Evidence]]) -> set[int]:
    tiled = {k.binding.kernel.name for k, _evidence in passing if k.binding.kernel.shared_arrays}
    launches = [launch for launch in launches_of(parsed) if tiled & set(kernels_at(original, parsed, launch))]
    return {side for launch in launches for side in sides_at(launch)}


def _sizes(failing: Sequence[Failing]) -> list[str]:
    own = [functions_of(s.parsed, s.kernel.binding.kernel.name)[:1] for s in failing]
    names = [{v.name: None for f in of for v in f.variables if v.role == "size"} for of in own]
    return [name for name in names[0] if all(name in of_kernel for of_kernel in names)] if names else []


def _meant(launch: Launch, subject: Failing) -> list[int | None]:
    """Return which parameter each argument of a launch is named like: exactly, else as the lab calls its role."""
    kernel = subject.kernel
    names = [p.name for p in kernel.binding.kernel.parameters]
    roles = {p.name: p for p in kernel.lab.parameters}

    def place(text: str) -> int | None:
        text = named_like(text, names)
        if text in names:
            return names.index(text)
        called = [n for n, r in enumerate(kernel.interpretation.roles) if r in roles and roles[r].rank_of(text)]
        return called[0] if len(called) == 1 else None

    return [place(launch.function.text(node)) for node in launch.arguments]


def _is_ragged(subject: Failing) -> bool:
    return _failed(subject) & OF_RESULTS == {"ragged_sizes"}


def _failed(subject: Failing) -> set[str]:
    return {c.check for c in subject.checks if c.status == "fail"}


def _right(parsed: ParsedFile, passing: Sequence[tuple[BoundKernel, Evidence]]) -> set[str]:
    """Return names that right kernels use: a value that they are right with is no mistake."""
    items = (parsed.functions.get(kernel.binding.kernel.name) for kernel, _evidence in passing)
    return {word for item in items if item is not None for word in mentioned(parsed, item)}


def _all_seen_at(original: Original, parsed: ParsedFile, launch: Launch, kernels: Collection[str]) -> bool:
    """Whether all of the kernels were seen launched there (by way of pointers, say) and nowhere else."""
    file = parsed.file.rpartition("/")[2]
    places = {
        (s.kernel, (s.file or parsed.file).rpartition("/")[2] == file and 0 <= s.line - launch.line <= 8)
        for s in original.submission.launches
        if s.observed and s.kernel in kernels
    }
    return places == {(name, True) for name in kernels}


def _shifts(failing: Sequence[Failing]) -> dict[str, float]:
    """Return how much later, or sooner, changes of a group are tried because of what was observed."""
    said = [c.message_said.id for s in failing for c in s.checks if c.status == "fail" and c.message_said is not None]
    hazards = [h for s in failing for h in s.evidence.hazards("out_of_bounds", "uninitialized")]
    shifts: dict[str, float] = {}
    if any(name.startswith("checks.grids.") for name in said):
        shifts |= {"grid_rounded": -0.8, "grid_axes": -0.5, "macro": 1.0, "constant": 0.8}
    if any(h.space == "shared" for h in hazards):
        shifts |= {"block": -0.6, "shared_bytes": -0.7, "constant": -0.3}
    if any(name.startswith("checks.launch.shared_bytes") for name in said):
        shifts["opt_in"] = -2.5
    if not any(s.kernel.binding.kernel.shared_arrays for s in failing):
        shifts["shared_bytes"] = 3.0
    return shifts


def kernels_at(original: Original, parsed: ParsedFile, launch: Launch) -> list[str]:
    """Return the kernels launched at a place as the text says: only of these it tells what a change does."""
    file, submission = parsed.file.rpartition("/")[2], original.submission

    def is_here(path: str, line: int) -> bool:
        return path.rpartition("/")[2] == file and 0 <= line - launch.line <= 8

    here = {s.kernel for s in submission.launches if is_here(s.file or parsed.file, s.line)}
    called = {launch.callee} & here or here
    observed = {s.kernel for s in submission.launches if s.observed}
    true = {name for name, path, line in submission.read_true if is_here(path, line)}
    return sorted(called & true | called - observed)


def _constants(subject: Failing) -> dict[str, int]:
    """Return the constants that a kernel is written with; of a template its arguments, as written."""
    parsed = subject.parsed
    item = parsed.functions[subject.kernel.binding.kernel.name]
    constants = {}
    for name in sorted(mentioned(parsed, item)):
        value = parsed.constants.evaluate(name)
        if isinstance(value, int) and 1 < value <= 1024:
            constants[name] = value
    requested = subject.evidence.bound.requested
    for text in requested.template_texts or requested.template_arguments if requested is not None else ():
        if text.isdigit() and int(text) > 1:
            constants[text] = int(text)
    for array in subject.kernel.binding.kernel.shared_arrays:
        # What a tile's sides are as numbers, where no constant has a name.
        constants |= {str(side): side for side in array.dims if side and side > 1 and side not in constants.values()}
    return constants


def _takes_any_block(subject: Failing) -> bool:
    """Whether a kernel's threads step by the block's size, whatever it is."""
    functions = functions_of(subject.parsed, subject.kernel.binding.kernel.name)
    for loop in (node for f in functions[:1] for node in f.nodes if node.type == "for_statement"):
        start, update = loop.child_by_field_name("initializer"), loop.child_by_field_name("update")
        if start is not None and update is not None and "threadIdx" in subject.parsed.words(start):
            words = subject.parsed.words(update)
            if "blockDim" in words and "gridDim" not in words:
                return True
    return False


def _pairs(subject: Failing) -> list[tuple[int, int]]:
    """Return pairs of parameters that may be exchanged: pointers among each other, numbers likewise."""
    parameters = [p for p in subject.kernel.binding.kernel.parameters if not p.is_global and not p.owner]
    pairs = [
        (one, other)
        for one in range(len(parameters))
        for other in range(one + 1, len(parameters))
        if parameters[one].is_pointer == parameters[other].is_pointer
        and (not parameters[one].is_pointer or parameters[one].dtype == parameters[other].dtype)
    ]
    return sorted(pairs, key=lambda pair: pair[1] - pair[0])
