"""Conclusions: sentences that say what the counted numbers mean, each with the numbers it stands on."""

from __future__ import annotations

from math import prod

from grader.i18n import _
from grader.report.job import ReportJob
from grader.report.numbers import Numbers, ratio_digits
from grader.report.summary import size_text, variant_columns
from grader.result import Counters, Timing, Variant

NEGLIGIBLE = 1.005
"""Sectors over the least possible number that are still called the least possible."""


def conclusions(job: ReportJob) -> list[str]:
    """Sentences drawn from the result; of what was not measured nothing is said but that it was not."""
    numbers = Numbers(job.language)
    variants = {c["name"]: job.result.variants.get(c["name"], Variant()) for c in variant_columns(job)}
    wrong = {name for name, v in variants.items() if any(c.status == "fail" for c in v.cases)}
    counted = {name: v.counters for name, v in variants.items() if v.counters is not None and name not in wrong}
    return [
        *_correctness(variants, numbers),
        *_passed_over([name for name, v in variants.items() if v.counters is not None and name in wrong]),
        *_shared(counted, numbers, job.extents),
        *_global(counted, numbers),
        *_times(variants, numbers, job.extents),
    ]


def _correctness(variants: dict[str, Variant], numbers: Numbers) -> list[str]:
    """Which variants are right, alike ones in one sentence, and how wrong the others are."""
    alike: dict[tuple[str, int, int], list[str]] = {}
    errors = [0.0]
    for name, variant in variants.items():
        cases = [c for c in variant.cases if c.status != "error"]
        if not cases:
            continue
        wrong = sum(c.status == "fail" for c in cases)
        largest = max((c.max_abs_error for c in cases if c.max_abs_error is not None), default=0.0)
        kind = "wrong" if wrong else "close" if largest else "exact"
        if kind == "close":
            errors.append(largest)
        alike.setdefault((kind, wrong, len(cases)), []).append(name)
    texts = {
        "exact": _("{names}: the result is bit-exact at all tested sizes ({all})."),
        "close": _("{names}: the result is right at all tested sizes ({all}); the largest error is {error}."),
        "wrong": _("{names}: the result is wrong at {wrong} of the {all} tested sizes."),
    }
    return [
        texts[kind].format(names=", ".join(names), wrong=wrong, all=total, error=numbers.error(max(errors)))
        for (kind, wrong, total), names in alike.items()
    ]


def _passed_over(wrong: list[str]) -> list[str]:
    """That counters of wrong kernels are not compared: what a kernel that leaves work undone saves is no gain."""
    if not wrong:
        return []
    text = _("{names}: the memory traffic says nothing, since the result is wrong.")
    return [text.format(names=", ".join(wrong))]


def _shared(counted: dict[str, Counters], numbers: Numbers, extents: tuple[str, ...]) -> list[str]:
    """Bank conflicts of each variant that uses shared memory, and what the best gains over the worst.

    What holds at the size that was counted need not hold at others: those that a sweep runs are told of there.
    """
    users = {name: c for name, c in counted.items() if c.shared_requests}
    sentences = []
    clean: dict[tuple[str, str], list[str]] = {}
    for name, c in users.items():
        efficiency = "–" if c.shared_efficiency_pct is None else numbers.percent(c.shared_efficiency_pct)
        if c.shared_excess == 0:
            clean.setdefault((efficiency, size_text(c.size, extents)), []).append(name)
            continue
        sentences.append(
            _(
                "{name}: up to {ways}-way bank conflicts at {size}; a shared-memory request takes {per_request} "
                "wavefronts on average, {excess} of {wavefronts} wavefronts are unnecessary; efficiency "
                "{efficiency}."
            ).format(
                name=name,
                size=size_text(c.size, extents),
                ways=c.worst_conflict_ways,
                per_request=numbers.decimal(c.shared_wavefronts / c.shared_requests),
                excess=numbers.count(c.shared_excess),
                wavefronts=numbers.count(c.shared_wavefronts),
                efficiency=efficiency,
            )
        )
    text = _(
        "{name}: no bank conflicts at {size}, every shared-memory request takes the fewest wavefronts possible; "
        "efficiency {efficiency}."
    )
    sentences += [
        text.format(name=", ".join(names), efficiency=shown, size=size) for (shown, size), names in clean.items()
    ]
    if users:
        worst, best = (choose(users, key=lambda n: users[n].shared_wavefronts) for choose in (max, min))
        if users[worst].shared_wavefronts > users[best].shared_wavefronts > 0:
            text = _("In shared memory {worst} takes {times} as many wavefronts as {best}.")
            ratio = users[worst].shared_wavefronts / users[best].shared_wavefronts
            sentences.append(text.format(best=best, worst=worst, times=numbers.times(ratio)))
    return sentences


