"""A kernel run once at some sizes, and what it gave compared with the oracle's: the one place where that is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.backends.base import Backend, LaunchOutcome
from grader.lab.records import Lab, Sizes
from grader.launching.geometry import tile_of_output
from grader.launching.kernel import BoundKernel
from grader.launching.programs import Built, ProgramStore
from grader.launching.run import Run
from grader.message import msg
from grader.oracle.compare import Difference, compare
from grader.oracle.expected import Array, Oracle
from grader.oracle.projected import Projected
from grader.result import CaseKind


@dataclass(frozen=True, slots=True)
class Trials:
    """Runs kernels of `programs` on `backend`, and tells by `oracle` whether they are right."""

    lab: Lab
    oracle: Oracle
    programs: ProgramStore
    backend: Backend

    def run(self, kernel: BoundKernel, kind: CaseKind, sizes: Sizes, observe: bool = False, trace: bool = False) -> Run:
        """One launch at one size, compared with the oracle's output.

        observe, trace: count its work, keep the history of its memory, where the backend can.

        Raises
        ------
        LabError : the oracle cannot say what has to come out.
        """
        projected = self.oracle.projected(sizes, kernel.dtypes)
        inputs, expected = (projected.inputs, projected.blanks) if projected else self.oracle.case(sizes, kernel.dtypes)
        loaded = kernel.load(self.programs, sizes)
        if loaded.entry is None:
            return Run(kind, sizes, self._not_compiled(kernel, sizes, loaded.built), None, backend=self.backend.name)
        launch = kernel.launch(loaded.entry, sizes, inputs, expected, observe, trace)
        outcome = self.backend.run(loaded.built.code, launch)
        if outcome.status != "ok":
            return Run(kind, sizes, outcome, None, backend=self.backend.name)
        return Run(
            kind,
            sizes,
            outcome,
            self._difference(kernel, sizes, outcome, inputs, expected, projected),
            changed_inputs=tuple(name for name in inputs if name in outcome.outputs),
            backend=self.backend.name,
        )

    def _difference(
        self,
        kernel: BoundKernel,
        sizes: Sizes,
        outcome: LaunchOutcome,
        inputs: Mapping[str, Array],
        expected: Mapping[str, Array],
        projected: Projected | None,
    ) -> Difference:
        """Of the first output that is wrong, else of the first output."""

        def difference(name: str) -> Difference:
            got, tile = outcome.outputs[name], tile_of_output(self.lab, name, kernel.reading.launch)
            if projected is not None:
                return projected.compare(name, got, tile)
            tolerance = self.lab.tolerance.at(sizes, str(expected[name].dtype))
            return compare(name, got, expected[name], tolerance, inputs, tile)

        differences = [difference(name) for name in expected if name in outcome.outputs]
        return next((d for d in differences if d.mismatches), differences[0])

    def _not_compiled(self, kernel: BoundKernel, sizes: Sizes, built: Built) -> LaunchOutcome:
        """The outcome where there is no program to be run.

        Machine code lacks what the device lacks, and that is the kernel's doing; PTX what we changed in the program.
        """
        if self.programs.makes_machine_code:
            return LaunchOutcome(
                "impossible", reason="not_compiled", said=msg("launches.not_compiled_gpu", error=built.error)
            )
        values = ", ".join(f"{name} = {value}" for name, value in kernel.program(sizes).constants)
        constants = values or msg("launches.own_constants")
        said = msg("launches.not_compiled_as", expression=kernel.expression(sizes), constants=constants)
        return LaunchOutcome("unsupported", reason="not_compiled", said=said)
