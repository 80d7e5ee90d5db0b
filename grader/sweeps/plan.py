"""What a sweep runs: its points, and for each of them the program, the launch and the sizes.  Nothing is run here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Literal

from msgspec import structs

from grader.i18n import say
from grader.lab import formula
from grader.lab.records import Knob, Lab, ReferenceKernel, Sizes, Sweep, Variant
from grader.result import SweepPoint
from grader.running.cases import ProgramRequest, block_of, dtypes_of, fits, grid_of, request, rounded
from grader.running.choosing import readings
from grader.running.references import placeholder, shape_at
from grader.submission.changes import Change, Changed, Program, relaunched, same_reading
from grader.submission.loops import unroll_factor
from grader.submission.parse import parse
from grader.submission.records import Candidate, LaunchPlan, SourceText, Submission, VariantBinding

MAX_THREADS = 1024
MAX_SHARED_BYTES = 227 * 1024
"""Of dynamic shared memory a block, the most that any GPU has (compute capability 9.0, after opting in)."""

Owner = Literal["submission", "reference"]
Block = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """A point on the axes of a sweep; sizes: what follows from it and from the sweep's base."""

    x: int
    line: int | None
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel that is swept: the student's as it was graded, or the lab's own."""

    variant: str
    of: Owner
    program: Program
    binding: VariantBinding
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Ready:
    """A point that can be run: the kernel of `binding` in `submission`, read as `candidate`."""

    subject: Subject
    place: Place
    submission: Submission
    binding: VariantBinding
    candidate: Candidate
    block: Block


def places(sweep: Sweep, backend: str) -> list[Place]:
    """The points of a sweep, line by line."""
    found = []
    for line in sweep.lines.values[backend] if sweep.lines else (None,):
        for x in sweep.x.values[backend]:
            sizes = dict(sweep.base[backend])
            for knob in knobs(sweep):
                values = values_of(sweep, x, line)
                sizes |= {name: formula.integer(text, values) for name, text in knob.sizes.items()}
            found.append(Place(x, line, sizes))
    return found


def knobs(sweep: Sweep) -> list[Knob]:
    """What the sweep turns, the one along its axis last, so that it has the last word."""
    return [*([sweep.lines] if sweep.lines else []), sweep.x]


def values_of(sweep: Sweep, x: int, line: int | None) -> dict[str, int]:
    """Values of the knobs by name."""
    return {sweep.x.name: x} | ({sweep.lines.name: line} if sweep.lines and line is not None else {})


def ready(lab: Lab, sweep: Sweep, subject: Subject, place: Place) -> Ready | SweepPoint:
    """How a point is run, or the point that says why it cannot be."""
    values = values_of(sweep, place.x, place.line)
    turned = [(knob, values[knob.name]) for knob in knobs(sweep)]
    change = Change(
        constants=tuple((knob.constants, value) for knob, value in turned if knob.constants),
        width=subject.candidate.launch.block[0],
        taken=frozenset(name for _role, name in subject.candidate.constants),
        unroll=next((value for knob, value in turned if knob.unroll), 0),
    )
    changed = subject.program.changed(subject.binding, change)
    if changed.obstacle:
        return unfit(subject, place, "fixed", _obstacle(changed))
    candidate = _reading(lab, subject, changed)
    if candidate is None:
        return unfit(subject, place, "fixed", say("with this value the kernel cannot be recognised any more"))
    formulas = next((knob.block for knob, _value in reversed(turned) if knob.block), ())
    numbers = [value for knob, value in turned if knob.constants]
    # A kernel without such a constant goes by its block, whose width is as good as one.
    edges = {
        subject.candidate.launch.block[0] if old is None else old: new
        for old, new in zip(changed.old, numbers, strict=True)
    }
    wanted = _block(formulas, {**place.sizes, **values}) if formulas else None
    plan = relaunched(subject.candidate.launch, candidate.launch, wanted, edges)
    candidate = replace(candidate, launch=plan)
    block = block_of(plan, place.sizes)
    reason = _launch_obstacle(lab, changed.binding, candidate, place.sizes, block)
    if reason:
        return replace_point(unfit(subject, place, "impossible", reason), block)
    reason = _size_obstacle(lab, candidate, place.sizes)
    if reason:
        return unfit(subject, place, "fixed", reason)
    return Ready(subject, place, changed.submission, changed.binding, candidate, block)


def unfit(
    subject: Subject, place: Place, status: Literal["impossible", "fixed", "wrong", "failed"], reason: str
) -> SweepPoint:
    """A point without values."""
    return SweepPoint(
        variant=subject.variant,
        of=subject.of,
        x=place.x,
        line=place.line,
        size=dict(place.sizes),
        status=status,
        reason=reason,
    )


def replace_point(point: SweepPoint, block: Block) -> SweepPoint:
    """`point` with its block."""
    return structs.replace(point, block=block)


def without_data(lab: Lab, point: Ready) -> ProgramRequest:
    """The launch of a point with arrays that have the right shapes and take no memory."""
    sizes, binding = point.place.sizes, point.binding
    dtypes = dtypes_of(lab, binding, point.candidate)
    arrays = {
        p.name: placeholder(shape_at(lab, p.name, sizes), dtypes.get(p.name, p.dtype))
        for p in lab.parameters
        if p.kind != "size"
    }
    inputs = {name: array for name, array in arrays.items() if lab.parameter(name).kind == "input"}
    outputs = {name: array for name, array in arrays.items() if name not in inputs}
    launch = request(lab, binding, point.candidate, binding.expression, sizes, inputs, outputs, observe=False)
    assert isinstance(launch, ProgramRequest)
    return launch


def reference_subject(lab: Lab, variant: Variant) -> Subject:
    """The lab's own kernel of a variant, as a program that can be changed."""
    kernel = variant.reference

    def read(texts: Mapping[Path, SourceText]) -> Submission:
        source = texts.get(kernel.file) or SourceText(kernel.file, kernel.file.read_text("utf-8"), "utf-8")
        return _reference_submission(lab, variant, kernel, source)

    submission = read({})
    binding = submission.bindings[variant.name]
    assert isinstance(binding, VariantBinding)
    return Subject(variant.name, "reference", Program(submission, read), binding, binding.candidates[0])


