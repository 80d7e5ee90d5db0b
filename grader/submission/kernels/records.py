"""What a kernel and a launch of it are, as files show them, and what was seen of them while programs ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import msgspec

from grader.message import Message
from grader.submission.cpp.syntax import Expression

Contents = Literal["", "zeros", "data", "kernel"]
"""What a buffer held before a launch: nothing that anybody wrote, zeros, what the host copied, what a kernel wrote."""


class SeenArgument(msgspec.Struct, frozen=True, omit_defaults=True):
    """An argument of a launch.

    value: of a number; None for a pointer or a struct.
    buffer: name of the array that a pointer points to, "" where it points to none; `buffer_bytes`, `offset_bytes`: how
      large that is, and where in it.
    before: what the buffer held; digest: of the host's data in it, "" where unknown.
    origins: what had come into the buffer: "copied" from the host, "zeroed" by a memset, "kernel".
    read_back: the host copied from it after the launch, before it was filled anew.
    raw: of a small struct, its bytes; inside: the pointers in it, by where they stand.
    serial: of the buffer: no other allocation of the run has it; 0 for none.
    """

    name: str
    type_text: str
    value: int | float | None = None
    buffer: str = ""
    buffer_bytes: int = 0
    offset_bytes: int = 0
    before: Contents = ""
    digest: str = ""
    read_back: bool = False
    raw: bytes = b""
    inside: tuple[tuple[int, SeenArgument], ...] = ()
    serial: int = 0
    origins: tuple[str, ...] = ()

    @property
    def is_pointer(self) -> bool:
        return self.type_text.endswith("*")

    @property
    def may_be_written(self) -> bool:
        """Whether it is no pointer to constants."""
        return " const*" not in self.type_text

    def as_given(self) -> SeenArgument:
        """The same without what only this one allocation has."""
        inside = tuple((start, pointer.as_given()) for start, pointer in self.inside)
        return msgspec.structs.replace(self, serial=0, origins=(), inside=inside)


@dataclass(frozen=True, slots=True)
class SeenProbe:
    """What a launch was at other sizes: its blocks and their threads, its arguments, bytes of dynamic shared memory."""

    grid: tuple[int, int, int]
    arguments: tuple[SeenArgument, ...]
    shared_bytes: int
    block: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A launch in the order of a run.

    launch: which of `SeenRun.launches` it is, -1: none of these.  buffers: of each of its arguments the array, by a
    number that no other array of the run has; 0 for none.
    """

    launch: int
    buffers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SeenCopy:
    """A copy between the host and an array of the device, or what set that.

    way: "in" (to the device), "out" (to the host), "set" (a memset), "within" (from another array of the device's).
    array: its name; serial: no other allocation of the run has it.  bytes: copied; is_whole: they are all of the array.
    host: where the host's data lie.  launches: how many of `SeenRun.order` had been made before.
    byte: to which a memset has set each; 0 for any other.  of: bytes of the array, what pads its rows aside.
    offset: of its first byte in the array, counted likewise.
    """

    way: str
    file: str
    line: int
    array: str
    serial: int
    bytes: int
    is_whole: bool
    host: int = 0
    launches: int = 0
    byte: int = 0
    of: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A number of the program's that was made another for a run: a constant of `file`; of no file: an argument.

    name: "" where it has none.  value: what the constant is then; `before` and `after` are as the text has them, as
      "16 << 20" and "16 << 10".
    """

    file: str
    line: int
    name: str
    before: str
    after: str
    value: int = 0


@dataclass(frozen=True, slots=True)
class Exchanged:
    """Two arguments of a launch in each other's place: the parameters, and what the launch has for each.

    variable: the struct whose fields they are, "" where they are the launch's own; line: where that gets them.
    """

    first: str
    first_given: str
    second: str
    second_given: str
    variable: str = ""
    line: int = 0


class SeenHazard(msgspec.Struct, frozen=True):
    """A fault inside a kernel; `count`: accesses that did it."""

    kind: str
    line: int
    message: Message
    count: int = 1


class LineCount(msgspec.Struct, frozen=True):
    """Counters of one line: see `grader.ptx.records.LineCounter`.  file: "" for the kernel's own."""

    line: int
    space: str
    op: str
    requests: int
    wavefronts: int
    sectors: int
    ideal: int
    ways: int
    file: str = ""


