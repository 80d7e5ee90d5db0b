"""Predicted times of a report: how long, what it goes to, what of that need not be, and what each line costs."""

from __future__ import annotations

from collections.abc import Iterator

from grader.i18n import _
from grader.measured import PredictedTime
from grader.message import msg
from grader.report.job import ReportJob
from grader.report.listing import lines_of
from grader.report.numbers import NO_BREAK_SPACE, Numbers
from grader.report.predicted import about_devices, beside, causes, interval, measured_us, of_variants
from grader.report.summary import size_text, variant_columns, where
from grader.report.summary_views import VariantView
from grader.report.views import LineCost, PredictedRow, PredictedTimes
from grader.result import Variant
from grader.words import text

COLOURS = {
    "dram": "#3a5a8c",
    "l2": "#6f8fbd",
    "l1": "#a9bcd8",
    "shared": "#d08a2e",
    "issue": "#2f8068",
    "arithmetic": "#86b79f",
    "atomics": "#a8443a",
    "barriers": "#8a4a78",
    "latency": "#7b8794",
    "block_starts": "#b6a36a",
    "tail": "#c9a6be",
    "launch": "#c4ccd4",
}
"""Of what time goes to, in the order in which a bar shows it: memory from far to near, then the rest."""
LEAST_RATIO = 0.01
"""Of speeds: below it a kernel is as slow as that at least."""
LEAST_PCT = 1.0
"""Of the time, to be a part of a bar."""
MOST_LINES = 5
LEAST_LINE_PCT = 3.0


def predicted_times(job: ReportJob) -> PredictedTimes | None:
    """What was predicted for each variant; None where nothing was asked for."""
    numbers = Numbers(job.language)
    columns = variant_columns(job)
    baseline = columns[0]["name"] if columns else ""
    times = of_variants(job.result.variants)
    if not times:
        return None
    rows = [
        _row(job, column, job.result.variants[column["name"]], baseline, numbers)
        for column in columns
        if column["name"] in times
    ]
    size = next((time.size for time in times.values() if isinstance(time, PredictedTime)), {})
    gpu, _times = beside(job.result)
    caption, unchecked = about_devices(times, size_text(size, job.extents), gpu)
    notes = []
    if caption:
        notes.append(
            _(
                "The time follows from what some of the kernel's blocks do on the emulator and from figures of the "
                "device, with empty caches; 85 of 100 launches lie within the interval on devices where that was "
                "compared with measured times."
            )
        )
    if unchecked:
        notes.append(unchecked)
    return {"caption": caption, "rows": rows, "notes": notes}


def _row(job: ReportJob, column: VariantView, variant: Variant, baseline: str, numbers: Numbers) -> PredictedRow:
    prediction = variant.predicted
    if prediction is None:
        return {**column, "why": variant.unpredicted, "time": "", "facts": [], "shares": [], "notes": [], "lines": []}
    facts = [_("interval {interval}").format(interval=interval(prediction, numbers))]
    measured = measured_us(variant)
    if measured is not None:
        facts.append(_("measured: {time}").format(time=numbers.about(measured)))
    reference = _("the reference kernel {variant}").format(variant=prediction.against)
    for ratio, what in ((prediction.predicted_over_baseline, baseline), (prediction.predicted_speedup, reference)):
        if ratio is not None:
            low, high = (numbers.decimal(bound, 1) for bound in (ratio.low, ratio.high))
            if ratio.is_sure and ratio.value < 1:
                low, high = (numbers.decimal(1 / max(bound, LEAST_RATIO), 1) for bound in (ratio.high, ratio.low))
                times = numbers.times(1 / max(ratio.value, LEAST_RATIO))
                said = msg("predict.slower", times=times, what=what, low=low, high=high)
            elif ratio.is_sure:
                said = msg("predict.ratio", times=numbers.times(ratio.value), what=what, low=low, high=high)
            else:
                value = numbers.decimal(ratio.value, 1)
                said = msg("predict.ratio_unsure", ratio=value, what=what, low=low, high=high)
            facts.append(text(said))
    return {
        **column,
        "why": "",
        "time": numbers.about(prediction.predicted_us),
        "facts": facts,
        "shares": [
            {
                "unit": text(msg(f"predict.units.{unit}")),
                "percent": numbers.percent(round(100 * prediction.shares[unit])),
                "width": round(100 * prediction.shares[unit], 2),
                "colour": colour,
            }
            for unit, colour in COLOURS.items()
            if 100 * prediction.shares.get(unit, 0.0) >= LEAST_PCT
        ],
        "notes": [text(msg(f"predict.limits.{prediction.limiter}")), *causes(prediction, numbers)],
        "lines": list(_lines(job, variant, prediction, numbers)),
    }


def _lines(job: ReportJob, variant: Variant, made: PredictedTime, numbers: Numbers) -> Iterator[LineCost]:
    source = next((s for s in job.result.sources if s.file == variant.file), None)
    lines = lines_of(source.text) if source is not None else []
    for cost in made.by_line[:MOST_LINES]:
        if 100 * cost.share < LEAST_LINE_PCT:
            return
        most = sorted(cost.shares.items(), key=lambda item: -item[1])[:2]
        yield {
            "where": where(job.result, variant.file, cost.line),
            "code": lines[cost.line - 1].strip() if 0 < cost.line <= len(lines) else "",
            "percent": numbers.percent(round(100 * cost.share)),
            "width": round(100 * cost.share, 2),
            "units": ", ".join(
                f"{text(msg(f'predict.units.{unit}'))}{NO_BREAK_SPACE}{numbers.percent(round(100 * share))}"
                for unit, share in most
                if round(100 * share)
            ),
        }
