"""What a sweep runs: its points, and for each of them the program, the launch and the sizes.  Nothing is run here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Literal

from msgspec import structs

from grader.devices import MAX_BLOCK, MAX_THREADS_PER_BLOCK, OPT_IN_SHARED_BYTES, is_possible_block
from grader.lab import formula
from grader.lab.records import Lab, ReferenceKernel, Sizes, Sweep, SweepParameter, Variant
from grader.launching.kernel import Axes, BoundKernel, Geometry
from grader.measured import SweepPoint
from grader.message import Message, msg
from grader.running.cases import interpretations_of
from grader.submission.changes import Changed, Original, ProgramChange, relaunched, same_interpretation
from grader.submission.cpp.parse import parse
from grader.submission.kernels.kernel import kernels_in
from grader.submission.kernels.loops import unroll_factor
from grader.submission.records import Interpretation, LaunchPlan, Submission, VariantBinding
from grader.submission.source import SourceText

Owner = Literal["submission", "reference"]
Infeasible = Literal["impossible", "fixed", "wrong", "failed"]
"""Why a point has no values; docs/result.md says what each means."""


@dataclass(frozen=True, slots=True)
class Place:
    """A point on the axes of a sweep; sizes: what follows from it and from the sweep's base."""

    x: int
    line: int | None
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class Target:
    """A kernel that is swept: the student's as it was graded, or the lab's own; `original` is what it is changed in."""

    variant: str
    of: Owner
    original: Original
    kernel: BoundKernel


@dataclass(frozen=True, slots=True)
class PreparedPoint:
    """A point that can be run: its kernel in a program that was changed for it, and the block that it runs with."""

    target: Target
    place: Place
    kernel: BoundKernel
    block: Axes

    def infeasible(self, status: Infeasible, reason: Message) -> SweepPoint:
        """The point without values, and why."""
        return structs.replace(infeasible(self.target, self.place, status, reason), block=self.block)

    def point(self) -> SweepPoint:
        """The point, without values yet."""
        return SweepPoint(
            variant=self.target.variant,
            of=self.target.of,
            x=self.place.x,
            line=self.place.line,
            size=dict(self.place.sizes),
            block=self.block,
        )


def places(sweep: Sweep, backend: str) -> list[Place]:
    """The points of a sweep, line by line."""
    points = []
    for line in sweep.lines.values[backend] if sweep.lines else (None,):
        for x in sweep.x.values[backend]:
            sizes = dict(sweep.base[backend])
            for parameter in parameters_of(sweep):
                values = values_of(sweep, x, line)
                sizes |= {name: formula.integer(text, values) for name, text in parameter.sizes.items()}
            points.append(Place(x, line, sizes))
    return points


def parameters_of(sweep: Sweep) -> list[SweepParameter]:
    """What the sweep varies, the one along its axis last, so that it has the last word."""
    return [*([sweep.lines] if sweep.lines else []), sweep.x]


def values_of(sweep: Sweep, x: int, line: int | None) -> dict[str, int]:
    """Values of the sweep's parameters by name."""
    return {sweep.x.name: x} | ({sweep.lines.name: line} if sweep.lines and line is not None else {})


def prepare(lab: Lab, sweep: Sweep, target: Target, place: Place) -> PreparedPoint | SweepPoint:
    """How a point is run, or the point that says why it cannot be."""
    values = values_of(sweep, place.x, place.line)
    turned = [(parameter, values[parameter.name]) for parameter in parameters_of(sweep)]
    interpretation = target.kernel.interpretation
    change = ProgramChange(
        constants=tuple((parameter.constants, value) for parameter, value in turned if parameter.constants),
        width=interpretation.launch.block[0],
        taken=frozenset(name for _role, name in interpretation.constants),
        unroll=next((value for parameter, value in turned if parameter.unroll), 0),
    )
    changed = target.original.changed(target.kernel.binding, change)
    if changed.obstacle:
        return infeasible(target, place, "fixed", _obstacle(changed))
    read = _interpretation(lab, target, changed)
    if read is None:
        return infeasible(target, place, "fixed", msg("sweeps.unrecognised"))
    formulas = next((parameter.block for parameter, _value in reversed(turned) if parameter.block), ())
    numbers = [value for parameter, value in turned if parameter.constants]
    # A kernel without such a constant goes by its block, whose width is as good as one.
    edges = {
        interpretation.launch.block[0] if old is None else old: new
        for old, new in zip(changed.old, numbers, strict=True)
    }
    wanted = _block(formulas, {**place.sizes, **values}) if formulas else None
    if wanted is not None and max(interpretation.launch.block[1:]) == 1 < interpretation.launch.block[0]:
        # It numbers its threads along one axis: in a square it would number them by rows, each again from 0 on.
        wanted = (prod(wanted), 1, 1)
    plan = relaunched(interpretation.launch, read.launch, wanted, edges)
    kernel = BoundKernel(lab, changed.submission, changed.binding, replace(read, launch=plan))
    asked = _impossible_block(changed) if wanted is None else None
    at = kernel.geometry(place.sizes)
    if asked is not None:
        at = replace(at, block=asked)
    reason = _launch_obstacle(at)
    if reason is not None:
        return structs.replace(infeasible(target, place, "impossible", reason), block=at.block)
    reason = _size_obstacle(kernel, place.sizes)
    if reason is not None:
        return infeasible(target, place, "fixed", reason)
    return PreparedPoint(target, place, kernel, at.block)


def planned(
    lab: Lab,
    sweep: Sweep,
    targets: Sequence[Target],
    backend: str,
    order: Callable[[PreparedPoint], SweepPoint | None],
) -> dict[tuple[str, Owner], list[PreparedPoint | SweepPoint]]:
    """The points of a sweep by variant and whose kernel it is, line by line.

    order: hands to the compiler what a point runs, or returns the point that says why it cannot be run there.
    """
    return {(t.variant, t.of): planned_of(lab, sweep, t, targets, backend, order) for t in targets}


