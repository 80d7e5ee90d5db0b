"""What is known of a submission before anything is compiled or run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.submission.edits import Edit, apply
from grader.submission.expressions import Expression


@dataclass(frozen=True, slots=True)
class SourceText:
    """A student's file as text: decoded, without BOM, line ends as `\\n`, line numbers as in the file.

    encoding: "utf-8", "utf-8-sig", "cp1251" or "mixed".
    remarks: message ids with data, e.g. ("bidi_control", 12).
    sha256: of the bytes that the text was decoded from, as hexadecimal digits; "" for a text that was never a file.
    """

    path: Path
    text: str
    encoding: str
    remarks: tuple[tuple[str, int], ...] = ()
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter of a kernel: `dtype` is a NumPy name ("float32", "int32") or None when it is not a plain number.

    is_read, is_written: whether the kernel reads or writes through the pointer, as far as its text shows.
    is_global: a global array of the program, made a parameter for grading.
    owner: of a number that is a struct's field, the parameter that the struct's pointer has become.
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


@dataclass(frozen=True, slots=True)
class SharedArray:
    """A `__shared__` declaration in a kernel; `dims` are its sizes where they could be evaluated, None where not.

    dynamic: declared `extern`, sized at launch.
    """

    name: str
    line: int
    dtype: str | None
    dims: tuple[int | None, ...]
    dynamic: bool


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
    arguments: text of the arguments handed to the kernel.
    file: the file that the launch stands in.
    block_expressions, shared_expression: the same as `block` and `shared_bytes`, in terms of the arguments and of the
      file's constants, for other sizes; grid_expressions: the number of blocks along each axis, likewise.
    opts_in: the host code raises the kernel's limit of dynamic shared memory (cudaFuncSetAttribute).
    """

    kernel: str
    line: int
    block: tuple[int, int, int] | None
    tile: tuple[int | None, ...]
    shared_bytes: int | None
    template_arguments: tuple[str, ...] = ()
    grid_over: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    file: str = ""
    block_expressions: tuple[Expression, ...] = ()
    shared_expression: Expression | None = None
    opts_in: bool = False
    grid_expressions: tuple[Expression, ...] = ()
    template_texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """How to launch a kernel at any size: grid axis i has ceil(size / tile[i]) blocks over the size `covers[i]`.

    exact: sizes must be multiples of the tile (the kernel derives them from the grid or has no guard argument).
    origin: "submission" (read from host code), "lab" (the lab's default), "inferred" (from tile macros and arrays).
    shared_bytes: dynamic shared memory.
    line: where the host code says so, 0 otherwise.
    block_formula: formulas of the sizes for the block's axes, where it depends on them; () where it does not.
    shared_formula: likewise for `shared_bytes`, of the sizes and `threads` (of a block).
    grid_formula: likewise for the grid of a kernel that numbers its tiles along one axis, where ceil(rows / T) *
      ceil(cols / T) are more blocks than rows * cols elements make; () where `covers` and `tile` say all.
    """

    block: tuple[int, int, int]
    tile: tuple[int, ...]
    covers: tuple[str, ...]
    exact: bool
    origin: str
    shared_bytes: int = 0
    line: int = 0
    block_formula: tuple[str, ...] = ()
    shared_formula: str = ""
    grid_formula: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One reading of a kernel: a role for each of its parameters, and a launch.  Likelier candidates come first.

    roles: names of the lab's parameters, or "=1" for a number that is handed in as it stands.
    square_only: the kernel takes one size for several, so the sizes that the grid covers must be equal.
    constants: sizes that are constants of the program, as (role, constant's name): each size graded is compiled anew.
    template: the kernel's template arguments as (text, role): a role's size takes the place of the text.
    fixed: sizes that cannot be changed, as (role, value): the kernel runs at that value only.
    own: values that the program gives to the sizes that are its constants, as (role, value).
    """

    roles: tuple[str, ...]
    launch: LaunchPlan
    square_only: bool = False
    constants: tuple[tuple[str, str], ...] = ()
    template: tuple[tuple[str, str], ...] = ()
    fixed: tuple[tuple[str, int], ...] = ()
    own: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class VariantBinding:
    """The student's kernel for a variant.

    expression: NVRTC name expression to instantiate ("k<16>"), or the plain name.
    requested: the launch that the student's own host code asks for, even if impossible; None when unreadable.
    takes_sizes: the kernel has size parameters, so sizes that are no multiple of the tile are legal to ask for.
    """

    variant: str
    kernel: Kernel
    expression: str
    candidates: tuple[Candidate, ...]
    requested: LaunchSite | None
    takes_sizes: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """No kernel was found for a variant: why, as a message id with data ("no_candidate", "unbindable", "empty")."""

    variant: str
    reason: str
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Submission:
    """One student's work for one lab, read and bound.

    device_source: what is compiled, one entry a file: host code blanked, line numbers kept.
    Local headers stand in it too, by the name they are included by.
    missing_headers: file, header and line of includes of headers that were not handed in.
    edits: what has to change in the device code so that kernels can be handed other sizes and arrays, by file.
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

    def program(self, file: str, constants: Mapping[str, int] | None = None) -> dict[str, str]:
        """What the compiler needs to compile `file`: its device code first, then the headers it may include.

        constants: values for constants of the program, by name.
        """
        headers = [n for n in self.device_source if n != file and not n.lower().endswith(".cu")]
        return {
            name: apply(self.device_source[name], self.edits.get(name, ()), constants or {})
            for name in [file, *headers]
        }