class SeenLaunch(msgspec.Struct, omit_defaults=True):
    """A launch that a program made; while that runs, what comes of it is written here.

    kernel: its plain name; template_arguments: what stands between <…>, () for no template.
    display: both, with the namespaces, as users are shown it; symbol: its name in PTX.
    status: "ran"; "failed" (refused, see `error`); "faulted" (ended by a fault); "traced" (too large: not executed).
    error: CUDA's name of the error, "" where there was none.
    checked: the program asked for its error afterwards, or looked at that of a call which waits for it.
    change: of the run that it was made in, None where that was the program as it is.
    filled: names of small variables of the device into which the host had copied something, and what.
    exchanged: the launch has two of them in each other's place; `arguments` are as the kernel means them.
    swapped: the same of its grid and its block.
    offset: the parameter that tells where a part of the arrays begins, of launches over parts that are one here.
    compiler: whose code of the kernel was run: "nvrtc", or "clang" where NVRTC has none; "" where none was.
    microseconds: on a GPU; None on the emulator, and of one that nobody has waited for.
    watched_blocks: of the grid so many were watched, for counters and races; None where that did not come up.
    """

    kernel: str
    template_arguments: tuple[str, ...]
    file: str
    line: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[SeenArgument, ...]
    status: str = "ran"
    error: str = ""
    checked: bool = False
    change: SeenChange | None = None
    filled: tuple[tuple[str, bytes], ...] = ()
    exchanged: Exchanged | None = None
    swapped: bool = False
    offset: str = ""
    display: str = ""
    symbol: str = ""
    stream: int = 0
    compiler: str = ""
    thread_instructions: int = 0
    hazards: list[SeenHazard] = []
    counters: list[LineCount] = []
    microseconds: float | None = None
    watched_blocks: int | None = None

    @property
    def refused(self) -> bool:
        """Whether no device can make it."""
        return self.status == "failed"

    def asked(self) -> tuple[object, ...]:
        """What it asks of the device, and whether that is refused: launches alike in this are alike in every way that
        the program shows."""
        asked = self.kernel, self.template_arguments, self.file, self.line, self.grid, self.block, self.shared_bytes
        arguments = tuple(argument.as_given() for argument in self.arguments)
        rest = self.change, self.filled, self.exchanged, self.swapped, self.offset
        return (*asked, arguments, self.refused, self.checked, *rest)


def each_once(launches: Iterable[SeenLaunch]) -> tuple[SeenLaunch, ...]:
    """The first of all that ask for the same, in order."""
    first: dict[tuple[object, ...], SeenLaunch] = {}
    for launch in launches:
        first.setdefault(launch.asked(), launch)
    return tuple(first.values())


@dataclass(frozen=True, slots=True)
class SeenFault:
    """Something that the host code did wrong, or untidily (`is_untidy`): `kind` as `grade run` has it."""

    kind: str
    file: str
    line: int
    message: Message
    is_untidy: bool = False


@dataclass(frozen=True, slots=True)
class SeenWord:
    """A line that a program printed of its own results: right or wrong.

    kernel: whose results, by its plain name; "" where that is not clear.  line: of the launch; 0 where unknown.
    """

    text: str
    is_right: bool
    kernel: str = ""
    line: int = 0


Unnoticed = Literal["all", "half", "smaller", "larger", "some", "nan", "alone"]


