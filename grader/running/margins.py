"""Arrays that are longer than the task has them: margins that a program gives them, and inputs that carry their halo.

A stencil may be handed arrays of n + 2 * RADIUS elements, whose data begin at RADIUS.  Handed one of n elements it
works outside of it, which is no fault of its own.

Then there are no borders: what must come out are the middle elements of what the oracle makes of the longer input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import cast

import numpy as np

from grader.lab.expected import Array, Oracle
from grader.lab.records import Lab, Sizes
from grader.launching.backend import Backend, BufferArgument, Code, LaunchOutcome, LaunchRequest
from grader.launching.kernel import BoundKernel, shape_at
from grader.launching.trial import Trials
from grader.measured import BackendName
from grader.message import msg
from grader.ptx.records import Hazard
from grader.running.evidence import Evidence
from grader.submission.kernels.records import SeenArgument, SeenLaunch


@dataclass(frozen=True, slots=True)
class Margin:
    """Bytes that an array (`role`) of the program's has before what the kernel is handed, and beyond what its sizes ask
    for; array: what the program calls it.

    sizes: at which that was seen, those that the array's own length does not follow from: a margin grows with a radius.
    """

    role: str
    array: str
    before: int
    after: int
    sizes: Sizes

    def growth(self, sizes: Sizes) -> float:
        """Return how many times as large it may be at other sizes."""
        return max([1.0, *(sizes[name] / value for name, value in self.sizes.items() if name in sizes and value > 0)])

    def holds(self, hazard: Hazard, sizes: Sizes) -> bool:
        """Whether an access outside of the array that the kernel was handed here lies within the program's own."""
        grown = self.growth(sizes)
        if hazard.kind != "out_of_bounds" or hazard.array != self.role or hazard.detail not in ("before", "after"):
            return False
        end = hazard.offset_bytes + hazard.width_bytes
        return hazard.offset_bytes >= -self.before * grown and end <= hazard.array_bytes + self.after * grown


def margins_of(kernel: BoundKernel) -> list[Margin]:
    """Return the margins that every observed launch of a kernel has, by array; [] where its sizes are unknown."""
    by_role: dict[str, list[Margin]] = {}
    launch_count = 0
    for launch in kernel.submission.observed.launches:
        if launch.kernel != kernel.binding.kernel.name or launch.refused:
            continue
        launch_count += 1
        by_name = {argument.name: argument for argument in launch.arguments if argument.name}
        for margin in _of_launch(kernel, launch, by_name):
            by_role.setdefault(margin.role, []).append(margin)
    return [
        replace(some[0], before=min(m.before for m in some), after=min(m.after for m in some))
        for role, some in by_role.items()
        if len(some) == launch_count
    ]


def _of_launch(kernel: BoundKernel, launch: SeenLaunch, arguments: dict[str, SeenArgument]) -> list[Margin]:
    pairs = list(zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True))
    sizes: dict[str, int] = dict(kernel.interpretation.pinned) | dict(kernel.interpretation.declared)
    for role, parameter in pairs:
        value = arguments[parameter.name].value if parameter.name in arguments else None
        if role in kernel.lab.size_names and isinstance(value, int):
            sizes[role] = value
    arrays = [
        (role, arguments[p.name])
        for role, p in pairs
        if p.is_pointer and p.name in arguments and arguments[p.name].buffer_bytes and role in kernel.dtypes
    ]
    margins = []
    for role, argument in arrays:
        shape = kernel.lab.parameter(role).shape
        width = np.dtype(kernel.dtypes[role]).itemsize
        if all(axis in sizes for axis in shape if isinstance(axis, str)):
            own = int(np.prod(shape_at(kernel.lab, role, sizes), dtype=np.int64)) * width
        else:
            # Arrays of one shape are as long as the shortest of them.
            # What the launch has no thread for is margin too, where each thread makes an element.
            threads = prod(launch.grid) * prod(launch.block)
            longest = min(
                (x.buffer_bytes - x.offset_bytes) // np.dtype(kernel.dtypes[r]).itemsize
                for r, x in arrays
                if kernel.lab.parameter(r).shape == shape
            )
            is_elementwise = kernel.interpretation.launch.tile == kernel.interpretation.launch.block[:1]
            own = (min(longest, threads) if is_elementwise and threads else longest) * width
        after = argument.buffer_bytes - argument.offset_bytes - own
        if after >= 0 and (argument.offset_bytes or after):
            others = {name: value for name, value in sizes.items() if name not in shape}
            margins.append(Margin(role, argument.buffer, argument.offset_bytes, after, others))
    return margins


