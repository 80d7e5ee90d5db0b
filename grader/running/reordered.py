"""Runs of the same kernel made otherwise: again after others, with a smaller block, with blocks and warps in other
orders, or compiled for newer devices.

CUDA promises no order, and a device's changes from launch to launch.  Sums of integers come to the same in any; those
of floating-point numbers round otherwise.  A lab's data may be such that no sum rounds, so the numbers are made ones
that do: each nearer to zero by at most a sixteenth, so that whatever holds of their range still does.

Every graded launch has a fresh device, on which a variable declared `__device__` holds what the program is loaded with.
Real programs launch their kernels many times: a kernel that counts its launches, or keeps a result, is launched here
several times on other data first, and hundreds of times where it still changes what it keeps.  That finds what goes
wrong within those launches; whether a counter of launches does so later is seen by its memory, which is carried on as
those launches changed it.

A block has at most 1024 threads.  Where a lab wants a kernel to go on from there, one that computes an element a thread
shows what it lacks at a small size already, with a small block.

Kernels are compiled for the oldest device that there is.  Code under `__CUDA_ARCH__` may be another for newer ones; and
what copies asynchronously does so from compute capability 8.0 on, so that a wait for it that is missing is seen there
only.  A program that speaks of neither is not compiled a second time.  How many of a kernel's warps a device holds
follows NVIDIA's cuda_occupancy.h for compute capability 7.5 and later; registers are those of the machine code that the
assembler makes for the device.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np

from grader.compiler.result import asks_for_device, copies_asynchronously, other_targets
from grader.devices import WARP_LANES
from grader.lab.checks import OccupancySettings
from grader.lab.compare import compare
from grader.lab.expected import Array, Oracle
from grader.lab.records import Sizes
from grader.launching.backend import (
    GAVE_UP,
    NO_AGE,
    Backend,
    BufferArgument,
    Code,
    LaunchOutcome,
    LaunchRequest,
    reason_msg,
)
from grader.launching.kernel import BoundKernel, geometry
from grader.launching.trial import Run, Trials
from grader.measured import BackendName
from grader.message import Message, msg
from grader.programs.records import CallLaunch, Observation
from grader.programs.runtime.devices import Model, model_of
from grader.running.evidence import Compilation, Evidence, Occupancy, Reordered, Work
from grader.submission.lexical import without_comments

if TYPE_CHECKING:
    from grader.compiler.result import Resources

ORDERS = (0, 1, 2)
"""As blocks are counted, the last first, shuffled: see `grader.ptx.affine.Order`."""
LEAST = 15 / 16


def is_asked(evidence: Evidence) -> bool:
    """Whether the variant's orders are looked at: its check asks for it, and it is right in the usual one."""
    asks = any(spec.check == "deterministic" for spec in evidence.variant.checks)
    return asks and bool(evidence.runs) and all(run.is_right for run in evidence.runs)


