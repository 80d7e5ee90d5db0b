"""What was found out about one variant of one submission, and what its kernels did in the runs that it was graded by:
everything that the checks may look at.

A bare kernel has one launch, the grader's; a function has those that it made, and what it had the device do beside
them.  Only labs with a check that asks for it have any of this counted.

Checks are pure functions of an `Evidence`; whoever runs kernels fills it in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np

from grader.lab.records import Lab, Sizes, Variant
from grader.launching.kernel import BoundKernel, shape_at
from grader.launching.trial import Run
from grader.measured import Counters, Diagnosis, HostMemory, LineCounters, PredictedTime, Resources, Timing, Witness
from grader.message import Message
from grader.programs.records import LIBRARY, CallLaunch, CallSeen, DeviceCall
from grader.ptx.records import Hazard, LineCounter, LineWork
from grader.result import CaseKind
from grader.submission.kernels.records import SeenRun
from grader.submission.lexical import without_comments
from grader.submission.records import Interpretation, Missing, VariantBinding

if TYPE_CHECKING:
    from grader.compiler.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Work:
    """One run at some sizes that came to its end: of a function, its first call.

    elements: of the largest array.  drawn: whether the sizes were.
    asked: what was asked of the device, in order; None where the grader made the launch.
    """

    kind: CaseKind
    sizes: Sizes
    elements: int
    launches: tuple[CallLaunch, ...]
    asked: tuple[DeviceCall, ...] | None = None
    drawn: bool = False

    def by_line(self) -> list[tuple[str, LineWork]]:
        """Return what was executed of the program's own code by file and line, all launches together, in that order."""
        rows: dict[tuple[str, int], LineWork] = {}
        for launch in self.launches:
            for row in launch.work:
                at = (row.file or launch.file, row.line)
                if at[0] == LIBRARY:
                    continue
                earlier = rows.get(at, LineWork(row.line))
                uses = dict(earlier.uses)
                for name, times in row.uses.items():
                    uses[name] = uses.get(name, 0) + times
                rows[at] = LineWork(
                    row.line,
                    row.instructions + earlier.instructions,
                    row.executed + earlier.executed,
                    row.places + earlier.places,
                    row.additions + earlier.additions,
                    uses,
                )
        return [(file, rows[file, line]) for file, line in sorted(rows)]

    def total(self, of: str) -> int:
        """Sum of a field of `LineWork` over all launches, a library's, too."""
        return sum(getattr(row, of) for launch in self.launches for row in launch.work)


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Occupancy of the launch that does the most, on one device.

    file, line: where it is launched, or the kernel.  threads, shared_bytes: of a block.  registers: of a thread.
    blocks: that fit on a multiprocessor.  limit: what keeps more from fitting: "threads", "blocks", "shared" or
    "registers".  share: of the warps that a multiprocessor can hold.
    """

    device: str
    kernel: str
    file: str
    line: int
    threads: int
    registers: int
    shared_bytes: int
    blocks: int
    limit: str
    share: float


@dataclass(frozen=True, slots=True)
class Reordered:
    """Runs of the same data in which blocks, and the warps of a block, had their turns in other orders.

    sizes: at which.  orders: how many gave an output.
    differs: an array, the index of its first element that has other bits, slowest axis first, and both its values, in
    the usual order and in the other one; None where all bits are the same.  elements: how many have other bits.
    """

    sizes: Sizes
    orders: int = 0
    differs: tuple[str, tuple[int, ...], float, float] | None = None
    elements: int = 0


def work_of_kernel(kernel: BoundKernel, runs: Sequence[Run]) -> tuple[Work, ...]:
    """Return the work of those runs of a bare kernel in which it was counted."""
    works = []
    for run in runs:
        outcome = run.outcome
        if outcome.status == "ok" and outcome.work:
            launch = CallLaunch(
                kernel.binding.kernel.name,
                kernel.binding.kernel.file,
                "ran",
                counters=outcome.counters,
                grid=kernel.geometry(run.sizes).grid,
                block=kernel.geometry(run.sizes).block,
                shared_bytes=outcome.shared_bytes,
                work=list(outcome.work),
            )
            works.append(Work(run.kind, run.sizes, elements_of(kernel.lab, run.sizes), (launch,), drawn=run.drawn))
    return tuple(works)


_INCLUDES = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:thrust|cub)/", re.M)
_CALLS = re.compile(r"(?:thrust|cub)\s*::\s*((?:\w+\s*::\s*)*(?!\w+_cast\b|make_)\w+)\s*\(")


def library_at(texts: Mapping[str, str]) -> tuple[str, int] | None:
    """The line in which Thrust or CUB is called, where one function of theirs is; else that of the first header of
    theirs; None where there is neither.

    texts: by file.  What their calls launch comes from their headers, so no run shows the line.
    """
    plain = {file: without_comments(text) for file, text in texts.items()}
    calls = [(file, match) for file, text in plain.items() for match in _CALLS.finditer(text)]
    includes = ((file, match) for file, text in plain.items() for match in _INCLUDES.finditer(text))
    is_one = len({"".join(match[1].split()) for _file, match in calls}) == 1
    at = calls[0] if is_one else next(includes, None)
    return (at[0], plain[at[0]].count("\n", 0, at[1].start()) + 1) if at is not None else None


def work_of_call(lab: Lab, run: Run, call: CallSeen) -> Work:
    """Return the work of the first call of a function, in a run that ended normally."""
    return Work(run.kind, run.sizes, elements_of(lab, run.sizes), tuple(call.launches), tuple(call.asked), run.drawn)


def elements_of(lab: Lab, sizes: Sizes) -> int:
    """Return the elements of the largest input or output, which work and atomic operations are divided by."""
    return max(prod(shape_at(lab, p.name, sizes)) for p in lab.parameters if p.is_input or p.is_output)


FaultKind = Literal[
    "launch",
    "unchecked",
    "copy",
    "lifetime",
    "unfilled",
    "time",
    "not_compared",
    "half_blind",
    "overrun",
    "own_check",
    "crash",
]

OF_DATA: tuple[FaultKind, ...] = ("copy", "lifetime", "unfilled", "overrun", "own_check", "crash")
"""What makes results wrong, or lets the program call them wrong, whatever the kernels do."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """What became of compiling the submission, as far as one variant is concerned.

    failure: "" when the variant's kernel is in the PTX; else "errors" (see `diagnostics`), "timeout", "crashed" (the
    compiler ran out of memory) or "missing_entry" (no error, yet the kernel is not there).
    missing_headers: headers that were not handed in, with the file and the line that include them.
    unset: variables that the kernel uses before they have a value, with the lines of that.
    is_host_broken: the host code does not compile, so nothing is read out of it.
    """

    failure: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    missing_headers: tuple[tuple[str, str, int], ...] = ()
    unset: tuple[tuple[str, int], ...] = ()
    is_host_broken: bool = False


@dataclass(frozen=True, slots=True)
class Staging:
    """How outputs came to be: of `sampled` elements, those made from inputs by way of shared memory (`through`), and
    those of them whose inputs another thread had put there (`between`).

    unused_at: larger sizes at which the outputs do not depend on what is in shared memory; None where they do.
    is_forwarded: every element goes through shared memory as the text has it; the compiler takes what a thread stored
      itself from its registers.
    """

    sampled: int
    through: int
    between: int
    unused_at: Sizes | None = None
    is_forwarded: bool = False


def moved_bytes(by_line: Iterable[LineCounter | LineCounters], space: str, op: str) -> int:
    """Return the bytes that all threads together asked for."""
    return sum(c.lanes * c.width_bytes for c in by_line if c.space == space and c.op == op)


@dataclass(frozen=True, slots=True)
class OwnCheck:
    """A line that the program printed of the kernel's results, where the grader finds otherwise.

    sizes: at which the program ran then; None where they cannot be told.  case_is_right: whether the kernel is right at
    these sizes.  is_explained: its launch or the host code is known to be wrong.  is_exchanged: the kernel is right
    there with the lab's two square matrices in each other's place, as where it reads them by columns.
    """

    text: str
    is_right: bool
    sizes: Sizes | None = None
    case_is_right: bool | None = None
    is_explained: bool = False
    is_exchanged: bool = False


@dataclass(frozen=True, slots=True)
class Other:
    """A kernel that may be the variant as well, and is not what counts.

    points: earned and pending; None where it was not graded.
    """

    kernel: str
    file: str
    line: int
    points: float | None


@dataclass(frozen=True, slots=True)
class OtherInput:
    """Numbers in the device's memory that the host puts there, and that no input of the lab is.

    values: the first of them, as they are shown, or what the text makes of each; "" where nothing tells.
    line: of the array's declaration, in the kernel's file.  is_seen: a program that launches the kernel was run.
    """

    array: str
    values: str
    line: int
    is_seen: bool


@dataclass(frozen=True, slots=True)
class HostFault:
    """Something wrong in the host code: where, and of what kind.

    sizes: of a launch of a function's or a program's, all sizes at which it is wrong.
    """

    kind: FaultKind
    file: str
    line: int
    message: Message
    sizes: tuple[Sizes, ...] = field(default=(), compare=False)

    @property
    def is_of_data(self) -> bool:
        """Whether it makes results wrong; those that nobody reads are what they are."""
        return self.kind in OF_DATA and self.message.id != "programs.never_read"

    @property
    def is_of_events(self) -> bool:
        """Whether a time is taken with events that do not stand where it begins and ends."""
        return self.message.id.startswith("programs.event_")


@dataclass(frozen=True, slots=True)
class Instead:
    """A launch of `kernel` in a line where another kernel is expected; before: where that one is launched besides."""

    file: str
    line: int
    kernel: str
    before: int


@dataclass(frozen=True, slots=True)
class OneBlock:
    """A launch of one block of `threads`, whose kernel's parameter `name` is more than that, `value`."""

    kernel: str
    file: str
    line: int
    name: str
    value: int
    threads: int


