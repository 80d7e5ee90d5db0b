"""Conclusions: sentences that say what the counted numbers mean, each with the numbers it stands on."""

from __future__ import annotations

from grader.i18n import _
from grader.report.job import ReportJob
from grader.report.numbers import Numbers
from grader.report.view import variant_columns
from grader.result import Counters, Variant


def conclusions(job: ReportJob) -> list[str]:
    """Sentences drawn from the result; nothing is said of what was not measured but that it was not."""
    numbers = Numbers(job.language)
    titles = {c["name"]: c["title"] for c in variant_columns(job)}
    variants = {name: job.result.variants.get(name, Variant()) for name in titles}
    counted = {name: v.counters for name, v in variants.items() if v.counters is not None}
    return [
        *_correctness(titles, variants, numbers),
        *_shared(titles, counted, numbers),
        *_global(titles, counted, numbers),
        *_times(titles, variants, numbers),
    ]


def _correctness(titles: dict[str, str], variants: dict[str, Variant], numbers: Numbers) -> list[str]:
    """Which variants are right, alike ones in one sentence, and how wrong the others are."""
    alike: dict[tuple[str, int, int], list[str]] = {}
    errors: list[float] = []
    for name, variant in variants.items():
        cases = [c for c in variant.cases if c.status != "error"]
        wrong = sum(c.status == "fail" for c in cases)
        if not cases:
            continue
        largest = max((c.max_abs_error for c in cases if c.max_abs_error is not None), default=0.0)
        kind = "wrong" if wrong else "close" if largest else "exact"
        if kind == "close":
            errors.append(largest)
        alike.setdefault((kind, wrong, len(cases)), []).append(titles[name])
    texts = {
        "exact": _("{names}: the result matches the expected one to the bit at all sizes tried ({all})."),
        "close": _("{names}: the result is right at all sizes tried ({all}); the largest error is {error}."),
        "wrong": _("{names}: the result is wrong at {wrong} of the {all} sizes tried."),
    }
    return [
        texts[kind].format(
            names=quoted(found), wrong=wrong, all=total, error=numbers.error(max(errors)) if errors else "0"
        )
        for (kind, wrong, total), found in alike.items()
    ]


def quoted(titles: list[str]) -> str:
    """The titles in the quotation marks of the language."""
    return ", ".join(_("“{title}”").format(title=title) for title in titles)


def _shared(titles: dict[str, str], counted: dict[str, Counters], numbers: Numbers) -> list[str]:
    """Bank conflicts of each variant that uses shared memory, and what the best gains over the worst."""
    users = {name: c for name, c in counted.items() if c.shared_requests}
    sentences = []
    for name, c in users.items():
        per_request = numbers.decimal(c.shared_wavefronts / c.shared_requests)
        efficiency = "" if c.shared_efficiency_pct is None else numbers.percent(c.shared_efficiency_pct)
        if c.shared_excess == 0:
            text = _(
                "“{title}”: no bank conflicts, each shared-memory request takes as few wavefronts as it can; "
                "efficiency {efficiency}."
            )
        else:
            text = _(
                "“{title}”: bank conflicts of up to {ways} ways; a shared-memory request takes {per_request} "
                "wavefronts on average, {excess} of {wavefronts} wavefronts are superfluous; efficiency {efficiency}."
            )
        sentences.append(
            text.format(
                title=titles[name],
                ways=c.worst_conflict_ways,
                per_request=per_request,
                excess=numbers.count(c.shared_excess),
                wavefronts=numbers.count(c.shared_wavefronts),
                efficiency=efficiency,
            )
        )
    if len(users) > 1:
        worst = max(users, key=lambda n: users[n].shared_wavefronts)
        best = min(users, key=lambda n: users[n].shared_wavefronts)
        if users[worst].shared_wavefronts > users[best].shared_wavefronts:
            ratio = users[worst].shared_wavefronts / users[best].shared_wavefronts
            sentences.append(
                _("In shared memory “{best}” does the work of “{worst}” with {ratio} times fewer wavefronts.").format(
                    best=titles[best], worst=titles[worst], ratio=numbers.decimal(ratio, 1)
                )
            )
    return sentences


def _global(titles: dict[str, str], counted: dict[str, Counters], numbers: Numbers) -> list[str]:
    """Which variants move more sectors of global memory than their data need."""
    load_text = _(
        "“{title}”: loads move {sectors} sectors per request where {ideal} would do, {ratio} times the traffic."
    )
    store_text = _(
        "“{title}”: stores move {sectors} sectors per request where {ideal} would do, {ratio} times the traffic."
    )
    sentences = []
    coalesced = []
    for name, c in counted.items():
        loads = (c.global_load_sectors_per_request, c.global_load_ideal_per_request)
        stores = (c.global_store_sectors_per_request, c.global_store_ideal_per_request)
        scattered = False
        for text, (sectors, ideal) in ((load_text, loads), (store_text, stores)):
            if sectors is None or not ideal or sectors <= ideal * 1.005:
                continue
            scattered = True
            sentences.append(
                text.format(
                    title=titles[name],
                    sectors=numbers.decimal(sectors),
                    ideal=numbers.decimal(ideal),
                    ratio=numbers.decimal(sectors / ideal, 1),
                )
            )
        if not scattered and (loads[0] is not None or stores[0] is not None):
            coalesced.append(titles[name])
    if coalesced:
        text = _("Global memory is read and written without a superfluous sector in: {names}.")
        sentences.append(text.format(names=quoted(coalesced)))
    return sentences


def _times(titles: dict[str, str], variants: dict[str, Variant], numbers: Numbers) -> list[str]:
    """The largest measured speed-up of each variant, or that there are no times."""
    sentences = []
    for name, variant in variants.items():
        timed = [t for t in variant.timing if t.speedup is not None and t.median_us is not None]
        if timed:
            best = max(timed, key=lambda t: t.speedup or 0.0)
            sentences.append(
                _("“{title}”: {time} at the size {size}, a speed-up of {speedup}.").format(
                    title=titles[name],
                    time=numbers.microseconds(best.median_us or 0.0),
                    size="\u00a0×\u00a0".join(str(v) for v in best.size.values()),
                    speedup=numbers.decimal(best.speedup or 0.0),
                )
            )
    if not sentences:
        sentences.append(
            _(
                "Times were not measured: the counters say how much memory traffic each variant causes, "
                "only a GPU says how long it takes."
            )
        )
    return sentences
