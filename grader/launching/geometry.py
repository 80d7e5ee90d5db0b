"""Launch geometry: blocks, threads and dynamic shared memory of a launch, from a plan and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from grader.lab import formula
from grader.lab.records import Lab, Sizes
from grader.submission.records import LaunchPlan

Axes = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Geometry:
    """grid: blocks along x, y, z; block: threads of one, likewise; shared_bytes: dynamic shared memory of a block."""

    grid: Axes
    block: Axes
    shared_bytes: int

    @property
    def threads(self) -> int:
        """Of a block."""
        return prod(self.block)


def geometry(plan: LaunchPlan, sizes: Sizes) -> Geometry:
    """The launch of a plan at some sizes."""
    block = block_of(plan, sizes)
    return Geometry(grid_of(plan, sizes), block, _shared_bytes(plan, sizes, block))


def grid_of(plan: LaunchPlan, sizes: Sizes) -> Axes:
    """Blocks along x, y, z: what the formulas give, be it none at all, else as many as cover the sizes.

    `covers` may name a product of sizes, "rows*cols".
    """
    try:
        by_formula = [formula.integer(text, sizes) for text in plan.grid_formula]
    except formula.FormulaError:
        by_formula = []
    if by_formula:
        x, y, z = [*by_formula, 1, 1][:3]
        return x, y, z
    extents = [prod(sizes[name] for name in covered.split("*")) for covered in plan.covers]
    counts = [-(-extent // tile) for extent, tile in zip(extents, plan.tile, strict=False)]
    x, y, z = [*counts, 1, 1, 1][:3]
    return x, y, z


def block_of(plan: LaunchPlan, sizes: Sizes) -> Axes:
    """Threads of a block along x, y, z: what the formulas give at these sizes, where there are any."""
    try:
        x, y, z = [*(formula.integer(text, sizes) for text in plan.block_formula), 1, 1, 1][:3]
    except formula.FormulaError:
        return plan.block
    return (x, y, z) if plan.block_formula else plan.block


def tile_of_output(lab: Lab, name: str, plan: LaunchPlan) -> tuple[int, ...]:
    """Elements that one block covers along each axis of an output, () where that is unknown."""
    steps = dict(zip(plan.covers, plan.tile, strict=False))
    axes = lab.parameter(name).shape
    if axes == plan.covers[::-1]:
        # Also where the axes are of one size, and a block of one width and another height.
        return plan.tile[::-1]
    return tuple(steps[str(axis)] for axis in axes) if all(axis in steps for axis in axes) else ()


def _shared_bytes(plan: LaunchPlan, sizes: Sizes, block: Axes) -> int:
    if not plan.shared_formula:
        return plan.shared_bytes
    try:
        return formula.integer(plan.shared_formula, {**sizes, "threads": prod(block)})
    except formula.FormulaError:
        return plan.shared_bytes
