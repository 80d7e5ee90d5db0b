"""Runs a variant's kernel on the emulator: the interpretation of it that fits, every size that it is graded by, and
arrays that are longer than the task has them: margins that a program gives them, and inputs that carry their halo.

A stencil may be handed arrays of n + 2 * RADIUS elements, whose data begin at RADIUS.  Handed one of n elements it
works outside of it, which is no fault of its own.  Then there are no borders: what must come out are the middle
elements of what the oracle makes of the longer input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import cast

import msgspec
import numpy as np
from msgspec import structs

from grader.lab.expected import Array, Oracle
from grader.lab.records import Lab, Sizes
from grader.launching.backend import GAVE_UP, Backend, BufferArgument, Code, LaunchOutcome, LaunchRequest
from grader.launching.kernel import BoundKernel, shape_at
from grader.launching.trial import Run, Trials
from grader.measured import BackendName, Counters, LineCounters
from grader.message import msg
from grader.ptx.records import Counters as Raw
from grader.ptx.records import Hazard, LineCounter
from grader.running import reordered
from grader.running.cases import choose, is_made_impossible, with_drawn_cases
from grader.running.evidence import Evidence, work_of_kernel
from grader.running.explain import explain, with_product_by_columns, with_staging
from grader.running.own_program import with_overrun, with_own_check, with_own_launches, with_wrong_check
from grader.submission.kernels.records import SeenArgument, SeenLaunch
from grader.submission.records import Interpretation


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


WAVEFRONT_BYTES = 128
"""32 banks of 4 bytes: what shared memory can deliver in one wavefront."""

WATCHED_INSTRUCTIONS = 4_000_000
"""Thread-instructions of the one block that is watched at a large size."""


def counters_of(raw: Raw, sizes: Sizes, thread_instructions: int | None) -> Counters:
    """`raw`, counted at `sizes`, as a record of the result.

    shared_efficiency_pct = 100 · distinct bytes / (128 · wavefronts): nvprof's `shared_efficiency`, Nsight Compute's
    smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct.
    """
    wavefronts = raw.total("wavefronts", "shared")
    ideal = raw.total("ideal", "shared")
    shared = [c for c in raw.by_line if c.space == "shared"]
    return Counters(
        size=dict(sizes),
        shared_requests=raw.total("requests", "shared"),
        shared_wavefronts=wavefronts,
        shared_ideal=ideal,
        shared_excess=wavefronts - ideal,
        worst_conflict_ways=max((c.ways for c in shared), default=1),
        shared_efficiency_pct=round(100 * raw.total("unique_bytes", "shared") / (WAVEFRONT_BYTES * wavefronts), 2)
        if wavefronts
        else None,
        global_load_requests=raw.total("requests", "global", "load"),
        global_load_sectors_per_request=_per_request(raw, "sectors", "load"),
        global_load_ideal_per_request=_per_request(raw, "ideal", "load"),
        global_store_requests=raw.total("requests", "global", "store"),
        global_store_sectors_per_request=_per_request(raw, "sectors", "store"),
        global_store_ideal_per_request=_per_request(raw, "ideal", "store"),
        by_line=[_line(c) for c in raw.by_line],
        thread_instructions=thread_instructions,
        sampled_blocks=raw.sampled_blocks,
        total_blocks=raw.total_blocks,
    )


def _per_request(raw: Raw, field: str, op: str) -> float | None:
    requests = raw.total("requests", "global", op)
    return round(raw.total(field, "global", op) / requests, 4) if requests else None


def _line(c: LineCounter) -> LineCounters:
    record = msgspec.convert(c, LineCounters, from_attributes=True)
    return structs.replace(record, lane_words=[None if word < 0 else word for word in c.worst_words])


def run_variant(
    trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool
) -> tuple[Evidence, BoundKernel]:
    """`evidence` with the runs of a kernel and its counters; the kernel as it was read for them.

    explained: whether it is found out why an output is wrong; where not, no size is run after one that is wrong.
    """
    lab = trials.lab
    cases = lab.cases["emulator"]

    def attempt(interpretation: Interpretation, sizes: Sizes) -> Run:
        return trials.run(kernel.read_as(interpretation), "correct", sizes)

    choice = choose(lab, cases, kernel.binding, evidence.source, attempt)
    kernel = kernel.read_as(choice.interpretation)
    runs: list[Run] = []
    for kind, sizes in choice.cases:
        run = trials.run(kernel, kind, sizes, observe=True)
        if is_made_impossible(kernel.interpretation, run, attempt):
            continue
        runs.append(run)
        # A launch that was stopped after seconds, or that is impossible, is so at every size.
        if run.outcome.status != "ok" or not (explained or run.is_right):
            break
    if choice.hard_coded is None:
        runs += _more(trials, evidence, kernel, runs)
    profiled = next((r for r in runs if r.kind == "observe" and r.outcome.counters is not None), None)
    evidence = replace(
        evidence,
        interpretation=kernel.interpretation,
        runs=tuple(runs),
        unmeasured={"time": msg("runs.not_timed")},
        diagnoses=explain(trials, kernel, runs) if explained else {},
        hard_coded_sizes=choice.hard_coded,
    )
    if profiled is None or profiled.outcome.counters is None:
        return evidence, kernel
    evidence = replace(
        evidence,
        counters=counters_of(profiled.outcome.counters, profiled.sizes, profiled.outcome.thread_instructions),
        array_bytes=_array_bytes(kernel, profiled.sizes),
        work=work_of_kernel(kernel, runs),
    )
    return evidence, kernel


def _more(trials: Trials, evidence: Evidence, kernel: BoundKernel, runs: Sequence[Run]) -> Iterator[Run]:
    """Runs at the variant's own sizes, of a kernel that is right at the lab's exact ones.

    They are larger than what its cost was judged by: one that takes too long there is not blamed for it.
    """
    if any(run.outcome.status != "ok" or (run.kind != "ragged" and not run.output_is_right) for run in runs):
        return
    for sizes in kernel.sizes.planned_more(evidence.variant):
        run = trials.run(kernel, "correct", sizes)
        if is_made_impossible(kernel.interpretation, run, lambda c, s: trials.run(kernel.read_as(c), "correct", s)):
            continue
        if run.outcome.status != "unsupported" and run.outcome.reason not in GAVE_UP:
            yield _with_hazards_of_block(trials, kernel, run)


def _with_hazards_of_block(trials: Trials, kernel: BoundKernel, run: Run) -> Run:
    """A run that was not watched, with what goes wrong among the threads of its first block: beyond one of their
    number they have unequal work, and come to a barrier as often only by luck."""
    if run.outcome.status != "ok" or not run.is_right or run.outcome.hazards:
        return run
    block = trials.of_first_block(kernel, run.sizes, WATCHED_INSTRUCTIONS)
    hazards = [h for h in block.outcome.hazards if h.kind == "barrier_divergence" or h.kind == "race"]
    own = tuple(h for h in hazards if h.kind != "race" or h.space == "shared")
    return replace(run, outcome=replace(run.outcome, hazards=own)) if block.outcome.status == "ok" else run


def _with_tests(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    tests = {}
    for name, test in evidence.variant.tests.items():
        rules, sizes = kernel.sizes, dict(test.sizes)
        is_exact = kernel.binding.takes_sizes or rules.rounded(sizes) == sizes
        is_fixed = any(sizes[name] != value for name, value in rules.interpretation.pinned)
        if is_exact and not is_fixed and rules.fits(sizes) and not test.is_secret(trials.lab.view):
            at = replace(trials, oracle=trials.oracle.of_test(test))
            tests[f"{evidence.variant.name}.{name}"] = at.run(kernel, "correct", test.sizes)
    return replace(evidence, tests=tests)


def _array_bytes(kernel: BoundKernel, sizes: Sizes) -> dict[str, int]:
    dtypes = kernel.dtypes
    return {
        # An input that is handed in twice is two arrays to the kernel.
        p.name: max(1, kernel.interpretation.roles.count(p.name))
        * prod(shape_at(kernel.lab, p.name, sizes))
        * np.dtype(dtypes.get(p.name, p.dtype)).itemsize
        for p in kernel.lab.parameters
        if p.is_array
    }


def run_kernel(
    trials: Trials, drawn_trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool = True
) -> Evidence:
    """`evidence` after a kernel that compiles was run at the lab's sizes and at the drawn case.

    drawn_trials: of a lab whose seed is the drawn one.
    explained: whether it is also found out why an output is wrong.
    """

    def found_out(kernel: BoundKernel) -> Evidence:
        return _of_target(trials, drawn_trials, evidence, kernel, explained)

    return reordered.with_newer_devices(trials, found_out(kernel), kernel, found_out)


def _of_target(
    trials: Trials, drawn_trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool
) -> Evidence:
    """Run a kernel compiled for one target, with the halo that its program gives to its input where it needs that."""

    def staged(trials: Trials, drawn_trials: Trials, explained: bool) -> Evidence:
        return _staged(trials, drawn_trials, evidence, kernel, explained)

    plain = staged(trials, drawn_trials, explained)
    halo = halo_of(plain, kernel)
    if halo is None:
        return plain
    # Where the kernel counts from behind the halo, elements are called otherwise than it calls them: then none is told.
    is_told = explained and not halo.is_before
    return halo.of(staged(haloed(trials, halo), haloed(drawn_trials, halo), is_told))


def _staged(trials: Trials, drawn_trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool) -> Evidence:
    evidence, kernel = run_variant(trials, evidence, kernel, explained)
    evidence = reordered.with_smaller_block(trials, evidence, kernel)
    evidence = with_staging(trials, evidence, kernel)
    evidence = reordered.with_occupancy_of_kernel(trials, evidence, kernel)
    evidence = reordered.with_reordered(trials, evidence, kernel)
    evidence = with_drawn_cases(drawn_trials, evidence, kernel, explained)
    evidence = reordered.with_later_launch(trials, evidence, kernel, drawn_trials.oracle)
    evidence = with_product_by_columns(trials, with_own_check(trials, evidence, kernel), kernel)
    evidence = with_wrong_check(with_own_launches(evidence, kernel), kernel)
    evidence = _with_tests(trials, evidence, kernel)
    return with_overrun(trials, with_margin(trials, evidence, kernel), kernel)
