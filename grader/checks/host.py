"""What host code does: `launch`, a launch that the hardware accepts; `host_code`, its faults; `launches`, what one call
asks of the runtime; `overlap` of copies and kernels.

Overlap is told by the order that the host asks for: two things between which nothing puts an order may run at the same
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import prod

from grader import devices
from grader.checks.base import Verdict, compared, failed, file_of_launch, not_applicable, not_measured, passed
from grader.checks.outcomes import grid_left_out, short_of_bytes
from grader.lab import formula
from grader.lab.checks import HostCodeSettings, LaunchesSettings, OverlapSettings, Settings
from grader.lab.records import Sizes
from grader.launching.kernel import geometry
from grader.message import Message, joined, msg, sizes_msg
from grader.programs.records import DeviceCall
from grader.running.evidence import Evidence, Instead
from grader.submission.kernels.records import SeenRun

SEEN = {"seen": True}
"""Data of a check whose fault a run of the program showed, whatever its kernels are."""
HOST_POINTER = "programs.host_pointer_launched"


def judge_launch(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail for a block that no GPU can run; the kernel itself is then graded with the lab's block."""
    if evidence.lab.makes_launches:
        return _of_function(evidence)
    instead = evidence.host.launched_instead
    if instead is not None:
        return replace(_instead(evidence, instead), file=evidence.file_of(instead.file))
    verdict = _judged_launch(evidence)
    return replace(verdict, file=verdict.file or file_of_launch(evidence))


def _of_function(evidence: Evidence) -> Verdict:
    """Judge the launches of a function or a program: fail for a refused one, and where there is none."""
    name, kind = evidence.bound.kernel.name, "program" if evidence.lab.program is not None else "function"
    for fault in evidence.host.of_launch:
        # If it is wrong at some sizes only, these are half of what there is to know.
        is_everywhere = all(run.sizes in fault.sizes for run in evidence.runs)
        what = msg("launches.seen_at", what=fault.message, sizes=sizes_msg(fault.sizes[0]))
        return failed(
            fault.message if is_everywhere else what,
            None,
            line=fault.line,
            data=SEEN,
            file=evidence.file_of(fault.file),
        )
    if evidence.host.never_launches:
        none = msg(f"checks.launch.{kind}_launches_none", name=name)
        return failed(none, msg(f"checks.launch.hint_{kind}_launches"), line=evidence.bound.kernel.line, data=SEEN)
    if not evidence.launches:
        return not_measured(msg(f"checks.launch.{kind}_not_seen", name=name))
    message = msg(f"checks.launch.{kind}_passed", name=name, n=evidence.launches)
    return passed(message, data={"launches": evidence.launches})


def _judged_launch(evidence: Evidence) -> Verdict:
    site = evidence.bound.requested
    kernel = evidence.bound.kernel
    if evidence.host.never_launches or evidence.bound.is_never_launched:
        never = msg("checks.launch.never_launched", kernel=kernel.name)
        return failed(never, msg("checks.launch.hint_never_launched"), line=kernel.line, data=SEEN)
    if site is None or site.block is None:
        early = next(iter(evidence.host.of_launch), None)
        if early is None:
            return not_applicable(msg("checks.launch.no_launch"))
        ended = joined(early.message, msg("checks.launch.ended_before", kernel=kernel.name)) or early.message
        file = "" if early.file == kernel.file else early.file
        return failed(ended, None, line=early.line, data=SEEN, file=file)
    shape = _shape(site.block)
    threads = prod(site.block)
    if site.swapped:
        handed = dict(zip(("grid", "block"), site.swapped, strict=True))
        swapped = with_own_words(evidence, msg("checks.launch.swapped", kernel=kernel.name, **handed))
        return failed(swapped, msg("checks.launch.hint_swapped"), line=site.line, data=SEEN)
    if threads > devices.MAX_THREADS_PER_BLOCK:
        too_large = msg("checks.launch.too_large", shape=shape, threads=threads, limit=devices.MAX_THREADS_PER_BLOCK)
        return failed(
            joined(too_large, msg("checks.launch.failed_time") if _never_ran(evidence) else None) or too_large,
            _too_large_hint(evidence, shape, threads),
            line=site.line,
            data={"threads": threads},
        )
    if any(n < 1 or n > limit for n, limit in zip(site.block, devices.MAX_BLOCK, strict=True)):
        return failed(
            msg("checks.launch.impossible_side", shape=shape, limit="×".join(str(n) for n in devices.MAX_BLOCK)),
            _never_ran(evidence),
            line=site.line,
            data={"threads": threads},
        )
    limit = devices.OPT_IN_SHARED_BYTES if site.opts_in else devices.SHARED_BYTES
    if site.shared_bytes is not None and site.shared_bytes > limit:
        return failed(
            msg("checks.launch.shared_bytes", n=site.shared_bytes, limit=limit),
            joined(_never_ran(evidence), msg("checks.launch.hint_shared_bytes")),
            line=site.line,
            data={"shared_bytes": site.shared_bytes},
        )
    beyond = _beyond_at(evidence, limit)
    if beyond is not None:
        sizes, shared_bytes = beyond
        return failed(
            msg("checks.launch.shared_bytes_at", sizes=sizes_msg(sizes), n=shared_bytes, limit=limit),
            msg(
                "checks.launch.hint_fewer_threads"
                if shared_bytes > devices.OPT_IN_SHARED_BYTES
                else "checks.launch.hint_fewer_or_opt_in"
            ),
            line=site.line,
            data={"shared_bytes": shared_bytes, "sizes": dict(sizes)},
        )
    if site.exchanged is not None:
        fields = asdict(site.exchanged)
        line = fields.pop("line") or site.line
        variable = fields.pop("variable")
        message = msg("checks.launch.exchanged", kernel=kernel.name, **fields)
        remedy = msg("checks.launch.hint_exchanged")
        if variable:
            message = msg("checks.launch.exchanged_fields", variable=variable, line=line, **fields)
            remedy = msg("checks.launch.hint_exchanged_fields", line=line)
        return failed(with_own_words(evidence, message), remedy, line=line, data={**SEEN, **fields})
    for fault in evidence.host.of_launch:
        hint = (
            None
            if fault.message.id.startswith(("programs.launch_refused", "programs.raised_"))
            else msg("checks.launch.hint_of_program")
        )
        return failed(with_own_words(evidence, fault.message), hint, line=fault.line, data=SEEN)
    if site.observed and site.grid is not None:
        verdict = _of_grid(evidence, site.grid, threads, site.line)
        if verdict is not None:
            return verdict
    short = grid_left_out(evidence, evidence.runs_of("correct", "observe")) or short_of_bytes(evidence)
    if short is not None:
        return short
    return passed(msg("checks.launch.passed", shape=shape, n=threads), line=site.line, data={"threads": threads})