@dataclass(frozen=True, slots=True)
class HostCode:
    """The host code around one kernel.

    is_there: a program with host code that feeds its kernels was handed in.
    is_observed: it was run; else its text was read.
    partly: the run that shows the most of it, where none as it was handed in came to its end.
    untidy: worth knowing, and wrong in no way that matters.
    of_launch: what is wrong with a launch itself, which is another check's.
    misleads: something is wrong with the data or a launch anywhere in the program, so that what it says of results need
      not be about the kernel.
    never_launches: its program comes to its end, whatever it is started with, and has not launched the kernel.
    launched_instead: what it launches in that one's place, where that is seen.
    suspected: what may be meant, and is wrong where the program itself calls the results of a right kernel wrong.
    unwritten: array, file and line of copies to the host of what nobody had written.
    set_bytes: array, file and line of what sets each byte of an array to the same, and to what, where that is not 0.
    """

    is_there: bool
    is_observed: bool = False
    partly: SeenRun | None = None
    faults: tuple[HostFault, ...] = ()
    untidy: tuple[HostFault, ...] = ()
    of_launch: tuple[HostFault, ...] = ()
    misleads: bool = False
    never_launches: bool = False
    launched_instead: Instead | None = None
    suspected: tuple[HostFault, ...] = ()
    unwritten: tuple[tuple[str, str, int], ...] = ()
    set_bytes: tuple[tuple[str, str, int, int], ...] = ()

    def counted(self, of: Literal["all", "data"]) -> tuple[HostFault, ...]:
        """Return the faults that a check of all faults, or of those of the data, costs points for: events in the wrong
        place count as such, for what is printed of them is wrong."""
        return tuple(f for f in self.faults if of == "all" or f.is_of_data or f.is_of_events)


