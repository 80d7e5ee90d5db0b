"""What is known of a submission before anything is compiled or run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from grader.submission.kernels.records import NOTHING_OBSERVED, Kernel, LaunchSite, ObservedRuns
from grader.submission.lexical import Edit, apply
from grader.submission.source import SourceText

Origin = Literal["stated", "observed", "read", "inferred", "lab"]
ORIGINS: tuple[Origin, ...] = ("stated", "observed", "read", "inferred", "lab")
"""Who says a fact about a kernel or its launch, each before those that it outweighs.

stated: `submission.yaml`.  observed: a run of the program.  read: the text of its host code.  inferred: the text of the
kernel itself.  lab: nobody but the lab, for want of better.
"""


LONG_CHARACTERS = 100_000
"""Of source text: every change of it is read anew."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Where the facts that make up an interpretation are from.

    kernel: that it is the variant's.  arguments: which parameter is what.  template: its arguments, by the weakest of
    them; None for a kernel that is no template.  block, tile, covers, shared_bytes: as in `LaunchPlan`; of a tile the
    weakest of its axes.
    """

    kernel: Origin = "lab"
    arguments: Origin = "lab"
    template: Origin | None = None
    block: Origin = "lab"
    tile: Origin = "lab"
    covers: Origin = "lab"
    shared_bytes: Origin = "lab"


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """How to launch a kernel at any size: grid axis i has ceil(size / tile[i]) blocks over the size `covers[i]`.

    exact: sizes must be multiples of the tile (the kernel derives them from the grid or has no guard argument).
    shared_bytes: dynamic shared memory.
    line: where the host code says so, 0 otherwise.
    block_formula: formulas of the sizes for the block's axes, where it depends on them; () where it does not.
    shared_formula: likewise for `shared_bytes`, of the sizes and `threads` (of a block).
    grid_formula: likewise for each axis of the grid, where `covers` and `tile` do not say all: tiles numbered along one
      axis, divisions that are rounded down, a number of blocks that is the same at every size.
    is_read: threads and shared memory at other sizes are what the program's text makes of them, nobody's guess.
    """

    block: tuple[int, int, int]
    tile: tuple[int, ...]
    covers: tuple[str, ...]
    exact: bool
    shared_bytes: int = 0
    line: int = 0
    block_formula: tuple[str, ...] = ()
    shared_formula: str = ""
    grid_formula: tuple[str, ...] = ()
    is_read: bool = False


@dataclass(frozen=True, slots=True)
class Interpretation:
    """One interpretation of a kernel: a role for each of its parameters, and a launch.  Likelier ones come first.

    roles: names of the lab's parameters, or "=1" for a number that is handed in as it stands, "=n * n" for one that
      follows from sizes.
    unsure: how the program rounds its grid was not to be seen at its own sizes, nor to be read.
    zeroed: arrays that the program sets to zero before the launch, because the kernel adds to them.
    square_only: the kernel takes one size for several, so the sizes that the grid covers must be equal.
    constants: sizes that are constants of the program, as (role, constant's name): each size graded is compiled anew.
    template: the kernel's template arguments as (text, role): a role's size takes the place of the text.
    pinned: sizes that cannot be changed, as (role, value): the kernel runs at that value only.
    declared: values that the program gives to the sizes that are its constants, as (role, value).
    origins: who says all that.
    """

    roles: tuple[str, ...]
    launch: LaunchPlan
    square_only: bool = False
    constants: tuple[tuple[str, str], ...] = ()
    template: tuple[tuple[str, str], ...] = ()
    pinned: tuple[tuple[str, int], ...] = ()
    declared: tuple[tuple[str, int], ...] = ()
    origins: Origins = Origins()
    zeroed: tuple[str, ...] = ()
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class VariantBinding:
    """The student's kernel for a variant.

    expression: NVRTC name expression to instantiate ("k<16>"), or the plain name.
    requested: the launch that the student's own host code asks for, even if impossible; None when unreadable.
    takes_sizes: the kernel has size parameters, so sizes that are no multiple of the tile are legal to ask for.
    others: kernels that may be the variant as well: they are graded too, and the best counts.
    is_never_launched: its program came to its end without it, and nothing in its text launches it.
    """

    variant: str
    kernel: Kernel
    expression: str
    interpretations: tuple[Interpretation, ...]
    requested: LaunchSite | None
    takes_sizes: bool
    others: tuple[VariantBinding, ...] = ()
    is_never_launched: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """No kernel was found for a variant: why, as a message id with data ("no_candidate", "unbindable", "empty")."""

    variant: str
    reason: str
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Submission:
    """One student's work for one lab, read and bound.

    sources: the texts that were handed in, then the headers that they include.  header_sources: how many these are.
    device_source: what is compiled, one entry a file: host code blanked, line numbers kept.
    Local headers stand in it too.
    missing_headers: file, header and line of includes of headers that were not handed in.
    edits: what has to change in the device code so that kernels can be handed other sizes and arrays, by file.
    observed: what its programs were seen to do.
    units: the file that each header is compiled with.  included: for each file that is compiled, the files that it
      includes, by the names that it includes them by.
    read_true: kernel, file and line of the launches that were seen, and are as their text says.
    """

    student: str
    name: str
    group: str
    sources: tuple[SourceText, ...]
    device_source: Mapping[str, str]
    kernels: tuple[Kernel, ...]
    launches: tuple[LaunchSite, ...]
    bindings: Mapping[str, VariantBinding | Missing]
    remarks: tuple[tuple[str, int], ...] = ()
    missing_headers: tuple[tuple[str, str, int], ...] = ()
    edits: Mapping[str, tuple[Edit, ...]] = field(default_factory=dict)
    observed: ObservedRuns = NOTHING_OBSERVED
    units: Mapping[str, str] = field(default_factory=dict)
    included: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    read_true: frozenset[tuple[str, str, int]] = frozenset()
    header_sources: int = 0
    title_page: Mapping[str, str] = field(default_factory=dict)
    """By field of `grader.result.TitlePage`, what `submission.yaml` gives for it."""

    @property
    def is_long(self) -> bool:
        """Whether its sources are too long for what needs many changed copies of them and costs no points."""
        return sum(len(source.text) for source in self.sources) > LONG_CHARACTERS

    def program(self, file: str, constants: Mapping[str, int] | None = None) -> dict[str, str]:
        """What the compiler needs to compile `file`: its device code first, then the headers it may include.

        A header is compiled as nvcc does it, with the file that includes it.

        constants: values for constants of the program, by name.
        """
        file = self.units.get(file, file)
        return {
            name: apply(self.device_source[part], self.edits.get(part, ()), constants or {})
            for name, part in {file: file, **self.included.get(file, {})}.items()
        }