@dataclass(frozen=True, slots=True)
class SeenBlind:
    """A program calls results of a kernel right which are not.

    what: whatever they are ("all"), where the second half of them are wrong, where they are too small, or too large;
      "alone": where others' results are right.
    kernel: by its plain name.  file, line: of its launch.
    """

    kernel: str
    file: str
    line: int
    what: Unnoticed


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run of a program: `files` are its own, the one with `main` first.

    ended: it came to its own end, so that what it did not launch it does not launch.
    cause: why it did not run, or not to its end; `cause_line` in `cause_file`: where it was then, 0 where unknown.
    arguments, stdin: what it was given.
    probe: made at other sizes than the program's own, to see what its launches become.
    forgiven: made as if no call had failed, to see what a program launches that ends at its first error.
    results: made with its kernels, to see what comes of them: its launches are others' business.  said: what it says of
      its results.  exit: with which code it ended, None where it did not.
    asked_for: kernels that it launched, be it with nothing to work upon.
    unnoticed: of a run with `results`, which wrong ones it would not have noticed.  notices: it did notice some.
    order: the launches that it made.  copies: between host and device, in their order.  Both () where there were more
      of either than are kept: what the rest did nobody knows.
    """

    files: tuple[str, ...]
    launches: tuple[SeenLaunch, ...] = ()
    ended: bool = False
    cause: Message | None = None
    cause_file: str = ""
    cause_line: int = 0
    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    change: SeenChange | None = None
    probe: bool = False
    forgiven: bool = False
    faults: tuple[SeenFault, ...] = ()
    results: bool = False
    said: tuple[SeenWord, ...] = ()
    unnoticed: tuple[SeenBlind, ...] = ()
    notices: bool = False
    exit: int | None = None
    asked_for: tuple[str, ...] = ()
    order: tuple[SeenStep, ...] = ()
    copies: tuple[SeenCopy, ...] = ()


def seen_in_part(runs: Sequence[SeenRun], kernel: str) -> SeenRun | None:
    """Return the run with a kernel that shows the most of a program, where none as it was handed in came to its end."""
    own = [run for run in runs if any(launch.kernel == kernel for launch in run.launches)]
    if any(run.ended and run.change is None for run in own):
        return None
    return min(own, key=lambda run: (not run.ended, run.change is not None, run.results), default=None)


@dataclass(frozen=True, slots=True)
class ObservedRuns:
    """All runs of a submission's programs, those as they were handed in first.

    uncommented: file, kernel and line of launches that stand in comments, and were taken as if they did not.
    failed: they could not be run for a reason that is not theirs, so no check can be judged.
    absent: this system runs no programs at all, so that what is graded may differ from elsewhere.
    """

    runs: tuple[SeenRun, ...] = ()
    failed: Message | None = None
    absent: Message | None = None
    uncommented: tuple[tuple[str, str, int], ...] = ()

    @property
    def launches(self) -> tuple[SeenLaunch, ...]:
        """Of all runs that were made to see them, in order, each once; where one of these was cut short, what another
        one launches with many more threads, at smaller sizes, but up to its end."""
        runs = [run for run in self.runs if not run.probe and not run.results]
        seen = each_once(launch for run in runs for launch in run.launches)
        if all(run.ended for run in runs):
            return seen
        most: dict[str, int] = {}
        for launch in seen:
            most[launch.kernel] = max(most.get(launch.kernel, 0), prod(launch.grid) * prod(launch.block))
        whole = (launch for run in self.runs if run.results and run.ended for launch in run.launches)
        others = [x for x in whole if 0 < 4 * most.get(x.kernel, 0) < prod(x.grid) * prod(x.block)]
        return each_once((*seen, *others))

    @property
    def probes(self) -> tuple[SeenLaunch, ...]:
        """Launches at other sizes than the program's own."""
        return each_once(launch for run in self.runs if run.probe for launch in run.launches)

    def ended(self, file: str) -> bool:
        """Whether a program with that file came to its own end."""
        return any(run.ended for run in self.runs if file in run.files and not run.results and not run.forgiven)