def rounding(inputs: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Return the inputs with floating-point numbers whose sums round."""
    rng = np.random.default_rng(seed)
    nearer = {
        name: np.multiply(array, rng.uniform(LEAST, 1, array.shape), dtype=np.float64).astype(array.dtype)
        for name, array in inputs.items()
        if array.dtype.kind == "f"
    }
    return {**inputs, **nearer}


def with_reordered(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with what a right kernel does at the observed size in other orders, where a check asks for it.

    A launch that is stopped in another order tells nothing: devices run far more blocks at a time than most grids have.
    """
    observed = next((run for run in evidence.runs if run.kind == "observe"), None)
    if observed is None or evidence.interpretation is None or not is_asked(evidence):
        return evidence
    sizes = observed.sizes
    loaded = kernel.load(trials.programs, sizes)
    if loaded.entry is None:
        return evidence
    inputs, expected = trials.oracle.case(sizes, kernel.dtypes)
    request = kernel.launch(loaded, sizes, rounding(inputs, trials.lab.seed), expected)
    outputs: list[Mapping[str, Array]] = []
    for order in ORDERS:
        outcome = trials.backend.run(loaded.built.code, replace(request, order=order))
        if outcome.status != "ok":
            return evidence
        outputs.append(outcome.outputs)
    return replace(evidence, reordered=compared(sizes, outputs))


def of_calls(sizes: Sizes, observations: Sequence[Observation], expected: Mapping[str, Array]) -> Reordered | None:
    """Compare a function's calls, an observation for each order; None where one did not return.

    expected: of what type and shape outputs are.
    """
    if len(observations) < len(ORDERS):
        return None
    outputs: list[Mapping[str, Array]] = []
    for observation in observations:
        call = observation.calls[0] if observation.calls else None
        if call is None or not call.has_returned:
            return None
        arrays = {
            name: np.frombuffer(data, expected[name].dtype).reshape(expected[name].shape)
            for name, data in call.outputs.items()
        }
        outputs.append(arrays)
    return compared(sizes, outputs)


def compared(sizes: Sizes, outputs: Sequence[Mapping[str, Array]]) -> Reordered:
    """Return where outputs of other orders differ, bit for bit, from those of the first."""
    usual = outputs[0]
    for other in outputs[1:]:
        for name, array in usual.items():
            differ = _bits(array) != _bits(other[name]) if name in other else np.ones(array.size, np.bool_)
            if differ.any():
                place = int(np.flatnonzero(differ)[0])
                index = tuple(int(n) for n in np.unravel_index(place, array.shape))
                values = (float(array.reshape(-1)[place]), float(other[name].reshape(-1)[place]))
                return Reordered(sizes, len(outputs), (name, index, *values), int(np.count_nonzero(differ)))
    return Reordered(sizes, len(outputs))


def _bits(array: Array) -> Array:
    """Return (elements,) unsigned integers with the bytes of each element."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(f"u{flat.dtype.itemsize}")


LAUNCHES_BEFORE = 8
LAUNCHES_OF_COUNTERS = 400
"""Made of a kernel that changes what it keeps in every launch, as far as their instructions last."""
LAUNCHES_TO_LEARN = 5
"""Made to see how each launch changes what is kept, before that is carried on."""
AGES = (*range(4, 28), 50, 100, 1000, 10_000, 100_000, 1_000_000)
"""Launches that what is kept is carried on by: each of the first, then up to what no program of a course makes."""

_COPIED = re.compile(r"\bcuda(?:MemcpyToSymbol(?:Async)?|GetSymbolAddress)\s*+\(([^;]{0,300})")
_WORD = re.compile(r"[A-Za-z_]\w*+")


def set_by_host(texts: Iterable[str]) -> frozenset[str]:
    """Names in calls that give a variable on the device a value, or that find its address, in programs' texts."""
    names: set[str] = set()
    for text in texts:
        if "Symbol" in text:
            for call in _COPIED.findall(without_comments(text)):
                names |= set(_WORD.findall(call))
    return frozenset(names)


@dataclass(frozen=True, slots=True)
class _Later:
    """A backend on which every launch comes after launches of the same kernel with other inputs.

    count: of the launches before.  reset, age: as in `LaunchRequest`.
    """

    backend: Backend
    inputs: Mapping[str, Array]
    reset: tuple[str, ...]
    count: int
    age: int = 0

    @property
    def name(self) -> BackendName:
        return self.backend.name

    def run(self, code: Code, request: LaunchRequest) -> LaunchOutcome:
        arguments = [
            replace(argument, initial=self.inputs[argument.name])
            if isinstance(argument, BufferArgument) and argument.name in self.inputs
            else argument
            for argument in request.arguments
        ]
        earlier = replace(request, arguments=arguments)
        request = replace(request, before=(earlier,) * self.count, age=self.age, reset=self.reset)
        return self.backend.run(code, request)


def with_later_launch(trials: Trials, evidence: Evidence, kernel: BoundKernel, other: Oracle) -> Evidence:
    """`evidence` with a run that says so, where a kernel with state is wrong when it was launched before.

    Of a kernel that is right at the lab's exact sizes; where it is right again nothing is added.  What the host code
    sets before its launches is reset between these.

    kernel: read as it was graded.
    other: gives other data.
    """
    exact = [run for run in evidence.runs_of("correct", "observe") if run.difference is not None]
    state = next((run.outcome.state for run in exact if run.outcome.state), ())
    if not state or not all(run.output_is_right for run in exact):
        return evidence
    sizes = min((run.sizes for run in exact), key=lambda sizes: prod(sizes.values()))
    reset = set_by_host(source.text for source in kernel.submission.sources) & set(state)
    inputs, expected = other.case(sizes, kernel.dtypes)

    def goes_wrong(outcome: LaunchOutcome) -> bool:
        """Whether any of the launches before gave something else than their data ask for."""
        tolerances = {n: trials.lab.tolerance.at(sizes, str(array.dtype)) for n, array in expected.items()}
        given = outcome.earlier.outputs if outcome.earlier is not None else ()
        return any(
            compare(name, outputs[name], array, tolerances[name], inputs).mismatches
            for outputs in given
            for name, array in expected.items()
            if name in outputs
        )

    later = _Later(trials.backend, inputs, tuple(sorted(reset)), LAUNCHES_BEFORE)
    first = replace(trials, backend=later).run(kernel, "correct", sizes)
    plans = [replace(later, count=LAUNCHES_TO_LEARN, age=age) for age in AGES]
    if first.outcome.earlier is not None and first.outcome.earlier.have_moved:
        plans.append(replace(later, count=LAUNCHES_OF_COUNTERS))
    for run in chain([first], (replace(trials, backend=plan).run(kernel, "correct", sizes) for plan in plans)):
        if run.outcome.reason == NO_AGE:
            continue
        if run.outcome.status == "unsupported" or run.outcome.reason in GAVE_UP:
            return evidence
        if not run.is_right or goes_wrong(run.outcome):
            wrong = LaunchOutcome("fault", reason="repeat_wrong", line=_declared(evidence, state))
            return replace(evidence, runs=(*evidence.runs, Run("correct", sizes, wrong, None)))
    return evidence


def _declared(evidence: Evidence, state: Iterable[str]) -> int:
    """Return the line that declares the first of these variables; the kernel's line where there is none."""
    text = evidence.source.get(evidence.bound.kernel.file, "")
    for name in state:
        declaration = re.search(rf"\b(?:__device__|__managed__|static)\b[^;{{}}()]*\b{re.escape(name)}\b", text)
        if declaration is not None:
            return text.count("\n", 0, declaration.end()) + 1
    return evidence.bound.kernel.line


def with_smaller_block(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """`evidence` with the run that the variant asks for, of a kernel that is right at all sizes.

    Shared memory stays what the host code asks for at these sizes.  Nothing is run where the block is the same at all
    sizes, where the grid depends on it, or where the size is a constant of the program: one that the block can have.
    """
    asked, plan = evidence.variant.smaller_block, kernel.interpretation.launch
    runs = evidence.runs_of("correct", "observe")
    is_told = not kernel.interpretation.constants and not kernel.interpretation.template
    if (
        asked is None
        or not is_told
        or not plan.block_formula
        or prod(plan.tile) != 1
        or not kernel.sizes.fits(asked.sizes)
    ):
        return evidence
    if not runs or not all(run.is_right for run in runs):
        return evidence
    usual = geometry(plan, asked.sizes)
    smaller = replace(
        plan, block=(asked.threads, 1, 1), block_formula=(), shared_bytes=usual.shared_bytes, shared_formula=""
    )
    if usual.block[0] <= asked.threads or usual.block[1:] != (1, 1):
        return evidence
    interpretation = replace(kernel.interpretation, launch=smaller)
    return replace(evidence, smaller_block=trials.run(kernel.read_as(interpretation), "correct", asked.sizes))


_OF_TARGET = re.compile(r"(?m)^(?://.*|\.target .*|\.version .*)\n?")
"""What the text of a program says of its target, whatever its code is."""
FAULTS = ("race", "barrier_divergence", "warp_sync", "out_of_bounds", "uninitialized")


def with_newer_devices(
    trials: Trials, evidence: Evidence, kernel: BoundKernel, again: Callable[[BoundKernel], Evidence]
) -> Evidence:
    """`evidence`, of a kernel's code for the oldest device, with what its other code does on newer ones.

    A kernel that is wrong on the oldest device and right from a newer one on is written for that: then it is the
    evidence of that one.

    kernel: as it was found.
    again: all that is found out about its code for the target that it is given with.
    """
    texts = kernel.submission.program(kernel.binding.kernel.file)
    targets = other_targets(texts.values())
    if not targets or not evidence.runs or evidence.interpretation is None:
        return evidence
    by_device = {
        f"{_number(target) // 10}.{_number(target) % 10}": ready or again(replace(kernel, target=target))
        for target, ready in _others(trials, evidence, kernel.read_as(evidence.interpretation), targets)
    }
    if asks_for_device(texts.values()) and not _is_right(evidence):
        right = _newest_that_are(by_device)
        if right:
            device, *newer = right
            return replace(by_device[device], needs=device, newer={name: by_device[name] for name in newer})
    if copies_asynchronously(texts.values()):
        why = next((reason for other in by_device.values() if (reason := _unfollowed(other)) is not None), None)
        if why is not None:
            evidence = replace(evidence, unmeasured={**evidence.unmeasured, "hazards": why})
    return replace(evidence, newer={device: other for device, other in by_device.items() if _unfollowed(other) is None})


def _others(
    trials: Trials, evidence: Evidence, kernel: BoundKernel, targets: Sequence[str]
) -> Iterator[tuple[str, Evidence | None]]:
    """Yield targets for which the kernel compiles to other code than for older ones, with evidence if it fails to."""
    first = evidence.runs[0]
    oldest = kernel.load(trials.programs, first.sizes)
    if oldest.entry is None:
        return
    codes = {_OF_TARGET.sub("", oldest.built.result.ptx)}
    for target in targets:
        if _number(target) <= _number(oldest.built.target):
            continue
        loaded = replace(kernel, target=target).load(trials.programs, first.sizes)
        if loaded.entry is None:
            failure = Compilation("errors", loaded.built.result.errors)
            if failure.diagnostics:
                yield target, replace(evidence, compilation=failure)
            continue
        code = _OF_TARGET.sub("", loaded.built.result.ptx)
        if code not in codes:
            codes.add(code)
            yield target, None


def _newest_that_are(by_device: Mapping[str, Evidence]) -> list[str]:
    right: list[str] = []
    for device in reversed(list(by_device)):
        if not _is_right(by_device[device]):
            break
        right.insert(0, device)
    return right


def _is_right(evidence: Evidence) -> bool:
    return not evidence.compilation.failure and all(
        run.is_right and not any(h.kind in FAULTS and h.detail != "write_write_same_value" for h in run.outcome.hazards)
        for run in evidence.runs
    )


def _unfollowed(evidence: Evidence) -> Message | None:
    """Return why the emulator could not run a kernel to its end; None where it could."""
    for run in evidence.runs:
        if run.outcome.status == "unsupported" or run.outcome.reason in GAVE_UP:
            return msg("runs.copies_unfollowed", why=reason_msg(run.outcome))
    return None


def _number(target: str) -> int:
    return int(target.rpartition("_")[2])


SUB_PARTITIONS = 4
"""Partitions of a multiprocessor: each has its own part of the registers."""
REGISTERS_AT_A_TIME = 256
"""What a warp's registers are rounded up to."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Blocks that fit on a multiprocessor, and what keeps more from fitting."""

    blocks: int
    limit: Literal["threads", "blocks", "shared", "registers"]


def fit(model: Model, threads: int, registers: int, shared_bytes: int) -> Fit:
    """Return how many blocks fit, each of so many threads, registers a thread and bytes of shared memory."""
    warps = -(-threads // WARP_LANES)
    of_warp = _rounded(registers * WARP_LANES, REGISTERS_AT_A_TIME)
    per_partition = model.attributes["MaxRegistersPerMultiprocessor"] // SUB_PARTITIONS
    limits = {
        "threads": model.threads_per_multiprocessor // WARP_LANES // warps,
        "blocks": model.blocks_per_multiprocessor,
        "registers": per_partition // max(1, of_warp) * SUB_PARTITIONS // warps,
    }
    if of_warp * _rounded(warps, SUB_PARTITIONS) > model.attributes["MaxRegistersPerBlock"]:
        limits["registers"] = 0
    at_a_time = 128 if model.capability >= (8, 0) else 256
    allocated = _rounded(shared_bytes + model.attributes["ReservedSharedMemoryPerBlock"], at_a_time)
    if allocated:
        limits["shared"] = model.shared_per_multiprocessor // allocated
    limit = min(limits, key=lambda name: limits[name])
    return Fit(limits[limit], limit)  # type: ignore[arg-type]  # a key of the above


def _rounded(value: int, step: int) -> int:
    return -(-value // step) * step


def heaviest(work: Work) -> CallLaunch | None:
    """Return the program's own launch whose threads execute the most instructions; None where there is none."""
    own = [launch for launch in work.launches if not launch.is_of_library]
    return max(own, key=lambda launch: sum(row.instructions for row in launch.work), default=None)


def with_occupancy(evidence: Evidence, compiled: Callable[[str, CallLaunch], Resources | None]) -> Evidence:
    """`evidence` with the occupancy of its heaviest launch at the observed size, where a check asks for it.

    compiled: what a launch's kernel takes in machine code for an architecture ("sm_90"); None where that is not known.
    """
    settings = next((s.settings for s in evidence.variant.checks if isinstance(s.settings, OccupancySettings)), None)
    work = evidence.observed_work
    launch = heaviest(work) if work is not None else None
    if settings is None or work is None or launch is None:
        return evidence
    model = model_of(settings.device)
    taken = compiled("sm_{}{}".format(*model.capability), launch)
    if taken is None:
        return evidence
    threads = prod(launch.block)
    fitted = fit(model, threads, taken.registers, launch.shared_bytes)
    warps = -(-threads // WARP_LANES)
    share = fitted.blocks * warps * WARP_LANES / model.threads_per_multiprocessor
    called = next((c for c in work.asked or () if c.kind == "kernel" and c.name == launch.kernel), None)
    kernel = evidence.bound.kernel
    file, line = (called.file, called.line) if called is not None else (kernel.file, kernel.line)
    if work.asked is None and evidence.interpretation is not None and evidence.interpretation.launch.line:
        line = evidence.interpretation.launch.line
    return replace(
        evidence,
        occupancy=Occupancy(
            model.name, launch.kernel, file, line, threads, taken.registers, launch.shared_bytes, fitted.blocks,
            fitted.limit, share,
        ),
    )  # fmt: skip


def with_occupancy_of_kernel(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    """Return `evidence` with the occupancy of a bare kernel's launch, where a check asks for it."""

    def compiled(architecture: str, _launch: CallLaunch) -> Resources | None:
        work = evidence.observed_work
        if work is None:
            return None
        loaded = replace(kernel, target=architecture).load(trials.programs, work.sizes)
        return loaded.built.result.resources.get(loaded.entry or "")

    return with_occupancy(evidence, compiled)
