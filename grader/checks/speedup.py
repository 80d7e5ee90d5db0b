"""`speedup`: how much faster the kernel is than a reference kernel of the lab, timed next to it on the same GPU."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.lab.checks import SpeedupSettings
from grader.measured import PredictedTime, Ratio
from grader.message import Message, joined, msg, sizes_msg
from grader.running.evidence import Evidence
from grader.timing.sampling import credit, decide
from grader.timing.summary import marked


def judge(evidence: Evidence, settings: SpeedupSettings) -> Verdict:
    """Judge by the confidence interval at the largest size that is more than a launch.

    Passed from `minimum` on; points follow the median along the ramp.  Borderline only where the interval holds
    `minimum` after all the rounds that were allowed: elsewhere no verdict hangs on noise.
    """
    if evidence.untimed:
        return failed(evidence.untimed, msg("checks.speedup.hint_wrong"))
    row = marked(evidence.timing)
    if row is None or row.speedup is None:
        if settings.predicted and not evidence.timing:
            return _predicted(evidence, settings)
        return not_measured(_unmeasured(evidence))
    low = row.speedup if row.speedup_low is None else row.speedup_low
    high = row.speedup if row.speedup_high is None else row.speedup_high
    sizes = sizes_msg(row.size)
    if settings.against == evidence.variant.name:
        figures = msg("checks.speedup.figures", sizes=sizes, speedup=row.speedup, low=low, high=high)
    else:
        figures = msg(
            "checks.speedup.figures_of", sizes=sizes, speedup=row.speedup, low=low, high=high, variant=settings.against
        )
    thresholds = msg("checks.speedup.thresholds", full=settings.full, minimum=settings.minimum)
    message = msg("checks.speedup.timed", figures=figures, thresholds=thresholds)
    data = {
        "sizes": dict(row.size),
        "speedup": row.speedup,
        "low": low,
        "high": high,
        "full": settings.full,
        "minimum": settings.minimum,
        "rounds": row.rounds,
    }
    earned = credit(row.speedup, settings.minimum, settings.full)
    match decide(low, high, settings.minimum):
        case "reached":
            return replace(passed(message, data=data), credit=earned)
        case "undecided":
            note = joined(message, msg("checks.speedup.undecided")) or message
            return Verdict("borderline", note, credit=earned, data=data)
    return failed(message, _hint(evidence), credit=earned, data=data)


def _predicted(evidence: Evidence, settings: SpeedupSettings) -> Verdict:
    """The same by a predicted speedup: its interval is what holds `minimum` or does not."""
    prediction = evidence.predicted
    if isinstance(prediction, Message):
        return not_measured(msg("checks.speedup.unpredicted", reason=prediction))
    if prediction is None or prediction.predicted_speedup is None:
        return not_measured(_unmeasured(evidence))
    ratio, figures = prediction.predicted_speedup, predicted_figures(prediction, prediction.predicted_speedup)
    thresholds = msg("checks.speedup.thresholds", full=settings.full, minimum=settings.minimum)
    message = msg("checks.speedup.timed", figures=figures, thresholds=thresholds)
    data = {
        "sizes": dict(prediction.size),
        "speedup": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
        "full": settings.full,
        "minimum": settings.minimum,
        "predicted_for": prediction.device,
    }
    earned = credit(ratio.value, settings.minimum, settings.full)
    match decide(ratio.low, ratio.high, settings.minimum):
        case "reached":
            return replace(passed(message, data=data), credit=earned)
        case "undecided":
            note = joined(message, msg("checks.speedup.undecided_predicted")) or message
            return Verdict("borderline", note, credit=earned, data=data)
    return failed(message, _hint(evidence), credit=earned, data=data)


def predicted_figures(made: PredictedTime, ratio: Ratio) -> Message:
    """What was predicted of a kernel's speed over what it is measured by."""
    return msg(
        "checks.speedup.figures_predicted" if ratio.is_sure else "checks.speedup.figures_predicted_unsure",
        device=made.device,
        sizes=sizes_msg(made.size),
        speedup=ratio.value,
        low=ratio.low,
        high=ratio.high,
        variant=made.against,
    )


def _unmeasured(evidence: Evidence) -> Message:
    if any(t.launch_bound for t in evidence.timing):
        return msg("checks.speedup.launch_bound")
    return evidence.unmeasured.get("time", msg("checks.speedup.not_timed"))


def _hint(evidence: Evidence) -> Message | None:
    """What costs time, as far as the counters tell; None where nothing was counted."""
    counters = evidence.counters
    if counters is not None and counters.shared_excess:
        return msg("checks.speedup.hint_bank_conflicts", n=counters.shared_excess)
    if counters is not None:
        for got, ideal in (
            (counters.global_load_sectors_per_request, counters.global_load_ideal_per_request),
            (counters.global_store_sectors_per_request, counters.global_store_ideal_per_request),
        ):
            if got and ideal and got > 1.01 * ideal:
                return msg("checks.speedup.hint_coalescing", got=got, ideal=ideal)
    resources = evidence.resources
    if resources is not None and resources.occupancy_pct is not None and resources.occupancy_pct < 50:
        return msg("checks.speedup.hint_occupancy", pct=resources.occupancy_pct)
    return msg("checks.speedup.hint_work") if counters is not None else None
