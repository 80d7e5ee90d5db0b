"""A kernel of a submission, read one way: the program it is in, and the geometry of its launch at any sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm, prod

import numpy as np
import numpy.typing as npt

from grader.devices import is_possible_block
from grader.lab import formula
from grader.lab.records import Cases, Lab, Sizes, Variant
from grader.launching.backend import BufferArgument, LaunchRequest, ScalarArgument, waits_for_grid
from grader.launching.programs import Built, DeviceProgram, ProgramStore, handed_in
from grader.result import CaseKind
from grader.submission.records import Interpretation, LaunchPlan, Submission, VariantBinding

Axes = tuple[int, int, int]
SURPLUS = 16
"""How many times as many blocks as there is work for are a great many."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """grid: blocks along x, y, z; block: threads of one, likewise; shared_bytes: dynamic shared memory of a block."""

    grid: Axes
    block: Axes
    shared_bytes: int

    @property
    def threads(self) -> int:
        return prod(self.block)


def geometry(plan: LaunchPlan, sizes: Sizes) -> Geometry:
    """The launch of a plan at some sizes."""
    block = block_of(plan, sizes)
    return Geometry(grid_of(plan, sizes), block, _shared_bytes(plan, sizes, block))


def grid_of(plan: LaunchPlan, sizes: Sizes) -> Axes:
    """Blocks along x, y, z: what the formulas give, be it none at all, else as many as cover the sizes.

    `covers` may name a product of sizes, "rows*cols".
    """
    by_formula = _values(plan.grid_formula, sizes)
    if by_formula:
        x, y, z = [*by_formula, 1, 1][:3]
        return x, y, z
    extents = [prod(sizes[name] for name in covered.split("*")) for covered in plan.covers]
    # What a block covers with a thread for each element it covers with as many as it has at these sizes.
    block = block_of(plan, sizes)
    tiles = [
        now if tile == threads and now > 0 else tile
        for tile, threads, now in zip(plan.tile, plan.block, block, strict=False)
    ]
    counts = [-(-extent // tile) for extent, tile in zip(extents, tiles, strict=False)]
    x, y, z = [*counts, 1, 1, 1][:3]
    return x, y, z


def without_surplus(plan: LaunchPlan, sizes: Sizes) -> Axes | None:
    """A grid of one block more along each axis than cover the sizes, where the formulas give a great many more; None
    where they do not: `(m * n + 15) / 16` blocks along each of two axes.

    A thread behind the last element that nothing turns away is in it as well.
    """
    grid, enough = grid_of(plan, sizes), grid_of(replace(plan, grid_formula=()), sizes)
    is_wide = len(plan.grid_formula) == len(plan.covers) and not plan.exact
    less = tuple(n + 1 if axis < len(plan.covers) else 1 for axis, n in enumerate(enough))
    if not is_wide or prod(grid) < SURPLUS * prod(less) or any(n < m for n, m in zip(grid, less, strict=True)):
        return None
    x, y, z = less
    return x, y, z


def block_of(plan: LaunchPlan, sizes: Sizes) -> Axes:
    """Threads of a block along x, y, z: what the formulas give at these sizes, where there are any."""
    by_formula = _values(plan.block_formula, sizes)
    if not by_formula:
        return plan.block
    x, y, z = [*by_formula, 1, 1][:3]
    return x, y, z


def _values(formulas: Sequence[str], sizes: Mapping[str, int]) -> list[int]:
    """Return what formulas come to; nothing where one of them cannot be worked out."""
    try:
        return [formula.integer(text, sizes) for text in formulas]
    except formula.FormulaError:
        return []


def tile_of_output(lab: Lab, name: str, plan: LaunchPlan) -> tuple[int, ...]:
    """Elements that one block covers along each axis of an output, () where that is unknown."""
    steps = dict(zip(plan.covers, plan.tile, strict=False))
    axes = lab.parameter(name).shape
    if axes == plan.covers[::-1]:
        # Also where the axes are of one size, and a block of one width and another height.
        return plan.tile[::-1]
    return tuple(steps[str(axis)] for axis in axes) if all(axis in steps for axis in axes) else ()


def _shared_bytes(plan: LaunchPlan, sizes: Sizes, block: Axes) -> int:
    formulas = [plan.shared_formula] if plan.shared_formula else []
    return next(iter(_values(formulas, {**sizes, "threads": prod(block)})), plan.shared_bytes)


Array = npt.NDArray[np.generic]


def shape_at(lab: Lab, name: str, sizes: Sizes) -> tuple[int, ...]:
    """The shape of an array at some sizes."""
    return lab.parameter(name).extents_at(sizes)


def placeholder(shape: tuple[int, ...], dtype: str) -> Array:
    """An array of that shape that takes no memory: for launches whose data are made on the device."""
    return np.broadcast_to(np.zeros((), dtype), shape)


@dataclass(frozen=True, slots=True)
class SizeRules:
    """The sizes of `lab` for a kernel that is read as `interpretation`.

    A kernel that does not take all of the lab's `equal_sizes` is asked for equal ones only; one that needs multiples
    of its tile gets the next multiple.
    """

    lab: Lab
    interpretation: Interpretation

    def planned(self, cases: Cases, takes_sizes: bool) -> list[tuple[CaseKind, Sizes]]:
        """The runs that the kernel is graded by, in order: small exact sizes, the profiled one, partial tiles.

        takes_sizes: sizes that are no multiple of the tile are legal to ask for.  No size is run twice.
        """
        runs: list[tuple[CaseKind, Sizes]] = []
        exact: list[tuple[CaseKind, Sequence[Sizes]]] = [("correct", cases.correct), ("observe", [cases.observe])]
        for kind, rows in exact:
            for sizes in rows:
                if self.fits(sizes):
                    runs.append((kind, self.rounded(sizes)))
        if takes_sizes:
            runs += [("ragged", dict(sizes)) for sizes in cases.ragged if self.fits(sizes)]
        runs = [(kind, self._with_pinned(sizes)) for kind, sizes in runs]
        profiled = [sizes for kind, sizes in runs if kind == "observe"]
        if (
            not profiled
            and plan_is_one_block(self.interpretation.launch)
            and any(kind == "correct" for kind, _sizes in runs)
        ):
            largest = max((s for kind, s in runs if kind == "correct"), key=lambda sizes: prod(sizes.values()))
            runs = [("observe" if sizes is largest else kind, sizes) for kind, sizes in runs]
            profiled = [largest]
        unique: list[tuple[CaseKind, Sizes]] = []
        for kind, sizes in runs:
            if (kind == "observe" or sizes not in profiled) and (kind, sizes) not in unique:
                unique.append((kind, sizes))
        return unique

    def planned_more(self, variant: Variant) -> list[Sizes]:
        """The variant's own sizes, as the kernel can be asked for them; none that its program has fixed."""
        fitting = (sizes for sizes in variant.more_sizes if self.fits(sizes))
        fixed = dict(self.interpretation.pinned)
        return [self.rounded(sizes) for sizes in fitting if all(sizes[n] == v for n, v in fixed.items())]

    def fits(self, sizes: Sizes) -> bool:
        """Whether the kernel can be asked for these sizes: equal ones where it does not take them all."""
        if not self.has_possible_block(sizes):
            return False
        return not self._is_for_squares() or len({sizes[name] for name in self.lab.equal_sizes}) <= 1

    def has_possible_block(self, sizes: Sizes) -> bool:
        """Whether a device can run its block at these sizes, where the only block has a thread for each element."""
        plan = self.interpretation.launch
        return not plan_is_one_block(plan) or is_possible_block(block_of(plan, sizes))

    def probe(self, sizes: Sizes) -> Sizes:
        """These sizes, to try a doubtful interpretation on: a rectangle where the kernel takes one, else a square."""
        sizes = dict(sizes)
        if not self.fits(sizes):
            sizes |= dict.fromkeys(self.lab.equal_sizes, max(sizes[name] for name in self.lab.equal_sizes))
        return self._with_pinned(self.rounded(sizes))

    def rounded(self, sizes: Sizes) -> Sizes:
        """`sizes`, each that the grid covers raised to a multiple of its tile; equal sizes stay equal."""
        equal, plan = self.lab.equal_sizes, self.interpretation.launch
        if plan_is_one_block(plan):
            return dict(sizes)
        steps: dict[str, int] = {}
        for name, tile in zip(plan.covers, plan.tile, strict=False):
            steps[name] = lcm(steps.get(name, 1), tile)
        common = lcm(*(steps.get(name, 1) for name in equal)) if equal else 1
        if len({sizes[name] for name in equal}) == 1:
            steps |= dict.fromkeys(equal, common)
        return {name: -(-value // steps.get(name, 1)) * steps.get(name, 1) for name, value in sizes.items()}

    def _is_for_squares(self) -> bool:
        interpretation = self.interpretation
        roles = {
            *interpretation.roles,
            *dict(interpretation.constants),
            *(role for _text, role in interpretation.template),
        }
        return interpretation.square_only or not roles.issuperset(self.lab.equal_sizes)

    def _with_pinned(self, sizes: Sizes) -> Sizes:
        """Return `sizes` with those that the program has fixed; sizes that have to be equal to one of them are."""
        fixed = dict(self.interpretation.pinned)
        bound = [fixed[name] for name in self.lab.equal_sizes if name in fixed]
        equal = dict.fromkeys(self.lab.equal_sizes, bound[0]) if bound and self._is_for_squares() else {}
        return {**sizes, **equal, **fixed}


def plan_is_one_block(plan: LaunchPlan) -> bool:
    """Whether the program launches one block, as large as its data."""
    return bool(plan.block_formula) and set(plan.grid_formula) == {"1"}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kernel in a compiled program; entry: its symbol there, None where the program or the kernel is not compiled."""

    built: Built
    entry: str | None


@dataclass(frozen=True, slots=True)
class BoundKernel:
    """The kernel of `binding` in `submission`, read as `interpretation`.

    together: expressions of the kernels of its file that are compiled with it, where its program is as handed in.
    target: what its program is compiled for; "": what programs are compiled for.  as_written: without optimisation.
    """

    lab: Lab
    submission: Submission
    binding: VariantBinding
    interpretation: Interpretation
    together: tuple[str, ...] = ()
    target: str = ""
    as_written: bool = False

    def read_as(self, interpretation: Interpretation) -> BoundKernel:
        return replace(self, interpretation=interpretation)

    @property
    def sizes(self) -> SizeRules:
        """Which sizes it can be asked for."""
        return SizeRules(self.lab, self.interpretation)

    @property
    def dtypes(self) -> dict[str, str]:
        """Element type of each array by role: what the kernel's own signature says, else the lab's."""
        pairs = zip(self.interpretation.roles, self.binding.kernel.parameters, strict=True)
        kinds = {p.name: p for p in self.lab.parameters}
        return {
            role: parameter.dtype or kinds[role].dtype
            for role, parameter in pairs
            if role in kinds and kinds[role].is_array
        }

    @property
    def is_comparable(self) -> bool:
        """Whether its arrays have the types of the lab's, as its reference kernel's have."""
        return all(dtype == self.lab.parameter(name).dtype for name, dtype in self.dtypes.items())

    def geometry(self, sizes: Sizes) -> Geometry:
        """Return the geometry of its launch at some sizes."""
        return geometry(self.interpretation.launch, sizes)

    def expression(self, sizes: Sizes) -> str:
        """What names the kernel to the compiler: a template's sizes take the place of its arguments."""
        if not self.interpretation.template:
            return self.binding.expression
        arguments = ", ".join(str(sizes[role]) if role else text for text, role in self.interpretation.template)
        return f"{self.binding.expression.partition('<')[0]}<{arguments}>"

    def program(self, sizes: Sizes) -> DeviceProgram:
        """What has to be compiled for a launch at some sizes."""
        constants = tuple((name, sizes[role]) for role, name in self.interpretation.constants)
        expression = self.expression(sizes)
        if not constants and expression in self.together:
            expressions = self.together
        else:
            # Kernels that are no templates are compiled with any of them: so they are compiled once for all.
            plain = tuple(name for name in self.together if "<" not in name)
            expressions = plain if expression in plain else (expression,)
        file = self.binding.kernel.file
        return DeviceProgram(self.submission, file, expressions, constants, self.target, self.as_written)

    def load(self, programs: ProgramStore, sizes: Sizes) -> Loaded:
        """The kernel in a program compiled for some sizes."""
        built = programs.get(self.program(sizes))
        return Loaded(built, built.result.entries.get(self.expression(sizes)))

    def launch(
        self, loaded: Loaded, sizes: Sizes, inputs: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> LaunchRequest:
        """The launch of a program's entry at some sizes; outputs are handed over as memory that nothing wrote."""
        assert loaded.entry is not None
        at = self.geometry(sizes)
        return LaunchRequest(
            loaded.entry,
            at.grid,
            at.block,
            at.shared_bytes,
            self._arguments(sizes, inputs, outputs),
            cooperative=waits_for_grid(loaded.built.code, loaded.entry),
        )

    def _arguments(
        self, sizes: Sizes, inputs: Mapping[str, Array], outputs: Mapping[str, Array]
    ) -> list[BufferArgument | ScalarArgument]:
        arguments: list[BufferArgument | ScalarArgument] = []
        for role, parameter in zip(self.interpretation.roles, self.binding.kernel.parameters, strict=True):
            if role.startswith("="):
                arguments.append(ScalarArgument(formula.evaluate(role[1:], sizes), parameter.dtype or "int32"))
            elif role in inputs:
                array = inputs[role]
                arguments.append(BufferArgument(role, array.shape, str(array.dtype), array, is_output=False))
            elif role in outputs:
                array = outputs[role]
                initial = None
                if role in self.interpretation.zeroed:
                    # A placeholder's zeros take no memory either: at 32768² elements they would be 4 GiB.
                    zeros = placeholder(array.shape, str(array.dtype))
                    initial = zeros.copy() if any(array.strides) else zeros
                arguments.append(BufferArgument(role, array.shape, str(array.dtype), initial, is_output=True))
            else:
                dtype = str(np.dtype(parameter.dtype or self.lab.parameter(role).dtype))
                arguments.append(ScalarArgument(sizes[role], dtype))
        return arguments

    def launch_without_data(self, loaded: Loaded, sizes: Sizes) -> LaunchRequest:
        """The launch with arrays that have the right shapes and take no memory."""
        return self.launch(loaded, sizes, *self._placeholders(sizes))

    def array_arguments(self, sizes: Sizes) -> list[BufferArgument]:
        """The arrays that it takes at some sizes, without data: they take no memory."""
        arguments = self._arguments(sizes, *self._placeholders(sizes))
        return [argument for argument in arguments if isinstance(argument, BufferArgument)]

    def _placeholders(self, sizes: Sizes) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return (inputs, outputs) of the right shapes that take no memory."""
        dtypes = self.dtypes
        arrays = {
            p.name: placeholder(shape_at(self.lab, p.name, sizes), dtypes.get(p.name, p.dtype))
            for p in self.lab.parameters
            if p.is_array
        }
        inputs = {name: array for name, array in arrays.items() if self.lab.parameter(name).is_input}
        return inputs, {name: a for name, a in arrays.items() if name not in inputs}


def bound_kernels(lab: Lab, submission: Submission) -> dict[str, BoundKernel]:
    """The kernels that were found, by variant, each read the likeliest way."""
    programs = handed_in(submission)
    return {
        name: BoundKernel(
            lab, submission, binding, binding.interpretations[0], programs[binding.kernel.file].expressions
        )
        for name, binding in submission.bindings.items()
        if isinstance(binding, VariantBinding)
    }
