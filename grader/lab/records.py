"""What a lab is, as records.  `grader.lab.file` reads them from `assignments/<lab>/lab.yaml`.

Nothing in this package knows a lab by name: whatever a lab needs stands in these records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from grader.lab import formula
from grader.lab.checks import NO_SETTINGS, OF_WORK, CaseSettings, Settings, View
from grader.lab.parameters import Kind, Signature

S = TypeVar("S", bound=Settings)

Sizes = Mapping[str, int]
"""Values of a lab's size parameters, e.g. {"rows": 256, "cols": 128}."""

Text = Mapping[str, str]
"""A text by language: {"en": …, "ru": …}."""


@dataclass(frozen=True, slots=True)
class FileRule:
    """Where a program finds an array, or leaves it.

    name: of a file; `STDOUT`: among what it prints; `COPIED`: in an array that it copied back from the device.
    format: "bin" (little-endian), "text", "csv", "pgm", "ppm" or "wb" (text behind a line with the array's shape).
    header: sizes that stand before the data, in this order: int32 in a binary file, the first line of a text.
    label: of what is printed, text behind which the numbers stand; "": all numbers that are no times.
    """

    name: str
    format: str
    header: tuple[str, ...] = ()
    label: str = ""


STDOUT, COPIED = "stdout", "copied"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A role that a parameter of a kernel, or of the lab's function, can take.

    kind: what it is to the lab: see `grader.lab.parameters`.
    shape: for pointers, the array's shape, as size names or integers, slowest axis first; of a function's or a
      program's also formulas of sizes.
    names: regular expressions (full match, case ignored) of the names students give it, best first.
    from_grid: for sizes: a kernel may work it out from its grid, so that only multiples of a tile can be asked of it.
    usual: for sizes: the value that a kernel which neither takes nor names the size has built in; None: any.
    twice: for the only input: the task uses it with itself, so a kernel that takes two may be handed it twice.
    values: of a scalar, what it is at first; a second call gets one between the least and the greatest of them.
    initial: of a function's output: what all its elements hold before the call; None: nothing that may be read.
    file: of a program's arrays: where it finds them, or leaves them; None: it is handed them otherwise.
    """

    name: str
    kind: Kind
    dtype: str = "float32"
    shape: tuple[str | int, ...] = ()
    names: tuple[str, ...] = ()
    from_grid: bool = True
    usual: int | None = None
    twice: bool = False
    values: tuple[float, ...] = ()
    initial: float | None = None
    file: FileRule | None = None

    @property
    def is_array(self) -> bool:
        """Whether it is a pointer to an array."""
        return self.kind.is_array

    @property
    def is_size(self) -> bool:
        """Whether it is a number of which shapes are made."""
        return self.kind.is_size

    @property
    def is_input(self) -> bool:
        """Whether it is an array that the oracle fills."""
        return self.kind.is_array and self.kind.is_read

    @property
    def is_output(self) -> bool:
        """Whether it is an array of which the oracle says what must come out."""
        return self.kind.is_written

    def extents_at(self, sizes: Sizes) -> tuple[int, ...]:
        """The array's shape at some sizes."""
        return tuple(formula.integer(axis, sizes) if isinstance(axis, str) else axis for axis in self.shape)

    def rank_of(self, name: str) -> int | None:
        """The place of the first of the parameter's patterns that `name` matches; its own name comes before all."""
        for rank, pattern in enumerate((re.escape(self.name), *self.names)):
            if re.fullmatch(pattern, name, re.IGNORECASE):
                return rank
        return None


