"""The lab's own kernels, compiled for the GPU: what students' kernels are compared with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grader.backends.base import BufferArgument, LaunchRequest, ScalarArgument, waits_for_grid
from grader.errors import FileError
from grader.lab.records import Lab, ReferenceKernel, Sizes, Variant
from grader.launching.geometry import grid_of, placeholder, shape_at
from grader.launching.programs import Built, ProgramStore
from grader.submission.records import LaunchPlan


@dataclass(frozen=True, slots=True)
class CompiledReference:
    """Machine code of a variant's reference kernel, ready for all sizes that it was compiled for."""

    variant: Variant
    built: Built


def compile_references(
    programs: ProgramStore, variants: Iterable[Variant], sizes: Iterable[Sizes]
) -> dict[str, CompiledReference]:
    """By variant, ready for all of these sizes.

    Raises
    ------
    FileError : one does not compile.
    """
    wanted = list(sizes)
    found = {}
    for variant in variants:
        kernel = variant.reference
        expressions = list(dict.fromkeys(kernel.expression(s) for s in wanted)) or [kernel.kernel]
        built = programs.get_text({kernel.file.name: kernel.file.read_text("utf-8")}, expressions)
        result = built.result
        if not result.ok:
            error = next((d for d in result.diagnostics if d.severity == "error"), None)
            raise FileError(
                error.message if error else f"does not compile: {result.reason}",
                kernel.file,
                error.line if error else None,
            )
        found[variant.name] = CompiledReference(variant, built)
    return found


def reference_request(lab: Lab, compiled: CompiledReference, sizes: Sizes) -> LaunchRequest:
    """The launch of a reference kernel at some sizes, on arrays of the lab's own types."""
    variant, kernel = compiled.variant, compiled.variant.reference
    entry = compiled.built.result.entries[kernel.expression(sizes)]
    return LaunchRequest(
        entry=entry,
        grid=grid_of(_plan(lab, variant, kernel), sizes),
        block=kernel.block,
        shared_bytes=kernel.shared_bytes_at(sizes),
        arguments=[_argument(lab, role, sizes) for role in kernel.arguments],
        cooperative=waits_for_grid(compiled.built.code, entry),
    )


def _plan(lab: Lab, variant: Variant, kernel: ReferenceKernel) -> LaunchPlan:
    covers = lab.launch_of(variant).covers[: len(kernel.tile)]
    return LaunchPlan(kernel.block, kernel.tile, covers, exact=False)


def _argument(lab: Lab, role: str, sizes: Sizes) -> BufferArgument | ScalarArgument:
    parameter = lab.parameter(role)
    if parameter.is_size:
        return ScalarArgument(sizes[role], parameter.dtype)
    shape = shape_at(lab, role, sizes)
    is_output = parameter.is_output
    initial = None if is_output else placeholder(shape, parameter.dtype)
    return BufferArgument(role, shape, parameter.dtype, initial, is_output)
