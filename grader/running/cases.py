"""From a lab's sizes to launches of a student's kernel: which sizes suit it, its grid, its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm, prod

import numpy as np

from grader.backends.base import BufferArgument, LaunchRequest, ScalarArgument
from grader.lab import formula
from grader.lab.records import Cases, Lab, Sizes, Variant
from grader.oracle.expected import Array
from grader.result import CaseKind
from grader.submission.records import Candidate, KernelParameter, LaunchPlan, VariantBinding


@dataclass(frozen=True, slots=True)
class ProgramRequest(LaunchRequest):
    """A launch of a kernel of `file`.

    expression, constants: where sizes are fixed when the program is compiled, what it has to be compiled for;
    "" and () for the program as handed in.
    """

    file: str = ""
    expression: str = ""
    constants: tuple[tuple[str, int], ...] = ()

    def of_entry(self, entry: str) -> ProgramRequest:
        """The same launch, and those before it, of a kernel of another symbol."""
        return replace(self, entry=entry, before=tuple(replace(earlier, entry=entry) for earlier in self.before))


def planned(lab: Lab, cases: Cases, binding: VariantBinding, candidate: Candidate) -> list[tuple[CaseKind, Sizes]]:
    """The runs that a kernel is graded by, in order: small exact sizes, the observed one, sizes off the tile.

    A kernel that does not take all of the lab's `equal_sizes` is asked for equal ones only; one that needs multiples
    of its tile gets the next multiple.  No size is run twice.
    """
    runs: list[tuple[CaseKind, Sizes]] = []
    exact: list[tuple[CaseKind, Sequence[Sizes]]] = [("correct", cases.correct), ("observe", [cases.observe])]
    for kind, rows in exact:
        for sizes in rows:
            if fits(lab, sizes, candidate):
                runs.append((kind, rounded(lab, sizes, candidate)))
    if binding.takes_sizes:
        runs += [("ragged", dict(sizes)) for sizes in cases.ragged if fits(lab, sizes, candidate)]
    runs = [(kind, _with_fixed(lab, sizes, candidate)) for kind, sizes in runs]
    observed = [sizes for kind, sizes in runs if kind == "observe"]
    unique: list[tuple[CaseKind, Sizes]] = []
    for kind, sizes in runs:
        if (kind == "observe" or sizes not in observed) and (kind, sizes) not in unique:
            unique.append((kind, sizes))
    return unique


def planned_more(lab: Lab, variant: Variant, candidate: Candidate) -> list[Sizes]:
    """The variant's own sizes, as the kernel can be asked for them; none that its program has fixed."""
    fitting = (sizes for sizes in variant.more_sizes if fits(lab, sizes, candidate))
    fixed = dict(candidate.fixed)
    return [rounded(lab, sizes, candidate) for sizes in fitting if all(sizes[n] == v for n, v in fixed.items())]


def fits(lab: Lab, sizes: Sizes, candidate: Candidate) -> bool:
    """Whether the kernel can be asked for these sizes: equal ones where it does not take them all."""
    return not _is_for_squares(lab, candidate) or len({sizes[name] for name in lab.equal_sizes}) <= 1


def _is_for_squares(lab: Lab, candidate: Candidate) -> bool:
    known = {*candidate.roles, *dict(candidate.constants), *(role for _text, role in candidate.template)}
    return candidate.square_only or not known.issuperset(lab.equal_sizes)


def probe_sizes(lab: Lab, cases: Cases, candidate: Candidate) -> Sizes:
    """The sizes on which a doubtful reading is tried: a rectangle where the kernel takes one, else a square."""
    sizes = dict(cases.probe)
    if not fits(lab, sizes, candidate):
        sizes |= dict.fromkeys(lab.equal_sizes, max(sizes[name] for name in lab.equal_sizes))
    return _with_fixed(lab, rounded(lab, sizes, candidate), candidate)


def _with_fixed(lab: Lab, sizes: Sizes, candidate: Candidate) -> Sizes:
    """`sizes` with those that the program has fixed for good; sizes that have to be equal to one of them are."""
    fixed = dict(candidate.fixed)
    bound = [fixed[name] for name in lab.equal_sizes if name in fixed]
    equal = dict.fromkeys(lab.equal_sizes, bound[0]) if bound and _is_for_squares(lab, candidate) else {}
    return {**sizes, **equal, **fixed}