@dataclass(frozen=True, slots=True)
class LaunchRule:
    """How this lab's kernels are launched when the submission does not say.

    block: threads along x, y, z, each a number or a formula of the sizes ("min(n, 1024)").
    covers: the size that each grid axis runs over, x first: ("cols", "rows").
    tile: elements that a block covers along each grid axis; (): one a thread.
    shared_bytes: dynamic shared memory of kernels that have such an array, a formula of the sizes and `threads` (of a
      block); "": worked out from the tile.
    """

    block: tuple[int | str, int | str, int | str]
    covers: tuple[str, ...]
    tile: tuple[int, ...] = ()
    shared_bytes: str = ""

    def block_at(self, sizes: Sizes) -> tuple[int, int, int]:
        """The block at some sizes.  Raises FormulaError: a formula has no value there."""
        x, y, z = (formula.integer(n, sizes) if isinstance(n, str) else n for n in self.block)
        return x, y, z


@dataclass(frozen=True, slots=True)
class ReferenceKernel:
    """The instructor's kernel of a variant; `arguments` are the roles of its parameters in order.

    block: threads along x, y, z; tile: elements that one block covers along each grid axis.
    shared_bytes: dynamic shared memory, a formula of the sizes and `threads`; "": none.
    template: sizes whose values are the kernel's template arguments, in order.
    multiples: what sizes must be multiples of, where the kernel asks for it.
    at_most: the largest sizes that it is the kernel for, where another one is faster above them.
    covers: the size that each grid axis runs over, x first; (): as the lab's launches.
    """

    file: Path
    kernel: str
    arguments: tuple[str, ...]
    block: tuple[int, int, int]
    tile: tuple[int, ...]
    shared_bytes: str = ""
    template: tuple[str, ...] = ()
    multiples: Mapping[str, int] = field(default_factory=dict)
    at_most: Mapping[str, int] = field(default_factory=dict)
    covers: tuple[str, ...] = ()

    def fits(self, sizes: Sizes) -> bool:
        return all(sizes[name] % step == 0 for name, step in self.multiples.items()) and all(
            sizes[name] <= most for name, most in self.at_most.items()
        )

    def expression(self, sizes: Sizes) -> str:
        """What names the kernel to the compiler at these sizes."""
        arguments = ", ".join(str(sizes[name]) for name in self.template)
        return f"{self.kernel}<{arguments}>" if arguments else self.kernel

    def shared_bytes_at(self, sizes: Sizes) -> int:
        """Dynamic shared memory of a block, in bytes."""
        x, y, z = self.block
        return formula.integer(self.shared_bytes, {**sizes, "threads": x * y * z}) if self.shared_bytes else 0


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One check of one variant: its points and its settings, of the type that `grader.lab.checks` gives it."""

    check: str
    points: float
    settings: Settings = NO_SETTINGS


@dataclass(frozen=True, slots=True)
class SmallerBlock:
    """A launch with fewer threads in a block than the sizes have elements along it."""

    sizes: Sizes
    threads: int


@dataclass(frozen=True, slots=True)
class Variant:
    """A kernel that the student must write.

    names: regular expressions (search, case ignored) that a kernel's name may match, best first.
    shared_memory: True, False, or None when either will do; used to recognise the kernel.
    order: when names say nothing, kernels in order of the file fill variants in this order.
    """

    name: str
    title: Text
    names: tuple[str, ...]
    shared_memory: bool | None
    reference: ReferenceKernel
    checks: tuple[CheckSpec, ...]
    padded: bool | None = None
    """True: shared arrays are padded or swizzled; False: they are not; None: either. Breaks ties only."""
    launch: LaunchRule | None = None
    """Where its kernels are launched otherwise than the lab's others."""
    unrolled: bool | None = None
    """True: its loops are unrolled by hand or by pragma; False: they are not; None: either. Breaks ties only."""
    smaller_block: SmallerBlock | None = None
    """A launch at which a kernel whose blocks grow with the sizes has to be right as well."""
    more_sizes: tuple[Sizes, ...] = ()
    """Exact sizes of its own that the emulator runs as well, uncounted: beyond what its usual blocks have threads."""

    @property
    def tests(self) -> dict[str, CaseSettings]:
        """Its tests, by the names of their checks."""
        return {spec.check: spec.settings for spec in self.checks if isinstance(spec.settings, CaseSettings)}

    def settings_of(self, kind: type[S]) -> S | None:
        """The settings of the check whose settings are of that type; None where the variant has no such check."""
        return next((spec.settings for spec in self.checks if isinstance(spec.settings, kind)), None)


