"""How warps execute: `work`, `atomics`, `divergence` and `occupancy`; how long it takes: `speedup`.

Threads do no more, together, than the task takes, and what they do grows with its size as it has to; atomic operations
are few, and few lanes of a warp want one address at once; few lanes stand idle while others work; a multiprocessor of a
named device holds enough warps. A kernel is so many times as fast as a reference kernel of the lab, timed next to it on
the same GPU.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.checks.base import Verdict, compared, failed, not_measured, passed
from grader.devices import WARP_LANES
from grader.lab import formula
from grader.lab.checks import AtomicsSettings, DivergenceSettings, OccupancySettings, SpeedupSettings, WorkSettings
from grader.measured import PredictedTime, Ratio
from grader.message import Message, joined, msg, sizes_msg
from grader.programs.records import LIBRARY
from grader.ptx.records import LineCounter
from grader.result import CheckStatus
from grader.running.evidence import Evidence, Work
from grader.timing.sampling import Marked, mark
from grader.timing.summary import marked, ratio_of

WORK_TOLERANCE = 1e-9
"""Limits are formulas; this absorbs their rounding."""


def judge_work(evidence: Evidence, settings: WorkSettings) -> Verdict:
    """Compare what is done for each element, then how it grows; name the line that does most."""
    observed = evidence.observed_work
    exact = [work for work in evidence.work if work.kind in ("correct", "observe") and not work.drawn]
    if observed is None:
        return not_measured(msg("checks.not_counted"))
    field = settings.of
    each = observed.total(field) / observed.elements
    data: dict[str, object] = {"of": field, "per_element": round(each, 4)}
    figure = msg("checks.work.each", each=round(each, 2), what=msg(f"checks.work.{field}"))
    if settings.max_per_element is not None:
        needed = formula.evaluate(str(settings.max_per_element), observed.sizes)
        data["max_per_element"] = needed
        if each > needed + WORK_TOLERANCE:
            message = msg(
                "checks.work.too_much",
                what=msg(f"checks.work.{field}"),
                limit=compared(evidence, "work.per_element", each, needed),
                sizes=sizes_msg(observed.sizes),
            )
            return _at_most(evidence, settings, observed, message, data)
    if not settings.growth:
        return passed(msg("checks.work.passed", figure=figure, sizes=sizes_msg(observed.sizes)), data=data)
    small, large = (end(exact, key=lambda work: formula.evaluate(settings.growth, work.sizes)) for end in (min, max))
    by = formula.evaluate(settings.growth, large.sizes) / formula.evaluate(settings.growth, small.sizes)
    least = small.total(field)
    if not least or by <= 1:
        # At the other sizes it was not counted, or nothing was done at all.
        return not_measured(msg("checks.not_counted"))
    got, needed = large.total(field) / least, settings.slack * by
    data |= {"growth": round(got, 4), "max_growth": round(needed, 4)}
    ends = {"small": sizes_msg(small.sizes), "large": sizes_msg(large.sizes)}
    if got > needed + WORK_TOLERANCE:
        limit = compared(evidence, "work.growth", got, needed)
        message = msg("checks.work.grows", what=msg(f"checks.work.{field}"), limit=limit, **ends)
        return _at_most(evidence, settings, large, message, data)
    grown = msg("checks.work.growth", **ends, got=round(got, 2))
    return passed(msg("checks.work.passed_growth", figure=figure, growth=grown), data=data)


def _at_most(
    evidence: Evidence, settings: WorkSettings, work: Work, message: Message, data: dict[str, object]
) -> Verdict:
    rows = work.by_line()
    if not rows:
        # A library does it all.
        return failed(message, None, data=data)
    file, worst = max(rows, key=lambda row: getattr(row[1], settings.of))
    share = round(100 * getattr(worst, settings.of) / work.total(settings.of))
    return failed(
        msg("checks.work.at_line", message=message, line=worst.line, share=share),
        msg(f"checks.work.hint_{settings.of}"),
        worst.line,
        data=data,
        file=evidence.file_of(file),
    )


Row = tuple[str, LineCounter]
ATOMICS_TOLERANCE = 1e-9
"""Limits are formulas; this absorbs their rounding."""


def judge_atomics(evidence: Evidence, settings: AtomicsSettings) -> Verdict:
    """Compare lanes at one address, then operations for each element, with what the lab allows; name the worst line."""
    work = evidence.observed_work
    if work is None:
        return not_measured(msg("checks.not_counted"))
    rows = [(row.file or launch.file, row) for launch in work.launches for row in launch.atomics]
    rows = [(file, row) for file, row in rows if file != LIBRARY]
    sizes = sizes_msg(work.sizes)
    lanes = max((row.same_address for _file, row in rows), default=0)
    each = {
        space: sum(row.lanes for _file, row in rows if row.space == space) / work.elements
        for space in ("global", "shared")
    }
    data: dict[str, object] = {
        "lanes": lanes,
        **{f"{space}_per_element": round(value, 4) for space, value in each.items()},
    }
    if settings.max_lanes is not None and lanes > settings.max_lanes:
        worst = max(rows, key=lambda row: row[1].same_address)
        limit_said = compared(evidence, "atomics.lanes", lanes, settings.max_lanes)
        message = msg("checks.atomics.lanes", line=worst[1].line, limit=limit_said, sizes=sizes)
        return _at(evidence, worst, message, data)
    for space, limit in (("global", settings.max_global), ("shared", settings.max_shared)):
        needed = formula.evaluate(str(limit), work.sizes) if limit is not None else None
        if needed is not None and each[space] > needed + ATOMICS_TOLERANCE:
            worst = _most([row for row in rows if row[1].space == space])
            limit_said = compared(evidence, f"atomics.{space}_per_element", each[space], needed)
            message = msg(f"checks.atomics.{space}", line=worst[1].line, limit=limit_said, sizes=sizes)
            return _at(evidence, worst, message, data)
    figures = {name: round(value, 4) for name, value in each.items()}
    return passed(
        msg(
            "checks.atomics.passed", of_global=figures["global"], of_shared=figures["shared"], lanes=lanes, sizes=sizes
        ),
        data=data,
    )


def _most(rows: Sequence[Row]) -> Row:
    totals: dict[tuple[str, int], int] = {}
    for file, row in rows:
        totals[file, row.line] = totals.get((file, row.line), 0) + row.lanes
    return max(rows, key=lambda row: totals[row[0], row[1].line])


def _at(evidence: Evidence, worst: Row, message: Message, data: dict[str, object]) -> Verdict:
    file, row = worst
    return failed(message, msg("checks.atomics.hint"), row.line, data=data, file=evidence.file_of(file))


def judge_divergence(evidence: Evidence, settings: DivergenceSettings) -> Verdict:
    """Compare the share of idle lanes at the observed size, over all lines; name the line where most are."""
    work = evidence.observed_work
    if work is None:
        return not_measured(msg("checks.not_counted"))
    rows = work.by_line()
    places = sum(row.places for _file, row in rows)
    idle = 1 - sum(row.executed for _file, row in rows) / places if places else 0.0
    data: dict[str, object] = {"idle": round(idle, 4), "max_idle": settings.max_idle}
    pct = round(100 * idle, 2)
    if idle <= settings.max_idle:
        return passed(msg("checks.divergence.passed", pct=pct, sizes=sizes_msg(work.sizes)), data=data)
    limit = compared(evidence, "divergence.idle", idle, settings.max_idle)
    if settings.unless_below is not None:
        # The share alone would punish a shortcut: what it leaves out is what whole warps did together.
        each, below = places / work.elements, formula.evaluate(str(settings.unless_below), work.sizes)
        data |= {"lanes_per_element": round(each, 2), "unless_below": below}
        if each < below:
            sizes = sizes_msg(work.sizes)
            return passed(msg("checks.divergence.few", pct=pct, each=round(each), below=below, sizes=sizes), data=data)
        limit = msg("checks.divergence.share_or_few", limit=limit, each=round(each), below=below)
    file, worst = max(rows, key=lambda row: row[1].places - row[1].executed)
    lanes = round(WARP_LANES * worst.executed / worst.places, 1)
    return failed(
        msg("checks.divergence.failed", limit=limit, sizes=sizes_msg(work.sizes), line=worst.line, lanes=lanes),
        msg("checks.divergence.hint"),
        worst.line,
        data=data,
        file=evidence.file_of(file),
    )


def judge_occupancy(evidence: Evidence, settings: OccupancySettings) -> Verdict:
    """Compare the share of a multiprocessor's warps that fit with what the lab asks for; name what limits it."""
    occupancy = evidence.occupancy
    if occupancy is None:
        return not_measured(msg("checks.occupancy.not_compiled"))
    pct = round(100 * occupancy.share, 2)
    data = {
        "share": round(occupancy.share, 4),
        "blocks": occupancy.blocks,
        "registers": occupancy.registers,
        "shared_bytes": occupancy.shared_bytes,
        "limit": occupancy.limit,
    }
    figures = msg(
        "checks.occupancy.figures",
        kernel=occupancy.kernel,
        device=occupancy.device,
        pct=pct,
        blocks=occupancy.blocks,
        threads=occupancy.threads,
    )
    if occupancy.share >= settings.min_share:
        return passed(msg("checks.occupancy.passed", figures=figures), data=data)
    return failed(
        msg(
            "checks.occupancy.failed",
            figures=figures,
            limit=compared(evidence, "occupancy.share", occupancy.share, settings.min_share, at_least=True),
        ),
        msg(
            f"checks.occupancy.hint_{occupancy.limit}",
            registers=occupancy.registers,
            shared_bytes=occupancy.shared_bytes,
            blocks=occupancy.blocks,
            threads=occupancy.threads,
        ),
        occupancy.line,
        data=data,
        file=evidence.file_of(occupancy.file),
    )