NOTHING_OBSERVED = ObservedRuns()


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter of a kernel: `dtype` is a NumPy name ("float32", "int32") or None when it is not a plain number.

    is_read, is_written: whether the kernel reads or writes through the pointer, as far as its text shows.
    is_global: a global array of the program, made a parameter for grading.
    owner: of a number that is a struct's field, the parameter that the struct's pointer has become.
    span: numbers in each thing that a pointer points to: a row of `float (*a)[64]`, a struct; 0 where it is not known.
    """

    name: str
    type_text: str
    is_pointer: bool
    is_const: bool
    dtype: str | None
    is_read: bool = False
    is_written: bool = False
    is_global: bool = False
    owner: str = ""
    span: int = 1


@dataclass(frozen=True, slots=True)
class SharedArray:
    """A `__shared__` declaration in a kernel; `dims` are its sizes where they could be evaluated, None where not.

    dynamic: declared `extern`, sized at launch.  element_bytes: of a vector type too, 0 of what else has no `dtype`.
    """

    name: str
    line: int
    dtype: str | None
    dims: tuple[int | None, ...]
    dynamic: bool
    element_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Loop:
    """An innermost loop of a kernel, or of a function that it calls, from its first line to its last.

    factor: steps that it does at a time (by hand or `#pragma unroll`); 1: it is not unrolled.
    work: what it does in all, as far as its text tells: elements read and products, times its steps and those around.
    """

    line: int
    end_line: int
    factor: int
    work: int


def factor_of(loops: Sequence[Loop]) -> int:
    """The factor of the loop that does most of the work; of several that do about as much, the largest.

    The steps that are left over by a loop unrolled by hand look like as much again.
    """
    most = max((loop.work for loop in loops), default=0)
    return max((loop.factor for loop in loops if 2 * loop.work >= most), default=1)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A `__global__` function with a body, in one file."""

    name: str
    file: str
    line: int
    end_line: int
    parameters: tuple[KernelParameter, ...]
    template_parameters: tuple[str, ...]
    shared_arrays: tuple[SharedArray, ...]
    is_empty: bool
    unroll: int = 1
    """Steps that the loop which does its work does at a time (by hand or `#pragma unroll`); 1: it is not unrolled."""
    loops: tuple[Loop, ...] = ()
    """Its innermost loops that do anything for its result."""
    unset: tuple[tuple[str, int], ...] = ()
    """Variables that it adds to before they have a value, with the lines of that."""

    @property
    def uses_shared(self) -> bool:
        return bool(self.shared_arrays)


@dataclass(frozen=True, slots=True)
class LaunchSite:
    """A `kernel<<<grid, block, bytes>>>(…)` in host code, as far as it can be read.

    block: threads along x, y, z; None where not readable.
    tile: elements that one block covers along each grid axis (the divisor in the grid's expression), where readable.
    shared_bytes: value of the third argument for that block, where readable.
    template_arguments: what stands between <…> of `kernel<16><<<…>>>`, numbers as their values.
    template_texts: the same as it is written, "N" of `kernel<N><<<…>>>`; () for a kernel that was handed in.
    grid_over: for each grid axis, the variable that the blocks run over ("n" in `(n + 15) / 16`), "" where unclear.
    arguments: text of the arguments handed to the kernel.  values: of each, where that can be read.
    file: the file that the launch stands in.
    block_expressions, shared_expression: the same as `block` and `shared_bytes`, in terms of the arguments and of the
      file's constants, for other sizes; grid_expressions: the number of blocks along each axis, likewise.
    opts_in: the host code raises the kernel's limit of dynamic shared memory (cudaFuncSetAttribute).
    observed: the program was seen to make this launch, with `grid` and the arguments `seen`; then `block`,
      `shared_bytes` and `template_arguments` are what was seen.  refused: by the device.
    changed: the constant that had another value then, and that value; ("", 0) for the program as it is.
    seems_swapped: by their names the block is handed in as the grid, and the grid as the block.
    swapped: they are, which is known, and stand here as they are meant: what the launch has for each; () where not.
    probes: the same launch at other sizes than the program's own.  seen_shared_bytes: what it had with these arguments,
      None where its text has changed since.
    filled: what was seen in small variables of the device that the host had filled.
    exchanged: two arguments that it has in each other's place; `seen` has them as the kernel means them.
    offset: the parameter that tells where a part begins, of launches over parts of the same arrays, which are one here:
      `grid` has the blocks of all, and no text says how many these are.  "": it is one launch.
    """

    kernel: str
    line: int
    block: tuple[int, int, int] | None
    tile: tuple[int | None, ...]
    shared_bytes: int | None
    template_arguments: tuple[str, ...] = ()
    grid_over: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    values: tuple[int | None, ...] = ()
    file: str = ""
    block_expressions: tuple[Expression, ...] = ()
    shared_expression: Expression | None = None
    opts_in: bool = False
    grid_expressions: tuple[Expression, ...] = ()
    template_texts: tuple[str, ...] = ()
    observed: bool = False
    grid: tuple[int, int, int] | None = None
    seen: tuple[SeenArgument, ...] = ()
    refused: bool = False
    probes: tuple[SeenProbe, ...] = ()
    seen_shared_bytes: int | None = None
    changed: tuple[str, int] = ("", 0)
    seems_swapped: bool = False
    swapped: tuple[str, ...] = ()
    filled: tuple[tuple[str, bytes], ...] = ()
    exchanged: Exchanged | None = None
    offset: str = ""
