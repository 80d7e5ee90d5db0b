"""Predicted times: in words, as a table for a terminal, and as a page shows them, with what each line costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from grader.i18n import _
from grader.measured import FasterChange, PredictedTime
from grader.message import Message, msg
from grader.report.job import ReportJob, size_text, variant_columns, where
from grader.report.text import NO_BREAK_SPACE, Numbers, lines_of, visible
from grader.report.views import FasterView, LineCost, PredictedRow, PredictedTable, PredictedTimes, VariantView
from grader.result import Result, Variant
from grader.words import text

NOTHING = "—"


def of_variants(variants: Mapping[str, Variant]) -> dict[str, PredictedTime | str]:
    """Times, or why there are none, of the variants for which they were asked."""
    return {
        name: variant.predicted or variant.unpredicted
        for name, variant in variants.items()
        if variant.predicted is not None or variant.unpredicted
    }


def in_figures(result: Result) -> dict[str, dict[str, float | str]]:
    """Predicted times by variant, for programs to read."""
    return {
        name: {
            "device": predicted.device,
            "predicted_us": predicted.predicted_us,
            "predicted_low_us": predicted.predicted_low_us,
            "predicted_high_us": predicted.predicted_high_us,
        }
        for name, variant in result.variants.items()
        if (predicted := variant.predicted) is not None
    }


def in_words(result: Result, numbers: Numbers) -> dict[str, str]:
    """The same for people, a time with its interval and the device."""
    return {
        name: f"{numbers.about(predicted.predicted_us)} ({interval(predicted, numbers)}; {predicted.device})"
        for name, variant in result.variants.items()
        if (predicted := variant.predicted) is not None
    }


def measured_us(variant: Variant) -> float | None:
    """What a GPU took at the sizes whose time is predicted; None where it was not timed there."""
    if variant.predicted is None:
        return None
    return next((timing.median_us for timing in variant.timing if timing.size == variant.predicted.size), None)


def beside(result: Result) -> tuple[str, dict[str, float]]:
    """The GPU that took times at the sizes that are predicted, and those by variant (µs); ("", {}): there are none."""
    times = {name: us for name, variant in result.variants.items() if (us := measured_us(variant)) is not None}
    return (result.environment.device or "", times) if times else ("", {})


def about_devices(times: Mapping[str, PredictedTime | str], sizes: str, measured_on: str = "") -> tuple[str, str]:
    """(for which device and sizes, that it was never compared): sentences, "" where they are not true.

    measured_on: the GPU whose times stand beside, "" where there are none.
    """
    one = next((time for time in times.values() if isinstance(time, PredictedTime)), None)
    if one is None:
        return "", ""
    unchecked = "" if one.is_checked else text(msg("predict.unmeasured", device=one.device))
    if measured_on:
        return text(msg("predict.for_beside", device=one.device, sizes=sizes, gpu=measured_on)), unchecked
    return text(msg("predict.for", device=one.device, sizes=sizes)), unchecked


def predicted_table(
    times: Mapping[str, PredictedTime | str],
    sizes: str,
    numbers: Numbers,
    changes: Sequence[FasterView] = (),
    measured: tuple[str, Mapping[str, float]] = ("", {}),
    has_measured_gains: bool = False,
) -> PredictedTable:
    """The table of times by variant, a reason standing for one that there is not.

    sizes: of the launch, in words.  measured: a GPU, and the times (µs) that it took at the same sizes.
    has_measured_gains: every one of `changes` was timed on a GPU.
    """
    gpu, took_us = measured
    caption, unchecked = about_devices(times, sizes, gpu)
    titles = [_("Variant"), _("Predicted time"), _("Interval"), _("Largest part of it")]
    rows = [_row(name, time, numbers) for name, time in times.items()]
    if took_us:
        titles.insert(3, _("Measured"))
        for row in rows:
            row.insert(3, numbers.about(took_us[row[0]]) if row[0] in took_us else NOTHING)
    return {
        "caption": caption,
        "titles": titles,
        "rows": rows,
        "notes": [
            *(f"{name}: {cause}" for name, time in times.items() for cause in causes(time, numbers)),
            *filter(None, [unchecked]),
        ],
        "changes": list(changes),
        "changes_note": text(
            msg("repairs.faster.verified_measured" if has_measured_gains else "repairs.faster.verified")
        ),
    }


def faster_views(
    changes: Mapping[str, tuple[str, FasterChange]], shown: Sequence[list[str]], numbers: Numbers
) -> list[FasterView]:
    """Changes that may make kernels faster, each once.

    changes: with where they are, by variant.  shown: diffs that a fault shows already.
    """
    views: dict[tuple[str, ...], FasterView] = {}
    for name, (place, change) in changes.items():
        key = (place, change.kind, *change.diff)
        diff = [] if change.diff in shown else [visible(row) for row in change.diff]
        what = text(msg(f"repairs.faster.{change.kind}", where=place))
        view = views.setdefault(key, {"what": what, "said": [], "diff": diff})
        view["said"].append(" ".join(filter(None, (text(_gain_msg(name, change, numbers)), change.effect))))
    return list(views.values())


def _gain_msg(variant: str, change: FasterChange, numbers: Numbers) -> Message:
    ratio, digits = (change.measured_times, 2) if change.measured_times else (change.predicted_times, 1)
    data = {
        "variant": variant,
        "times": numbers.times(ratio.value, digits),
        "device": change.device,
        "low": numbers.decimal(ratio.low, digits),
        "high": numbers.decimal(ratio.high, digits),
    }
    if change.measured_times is None:
        return msg("repairs.faster.gain" if ratio.is_sure else "repairs.faster.unsure", **data)
    predicted = numbers.decimal(change.predicted_times.value, 1)
    return msg("repairs.faster.measured", gpu=change.measured_on, predicted=predicted, **data)


def causes(time: PredictedTime | str, numbers: Numbers) -> list[str]:
    """What costs time and need not be there, a sentence each, the most expensive first."""
    if isinstance(time, str):
        return []
    sentences = []
    for cause, less_us in sorted(time.predicted_without_us.items(), key=lambda item: item[1]):
        share = numbers.percent(round(100 * (1 - less_us / time.predicted_us)))
        times = numbers.times(time.predicted_us / less_us)
        sentences.append(text(msg(f"predict.causes.{cause}", share=share, times=times)))
    return sentences


def interval(time: PredictedTime, numbers: Numbers) -> str:
    """From where to where, in words."""
    return f"{numbers.about(time.predicted_low_us)} – {numbers.about(time.predicted_high_us)}"


def _row(name: str, time: PredictedTime | str, numbers: Numbers) -> list[str]:
    if isinstance(time, str):
        return [name, NOTHING, NOTHING, time]
    share = numbers.percent(round(100 * time.shares[time.limiter]))
    limiter = text(msg(f"predict.units.{time.limiter}"))
    return [name, numbers.about(time.predicted_us), interval(time, numbers), f"{limiter} ({share})"]


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
"""What time goes to, in the order in which a bar shows it: memory from far to near, then the rest."""
LEAST_RATIO = 0.01
"""Ratios of speeds below this one are shown as this one."""
LEAST_PCT = 1.0
"""Share of the time from which a part of a bar is drawn."""
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
        _page_row(job, column, job.result.variants[column["name"]], baseline, numbers)
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
                "The time is that of launches, and of what is filled and copied on the device: copies to and from the "
                "host are not part of it. It follows from what some blocks of a kernel do on the emulator and from "
                "figures of the device, with empty caches; 80 of 100 launches lie within the interval on devices "
                "where that was compared with measured times."
            )
        )
    if unchecked:
        notes.append(unchecked)
    return {"caption": caption, "rows": rows, "notes": notes}


def _page_row(job: ReportJob, column: VariantView, variant: Variant, baseline: str, numbers: Numbers) -> PredictedRow:
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
                message = msg("predict.slower", times=times, what=what, low=low, high=high)
            elif ratio.is_sure:
                message = msg("predict.ratio", times=numbers.times(ratio.value), what=what, low=low, high=high)
            else:
                value = numbers.decimal(ratio.value, 1)
                message = msg("predict.ratio_unsure", ratio=value, what=what, low=low, high=high)
            facts.append(text(message))
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


def _lines(job: ReportJob, variant: Variant, prediction: PredictedTime, numbers: Numbers) -> Iterator[LineCost]:
    source = next((s for s in job.result.sources if s.file == variant.file), None)
    lines = lines_of(source.text) if source is not None else []
    for cost in prediction.by_line[:MOST_LINES]:
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