@dataclass(frozen=True, slots=True)
class Cases:
    """The sizes a backend runs: for `correct`, for `ragged_sizes`, and the one that observers watch.

    large: of a GPU only; what is wrong there is told and costs nothing, for what a kernel may take for granted of its
      sizes (a row that fits into a block, say) need not hold there.
    """

    correct: tuple[Sizes, ...]
    ragged: tuple[Sizes, ...]
    observe: Sizes
    probe: Sizes
    """A small exact multiple of every tile, on which doubtful bindings are tried out."""
    large: tuple[Sizes, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawn:
    """What else is drawn for each submission, beside a case like the lab's own.

    shapes: sizes, by name the smallest and the largest: thin, tall, large ones that take little work.
    equal_values: a case in which all elements of an input are equal.
    """

    shapes: tuple[Mapping[str, tuple[int, int]], ...] = ()
    equal_values: bool = False


@dataclass(frozen=True, slots=True)
class Tolerance:
    """|got − expected| ≤ absolute + relative·|expected|; both 0: bit-exact.

    growth: a formula added to `absolute`: of the sizes and `u`, the unit roundoff of the output's type, with
      gamma(k) = k·u / (1 − k·u), the bound on the relative error of k roundings in a row (Higham, Accuracy and
      Stability of Numerical Algorithms, lemma 3.1); "": none.
    """

    absolute: float = 0.0
    relative: float = 0.0
    growth: str = ""

    def at(self, sizes: Sizes, dtype: str) -> Tolerance:
        """The tolerance for outputs of that type at these sizes, as plain numbers.

        Raises FormulaError: the formula has no value there.
        """
        if not self.growth:
            return self
        kind = np.dtype(dtype)
        u = float(np.finfo(kind).eps) / 2 if kind.kind == "f" else 0.0
        grown = formula.evaluate(self.growth, {**sizes, "u": u}, {"gamma": lambda k: k * u / (1 - k * u)})
        return Tolerance(self.absolute + grown, self.relative)


@dataclass(frozen=True, slots=True)
class TimingRule:
    """What is timed on a GPU.

    sizes: smallest first; the largest that is not launch-bound is the one that is marked.
    l2: "cold": the L2 cache is evicted before each launch; "warm": it is not.
    flops: operations at a size, a formula; "": the lab is about bytes, and bandwidth is shown.
    traffic: bytes that have to be moved at a size, a formula; "": every array once.
    host_memory: kinds of host memory to compare ("pageable", "pinned", "write_combined", "mapped"); (): none.
    predict: the GPU that times are predicted for where the command line names none; "off": none are; "": the lab says
      nothing of it.
    """

    sizes: tuple[Sizes, ...]
    l2: str = "cold"
    flops: str = ""
    traffic: str = ""
    host_memory: tuple[str, ...] = ()
    predict: str = ""


@dataclass(frozen=True, slots=True)
class SweepParameter:
    """What a sweep changes from point to point, and the values that it takes.

    name: a letter for formulas.  values: by backend, ascending.
    What follows from a value v: `sizes` become what their formulas give; `block` is the block's shape, as formulas;
    constants of a program whose names match one of `constants` (regular expressions, full match, case ignored), or
    template parameters of such names, get the value v; `unroll`: the innermost loops are unrolled v times.
    """

    name: str
    label: Text
    values: Mapping[str, tuple[int, ...]]
    sizes: Mapping[str, str] = field(default_factory=dict)
    block: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    unroll: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """A series of runs that a graph is drawn of: along `x`, a line for each variant and value of `lines`.

    base: sizes that no knob changes, by backend.
    metrics: what is shown, by backend; one graph each.
    host_memory: kinds of host memory, a line each, in place of `lines`.
    """

    id: str
    title: Text
    variants: tuple[str, ...]
    x: SweepParameter
    base: Mapping[str, Sizes]
    metrics: Mapping[str, tuple[str, ...]]
    lines: SweepParameter | None = None
    host_memory: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionRule:
    """The function that the lab asks for: its parameters are the lab's, by name, unless the lab has its own harness.

    more: other functions, and kernels, that the lab's own harness calls.
    memory: where its pointers lead.
    harness: name of the lab's own file whose `main` calls it; "": one is made, of the signature.
    """

    signature: Signature
    memory: Literal["host", "device"]
    harness: str = ""
    more: tuple[Signature, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramRule:
    """The whole program that the lab asks for, and how it is started.

    arguments, stdin: with `{name}` in place of a size, a number, an array's file or, where it has none, its numbers.
    signature: of the function that is asked for where the lab's own files have `main`; None: the program has it.
    """

    arguments: tuple[str, ...]
    stdin: str = ""
    signature: Signature | None = None


@dataclass(frozen=True, slots=True)
class Lab:
    """A whole assignment."""

    id: str
    path: Path
    title: Text
    aim: Text
    task: Text
    parameters: tuple[Parameter, ...]
    launch: LaunchRule
    variants: tuple[Variant, ...]
    cases: Mapping[str, Cases]
    """By backend: "emulator", "gpu"."""
    tolerance: Tolerance
    oracle: Path
    """A Python file: `inputs(sizes, rng)` and `expected(inputs, sizes)`, each a dict of arrays by parameter name."""
    seed: int
    equal_sizes: tuple[str, ...] = ()
    """Sizes that a kernel which does not take all of them may take to be equal (a square matrix)."""
    best: tuple[ReferenceKernel, ...] = ()
    """Kernels near what a device can do, the one for most sizes last: what the best student's is measured by."""
    selftest: Path | None = None
    """Folder of known-good and known-bad kernels with the verdict that each must get."""
    timing: TimingRule | None = None
    """None: nothing is timed."""
    sweeps: tuple[Sweep, ...] = ()
    repairs: str = "teacher"
    """Who is shown the smallest change that makes a wrong kernel right: "student", "teacher"; "off": none is sought."""
    drawn: Drawn = Drawn()
    title_page: Mapping[str, Text] = field(default_factory=dict)
    """By field of `grader.result.TitlePage`: what stands on the title page where a submission does not say it."""
    position: int | None = None
    """Its place in a course, by which labs are listed; None: after all that have one."""
    function: FunctionRule | None = None
    """What is handed in where that is a function with launches of its own."""
    program: ProgramRule | None = None
    """What is handed in where that is a whole program."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """The lab's own, that go with whatever is handed in, in place of files of the same names."""
    view: View = "students"
    """Who reads what comes of a grading: what is told of its tests follows from that."""

    @property
    def makes_launches(self) -> bool:
        """Whether what is handed in launches its kernels itself; else they are bare ones that the grader launches."""
        return self.function is not None or self.program is not None

    @property
    def counts_work(self) -> bool:
        """Whether a check asks for what is executed by line."""
        return any(spec.check in OF_WORK for variant in self.variants for spec in variant.checks)

    @property
    def secret_tests(self) -> dict[str, CaseSettings]:
        """The tests that are not run, since students are to know nothing of them yet, by the ids of their checks."""
        return {
            f"{v.name}.{name}": test
            for v in self.variants
            for name, test in v.tests.items()
            if test.is_secret(self.view)
        }

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name.  KeyError when there is none."""
        return next(p for p in self.parameters if p.name == name)

    def launch_of(self, variant: Variant) -> LaunchRule:
        """How that variant's kernels are launched when the submission does not say."""
        return variant.launch or self.launch

    @property
    def size_names(self) -> tuple[str, ...]:
        """Names of the size parameters, in the file's order."""
        return tuple(p.name for p in self.parameters if p.is_size)
