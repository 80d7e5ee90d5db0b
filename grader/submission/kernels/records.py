"""What a kernel is, and a launch of one, as far as a student's files show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.submission.cpp.nodes import Expression
from grader.submission.observed import Exchanged, SeenArgument


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
    arguments: text of the arguments handed to the kernel.
    file: the file that the launch stands in.
    block_expressions, shared_expression: the same as `block` and `shared_bytes`, in terms of the arguments and of the
      file's constants, for other sizes; grid_expressions: the number of blocks along each axis, likewise.
    opts_in: the host code raises the kernel's limit of dynamic shared memory (cudaFuncSetAttribute).
    observed: the program was seen to make this launch, with `grid` and the arguments `seen`; then `block`,
      `shared_bytes` and `template_arguments` are what was seen.  refused: by the device.
    changed: the constant that had another value then, and that value; ("", 0) for the program as it is.
    seems_swapped: by their names the block is handed in as the grid, and the grid as the block.
    probes: grid and arguments of the same launch at other sizes than the program's own.
    filled: what was seen in small variables of the device that the host had filled.
    exchanged: two arguments that it has in each other's place; `seen` has them as the kernel means them.
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
    observed: bool = False
    grid: tuple[int, int, int] | None = None
    seen: tuple[SeenArgument, ...] = ()
    refused: bool = False
    probes: tuple[tuple[tuple[int, int, int], tuple[SeenArgument, ...]], ...] = ()
    changed: tuple[str, int] = ("", 0)
    seems_swapped: bool = False
    filled: tuple[tuple[str, bytes], ...] = ()
    exchanged: Exchanged | None = None