def _instead(evidence: Evidence, instead: Instead) -> Verdict:
    names: dict[str, str | int] = {"kernel": evidence.bound.kernel.name, "line": instead.line, "other": instead.kernel}
    message = msg("checks.launch.launched_instead", before=instead.before, **names)
    hint = joined(msg("checks.launch.hint_launched_instead", **names), msg("checks.launch.hint_of_program"))
    return failed(message, hint, line=instead.line, data=SEEN)


def _beyond_at(evidence: Evidence, limit: int) -> tuple[Sizes, int] | None:
    """The sizes at which the program's own formula asks for more shared memory than it may, and how much.

    If there are several such sizes, those at which the excess is least.
    """
    reading = evidence.interpretation
    if reading is None or reading.origins.shared_bytes not in ("observed", "read") or not reading.launch.is_read:
        return None
    requests = [(run.sizes, geometry(reading.launch, run.sizes).shared_bytes) for run in evidence.runs if not run.drawn]
    return min((a for a in requests if a[1] > limit), key=lambda a: a[1], default=None)


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
    if devices.is_possible_block(site.block):
        return None
    requested, block = (_shape(block) for block in (site.block, reading.launch.block))
    return msg("checks.launch.hint_other_block", asked=requested, block=block)


def _shape(block: tuple[int, int, int]) -> str:
    """Return a block's or a grid's sides, the third where it is not 1."""
    return "×".join(str(n) for n in block[: 3 if block[2] > 1 else 2])


def _of_grid(evidence: Evidence, grid: tuple[int, int, int], threads: int, line: int) -> Verdict | None:
    """Fail for a grid that no device takes, or that leaves all the work to one thread."""
    blocks = _shape(grid)
    for axis, size, limit in zip("xyz", grid, devices.MAX_GRID, strict=True):
        if not 1 <= size <= limit:
            message = msg("checks.launch.impossible_grid", grid=blocks, axis=axis, size=size, limit=limit)
            return failed(message, _never_ran(evidence), line=line, data={"grid": list(grid)})
    if prod(grid) * threads == 1:
        return failed(
            msg("checks.launch.one_thread"),
            msg("checks.launch.hint_one_thread"),
            line=line,
            data={"grid": list(grid), "threads": 1},
        )
    return None


def _never_ran(evidence: Evidence) -> Message | None:
    """What a program that asks for no errors would have been told of a launch that fails."""
    is_asked = evidence.host.is_observed and not any(fault.kind == "unchecked" for fault in evidence.host.faults)
    return None if is_asked else msg("checks.launch.hint_never_ran")


