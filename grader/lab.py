"""What a lab is, as records.  `grader.lab_file` reads them from `assignments/<lab>/lab.yaml`.

Nothing in this package knows a lab by name: whatever a lab needs stands in these records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

Sizes = Mapping[str, int]
"""Values of a lab's size parameters, e.g. {"rows": 256, "cols": 128}."""

Text = Mapping[str, str]
"""A text by language: {"en": …, "ru": …}."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A role that a kernel's parameter can take.

    kind: "input" or "output" (pointers) or "size" (an integer).
    shape: for pointers, the array's shape, as size names or integers, slowest axis first.
    names: regular expressions (full match, case ignored) of the names students give it, best first.
    """

    name: str
    kind: str
    dtype: str = "float32"
    shape: tuple[str | int, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchRule:
    """How this lab's kernels are launched when the submission does not say.

    block: threads along x, y, z.
    covers: the size that each grid axis runs over, x first: ("cols", "rows").
    """

    block: tuple[int, int, int]
    covers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReferenceKernel:
    """The instructor's kernel of a variant; `arguments` are the roles of its parameters in order.

    block: threads along x, y, z; tile: elements that one block covers along each grid axis.
    """

    file: Path
    kernel: str
    arguments: tuple[str, ...]
    block: tuple[int, int, int]
    tile: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One check of one variant: its points and its settings (check-specific, validated by the check)."""

    check: str
    points: float
    settings: Mapping[str, object] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True)
class Cases:
    """The sizes a backend runs: for `correct`, for `ragged_sizes`, and the one that observers watch."""

    correct: tuple[Sizes, ...]
    ragged: tuple[Sizes, ...]
    observe: Sizes
    probe: Sizes
    """A small exact multiple of every tile, on which doubtful bindings are tried out."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """|got − expected| ≤ absolute + relative·|expected|; both 0: bit-exact."""

    absolute: float = 0.0
    relative: float = 0.0


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

    def parameter(self, name: str) -> Parameter:
        """The parameter of that name.  KeyError when there is none."""
        return next(p for p in self.parameters if p.name == name)

    @property
    def size_names(self) -> tuple[str, ...]:
        """Names of the size parameters, in the file's order."""
        return tuple(p.name for p in self.parameters if p.kind == "size")
