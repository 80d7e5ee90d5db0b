"""`speedup`: how much faster the kernel is than a reference kernel of the lab, timed next to it on the same GPU."""

from __future__ import annotations

from grader.checks.base import Verdict, failed, not_measured
from grader.lab.checks import SpeedupSettings
from grader.measured import PredictedTime, Ratio
from grader.message import Message, joined, msg, sizes_msg
from grader.result import CheckStatus
from grader.running.evidence import Evidence
from grader.timing.sampling import Marked, mark
from grader.timing.summary import marked, ratio_of


def judge(evidence: Evidence, settings: SpeedupSettings) -> Verdict:
    """Judge by the confidence interval at the largest size that is more than a launch.

    Borderline only where the interval holds a threshold after all the rounds that were allowed: elsewhere no verdict
    hangs on noise.
    """
    if evidence.untimed:
        return failed(evidence.untimed, msg("checks.speedup.hint_wrong"))
    row = marked(evidence.timing, settings.own)
    ratio = ratio_of(row, settings.own) if row is not None else None
    if row is None or ratio is None:
        if settings.predicted and not evidence.timing:
            return _predicted(evidence, settings)
        return not_measured(_unmeasured(evidence, settings))
    data: dict[str, object] = {"sizes": dict(row.size), "rounds": row.rounds}
    sizes = sizes_msg(row.size)
    if settings.own:
        figures = _figures("own", ratio, sizes=sizes, variant=evidence.lab.variants[0].name)
    elif settings.against == evidence.variant.name:
        figures = _figures("", ratio, sizes=sizes)
    else:
        figures = _figures("of", ratio, sizes=sizes, variant=settings.against)
    return _judged(evidence, settings, ratio, figures, data)


def _predicted(evidence: Evidence, settings: SpeedupSettings) -> Verdict:
    """The same by a predicted speedup: its interval is what holds a threshold or does not."""
    prediction = evidence.predicted
    if isinstance(prediction, Message):
        return not_measured(msg("checks.speedup.unpredicted", reason=prediction))
    ratio = None
    if prediction is not None:
        ratio = prediction.predicted_over_baseline if settings.own else prediction.predicted_speedup
    if prediction is None or ratio is None:
        return not_measured(_unmeasured(evidence, settings))
    data: dict[str, object] = {"sizes": dict(prediction.size), "predicted_for": prediction.device}
    if settings.own:
        first = evidence.lab.variants[0].name
        sizes, device = sizes_msg(prediction.size), prediction.device
        figures = _figures("own_predicted", ratio, sizes=sizes, device=device, variant=first)
    else:
        figures = predicted_figures(prediction, ratio)
    return _judged(evidence, settings, ratio, figures, data)


def _figures(which: str, ratio: Ratio, **data: str | Message) -> Message:
    name = f"figures_{which}" if which else "figures"
    return msg(f"checks.speedup.{name}", speedup=ratio.value, low=ratio.low, high=ratio.high, **data)


def _judged(
    evidence: Evidence, settings: SpeedupSettings, ratio: Ratio, figures: Message, data: dict[str, object]
) -> Verdict:
    data |= {"speedup": ratio.value, "low": ratio.low, "high": ratio.high}
    data |= {"full": settings.most, "minimum": settings.thresholds[0]}
    got = mark(settings, ratio.value, ratio.low, ratio.high)
    status, message = said(settings, got, figures, is_predicted="predicted_for" in data)
    hint = _hint(evidence) if status == "fail" else None
    return Verdict(status, message, got.share, got.open, hint, data=data)


def said(settings: SpeedupSettings, got: Marked, figures: Message, is_predicted: bool) -> tuple[CheckStatus, Message]:
    """The verdict, and what is said of it: figures, what they are measured by, and whether noise decides."""
    message = msg("checks.speedup.timed", figures=figures, thresholds=_thresholds(settings))
    if got.decision != "undecided":
        return "pass" if got.decision == "reached" else "fail", message
    kind = "undecided_predicted" if is_predicted else "undecided"
    return "borderline", joined(message, msg(f"checks.speedup.{kind}")) or message


def _thresholds(settings: SpeedupSettings) -> Message:
    if settings.classes:
        rows = [
            msg("checks.speedup.class_time", pct=100 * one.share, time=one.time)
            if one.time
            else msg("checks.speedup.class_speed", pct=100 * one.share, speedup=one.speedup)
            for one in sorted(settings.classes, key=lambda one: -one.least)
        ]
        return msg("checks.speedup.classes", rows=rows)
    if settings.time is not None:
        return msg("checks.speedup.time", full=settings.time.full, none=settings.time.none)
    return msg("checks.speedup.thresholds", full=settings.full, minimum=settings.minimum)


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


def _unmeasured(evidence: Evidence, settings: SpeedupSettings) -> Message:
    if settings.own and evidence.timing and all(t.over_baseline is None for t in evidence.timing):
        return msg("checks.speedup.own_untimed", variant=evidence.lab.variants[0].name)
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
