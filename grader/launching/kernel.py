"""A kernel of a submission, read one way: the program it is in, and its launch at any sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from grader.backends.base import BufferArgument, LaunchRequest, ScalarArgument, waits_for_grid
from grader.lab import formula
from grader.lab.records import Lab, Sizes
from grader.launching.geometry import Array, Geometry, SizeRules, geometry, placeholder, shape_at
from grader.launching.programs import Built, DeviceProgram, ProgramStore, handed_in
from grader.submission.kernels.records import KernelParameter
from grader.submission.records import Interpretation, Submission, VariantBinding


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kernel in a compiled program; entry: its symbol there, None where the program or the kernel is not compiled."""

    built: Built
    entry: str | None


@dataclass(frozen=True, slots=True)
class BoundKernel:
    """The kernel of `binding` in `submission`, read as `interpretation`.

    together: expressions of the kernels of its file that are compiled with it, where its program is as handed in.
    target: what its program is compiled for; "": what programs are compiled for.
    """

    lab: Lab
    submission: Submission
    binding: VariantBinding
    interpretation: Interpretation
    together: tuple[str, ...] = ()
    target: str = ""

    def read_as(self, interpretation: Interpretation) -> BoundKernel:
        """The same kernel, read another way."""
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
        """Of its launch at some sizes."""
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
        return DeviceProgram(self.submission, self.binding.kernel.file, expressions, constants, self.target)

    def load(self, programs: ProgramStore, sizes: Sizes) -> Loaded:
        """The kernel in a program compiled for some sizes."""
        built = programs.get(self.program(sizes))
        return Loaded(built, built.result.entries.get(self.expression(sizes)))

    def launch(
        self,
        built: Built,
        entry: str,
        sizes: Sizes,
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Array],
        observe: bool = False,
        trace: bool = False,
    ) -> LaunchRequest:
        """The launch of an entry of a program at some sizes; outputs are handed over as memory that nothing wrote."""
        at = self.geometry(sizes)
        return LaunchRequest(
            entry,
            at.grid,
            at.block,
            at.shared_bytes,
            self._arguments(sizes, inputs, outputs),
            observe,
            trace,
            cooperative=waits_for_grid(built.code, entry),
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
                initial = np.zeros(array.shape, array.dtype) if role in self.interpretation.zeroed else None
                arguments.append(BufferArgument(role, array.shape, str(array.dtype), initial, is_output=True))
            else:
                arguments.append(ScalarArgument(sizes[role], self._scalar_type(role, parameter)))
        return arguments

    def launch_without_data(self, built: Built, entry: str, sizes: Sizes) -> LaunchRequest:
        """The launch with arrays that have the right shapes and take no memory."""
        return self.launch(built, entry, sizes, *self._placeholders(sizes))

    def array_arguments(self, sizes: Sizes) -> list[BufferArgument]:
        """The arrays that it takes at some sizes, without data: they take no memory."""
        arguments = self._arguments(sizes, *self._placeholders(sizes))
        return [argument for argument in arguments if isinstance(argument, BufferArgument)]

    def _placeholders(self, sizes: Sizes) -> tuple[dict[str, Array], dict[str, Array]]:
        """(inputs, outputs) of the right shapes that take no memory."""
        dtypes = self.dtypes
        arrays = {
            p.name: placeholder(shape_at(self.lab, p.name, sizes), dtypes.get(p.name, p.dtype))
            for p in self.lab.parameters
            if p.is_array
        }
        inputs = {name: array for name, array in arrays.items() if self.lab.parameter(name).is_input}
        return inputs, {name: a for name, a in arrays.items() if name not in inputs}

    def _scalar_type(self, role: str, parameter: KernelParameter) -> str:
        return str(np.dtype(parameter.dtype or self.lab.parameter(role).dtype))


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