def rounded(lab: Lab, sizes: Sizes, candidate: Candidate) -> Sizes:
    """`sizes`, each that the grid covers raised to a multiple of its tile; equal sizes stay equal."""
    steps: dict[str, int] = {}
    for name, tile in zip(candidate.launch.covers, candidate.launch.tile, strict=False):
        steps[name] = lcm(steps.get(name, 1), tile)
    common = lcm(*(steps.get(name, 1) for name in lab.equal_sizes)) if lab.equal_sizes else 1
    if len({sizes[name] for name in lab.equal_sizes}) == 1:
        steps |= dict.fromkeys(lab.equal_sizes, common)
    return {name: -(-value // steps.get(name, 1)) * steps.get(name, 1) for name, value in sizes.items()}


def grid_of(plan: LaunchPlan, sizes: Sizes) -> tuple[int, int, int]:
    """Blocks along x, y, z: what the formulas give, else as many as cover the sizes.

    `covers` may name a product of sizes, "rows*cols".
    """
    try:
        by_formula = [formula.integer(text, sizes) for text in plan.grid_formula]
    except formula.FormulaError:
        by_formula = []
    if by_formula and all(count > 0 for count in by_formula):
        x, y, z = [*by_formula, 1, 1][:3]
        return x, y, z
    extents = [prod(sizes[name] for name in covered.split("*")) for covered in plan.covers]
    counts = [-(-extent // tile) for extent, tile in zip(extents, plan.tile, strict=False)]
    x, y, z = [*counts, 1, 1, 1][:3]
    return x, y, z


def dtypes_of(lab: Lab, binding: VariantBinding, candidate: Candidate) -> dict[str, str]:
    """Element type of each array by role: what the kernel's own signature says, else the lab's."""
    pairs = zip(candidate.roles, binding.kernel.parameters, strict=True)
    kinds = {p.name: p for p in lab.parameters}
    return {
        role: parameter.dtype or kinds[role].dtype
        for role, parameter in pairs
        if role in kinds and kinds[role].kind != "size"
    }


def tile_of_output(lab: Lab, name: str, plan: LaunchPlan) -> tuple[int, ...]:
    """Elements that one block covers along each axis of an output, () where that is unknown."""
    steps = dict(zip(plan.covers, plan.tile, strict=False))
    axes = lab.parameter(name).shape
    if axes == plan.covers[::-1]:
        # Also where the axes are of one size, and a block of one width and another height.
        return plan.tile[::-1]
    return tuple(steps[str(axis)] for axis in axes) if all(axis in steps for axis in axes) else ()


def request(
    lab: Lab,
    binding: VariantBinding,
    candidate: Candidate,
    entry: str,
    sizes: Sizes,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    observe: bool,
) -> LaunchRequest:
    """The launch of a kernel at some sizes; outputs are handed over as memory that nothing wrote."""
    arguments: list[BufferArgument | ScalarArgument] = []
    for role, parameter in zip(candidate.roles, binding.kernel.parameters, strict=True):
        if role.startswith("="):
            arguments.append(ScalarArgument(int(role[1:]), parameter.dtype or "int32"))
        elif role in inputs:
            array = inputs[role]
            arguments.append(BufferArgument(role, array.shape, str(array.dtype), array, is_output=False))
        elif role in outputs:
            array = outputs[role]
            arguments.append(BufferArgument(role, array.shape, str(array.dtype), None, is_output=True))
        else:
            arguments.append(ScalarArgument(sizes[role], _scalar_type(lab, role, parameter)))
    block = block_of(candidate.launch, sizes)
    return ProgramRequest(
        entry=entry,
        grid=grid_of(candidate.launch, sizes),
        block=block,
        shared_bytes=_shared_bytes(candidate.launch, sizes, block),
        arguments=arguments,
        observe=observe,
        file=binding.kernel.file,
        expression=_expression(binding, candidate, sizes) if candidate.constants or candidate.template else "",
        constants=tuple((name, sizes[role]) for role, name in candidate.constants),
    )


def block_of(plan: LaunchPlan, sizes: Sizes) -> tuple[int, int, int]:
    """Threads of a block along x, y, z: what the formulas give at these sizes, where there are any."""
    try:
        x, y, z = [*(formula.integer(text, sizes) for text in plan.block_formula), 1, 1, 1][:3]
    except formula.FormulaError:
        return plan.block
    return (x, y, z) if plan.block_formula else plan.block


def _shared_bytes(plan: LaunchPlan, sizes: Sizes, block: tuple[int, int, int]) -> int:
    if not plan.shared_formula:
        return plan.shared_bytes
    try:
        return formula.integer(plan.shared_formula, {**sizes, "threads": prod(block)})
    except formula.FormulaError:
        return plan.shared_bytes


def _expression(binding: VariantBinding, candidate: Candidate, sizes: Sizes) -> str:
    """What names the kernel to the compiler: a template's sizes take the place of its arguments."""
    if not candidate.template:
        return binding.expression
    arguments = ", ".join(str(sizes[role]) if role else text for text, role in candidate.template)
    return f"{binding.expression.partition('<')[0]}<{arguments}>"


def _scalar_type(lab: Lab, role: str, parameter: KernelParameter) -> str:
    return str(np.dtype(parameter.dtype or lab.parameter(role).dtype))
