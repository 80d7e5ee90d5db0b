"""`launches`: what one call of a function asks of the runtime: launches, memory, copies to and fro, waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.lab import formula
from grader.lab.checks import LaunchesSettings
from grader.message import joined, msg, sizes_msg
from grader.programs.records import DeviceCall
from grader.running.evidence import Evidence


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


def judge(evidence: Evidence, settings: LaunchesSettings) -> Verdict:
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
        msg(f"checks.launches.{one.name}", got=one.total, needed=round(needed, 2), sizes=sizes)
        for one, needed in beyond
    ]
    first, needed = beyond[0]
    at = first.culprit(needed)
    verdict = failed(joined(*sentences) or sentences[0], msg(f"checks.launches.hint_{first.name}"), at.line, data=data)
    return replace(verdict, file=evidence.file_of(at.file)) if at.line else verdict