def _global(counted: dict[str, Counters], numbers: Numbers) -> list[str]:
    """Which variants move more sectors of global memory than their data need."""
    load_text = _("{name}: a load request takes {sectors} in place of {ideal}: {times} the necessary traffic.")
    store_text = _("{name}: a store request takes {sectors} in place of {ideal}: {times} the necessary traffic.")
    both_text = _("{name}: load and store requests take {sectors} in place of {ideal}: {times} the necessary traffic.")
    sentences = []
    coalesced = []
    for name, c in counted.items():
        accesses = (
            (load_text, c.global_load_sectors_per_request, c.global_load_ideal_per_request),
            (store_text, c.global_store_sectors_per_request, c.global_store_ideal_per_request),
        )
        measured = [(text, sectors, ideal) for text, sectors, ideal in accesses if sectors is not None and ideal]
        scattered = [(t, sectors, ideal) for t, sectors, ideal in measured if sectors > ideal * NEGLIGIBLE]
        if len({(sectors, ideal) for _text, sectors, ideal in scattered}) < len(scattered):
            scattered = [(both_text, *scattered[0][1:])]
        for text, sectors, ideal in scattered:
            times = numbers.times(sectors / ideal)
            sentences.append(
                text.format(name=name, sectors=numbers.sectors(sectors), ideal=numbers.decimal(ideal), times=times)
            )
        if measured and not scattered:
            coalesced.append(name)
    if coalesced:
        text = _("{names}: global memory is read and written without an unnecessary sector.")
        sentences.append(text.format(names=", ".join(coalesced)))
    return sentences


def _times(variants: dict[str, Variant], numbers: Numbers, extents: tuple[str, ...]) -> list[str]:
    """How long each variant takes at the largest size it was timed at, or that there are no times."""
    sentences = []
    baseline = next(iter(variants), "")
    for name, variant in variants.items():
        timed = [t for t in variant.timing if t.median_us is not None]
        # A launch that takes no longer than an empty one says nothing of the kernel.
        timed = [t for t in timed if not t.launch_bound] or timed
        if timed:
            largest = max(timed, key=lambda t: prod(t.size.values()))
            sentences.append(_time(name, largest, baseline, numbers, extents))
    if not sentences:
        sentences.append(
            _(
                "Times were not measured: the counters say how much memory traffic each variant causes; only a "
                "GPU can say how long it takes."
            )
        )
    return sentences


def _time(name: str, timing: Timing, baseline: str, numbers: Numbers, extents: tuple[str, ...]) -> str:
    """One time with what it is compared with."""
    assert timing.median_us is not None
    text = _("{name}: {time} at {size}").format(
        name=name, time=numbers.microseconds(timing.median_us), size=size_text(timing.size, extents)
    )
    if timing.gb_per_s is not None:
        text += ", " + _("{rate} GB/s").format(rate=numbers.decimal(timing.gb_per_s, 0))
    elif timing.gflop_per_s is not None:
        text += ", " + _("{rate} GFLOP/s").format(rate=numbers.decimal(timing.gflop_per_s, 0))
    if timing.over_baseline is not None:
        ratio = numbers.fixed(timing.over_baseline.value, ratio_digits(timing.over_baseline.value))
        text += "; " + _("{ratio} times the speed of {baseline}").format(ratio=ratio, baseline=baseline)
    if timing.over_reference is not None:
        ratio = numbers.fixed(timing.over_reference.value, ratio_digits(timing.over_reference.value))
        text += "; " + _("{ratio} times the speed of the lab's reference kernel").format(ratio=ratio)
    return text + "."