def judge_speedup(evidence: Evidence, settings: SpeedupSettings) -> Verdict:
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
    return _judged_speedup(evidence, settings, ratio, figures, data)


def _predicted(evidence: Evidence, settings: SpeedupSettings) -> Verdict:
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
    return _judged_speedup(evidence, settings, ratio, figures, data)


def _figures(which: str, ratio: Ratio, **data: str | Message) -> Message:
    name = f"figures_{which}" if which else "figures"
    return msg(f"checks.speedup.{name}", speedup=ratio.value, low=ratio.low, high=ratio.high, **data)


def _judged_speedup(
    evidence: Evidence, settings: SpeedupSettings, ratio: Ratio, figures: Message, data: dict[str, object]
) -> Verdict:
    data |= {"speedup": ratio.value, "low": ratio.low, "high": ratio.high}
    data |= {"full": settings.most, "minimum": settings.thresholds[0]}
    got = mark(settings, ratio.value, ratio.low, ratio.high)
    status, message = said(settings, got, figures, is_predicted="predicted_for" in data)
    hint = _speedup_hint(evidence) if status == "fail" else None
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


def predicted_figures(predicted: PredictedTime, ratio: Ratio) -> Message:
    """What was predicted of a kernel's speed over what it is measured by."""
    return msg(
        "checks.speedup.figures_predicted" if ratio.is_sure else "checks.speedup.figures_predicted_unsure",
        device=predicted.device,
        sizes=sizes_msg(predicted.size),
        speedup=ratio.value,
        low=ratio.low,
        high=ratio.high,
        variant=predicted.against,
    )


def _unmeasured(evidence: Evidence, settings: SpeedupSettings) -> Message:
    if settings.own and evidence.timing and all(t.over_baseline is None for t in evidence.timing):
        return msg("checks.speedup.own_untimed", variant=evidence.lab.variants[0].name)
    if any(t.launch_bound for t in evidence.timing):
        return msg("checks.speedup.launch_bound")
    return evidence.unmeasured.get("time", msg("checks.speedup.not_timed"))


def _speedup_hint(evidence: Evidence) -> Message | None:
    """Say what costs time, as far as the counters tell; None where nothing was counted."""
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
