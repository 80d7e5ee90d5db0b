"""A kernel run at some sizes: what it gave, compared with the oracle's output, and what a warp does at its accesses.

This is the one place where outputs are compared.  Where accesses to memory cost points, the observed launch is made
once more with a warp followed, up to the end of the first blocks that come there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
from msgspec import structs

from grader.lab.checks import SPACES
from grader.lab.compare import Difference, Projected, compare
from grader.lab.expected import Array, Oracle
from grader.lab.records import Lab, Sizes
from grader.launching.backend import Backend, LaunchOutcome
from grader.launching.kernel import BoundKernel, Loaded, shape_at, without_surplus
from grader.launching.programs import Built, ProgramStore
from grader.measured import BackendName, Counters, LineCounters, WarpArray, WarpRequest, WarpSteps
from grader.message import msg
from grader.ptx.records import LaneAccess, Site
from grader.ptx.records import WarpRequest as RawRequest
from grader.ptx.records import WarpSteps as RawSteps
from grader.result import CaseKind, Check, Result


@dataclass(frozen=True, slots=True)
class Run:
    """One launch at one size, and how its output compares with the oracle's (None: there was no output).

    changed_inputs: names of inputs that the kernel wrote to.
    backend: what ran it.  drawn: its sizes and data are drawn from the submission (`grader.running.cases`).
    """

    kind: CaseKind
    sizes: Sizes
    outcome: LaunchOutcome
    difference: Difference | None
    changed_inputs: tuple[str, ...] = ()
    backend: BackendName = "emulator"
    drawn: bool = False

    @property
    def output_is_right(self) -> bool:
        """Whether it ended well with the expected output."""
        return self.difference is not None and self.difference.mismatches == 0

    @property
    def is_right(self) -> bool:
        """Whether it did all that was asked, and nothing that was not: its inputs are as they were."""
        return self.output_is_right and not self.changed_inputs

    @property
    def leaves_its_arrays(self) -> bool:
        """Whether it was seen to work outside of them, whatever came out."""
        return any(hazard.kind == "out_of_bounds" for hazard in self.outcome.hazards)


MAX_ARRAY_BYTES = 64 << 20
"""The most that all arrays of a launch on the emulator take, unless the lab's own sizes need more; an oracle takes
several times that.

Sizes are raised to multiples of what a kernel's blocks cover, and that may be anything."""


