"""From a lab's sizes to launches of a student's kernel: which sizes suit it, its grid, its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lcm, prod

import numpy as np

from grader.backends.base import BufferArgument, LaunchRequest, ScalarArgument
from grader.lab import Cases, Lab, Sizes
from grader.oracle import Array
from grader.result import CaseKind
from grader.submission.records import Candidate, KernelParameter, LaunchPlan, VariantBinding


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
    observed = [sizes for kind, sizes in runs if kind == "observe"]
    unique: list[tuple[CaseKind, Sizes]] = []
    for kind, sizes in runs:
        if (kind == "observe" or sizes not in observed) and (kind, sizes) not in unique:
            unique.append((kind, sizes))
    return unique


def fits(lab: Lab, sizes: Sizes, candidate: Candidate) -> bool:
    """Whether the kernel can be asked for these sizes: equal ones where it does not take them all."""
    takes_all = all(name in candidate.roles for name in lab.equal_sizes)
    return (takes_all and not candidate.square_only) or len({sizes[name] for name in lab.equal_sizes}) <= 1


def probe_sizes(lab: Lab, cases: Cases, candidate: Candidate) -> Sizes:
    """The sizes on which a doubtful reading is tried: a rectangle where the kernel takes one, else a square."""
    sizes = dict(cases.probe)
    if not fits(lab, sizes, candidate):
        sizes |= dict.fromkeys(lab.equal_sizes, max(sizes[name] for name in lab.equal_sizes))
    return rounded(lab, sizes, candidate)


def rounded(lab: Lab, sizes: Sizes, candidate: Candidate) -> Sizes:
    """`sizes`, each that the grid covers raised to a multiple of its tile; equal sizes stay equal."""
    steps = dict(zip(candidate.launch.covers, candidate.launch.tile, strict=False))
    common = lcm(*(steps.get(name, 1) for name in lab.equal_sizes)) if lab.equal_sizes else 1
    if len({sizes[name] for name in lab.equal_sizes}) == 1:
        steps |= dict.fromkeys(lab.equal_sizes, common)
    return {name: -(-value // steps.get(name, 1)) * steps.get(name, 1) for name, value in sizes.items()}


def grid_of(plan: LaunchPlan, sizes: Sizes) -> tuple[int, int, int]:
    """Blocks along x, y, z: as many as cover the sizes; `covers` may name a product of sizes, "rows*cols"."""
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
    return LaunchRequest(
        entry=entry,
        grid=grid_of(candidate.launch, sizes),
        block=candidate.launch.block,
        shared_bytes=candidate.launch.shared_bytes,
        arguments=arguments,
        observe=observe,
    )


def _scalar_type(lab: Lab, role: str, parameter: KernelParameter) -> str:
    return str(np.dtype(parameter.dtype or lab.parameter(role).dtype))
