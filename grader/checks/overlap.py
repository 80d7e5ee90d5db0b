"""`overlap`: copies move while kernels run, or kernels run side by side, as far as streams and waits allow that.

Told by the order that the host asks for: two things between which nothing puts an order may run at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.lab.checks import OverlapSettings
from grader.message import Message, msg, sizes_msg
from grader.programs.records import DeviceCall
from grader.running.evidence import Evidence

MOST = 1000
"""Launches and copies that are compared with one another; of more, the first."""


def judge(evidence: Evidence, settings: OverlapSettings) -> Verdict:
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
    message = msg(f"checks.overlap.{settings.of}", pct=pct, needed=round(100 * settings.min_share, 2), sizes=sizes)
    if not alone:
        return failed(message, msg(f"checks.overlap.hint_{settings.of}"), data=data)
    at = max(alone, key=lambda call: call.size)
    verdict = failed(message, _hint(at, settings), at.line, data=data)
    return replace(verdict, file=evidence.file_of(at.file)) if at.line else verdict


def _may_overlap(call: DeviceCall, kernels: Sequence[DeviceCall]) -> bool:
    """Whether some kernel may run beside it; a copy from or to pageable memory goes through the driver's own buffer."""
    return not call.is_pageable and any(other is not call and call.is_beside(other) for other in kernels)


def _weight(calls: Sequence[DeviceCall]) -> int:
    """Bytes of copies; kernels count one each."""
    return sum(call.size if call.kind != "kernel" else 1 for call in calls)


def _hint(alone: DeviceCall, settings: OverlapSettings) -> Message:
    if alone.is_pageable:
        return msg("checks.overlap.hint_pageable", line=alone.line)
    if alone.is_blocking:
        return msg("checks.overlap.hint_blocking", line=alone.line, call=alone.name)
    return msg(f"checks.overlap.hint_{settings.of}")