def _reference_submission(lab: Lab, variant: Variant, kernel: ReferenceKernel, source: SourceText) -> Submission:
    parsed = parse(source)
    own = next(k for k in parsed.kernels if k.name == kernel.kernel)
    own = replace(own, unroll=unroll_factor(parsed, parsed.functions[own.name], {}))
    plan = LaunchPlan(
        block=kernel.block,
        tile=kernel.tile,
        covers=lab.launch_of(variant).covers[: len(kernel.tile)],
        exact=False,
        origin="lab",
        shared_formula=kernel.shared_bytes,
    )
    candidate = Candidate(kernel.arguments, plan, template=tuple(("", role) for role in kernel.template))
    expression = kernel.kernel + (f"<{', '.join(kernel.template)}>" if kernel.template else "")
    binding = VariantBinding(variant.name, own, expression, (candidate,), None, takes_sizes=True)
    return Submission(
        student="",
        name="",
        group="",
        sources=(source,),
        device_source={source.path.name: source.text},
        kernels=(own,),
        launches=(),
        bindings={variant.name: binding},
    )


def _reading(lab: Lab, subject: Subject, changed: Changed) -> Candidate | None:
    if changed.submission is subject.program.submission:
        return subject.candidate
    if subject.of == "reference":
        return changed.binding.candidates[0]
    candidates: Sequence[Candidate] = readings(lab, lab.cases["emulator"], changed.binding)
    return same_reading(subject.candidate, candidates)


def _block(formulas: Sequence[str], values: Mapping[str, int]) -> Block:
    x, y, z = [*(formula.integer(text, values) for text in formulas), 1, 1, 1][:3]
    return x, y, z


def _obstacle(changed: Changed) -> str:
    if changed.obstacle == "by_hand":
        return say("unrolled by hand, {count} steps at a time", count=changed.unrolled)
    if changed.obstacle == "no_loop":
        return say("the kernel has no loop to unroll")
    return say("the kernel's text cannot be changed")


def _size_obstacle(lab: Lab, candidate: Candidate, sizes: Sizes) -> str:
    """Why the kernel cannot be asked for these sizes, "" when it can."""
    for name, value in candidate.fixed:
        if sizes[name] != value:
            return say("{size} = {value} is written into the program", size=name, value=value)
    if not fits(lab, sizes, candidate):
        return say("the kernel takes square arrays only")
    if candidate.launch.exact and rounded(lab, sizes, candidate) != sizes:
        return say("the kernel needs multiples of its block")
    return ""


def _launch_obstacle(lab: Lab, binding: VariantBinding, candidate: Candidate, sizes: Sizes, block: Block) -> str:
    """Why no device can run the launch, as far as that is known without compiling; "" when nothing is against it."""
    threads = prod(block)
    if threads > MAX_THREADS or block[2] > 64:
        return say("{threads} threads a block, at most {limit} are possible", threads=threads, limit=MAX_THREADS)
    arrays = {p.name: placeholder(shape_at(lab, p.name, sizes), p.dtype) for p in lab.parameters if p.kind != "size"}
    shared = request(lab, binding, candidate, "", sizes, arrays, {}, observe=False).shared_bytes
    if shared > MAX_SHARED_BYTES:
        return say(
            "{bytes} bytes of shared memory a block, at most {limit} are possible", bytes=shared, limit=MAX_SHARED_BYTES
        )
    if prod(grid_of(candidate.launch, sizes)) == 0:
        return say("the grid would be empty")
    return ""