NO_HOST_CODE = HostCode(is_there=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All about one variant.

    interpretation: the interpretation of the kernel that was graded; None when nothing was run.
    runs: in the order in which they were made; the one of kind "observe" carries counters.
    counters: of the observed run; None when there was none or it failed.
    array_bytes: size of each array by role name, at the observed size.
    timing: one record a size; empty when the backend has no clock.
    diagnoses: why the output is wrong, by what it is wrong at: "correct" or "ragged".
    unmeasured: why the backend cannot measure something, by what ("time", "counters", "hazards").
    source: what was compiled, by file name.
    resources, host_memory, witnesses: as in the result; empty without a GPU.
    smaller_block: the run with a block smaller than the sizes, where the lab asks for it and all other runs are right.
    larger: runs at the lab's `large` sizes, on which no mark depends; of kernels that are right at all others.
    untimed: why the kernel's own doings keep it from being timed, None when nothing does.
    staging: what shared memory is used for; None where that was not looked at.
    others: kernels that were graded for the variant too, the best of which this one is.
    hard_coded_sizes: the only sizes that the kernel works at, when they are constants of its file; else None.
    host: the host code around its launches.
    halo: which elements beyond the task's its input has, as its program gives them to it; None: none.
    margin: why accesses outside of the arrays are not held against the kernel, None where nothing speaks for them.
    other_input: what it reads besides the lab's inputs, so that it solves another task where its result is wrong.
    unobserved: why the submission's programs could not be run, for a reason that is not theirs; None where they were.
    newer: what was found out about its code for newer devices, by their compute capability, where that is other code.
    needs: compute capability of the oldest device on which it is right, where that is not the oldest of all; "" else.
    own_check: what the program says of the kernel's results, where that is not what was found.
    work: what was executed in its runs, where a check asks for that; in the order of the runs.
    reordered: what came of other orders of its blocks, where a check asks for that.
    predicted: its time on a GPU that is not there, or why there is none; None where none was wanted so far.
    occupancy: of its heaviest launch, where a check asks for that.
    launches: of a function, how many a call made at the observed size; None where that was not seen.
    suspect: of a function, file and line of the one kernel that may have made a wrong result; None where several may.
    uncombined_blocks: of a function, how many blocks make a result each, and nothing makes one of them; 0 of any other.
    one_block: of a function, the launch of one block that is given more than it has threads wherever it is wrong.
    tests: what came of the variants' tests, by the ids of their checks; of those that are secret still, and that the
      kernel does not fit, nothing.
    right: what checks have counted of the lab's own solution, by check, as in their data; empty where it was not run.
    library_at: the file and the line that Thrust or CUB is called in, or else included; None where it is in none.
    """

    lab: Lab
    variant: Variant
    binding: VariantBinding | Missing
    compilation: Compilation = Compilation()
    interpretation: Interpretation | None = None
    runs: tuple[Run, ...] = ()
    counters: Counters | None = None
    array_bytes: Mapping[str, int] = field(default_factory=dict)
    timing: tuple[Timing, ...] = ()
    diagnoses: Mapping[str, Diagnosis] = field(default_factory=dict)
    unmeasured: Mapping[str, Message] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
    hard_coded_sizes: Sizes | None = None
    resources: Resources | None = None
    host_memory: tuple[HostMemory, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    smaller_block: Run | None = None
    larger: tuple[Run, ...] = ()
    staging: Staging | None = None
    untimed: Message | None = None
    host: HostCode = NO_HOST_CODE
    others: tuple[Other, ...] = ()
    halo: Message | None = None
    margin: Message | None = None
    other_input: OtherInput | None = None
    unobserved: Message | None = None
    newer: Mapping[str, Evidence] = field(default_factory=dict)
    needs: str = ""
    own_check: OwnCheck | None = None
    launches: int | None = None
    suspect: tuple[str, int] | None = None
    uncombined_blocks: int = 0
    one_block: OneBlock | None = None
    library_at: tuple[str, int] | None = None
    work: tuple[Work, ...] = ()
    reordered: Reordered | None = None
    occupancy: Occupancy | None = None
    predicted: PredictedTime | Message | None = None
    tests: Mapping[str, Run] = field(default_factory=dict)
    right: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def bound(self) -> VariantBinding:
        """The binding of a variant that has a kernel.  Raises TypeError where it has none."""
        if isinstance(self.binding, Missing):
            raise TypeError(f"no kernel was found for {self.variant.name}")
        return self.binding

    @property
    def observed_work(self) -> Work | None:
        """The work at the observed size; None where that was not counted."""
        return next((work for work in self.work if work.kind == "observe"), None)

    def file_of(self, file: str) -> str:
        """Return a file as a check has it: "" for the one that the kernel or function stands in."""
        return "" if file == self.bound.kernel.file else file

    def runs_of(self, *kinds: CaseKind) -> list[Run]:
        return [run for run in self.runs if run.kind in kinds]

    def remarks(self) -> dict[tuple[str, int], int]:
        """Return what runs showed that is no fault on a device, by kind and line, with the largest count of any run."""
        counts: dict[tuple[str, int], int] = {}
        for run in self.runs:
            for kind, line, count in run.outcome.remarks:
                counts[kind, line] = max(counts.get((kind, line), 0), count)
        return counts

    def hazards(self, *kinds: str) -> list[Hazard]:
        """Hazards of these kinds in runs at exact sizes, one a source line and kind, in order of line; last what
        stands in no line of the student's.

        Runs at sizes that are no multiple of the tile are left out: what a missing guard does there is the
        business of `ragged_sizes` alone, so that one slip is not paid for twice.
        """
        by_place: dict[tuple[bool, str, int, str], Hazard] = {}
        for run in self.runs_of("correct", "observe"):
            for hazard in run.outcome.hazards:
                if hazard.kind in kinds:
                    by_place.setdefault((not hazard.line, hazard.file, hazard.line, hazard.kind), hazard)
        return [self.as_written(by_place[key]) for key in sorted(by_place)]

    def as_written(self, hazard: Hazard) -> Hazard:
        """Return a hazard as the kernel's text has it: an array by the parameter's own name, and a read of one that
        nobody wrote in its elements, since an access may be wider, as by the compiler's `float4`."""
        width = self._element_bytes(hazard) or hazard.width_bytes if hazard.kind == "uninitialized" else 0
        if width:
            hazard = replace(hazard, offset_bytes=hazard.offset_bytes // width * width, width_bytes=width)
        if hazard.space != "global" or self.interpretation is None:
            return hazard
        names = dict(zip(self.interpretation.roles, (p.name for p in self.bound.kernel.parameters), strict=True))
        return replace(hazard, array=names.get(hazard.array) or hazard.array)

    def _element_bytes(self, hazard: Hazard) -> int:
        """Return the width of an element of the array that a hazard is in; 0 where it isn't known, or is the
        student's own vector type."""
        if hazard.space == "shared":
            return next((a.element_bytes for a in self.bound.kernel.shared_arrays if a.name == hazard.array), 0)
        if hazard.space != "global" or self.interpretation is None:
            return 0
        dtypes = dict(zip(self.interpretation.roles, (p.dtype for p in self.bound.kernel.parameters), strict=True))
        dtype = dtypes.get(hazard.array)
        return np.dtype(dtype).itemsize if dtype else 0
