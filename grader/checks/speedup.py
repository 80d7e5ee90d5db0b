"""`speedup`: how much faster the kernel is than a reference kernel of the lab, timed next to it on the same GPU."""

from __future__ import annotations

from grader.checks.base import CheckKind, Settings, Verdict, failed, not_measured, passed
from grader.i18n import _, decimal
from grader.running.evidence import Evidence
from grader.timing.summary import marked
from grader.timing.verdict import decide, share
from grader.wording import sizes_text


class SpeedupSettings(Settings, frozen=True):
    """Settings.

    against: the variant whose reference kernel is the measure; the check's own variant asks whether the kernel is as
    good as the instructor's.
    full: the speedup that earns all points.  minimum: the speedup that earns the first; between them linear.
    """

    against: str
    full: float
    minimum: float = 1.0


def judge(evidence: Evidence, settings: SpeedupSettings) -> Verdict:
    """Judge by the confidence interval at the largest size that is more than a launch.

    Points follow the median along the ramp, whatever the verdict; an interval that holds the threshold after all the
    rounds that were allowed is borderline.
    """
    if evidence.untimed:
        return failed(evidence.untimed, _("What is wrong is not timed. Make the result right first."))
    row = marked(evidence.timing)
    if row is None or row.speedup is None:
        return not_measured(_unmeasured(evidence))
    low = row.speedup if row.speedup_low is None else row.speedup_low
    high = row.speedup if row.speedup_high is None else row.speedup_high
    if settings.against == evidence.variant.name:
        text = _("At {sizes}: {speedup:.2f} times as fast as the reference kernel ({low:.2f} to {high:.2f})")
    else:
        text = _("At {sizes}: {speedup:.2f} times as fast as the reference kernel {variant} ({low:.2f} to {high:.2f})")
    message = text.format(
        sizes=sizes_text(row.size),
        speedup=decimal(row.speedup),
        variant=settings.against,
        low=decimal(low),
        high=decimal(high),
    )
    message += "; " + _("{full:g} earns all points, {minimum:g} the first.").format(
        full=decimal(settings.full), minimum=decimal(settings.minimum)
    )
    data = {
        "sizes": dict(row.size),
        "speedup": row.speedup,
        "low": low,
        "high": high,
        "full": settings.full,
        "minimum": settings.minimum,
        "rounds": row.rounds,
    }
    earned = share(row.speedup, settings.minimum, settings.full)
    match decide(low, high, settings.full):
        case "reached":
            return passed(message, data=data)
        case "undecided":
            note = _("The measurement does not decide whether the threshold is reached.")
            return Verdict("borderline", f"{message} {note}", share=earned, data=data)
    return failed(message, _hint(evidence), share=earned, data=data)


def _unmeasured(evidence: Evidence) -> str:
    if any(t.launch_bound for t in evidence.timing):
        return _("At every size the kernel takes hardly longer than a launch: too little to compare speeds by.")
    return evidence.unmeasured.get("time", _("The time was not measured."))


def _hint(evidence: Evidence) -> str:
    """What costs time, as far as the counters tell."""
    counters = evidence.counters
    if counters is not None and counters.shared_excess:
        return _("Bank conflicts cost time here: {n} wavefronts more than needed. Remove them first.").format(
            n=counters.shared_excess
        )
    if counters is not None:
        for got, ideal in (
            (counters.global_load_sectors_per_request, counters.global_load_ideal_per_request),
            (counters.global_store_sectors_per_request, counters.global_store_ideal_per_request),
        ):
            if got and ideal and got > 1.01 * ideal:
                return _(
                    "Global memory costs time here: {got:g} sectors a request where {ideal:g} would do. Let "
                    "neighbouring threads use neighbouring addresses."
                ).format(got=decimal(got), ideal=decimal(ideal))
    resources = evidence.resources
    if resources is not None and resources.occupancy_pct is not None and resources.occupancy_pct < 50:
        return _(
            "Few warps fit on a multiprocessor: {pct:g} % of what it can hold. Use fewer registers or less shared "
            "memory a block, or another block size."
        ).format(pct=decimal(resources.occupancy_pct))
    return _(
        "The memory accesses are as good as they can be. Look at the work per thread: fewer threads that do several "
        "elements each often do better."
    )


CHECK = CheckKind("speedup", judge, SpeedupSettings, needs=("correct",))