OF_LENGTH = ("instructions", "steps", "time")
"""Reasons for which a launch was ended that is not known to be wrong."""


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
        Raises FileError: the oracle cannot say what has to come out.
        """
        return self.launch(kernel, kind, sizes, observe=observe, trace=trace)[1]()

    def launch(
        self, kernel: BoundKernel, kind: CaseKind, sizes: Sizes, observe: bool = False, trace: bool = False
    ) -> tuple[LaunchOutcome, Callable[[], Run]]:
        """The same in two parts: what came of the launch, and what compares its output, in any thread.

        Raises FileError: the oracle cannot say what has to come out.
        """
        refused = self._refused(kernel, sizes)
        if refused is not None:
            return refused, partial(self._without_output, kind, sizes, refused)
        loaded = kernel.load(self.programs, sizes)
        if loaded.entry is None:
            missing = self._not_compiled(kernel, sizes, loaded.built)
            return missing, partial(self._without_output, kind, sizes, missing)
        return self._launch(kernel, loaded, kind, sizes, observe=observe, trace=trace)

    def prepare(self, kernel: BoundKernel, sizes: Sizes) -> None:
        """Compile and compute what `run` needs at some sizes, for whoever runs them against a clock or holding a lock.

        Raises FileError: the oracle cannot say what has to come out.
        """
        if self._refused(kernel, sizes) is None and kernel.load(self.programs, sizes).entry is not None:
            self._case(kernel, sizes)

    def run_loaded(
        self,
        kernel: BoundKernel,
        loaded: Loaded,
        kind: CaseKind,
        sizes: Sizes,
        observe: bool = False,
        instructions: int = 0,
    ) -> Run:
        """The same of a kernel that takes what `kernel` takes, in a program compiled already.

        loaded: with the kernel's entry.
        instructions: at which it is ended, of all threads together; 0: the backend's own limit.
        """
        refused = self._refused(kernel, sizes)
        if refused is not None:
            return self._without_output(kind, sizes, refused)
        return self._run(kernel, loaded, kind, sizes, observe=observe, instructions=instructions)

    def of_first_block(self, kernel: BoundKernel, sizes: Sizes, instructions: int) -> Run:
        """The same of the first block alone, watched: what its own threads do among each other, at a size at which
        watching all of them would take long.  The output is wrong wherever others would have written it.
        """
        loaded = kernel.load(self.programs, sizes)
        if self._refused(kernel, sizes) is not None or loaded.entry is None:
            return self.run(kernel, "correct", sizes)
        wanted = {"observe": True, "instructions": instructions, "grid": (1, 1, 1)}
        return self._run(kernel, loaded, "correct", sizes, **wanted)

    def _run(self, kernel: BoundKernel, loaded: Loaded, kind: CaseKind, sizes: Sizes, **wanted: Any) -> Run:
        """Make one launch and compare its output; wanted: fields of the `LaunchRequest`."""
        return self._launch(kernel, loaded, kind, sizes, **wanted)[1]()

    def _launch(
        self, kernel: BoundKernel, loaded: Loaded, kind: CaseKind, sizes: Sizes, **wanted: Any
    ) -> tuple[LaunchOutcome, Callable[[], Run]]:
        projected, inputs, expected = self._case(kernel, sizes)
        counts_work = wanted["observe"] and self.lab.counts_work
        launch = replace(kernel.launch(loaded, sizes, inputs, expected), counts_work=counts_work, **wanted)
        outcome = self.backend.run(loaded.built.code, launch)
        less = without_surplus(kernel.interpretation.launch, sizes) if outcome.reason in OF_LENGTH else None
        if less is not None and "grid" not in wanted:
            # A device is through with blocks that find nothing to do at once; here each takes its time.
            again = self.backend.run(loaded.built.code, replace(launch, grid=less))
            outcome = again if again.status == "ok" else outcome
        if outcome.status != "ok":
            return outcome, partial(self._without_output, kind, sizes, outcome)

        def compared() -> Run:
            return Run(
                kind,
                sizes,
                outcome,
                self._difference(sizes, outcome, inputs, expected, projected),
                changed_inputs=tuple(name for name in inputs if name in outcome.outputs),
                backend=self.backend.name,
            )

        return outcome, compared

    def _without_output(self, kind: CaseKind, sizes: Sizes, outcome: LaunchOutcome) -> Run:
        return Run(kind, sizes, outcome, None, backend=self.backend.name)

    def _case(
        self, kernel: BoundKernel, sizes: Sizes
    ) -> tuple[Projected | None, Mapping[str, Array], Mapping[str, Array]]:
        projected = self.oracle.projected(sizes, kernel.dtypes)
        if projected is not None:
            return projected, projected.inputs, projected.blanks
        return None, *self.oracle.case(sizes, kernel.dtypes)

    def _refused(self, kernel: BoundKernel, sizes: Sizes) -> LaunchOutcome | None:
        """Return the outcome of a launch that is not made: arrays too large for the emulator, a grid of no blocks."""
        if not self.programs.makes_machine_code and self._bytes_at(sizes) > self._most_bytes():
            line = kernel.interpretation.launch.line or kernel.binding.kernel.line
            fixed = dict(kernel.interpretation.pinned)
            if any(sizes.get(name) == value for name, value in fixed.items()):
                # The program's own sizes: no tile of its makes them so large.
                return LaunchOutcome("unsupported", reason="own_sizes", said=msg("launches.own_sizes"), line=line)
            return LaunchOutcome("fault", reason="too_large", line=line)
        if min(kernel.geometry(sizes).grid) < 1:
            return LaunchOutcome("impossible", reason="no_blocks", said=msg("launches.no_blocks"))
        return None

    def _bytes_at(self, sizes: Sizes) -> int:
        arrays = (p for p in self.lab.parameters if p.is_array)
        return sum(prod(shape_at(self.lab, p.name, sizes)) * np.dtype(p.dtype).itemsize for p in arrays)

    def _most_bytes(self) -> int:
        cases = self.lab.cases["emulator"]
        own = [*cases.correct, *cases.ragged, cases.observe, cases.probe]
        own += [sizes for variant in self.lab.variants for sizes in variant.more_sizes]
        return max(MAX_ARRAY_BYTES, *(2 * self._bytes_at(sizes) for sizes in own))

    def _difference(
        self,
        sizes: Sizes,
        outcome: LaunchOutcome,
        inputs: Mapping[str, Array],
        expected: Mapping[str, Array],
        projected: Projected | None,
    ) -> Difference:
        """Return the difference of the first output that is wrong, else of the first output."""

        def difference(name: str) -> Difference:
            got = outcome.outputs[name]
            if projected is not None:
                return projected.compare(name, got)
            tolerance = self.lab.tolerance.at(sizes, str(expected[name].dtype))
            return compare(name, got, expected[name], tolerance, inputs)

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
        message = msg("launches.not_compiled_as", expression=kernel.expression(sizes), constants=constants)
        return LaunchOutcome("unsupported", reason="not_compiled", said=message)


MOST_SITES = 2
"""Sites shown for a check, its own line first."""


def with_warp_steps(result: Result, trials: Trials, kernels: Mapping[str, BoundKernel]) -> Result:
    """`result` with the steps of a warp at each access that cost points.

    kernels: of the variants, read as they were graded.
    """
    variants = dict(result.variants)
    for name, kernel in kernels.items():
        counters = variants[name].counters
        if counters is None:
            continue
        sites = costly_sites(counters, [c for c in result.checks if c.variant == name])
        if not sites:
            continue
        steps = {
            raw.site: _steps(kernel, counters.size, raw) for raw in _followed(trials, kernel, counters.size, sites)
        }
        by_line = [structs.replace(c, steps=steps.get(_site(c))) for c in counters.by_line]
        variants[name] = structs.replace(variants[name], counters=structs.replace(counters, by_line=by_line))
    return structs.replace(result, variants=variants)


def costly_sites(counters: Counters, checks: Sequence[Check]) -> list[Site]:
    """The accesses for which checks took points off, those of the lines that they name first."""
    sites: dict[Site, None] = {}
    for check in checks:
        space = SPACES.get(check.check)
        if space is None or check.status != "fail" or check.line is None:
            continue
        rows = [c for c in counters.by_line if c.space == space and c.requests and c.op in ("load", "store")]
        costly = [c for c in rows if c.line == check.line or _cost(c) > c.ideal]
        costly.sort(key=lambda c: (c.line != check.line, -_cost(c) / max(c.ideal, 1)))
        sites.update((_site(c), None) for c in costly[:MOST_SITES])
    return list(sites)


def _site(row: LineCounters) -> Site:
    return Site(row.line, row.space, row.op, row.width_bytes)


def _cost(row: LineCounters) -> int:
    return row.wavefronts if row.space == "shared" else row.sectors


def _followed(
    trials: Trials, kernel: BoundKernel, sizes: Mapping[str, int], sites: Sequence[Site]
) -> tuple[RawSteps, ...]:
    loaded = kernel.load(trials.programs, sizes)
    if loaded.entry is None:
        return ()
    inputs, expected = trials.oracle.case(sizes, kernel.dtypes)
    launch = replace(kernel.launch(loaded, sizes, inputs, expected), followed=tuple(sites))
    return trials.backend.run(loaded.built.code, launch).steps


def _steps(kernel: BoundKernel, sizes: Mapping[str, int], raw: RawSteps) -> WarpSteps:
    arrays: dict[tuple[str, int], int] = {}
    for request in raw.requests:
        for lane in request.lanes:
            arrays.setdefault((lane.array, lane.start), len(arrays))
    return WarpSteps(
        block=raw.block,
        warp=raw.warp,
        arrays=[_array(kernel, sizes, raw, name, start) for name, start in arrays],
        requests=[_request(request, arrays, raw.element_bytes) for request in raw.requests],
        first=raw.first,
        total=raw.total,
    )


def _array(kernel: BoundKernel, sizes: Mapping[str, int], raw: RawSteps, name: str, start: int) -> WarpArray:
    """Return an array under the name that it has in the student's text."""
    shape: list[int] = []
    shown = name
    if raw.site.space == "shared":
        declared = next((a for a in kernel.binding.kernel.shared_arrays if a.name == name), None)
        dims = [size for size in declared.dims if size] if declared else []
        if declared and len(dims) == len(declared.dims) and _bytes(declared.dtype) == raw.element_bytes:
            shape = dims
    else:
        pairs = zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True)
        shown = next((parameter.name for role, parameter in pairs if role == name), name)
        if _bytes(kernel.dtypes.get(name)) == raw.element_bytes:
            shape = list(shape_at(kernel.lab, name, sizes))
    return WarpArray(name=shown, element_bytes=raw.element_bytes, start=start, shape=shape)


