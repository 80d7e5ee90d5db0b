"""Inputs that carry their halo: a stencil whose input is longer than its output by two radii is graded with such.

Then there are no borders: what must come out are the middle elements of what the oracle makes of the longer input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from grader.backends.base import Backend, BufferArgument, Code, LaunchOutcome, LaunchRequest
from grader.lab.records import Lab, Sizes
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.message import msg
from grader.oracle.expected import Array, Oracle
from grader.result import BackendName
from grader.running.evidence import Evidence
from grader.running.margins import margins_of


@dataclass(frozen=True, slots=True)
class Halo:
    """A halo of the lab's only input, a vector.

    role: the input.  size: the role of its length.  array: what the program calls it.
    elements: on both sides together, at `seen`: the sizes beside the length that it grows with.
    is_before: the kernel is handed the address of the first element that has a result, not that of the halo.
    """

    role: str
    size: str
    array: str
    elements: int
    seen: Sizes
    is_before: bool

    def width(self, sizes: Sizes) -> int:
        """Elements of the halo on one side at some sizes."""
        factor = max((sizes[name] / value for name, value in self.seen.items() if name in sizes), default=1.0)
        return round(self.elements * factor) // 2

    def widened(self, sizes: Sizes) -> Sizes:
        """The sizes of the input with its halo."""
        return {**sizes, self.size: sizes[self.size] + 2 * self.width(sizes)}

    def of(self, evidence: Evidence) -> Evidence:
        """Evidence that was found with the halo, and says so."""
        said = msg("runs.halo", array=self.array, n=self.elements)
        unmeasured = {**evidence.unmeasured, "time": msg("runs.halo_untimed", array=self.array)}
        return replace(evidence, halo=said, margin=None, unmeasured=unmeasured)


def halo_of(evidence: Evidence, kernel: BoundKernel) -> Halo | None:
    """The halo that the program gives to the input and the kernel reads; None where it keeps to its arrays, or where
    what lies around them is no halo: of an odd number of elements, on one side only, or around an output."""
    runs = evidence.runs_of("correct", "observe")
    outside = {
        h.array for run in runs for h in run.outcome.hazards if h.kind == "out_of_bounds" and h.space != "shared"
    }
    lab = kernel.lab
    inputs = [p for p in lab.parameters if p.is_input]
    if evidence.interpretation is None or len(inputs) != 1 or outside != {inputs[0].name}:
        return None
    shape, role = inputs[0].shape, inputs[0].name
    margin = next((m for m in margins_of(kernel.read_as(evidence.interpretation)) if m.role == role), None)
    if margin is None or len(shape) != 1 or not isinstance(shape[0], str):
        return None
    width = np.dtype(kernel.dtypes[role]).itemsize
    before, after = margin.before // width, margin.after // width
    if before + after == 0 or (before + after) % 2 or before not in (0, after):
        return None
    seen = {name: value for name, value in margin.sizes.items() if value > 0}
    return Halo(role, shape[0], margin.array, before + after, seen, is_before=before > 0)


def haloed(trials: Trials, halo: Halo) -> Trials:
    """Trials with the halo around the input."""
    oracle = cast(Oracle, _Haloed(trials.oracle, halo, trials.lab))
    return replace(trials, oracle=oracle, backend=_Handed(trials.backend, halo))


class _Haloed:
    """An oracle whose input is longer by the halo, and whose output has no border."""

    def __init__(self, oracle: Oracle, halo: Halo, lab: Lab) -> None:
        self._oracle = oracle
        self._halo = halo
        self._lab = lab
        self._outputs = {p.name for p in lab.parameters if p.is_output and p.shape == (halo.size,)}

    def case(self, sizes: Sizes, dtypes: Mapping[str, str]) -> tuple[dict[str, Array], dict[str, Array]]:
        inputs, expected = self._oracle.case(self._halo.widened(sizes), dtypes)
        return inputs, {name: self._middle(name, array, sizes) for name, array in expected.items()}

    def projected(self, sizes: Sizes, dtypes: Mapping[str, str]) -> None:
        return None

    def of_equal_values(self) -> Oracle:
        return cast(Oracle, _Haloed(self._oracle.of_equal_values(), self._halo, self._lab))

    def other_inputs(self, sizes: Sizes, dtypes: Mapping[str, str]) -> dict[str, Array]:
        return self._oracle.other_inputs(self._halo.widened(sizes), dtypes)

    def expected(self, inputs: Mapping[str, Array], sizes: Sizes, output: str) -> Array:
        return self._middle(output, self._oracle.expected(inputs, self._halo.widened(sizes), output), sizes)

    def _middle(self, name: str, array: Array, sizes: Sizes) -> Array:
        width = self._halo.width(sizes)
        return array[width : width + sizes[self._halo.size]].copy() if name in self._outputs else array


@dataclass(frozen=True, slots=True)
class _Handed:
    """A backend on which the kernel is handed the address that its program hands it."""

    backend: Backend
    halo: Halo

    @property
    def name(self) -> BackendName:
        return self.backend.name

    def run(self, code: Code, request: LaunchRequest) -> LaunchOutcome:
        """The halo is what the input has more than the output."""
        if not self.halo.is_before:
            return self.backend.run(code, request)
        return self.backend.run(code, self._started(request))

    def _started(self, request: LaunchRequest) -> LaunchRequest:
        arrays = [a for a in request.arguments if isinstance(a, BufferArgument)]
        shortest = min(a.shape[0] for a in arrays)
        arguments = [
            replace(a, start=(a.shape[0] - shortest) // 2)
            if isinstance(a, BufferArgument) and a.name == self.halo.role
            else a
            for a in request.arguments
        ]
        before = tuple(self._started(earlier) for earlier in request.before)
        return replace(request, arguments=arguments, before=before)