@dataclass(frozen=True, slots=True)
class _Widened:
    """A backend on which some arrays are longer by so many bytes."""

    backend: Backend
    after: Mapping[str, int]

    @property
    def name(self) -> BackendName:
        return self.backend.name

    def run(self, code: Code, request: LaunchRequest) -> LaunchOutcome:
        """The outputs are as long as they were asked for."""
        shapes = {a.name: a.shape for a in request.arguments if isinstance(a, BufferArgument)}
        arguments = [self._widened(a) if isinstance(a, BufferArgument) else a for a in request.arguments]
        outcome = self.backend.run(code, replace(request, arguments=arguments))
        outputs = {
            name: array.reshape(-1)[: prod(shapes[name])].reshape(shapes[name])
            for name, array in outcome.outputs.items()
        }
        return replace(outcome, outputs=outputs)

    def _widened(self, argument: BufferArgument) -> BufferArgument:
        extra = -(-self.after.get(argument.name, 0) // np.dtype(argument.dtype).itemsize)
        initial = argument.initial
        if initial is not None:
            initial = np.concatenate([initial.reshape(-1), np.zeros(extra, argument.dtype)])
        return replace(argument, shape=(prod(argument.shape) + extra,), initial=initial)


def with_margin(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with the margin that a kernel works in; as it is where the kernel keeps to its arrays, or leaves those
    of the program too."""
    outside = [
        (hazard, run)
        for run in evidence.runs_of("correct", "observe")
        for hazard in run.outcome.hazards
        if hazard.kind == "out_of_bounds" and hazard.space != "shared"
    ]
    margins = margins_of(kernel.read_as(evidence.interpretation)) if outside and evidence.interpretation else []
    if not margins or not all(any(margin.holds(hazard, run.sizes) for margin in margins) for hazard, run in outside):
        return evidence
    hazard, run = min(outside, key=lambda access: prod(access[1].sizes.values()))
    # A hazard is the first thread's: whether all keep to the margin shows once it is there.
    after = {margin.role: int(margin.after * margin.growth(run.sizes)) for margin in margins}
    wide = replace(trials, backend=_Widened(trials.backend, after)).run(kernel, "correct", run.sizes).outcome
    if wide.status != "ok" or any(h.kind == "out_of_bounds" and h.detail != "before" for h in wide.hazards):
        return evidence
    margin = next(margin for margin in margins if margin.holds(hazard, run.sizes))
    message = msg("runs.margin", array=margin.array, bytes=margin.before + margin.after, line=hazard.line)
    return replace(evidence, margin=message)


@dataclass(frozen=True, slots=True)
class Halo:
    """A halo of the lab's only input, a vector.

    role: the input.  size: the role of its length.  array: what the program calls it.
    elements: on both sides together, at `seen_sizes`: the sizes beside the length that it grows with.
    is_before: the kernel is handed the address of the first element that has a result, not that of the halo.
    """

    role: str
    size: str
    array: str
    elements: int
    seen_sizes: Sizes
    is_before: bool

    def width(self, sizes: Sizes) -> int:
        """Elements of the halo on one side at some sizes."""
        factor = max((sizes[name] / value for name, value in self.seen_sizes.items() if name in sizes), default=1.0)
        return round(self.elements * factor) // 2

    def widened(self, sizes: Sizes) -> Sizes:
        """Return the sizes of the input with its halo."""
        return {**sizes, self.size: sizes[self.size] + 2 * self.width(sizes)}

    def of(self, evidence: Evidence) -> Evidence:
        """Evidence that was found with the halo, and says so."""
        message = msg("runs.halo", array=self.array, n=self.elements)
        unmeasured = {**evidence.unmeasured, "time": msg("runs.halo_untimed", array=self.array)}
        return replace(evidence, halo=message, margin=None, unmeasured=unmeasured)


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
    sizes = {name: value for name, value in margin.sizes.items() if value > 0}
    return Halo(role, shape[0], margin.array, before + after, sizes, is_before=before > 0)


def haloed(trials: Trials, halo: Halo) -> Trials:
    """Trials with the halo around the input."""
    oracle = cast("Oracle", _Haloed(trials.oracle, halo, trials.lab))
    return replace(trials, oracle=oracle, backend=_Handed(trials.backend, halo))


class _Haloed:
    """An oracle whose input is longer by the halo and whose output has no border."""

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
        return cast("Oracle", _Haloed(self._oracle.of_equal_values(), self._halo, self._lab))

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
