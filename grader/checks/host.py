"""What host code does: `host_code`, its faults; `launches`, what one call asks of the runtime; `overlap` of copies and
kernels.

Overlap is told by the order that the host asks for: two things between which nothing puts an order may run at the same
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.checks.base import Verdict, compared, failed, not_applicable, not_measured, passed
from grader.checks.launch import SEEN, with_own_words
from grader.lab import formula
from grader.lab.checks import HostCodeSettings, LaunchesSettings, OverlapSettings
from grader.message import Message, joined, msg, sizes_msg
from grader.programs.records import DeviceCall
from grader.running.evidence import Evidence

SHARE_LOST = 0.5
"""Of the points, for each kind of fault."""
SHORT = "programs.symbol_too_short"
MAY_BE_MEANT = (SHORT, "programs.copy_other_pitch")
"""Ids of faults that are none where the results are right: a rest that is zero, rows that a kernel packs as well."""
PAST = ("programs.set_past", "programs.copy_reads_past", "programs.copy_writes_past")
NOT_EXACT = ("programs.unknown_pointer", "programs.copy_of_array")
"""Faults of copies that do not say which argument is wrong."""


def judge_host_code(evidence: Evidence, settings: HostCodeSettings) -> Verdict:
    """Pass when nothing is wrong around the launches of the variant's kernel."""
    host = evidence.host
    if not host.is_there:
        return not_applicable(msg("checks.host_code.none"))
    faults = host.counted(settings.of)
    if all(run.is_right for run in evidence.runs):
        faults = tuple(fault for fault in faults if fault.message.id not in MAY_BE_MEANT)
    kind = "program" if evidence.lab.program is not None else "function"
    if not faults and evidence.lab.makes_launches and not evidence.launches:
        # Host code that stands around no launch, or does not come to its end, has shown nothing.
        return not_measured(msg(f"checks.host_code.{kind}_not_seen", name=evidence.bound.kernel.name))
    if not faults and evidence.lab.makes_launches:
        return passed(
            msg(f"checks.host_code.{kind}_data_sound" if settings.of == "data" else f"checks.host_code.{kind}_sound")
        )
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
        message = with_own_words(evidence, message)
    credit = max(0.0, 1 - SHARE_LOST * len(kinds))
    is_exact = first.kind == "copy" and first.message.id not in NOT_EXACT
    hint = None if is_exact else _fault_hint(first.kind)
    if first.message.id in PAST:
        hint = _fault_hint("set")
    elif first.message.id == SHORT:
        hint = msg("checks.host_code.hint_symbol", name=str(first.message.data["array"]))
    verdict = failed(message, hint, first.line, credit=credit, data=data)
    return replace(verdict, file="" if first.file == evidence.bound.kernel.file else first.file)


def _fault_hint(kind: str) -> Message:
    return msg(f"checks.host_code.hint_{kind}")


@dataclass(frozen=True, slots=True)
class _Count:
    """What is counted of one call; in_bytes: the size of each, not their number."""

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
    """Whether some kernel may run beside it; a copy from or to pageable memory goes through the driver's own buffer."""
    return not call.is_pageable and any(other is not call and call.is_beside(other) for other in kernels)


def _weight(calls: Sequence[DeviceCall]) -> int:
    """Bytes of copies; kernels count one each."""
    return sum(call.size if call.kind != "kernel" else 1 for call in calls)


def _overlap_hint(alone: DeviceCall, settings: OverlapSettings) -> Message:
    if alone.is_pageable:
        return msg("checks.overlap.hint_pageable", line=alone.line)
    if alone.is_blocking:
        return msg("checks.overlap.hint_blocking", line=alone.line, call=alone.name)
    return msg(f"checks.overlap.hint_{settings.of}")