def _too_large_hint(evidence: Evidence, shape: str, threads: int) -> Message | None:
    rule = evidence.lab.launch_of(evidence.variant)
    x, y, z = (
        evidence.interpretation.launch.block
        if evidence.interpretation
        else rule.block_at(evidence.lab.cases["emulator"].observe)
    )
    words = msg("checks.launch.hint_too_large", shape=shape, threads=threads, allowed=_shape((x, y, z)), n=x * y * z)
    return joined(words, _never_ran(evidence), msg("checks.launch.hint_graded_with"))


SHARE_LOST = 0.5
"""Share of the points that each kind of fault costs."""
SHARE_OF_HALF = 0.25
"""The same of a check that notices errors of one sign alone: half of what none at all costs."""
SHORT = "programs.symbol_too_short"
MAY_BE_MEANT = (SHORT, "programs.copy_other_pitch")
"""Ids of faults that are none where the results are right: a rest that is zero, rows that a kernel packs as well."""
PAST = ("programs.set_past", "programs.copy_reads_past", "programs.copy_writes_past")
NOT_EXACT = ("programs.unknown_pointer", "programs.copy_of_array")
"""Faults of copies that do not say which argument is wrong."""


UNFETCHED = frozenset(
    [f"checks.host_code.{name}" for name in ("never_fetched", "copied_early", "copied_other", "compared_other")]
    + ["programs.overwritten"]
)
"""Ids of faults with which the kernel's results never come back: they cost all."""


def judge_host_code(evidence: Evidence, settings: HostCodeSettings) -> Verdict:
    """Pass when nothing is wrong around the launches of the variant's kernel."""
    host = evidence.host
    if not host.is_there:
        return not_applicable(msg("checks.host_code.none"))
    faults = host.counted(settings.of)
    if all(run.is_right for run in evidence.runs):
        faults = tuple(fault for fault in faults if fault.message.id not in MAY_BE_MEANT)
    else:
        # It may have crashed over what the kernel left.
        faults = tuple(fault for fault in faults if fault.kind != "crash")
    kind = "program" if evidence.lab.program is not None else "function"
    if not faults and evidence.lab.makes_launches and not evidence.launches:
        # Host code that stands around no launch, or does not come to its end, has shown nothing.
        return not_measured(msg(f"checks.host_code.{kind}_not_seen", name=evidence.bound.kernel.name))
    if not faults and evidence.lab.makes_launches:
        # What is wrong all the same may well be a call that is not there, or that the runtime takes as it is.
        is_right = all(run.is_right and run.outcome.status == "ok" and not run.outcome.hazards for run in evidence.runs)
        what = ("data_sound" if settings.of == "data" else "sound") if is_right else "no_fault"
        return passed(msg(f"checks.host_code.{kind}_{what}"))
    if not faults and host.is_observed and host.partly is not None:
        nothing = msg(f"checks.host_code.partly_{'data_sound' if settings.of == 'data' else 'sound'}")
        return passed(joined(_seen_of(host.partly), nothing) or nothing)
    if not faults and settings.of == "data" and any(fault.message.id == "programs.leak" for fault in host.untidy):
        return passed(msg("checks.host_code.program_data_sound"))
    if not faults and settings.of == "data":
        return passed(msg("checks.host_code.data_sound" if host.is_observed else "checks.host_code.reads_data_sound"))
    if not faults:
        return passed(msg("checks.host_code.sound" if host.is_observed else "checks.host_code.reads_sound"))
    first = faults[0]
    kinds = list(dict.fromkeys(fault.kind for fault in faults))
    data: dict[str, object] = {"kinds": kinds, "lines": [fault.line for fault in faults]}
    message = first.message
    if first.is_of_data:
        data |= SEEN
        message = with_own_words(evidence, message) if first.kind != "own_check" else message
    credit = max(0.0, 1 - sum(SHARE_OF_HALF if kind == "half_blind" else SHARE_LOST for kind in kinds))
    if first.message.id in UNFETCHED:
        credit = 0.0
    is_exact = (
        first.kind in ("copy", "crash", "half_blind") and first.message.id not in NOT_EXACT
    ) or first.is_of_events
    # What is said of a copy that frees says what to do, too.
    is_exact |= first.message.id.startswith("programs.freed_by_copy")
    hint = None if is_exact else _fault_hint(first.kind)
    if first.message.id in PAST:
        hint = _fault_hint("set")
    elif first.message.id.startswith("programs.host_beyond"):
        hint = _fault_hint("beyond")
    elif first.message.id == SHORT:
        hint = msg("checks.host_code.hint_symbol", name=str(first.message.data["array"]))
    return failed(
        message,
        hint,
        first.line,
        credit=credit,
        data=data,
        file="" if first.file == evidence.bound.kernel.file else first.file,
    )


def _seen_of(run: SeenRun) -> Message:
    """Return how a program was run that nobody has seen to its end as it was handed in."""
    change = run.change
    if run.ended and change is not None:
        return msg("checks.host_code.smaller", name=change.name, before=change.before, after=change.after)
    return msg("checks.host_code.stopped", line=run.cause_line if run.cause_file in ("", run.files[0]) else 0)