def _bytes(dtype: str | None) -> int:
    return np.dtype(dtype).itemsize if dtype else 0


def _request(raw: RawRequest, arrays: Mapping[tuple[str, int], int], element_bytes: int) -> WarpRequest:
    return WarpRequest(
        cost=raw.cost, ideal=raw.ideal, at_once=raw.at_once, runs=list(runs_of(raw.lanes, arrays, element_bytes))
    )


def runs_of(
    lanes: Sequence[LaneAccess], arrays: Mapping[tuple[str, int], int], element_bytes: int
) -> Iterator[tuple[int, int, int, int, int]]:
    """Accesses of lanes, in their order, as runs of neighbouring lanes with even steps (`WarpRequest.runs`)."""
    run: list[int] = []
    for access in lanes:
        array, element = arrays[access.array, access.start], access.offset_bytes // element_bytes
        if run and run[0] == array and run[1] + run[2] == access.lane:
            step = element - (run[3] + (run[2] - 1) * run[4])
            if run[2] == 1 or step == run[4]:
                run[2], run[4] = run[2] + 1, step
                continue
        if run:
            yield run[0], run[1], run[2], run[3], run[4]
        run = [array, access.lane, 1, element, 0]
    if run:
        yield run[0], run[1], run[2], run[3], run[4]
