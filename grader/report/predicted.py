"""Predicted times in words, and as a table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.i18n import _
from grader.measured import FasterChange, PredictedTime
from grader.message import Message, msg
from grader.report.numbers import Numbers
from grader.report.summary_views import FasterView, PredictedTable
from grader.report.visible import visible
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
            *(f"{name}: {said}" for name, time in times.items() for said in causes(time, numbers)),
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


def _gain_msg(variant: str, made: FasterChange, numbers: Numbers) -> Message:
    """How many times as fast a variant is with a change."""
    ratio, digits = (made.measured_times, 2) if made.measured_times else (made.predicted_times, 1)
    told = {
        "variant": variant,
        "times": numbers.times(ratio.value, digits),
        "device": made.device,
        "low": numbers.decimal(ratio.low, digits),
        "high": numbers.decimal(ratio.high, digits),
    }
    if made.measured_times is None:
        return msg("repairs.faster.gain" if ratio.is_sure else "repairs.faster.unsure", **told)
    predicted = numbers.decimal(made.predicted_times.value, 1)
    return msg("repairs.faster.measured", gpu=made.measured_on, predicted=predicted, **told)


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