def planned_of(
    lab: Lab,
    sweep: Sweep,
    target: Target,
    targets: Sequence[Target],
    backend: str,
    order: Callable[[PreparedPoint], SweepPoint | None],
) -> list[PreparedPoint | SweepPoint]:
    """The points of one target, as `planned` has them."""
    points: list[PreparedPoint | SweepPoint] = []
    for place in places(sweep, backend) if target.variant in sweep.variants else ():
        point = prepare(lab, sweep, target, place)
        if isinstance(point, PreparedPoint):
            point = _compiled_together(point, targets)
            point = order(point) or point
        points.append(point)
    return points


def _compiled_together(point: PreparedPoint, targets: Sequence[Target]) -> PreparedPoint:
    """Return the point with its program compiled once for all kernels of the same file that are swept."""
    kernel = point.kernel
    others = [kernel.submission.bindings.get(target.variant) for target in targets if target.of == point.target.of]
    together = {
        b.expression for b in others if isinstance(b, VariantBinding) and b.kernel.file == kernel.binding.kernel.file
    }
    names = tuple(sorted({kernel.binding.expression, *together}))
    return replace(point, kernel=replace(kernel, together=names))


def infeasible(target: Target, place: Place, status: Infeasible, reason: Message) -> SweepPoint:
    """A point without values."""
    return SweepPoint(
        variant=target.variant,
        of=target.of,
        x=place.x,
        line=place.line,
        size=dict(place.sizes),
        status=status,
        reason_said=reason,
    )


def reference_target(lab: Lab, variant: Variant) -> Target:
    """The lab's own kernel of a variant, as a program that can be changed."""
    kernel = variant.reference

    def read(texts: Mapping[Path, SourceText]) -> Submission:
        source = texts.get(kernel.file) or SourceText(kernel.file, kernel.file.read_text("utf-8"), "utf-8")
        return _reference_submission(lab, variant, kernel, source)

    submission = read({})
    binding = submission.bindings[variant.name]
    assert isinstance(binding, VariantBinding)
    bound = BoundKernel(lab, submission, binding, binding.interpretations[0])
    return Target(variant.name, "reference", Original(submission, read), bound)


def _reference_submission(lab: Lab, variant: Variant, kernel: ReferenceKernel, source: SourceText) -> Submission:
    parsed = parse(source)
    own = next(k for k in kernels_in(parsed) if k.name == kernel.kernel)
    own = replace(own, unroll=unroll_factor(parsed, parsed.functions[own.name], {}))
    plan = LaunchPlan(
        block=kernel.block,
        tile=kernel.tile,
        covers=lab.launch_of(variant).covers[: len(kernel.tile)],
        exact=False,
        shared_formula=kernel.shared_bytes,
    )
    interpretation = Interpretation(kernel.arguments, plan, template=tuple(("", role) for role in kernel.template))
    expression = kernel.kernel + (f"<{', '.join(kernel.template)}>" if kernel.template else "")
    binding = VariantBinding(variant.name, own, expression, (interpretation,), None, takes_sizes=True)
    return Submission(
        student="",
        name="",
        group="",
        sources=(source,),
        device_source={source.file: source.text},
        kernels=(own,),
        launches=(),
        bindings={variant.name: binding},
    )


def _interpretation(lab: Lab, target: Target, changed: Changed) -> Interpretation | None:
    if changed.submission is target.original.submission:
        return target.kernel.interpretation
    if target.of == "reference":
        return changed.binding.interpretations[0]
    interpretations: Sequence[Interpretation] = interpretations_of(lab, lab.cases["emulator"], changed.binding)
    return same_interpretation(target.kernel.interpretation, interpretations)


def _block(formulas: Sequence[str], values: Mapping[str, int]) -> Axes:
    x, y, z = [*(formula.integer(text, values) for text in formulas), 1, 1, 1][:3]
    return x, y, z


def _obstacle(changed: Changed) -> Message:
    if changed.obstacle == "by_hand":
        return msg("sweeps.unrolled_by_hand", count=changed.unrolled)
    if changed.obstacle == "no_loop":
        return msg("sweeps.no_loop")
    return msg("sweeps.unchangeable")


def _size_obstacle(kernel: BoundKernel, sizes: Sizes) -> Message | None:
    for name, value in kernel.interpretation.pinned:
        if sizes[name] != value:
            return msg("sweeps.size_written", size=name, value=value)
    if not kernel.sizes.fits(sizes):
        return msg("sweeps.square_only")
    if kernel.interpretation.launch.exact and kernel.sizes.rounded(sizes) != sizes:
        return msg("sweeps.multiples_only")
    return None


def _impossible_block(changed: Changed) -> Axes | None:
    """Return the block that the changed program asks for, where no device can run it."""
    requested = changed.binding.requested
    block = requested.block if requested is not None else None
    return block if block is not None and not is_possible_block(block) else None


def _launch_obstacle(at: Geometry) -> Message | None:
    """Return why no device can run the launch, as far as that is known before compiling."""
    if at.threads > MAX_THREADS_PER_BLOCK or at.block[2] > MAX_BLOCK[2]:
        return msg("launches.threads", threads=at.threads, limit=MAX_THREADS_PER_BLOCK)
    if at.shared_bytes > OPT_IN_SHARED_BYTES:
        return msg("launches.shared_bytes", bytes=at.shared_bytes, limit=OPT_IN_SHARED_BYTES)
    if prod(at.grid) == 0:
        return msg("sweeps.empty_grid")
    return None
