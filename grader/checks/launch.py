"""`launch`: the launch that the student's own host code asks for is one that the hardware accepts."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import prod

from grader.checks.base import Verdict, failed, not_applicable, not_measured, passed
from grader.devices import (
    MAX_BLOCK,
    MAX_GRID,
    MAX_THREADS_PER_BLOCK,
    OPT_IN_SHARED_BYTES,
    SHARED_BYTES,
    is_possible_block,
)
from grader.lab.checks import Settings
from grader.lab.records import Sizes
from grader.launching.kernel import geometry
from grader.message import Message, joined, msg, sizes_msg
from grader.running.evidence import Evidence, Instead

SEEN = {"seen": True}
"""Of a fault that a run of the program showed, whatever its kernels are."""
HOST_POINTER = "programs.host_pointer_launched"
NEVER_RAN = msg("checks.launch.hint_never_ran")


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail for a block that no GPU can run; the kernel itself is then graded with the lab's block."""
    if evidence.lab.makes_launches:
        return _of_function(evidence)
    instead = evidence.host.launched_instead
    if instead is not None:
        return replace(_instead(evidence, instead), file=evidence.file_of(instead.file))
    return replace(_judged(evidence), file=file_of_launch(evidence))


def file_of_launch(evidence: Evidence) -> str:
    """The file that the launch stands in, "" where that is the kernel's."""
    site = evidence.bound.requested
    return site.file if site is not None and site.file != evidence.bound.kernel.file else ""


def _of_function(evidence: Evidence) -> Verdict:
    """Of a function or a program, whose launches are its own: fail for one that is refused, and where there is none."""
    name, kind = evidence.bound.kernel.name, "program" if evidence.lab.program is not None else "function"
    for fault in evidence.host.of_launch:
        # Of one that is wrong at some sizes only, these are half of what there is to know.
        is_everywhere = all(run.sizes in fault.sizes for run in evidence.runs)
        what = msg("launches.seen_at", what=fault.message, sizes=sizes_msg(fault.sizes[0]))
        verdict = failed(fault.message if is_everywhere else what, None, line=fault.line, data=SEEN)
        return replace(verdict, file=evidence.file_of(fault.file))
    if evidence.host.never_launches:
        none = msg(f"checks.launch.{kind}_launches_none", name=name)
        return failed(none, msg(f"checks.launch.hint_{kind}_launches"), line=evidence.bound.kernel.line, data=SEEN)
    if not evidence.launches:
        return not_measured(msg(f"checks.launch.{kind}_not_seen", name=name))
    message = msg(f"checks.launch.{kind}_passed", name=name, n=evidence.launches)
    return passed(message, data={"launches": evidence.launches})


def _judged(evidence: Evidence) -> Verdict:
    site = evidence.bound.requested
    kernel = evidence.bound.kernel
    if evidence.host.never_launches or evidence.bound.is_never_launched:
        never = msg("checks.launch.never_launched", kernel=kernel.name)
        return failed(never, msg("checks.launch.hint_never_launched"), line=kernel.line, data=SEEN)
    if site is None or site.block is None:
        return not_applicable(msg("checks.launch.no_launch"))
    shape = _shape(site.block)
    threads = prod(site.block)
    if site.swapped:
        handed = dict(zip(("grid", "block"), site.swapped, strict=True))
        swapped = with_own_words(evidence, msg("checks.launch.swapped", kernel=kernel.name, **handed))
        return failed(swapped, msg("checks.launch.hint_swapped"), line=site.line, data=SEEN)
    if threads > MAX_THREADS_PER_BLOCK:
        return failed(
            _too_large(shape, threads),
            _too_large_hint(evidence, shape, threads),
            line=site.line,
            data={"threads": threads},
        )
    if any(n < 1 or n > limit for n, limit in zip(site.block, MAX_BLOCK, strict=True)):
        return failed(
            msg("checks.launch.impossible_side", shape=shape, limit="×".join(str(n) for n in MAX_BLOCK)),
            NEVER_RAN,
            line=site.line,
            data={"threads": threads},
        )
    limit = OPT_IN_SHARED_BYTES if site.opts_in else SHARED_BYTES
    if site.shared_bytes is not None and site.shared_bytes > limit:
        return failed(
            msg("checks.launch.shared_bytes", n=site.shared_bytes, limit=limit),
            joined(NEVER_RAN, msg("checks.launch.hint_shared_bytes")),
            line=site.line,
            data={"shared_bytes": site.shared_bytes},
        )
    beyond = _beyond_at(evidence, limit)
    if beyond is not None:
        sizes, asked = beyond
        return failed(
            msg("checks.launch.shared_bytes_at", sizes=sizes_msg(sizes), n=asked, limit=limit),
            msg(f"checks.launch.hint_{'fewer_threads' if asked > OPT_IN_SHARED_BYTES else 'fewer_or_opt_in'}"),
            line=site.line,
            data={"shared_bytes": asked, "sizes": dict(sizes)},
        )
    if site.exchanged is not None:
        fields = asdict(site.exchanged)
        line = fields.pop("line") or site.line
        variable = fields.pop("variable")
        what = msg("checks.launch.exchanged", kernel=kernel.name, **fields)
        remedy = msg("checks.launch.hint_exchanged")
        if variable:
            what = msg("checks.launch.exchanged_fields", variable=variable, line=line, **fields)
            remedy = msg("checks.launch.hint_exchanged_fields", line=line)
        return failed(with_own_words(evidence, what), remedy, line=line, data={**SEEN, **fields})
    for fault in evidence.host.of_launch:
        hint = (
            None
            if fault.message.id.startswith(("programs.launch_refused", "programs.raised_"))
            else msg("checks.launch.hint_of_program")
        )
        return failed(with_own_words(evidence, fault.message), hint, line=fault.line, data=SEEN)
    if site.observed and site.grid is not None:
        verdict = _of_grid(site.grid, threads, site.line)
        if verdict is not None:
            return verdict
    return passed(
        msg("checks.launch.passed", shape=shape, n=threads),
        line=site.line,
        data={"threads": threads},
    )