def _fault_hint(kind: str) -> Message:
    return msg(f"checks.host_code.hint_{kind}")


@dataclass(frozen=True, slots=True)
class _Count:
    """What is counted of one call; in_bytes: by size rather than by number."""

    name: str
    limit: int | str | None
    calls: Sequence[DeviceCall]
    in_bytes: bool

    @property
    def total(self) -> int:
        return sum(call.size for call in self.calls) if self.in_bytes else len(self.calls)

    def culprit(self, needed: float) -> DeviceCall:
        """The largest of those counted in bytes; the first that is one too many of the others."""
        return max(self.calls, key=lambda call: call.size) if self.in_bytes else self.calls[int(needed)]


def judge_launches(evidence: Evidence, settings: LaunchesSettings) -> Verdict:
    """Compare what the first call at the observed size asks for with what the lab allows."""
    work = evidence.observed_work
    if work is None or work.asked is None:
        return not_measured(msg("checks.not_counted"))

    def count(name: str, limit: int | str | None, *kinds: str, in_bytes: bool = False) -> _Count:
        return _Count(name, limit, [call for call in work.asked or () if call.kind in kinds], in_bytes)

    counts = (
        count("launches", settings.max_launches, "kernel"),
        count("allocated", settings.max_allocated, "allocate", in_bytes=True),
        count("copied", settings.max_copied, "copy_in", "copy_out", in_bytes=True),
        count("waits", settings.max_waits, "wait"),
    )
    data = {one.name: one.total for one in counts}
    sizes = sizes_msg(work.sizes)
    beyond = [
        (one, needed)
        for one in counts
        if one.limit is not None and one.total > (needed := formula.evaluate(str(one.limit), work.sizes))
    ]
    if not beyond:
        return passed(msg("checks.launches.passed", **data, sizes=sizes), data=data)
    sentences = [
        msg(
            f"checks.launches.{one.name}",
            limit=compared(evidence, f"launches.{one.name}", one.total, needed),
            sizes=sizes,
        )
        for one, needed in beyond
    ]
    first, needed = beyond[0]
    at = first.culprit(needed)
    verdict = failed(joined(*sentences) or sentences[0], msg(f"checks.launches.hint_{first.name}"), at.line, data=data)
    return replace(verdict, file=evidence.file_of(at.file)) if at.line else verdict


MOST = 1000
"""Launches and copies that are compared with one another; of more, the first."""


def judge_overlap(evidence: Evidence, settings: OverlapSettings) -> Verdict:
    """Compare the share that may run beside a kernel with what the lab asks for; name the largest part that may not."""
    work = evidence.observed_work
    if work is None or work.asked is None:
        return not_measured(msg("checks.not_counted"))
    kernels = [call for call in work.asked if call.kind == "kernel"][:MOST]
    copies = [call for call in work.asked if call.kind in ("copy_in", "copy_out")][:MOST]
    looked_at = kernels if settings.of == "kernels" else copies
    alone = [call for call in looked_at if not _may_overlap(call, kernels)]
    total, left = _weight(looked_at), _weight(alone)
    share = 1 - left / total if total else 0.0
    data = {"share": round(share, 4), "min_share": settings.min_share}
    pct, sizes = round(100 * share, 2), sizes_msg(work.sizes)
    if share >= settings.min_share:
        return passed(msg(f"checks.overlap.passed_{settings.of}", pct=pct, sizes=sizes), data=data)
    limit = compared(evidence, "overlap.share", share, settings.min_share, at_least=True)
    message = msg(f"checks.overlap.{settings.of}", limit=limit, sizes=sizes)
    if not alone:
        return failed(message, msg(f"checks.overlap.hint_{settings.of}"), data=data)
    at = max(alone, key=lambda call: call.size)
    verdict = failed(message, _overlap_hint(at, settings), at.line, data=data)
    return replace(verdict, file=evidence.file_of(at.file)) if at.line else verdict


def _may_overlap(call: DeviceCall, kernels: Sequence[DeviceCall]) -> bool:
    """Whether some kernel may run beside it; a copy of pageable memory goes through the driver's own buffer."""
    return not call.is_pageable and any(other is not call and call.is_beside(other) for other in kernels)


def _weight(calls: Sequence[DeviceCall]) -> int:
    return sum(call.size if call.kind != "kernel" else 1 for call in calls)


def _overlap_hint(alone: DeviceCall, settings: OverlapSettings) -> Message:
    if alone.is_pageable:
        return msg("checks.overlap.hint_pageable", line=alone.line)
    if alone.is_blocking:
        return msg("checks.overlap.hint_blocking", line=alone.line, call=alone.name)
    return msg(f"checks.overlap.hint_{settings.of}")