def _instead(evidence: Evidence, instead: Instead) -> Verdict:
    """The fault of a kernel in whose place another one is launched a second time."""
    names: dict[str, str | int] = {
        "kernel": evidence.bound.kernel.name,
        "line": instead.line,
        "other": instead.kernel,
    }
    what = msg("checks.launch.launched_instead", before=instead.before, **names)
    hint = joined(msg("checks.launch.hint_launched_instead", **names), msg("checks.launch.hint_of_program"))
    return failed(what, hint, line=instead.line, data=SEEN)


def _beyond_at(evidence: Evidence, limit: int) -> tuple[Sizes, int] | None:
    """The sizes at which the program's own formula asks for more shared memory than it may, and how much.

    If there are several such sizes, those at which the excess is least.
    """
    reading = evidence.interpretation
    if reading is None or reading.origins.shared_bytes not in ("observed", "read") or not reading.launch.is_read:
        return None
    asked = [(run.sizes, geometry(reading.launch, run.sizes).shared_bytes) for run in evidence.runs if not run.drawn]
    return min((a for a in asked if a[1] > limit), key=lambda a: a[1], default=None)


def with_own_words(evidence: Evidence, fault: Message) -> Message:
    """A fault of the program's that its own check noticed, and what that says."""
    own = evidence.own_check
    if own is None or not own.is_explained:
        return fault
    return joined(fault, msg("checks.launch.own_check", line=own.text)) or fault


def first(evidence: Evidence, sizes: object) -> Message | None:
    """What to do about a wrong run, at `sizes`, of a function or a program with a launch that is wrong there, too."""
    ids = {fault.message.id for fault in evidence.host.of_launch if sizes in fault.sizes}
    if not ids:
        return None
    return msg("launches.hint_pointer_first" if ids == {HOST_POINTER} else "launches.hint_launch_first")


def pointer_first(evidence: Evidence) -> Message | None:
    """What to do about an access to no array at all of a function's or a program's that has host pointers launched."""
    has_one = any(fault.sizes and fault.message.id == HOST_POINTER for fault in evidence.host.of_launch)
    return msg("launches.hint_pointer_first") if has_one else None


def other_block(evidence: Evidence) -> Message | None:
    """What a wrong run may come of where the launch's own block cannot be run; None where the kernel ran with that."""
    site, reading = evidence.bound.requested, evidence.interpretation
    if site is None or site.block is None or reading is None or reading.launch.block == site.block:
        return None
    if is_possible_block(site.block):
        return None
    asked, block = (_shape(block) for block in (site.block, reading.launch.block))
    return msg("checks.launch.hint_other_block", asked=asked, block=block)


def _shape(block: tuple[int, int, int]) -> str:
    """A block's or a grid's sides, the third where it is not 1."""
    return "×".join(str(n) for n in block[: 3 if block[2] > 1 else 2])


def _of_grid(grid: tuple[int, int, int], threads: int, line: int) -> Verdict | None:
    """The fault of a grid that no device takes, or that leaves all the work to one thread."""
    blocks = _shape(grid)
    for axis, size, limit in zip("xyz", grid, MAX_GRID, strict=True):
        if not 1 <= size <= limit:
            what = msg("checks.launch.impossible_grid", grid=blocks, axis=axis, size=size, limit=limit)
            return failed(what, NEVER_RAN, line=line, data={"grid": list(grid)})
    if prod(grid) * threads == 1:
        return failed(
            msg("checks.launch.one_thread"),
            msg("checks.launch.hint_one_thread"),
            line=line,
            data={"grid": list(grid), "threads": 1},
        )
    return None


def _too_large(shape: str, threads: int) -> Message:
    return msg("checks.launch.too_large", shape=shape, threads=threads, limit=MAX_THREADS_PER_BLOCK)


def _too_large_hint(evidence: Evidence, shape: str, threads: int) -> Message | None:
    rule = evidence.lab.launch_of(evidence.variant)
    x, y, z = (
        evidence.interpretation.launch.block
        if evidence.interpretation
        else rule.block_at(evidence.lab.cases["emulator"].observe)
    )
    words = msg(
        "checks.launch.hint_too_large",
        shape=shape,
        threads=threads,
        allowed=_shape((x, y, z)),
        n=x * y * z,
    )
    return joined(words, NEVER_RAN, msg("checks.launch.hint_graded_with"))
