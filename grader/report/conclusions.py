"""Conclusions: sentences that say what counted numbers and sweeps mean, each with the numbers it stands on."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod

from grader.i18n import _
from grader.lab.parts import RATES
from grader.measured import Counters, SweepPoint, SweepRecord, Timing
from grader.report import charts
from grader.report.job import ReportJob, size_text, variant_columns
from grader.report.text import Numbers, ratio_digits
from grader.report.views import SweepNotes
from grader.result import Variant

NEGLIGIBLE = 1.005
"""Sectors over the least possible number that are still called the least possible."""


def conclusions(job: ReportJob) -> list[str]:
    """Sentences drawn from the result; of what was not measured they say only that it was not."""
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
    """Return which variants are right, grouped into sentences, and how wrong the others are."""
    alike: dict[tuple[str, int, int], list[str]] = {}
    errors: dict[str, float] = {}
    for name, variant in variants.items():
        cases = [c for c in variant.cases if c.status != "error"]
        if not cases:
            continue
        # One size may be run on several data.
        sizes = {tuple(c.size.items()) for c in cases}
        wrong = len({tuple(c.size.items()) for c in cases if c.status == "fail"})
        largest = max((c.max_abs_error for c in cases if c.max_abs_error is not None), default=0.0)
        kind = "wrong" if wrong else "close" if largest else "exact"
        errors[name] = largest
        alike.setdefault((kind, wrong, len(sizes)), []).append(name)
    texts = {
        "exact": _("{names}: the result is bit-exact at all tested sizes ({all})."),
        "close": _("{names}: the result is right at all tested sizes ({all}); the largest error is {error}."),
        "wrong": _("{names}: the result is wrong at {wrong} of the {all} tested sizes."),
    }
    return [
        texts[kind].format(
            names=", ".join(names), wrong=wrong, all=total, error=numbers.error(max(errors[name] for name in names))
        )
        for (kind, wrong, total), names in alike.items()
    ]


def _passed_over(wrong: list[str]) -> list[str]:
    """Say that counters of wrong kernels are not compared: leaving work undone is no gain."""
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
    """Return which variants move more sectors of global memory than their data need."""
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
    """Return how long each variant takes at the largest size timed, or that there are no times."""
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


# What sweeps show, in sentences drawn from their points: which value is best, and from where on a technique pays.

WHO = "\ue000"
"""Stands for names in a sentence until it is known for how many kernels the rest of it holds."""

FLAT = 1.05
"""Values whose greatest is not more than this many times the least are called the same."""


def sweep_conclusions(job: ReportJob) -> list[str]:
    """Sentences on every sweep of the result, drawn from its first metric."""
    sentences: list[str] = []
    for sweep in job.result.sweeps:
        teller = _Teller(job, sweep)
        if sweep.lines == "host_memory":
            sentences += teller.kinds_of_memory()
        else:
            sentences += teller.comparisons() if teller.is_over_sizes else teller.best_values()
            sentences += teller.conflicts()
    return sentences


def sweep_notes(job: ReportJob, sweep: SweepRecord) -> SweepNotes:
    """What stands beside the graphs of a sweep: its title, and why points and lines are missing."""
    sizes, there = _same_everywhere(job, sweep), _same_everywhere(job, charts.in_predicted_time(sweep))
    notes = [_("Made at {sizes}.").format(sizes=sizes)] if sizes else []
    reasons = charts.gap_notes(job, sweep)
    if sweep.backend == "emulator" and sweep.predicted:
        notes += [_("Times are predicted at {sizes}.").format(sizes=there)] if there else []
        reasons += charts.gap_notes(job, charts.in_predicted_time(sweep))
    notes += list(
        dict.fromkeys(
            _("× {places}: {reason}.").format(places="; ".join(places), reason=reason) for reason, places in reasons
        )
    )
    names: dict[str, list[str]] = {}
    for name, reason in sweep.left_out.items():
        names.setdefault(reason, []).append(name)
    notes += [
        _("Skipped: {names} ({reason}).").format(names=", ".join(skipped), reason=reason)
        for reason, skipped in names.items()
    ]
    return {"title": charts.text_of(job, sweep).title, "notes": notes}


def _same_everywhere(job: ReportJob, sweep: SweepRecord) -> str:
    """Return the sizes common to all points of a sweep, "n = 8, count = 512", or ""."""
    points = [point.size for point in sweep.points if point.size]
    names = points[0] if points else {}
    fixed = {name: size for name, size in names.items() if all(size == other.get(name) for other in points)}
    return size_text(fixed, job.extents) if fixed else ""


def sweeps_intro(job: ReportJob) -> str:
    """What the graphs of all sweeps show."""
    sweeps = job.result.sweeps
    text = (
        _("Measured on the GPU; the bars are 99 % confidence intervals.")
        if any(sweep.backend == "gpu" for sweep in sweeps)
        else _(
            "Counted on the emulator: the amount of work, not the time. "
            "On a machine with a GPU the same graphs show times."
        )
    )
    text += _about_predicted(job)
    if any(point.of == "reference" for sweep in sweeps for point in sweep.points):
        text += " " + _("Dashed lines with hollow markers are the lab's reference kernels.")
    return text


def _about_predicted(job: ReportJob) -> str:
    """Return what predicted lines are and how far off they may be, "" where there are none."""
    swept = next((sweep for sweep in job.result.sweeps if any(p.values for p in sweep.predicted)), None)
    if swept is None:
        return ""
    times = [
        estimate for p in swept.predicted for name, estimate in p.values.items() if name == f"{charts.PREDICTED}time"
    ]
    # Times have three digits: what is behind the first is theirs, not the interval's.
    most = max((estimate.high or estimate.value) / estimate.value for estimate in times)
    factor = Numbers(job.language).decimal(ceil(10 * most - 0.1) / 10, 1)
    sentence = (
        _("Dotted lines without markers are predicted for {device}; each value may be off by a factor of {factor}.")
        if swept.backend == "gpu"
        else _(
            "Times are predicted for {device}, at the values at which a GPU would be timed; "
            "each may be off by a factor of {factor}."
        )
    )
    return " " + sentence.format(device=swept.predicted_device, factor=factor)


class _Teller:
    """Describes one sweep of the student's kernels."""

    def __init__(self, job: ReportJob, sweep: SweepRecord) -> None:
        self._sweep = sweep
        self._text = charts.text_of(job, sweep)
        self._numbers = Numbers(job.language)
        self._metric = sweep.metrics[0] if sweep.metrics else ""
        self._names = [c["name"] for c in variant_columns(job)]
        self._x = sweep.x.upper() if len(sweep.x) == 1 else sweep.x
        self._title = self._text.title
        sizes = {(p.x, tuple(p.size.items())) for p in sweep.points if p.line == sweep.points[0].line}
        self.is_over_sizes = len({size for _x, size in sizes}) > 1

    def best_values(self) -> list[str]:
        """For each variant on its last line: the best value, and how much the worst costs; then the best of all."""
        alike: dict[str, list[str]] = {}
        flat: list[str] = []
        for name in self._names:
            for line, values in self._last_line(name).items():
                low, high = min(values.values()), max(values.values())
                who = ", ".join(part for part in (name, line) if part)
                if len(values) > 1 and low > 0:
                    if high <= FLAT * low:
                        flat.append(who)
                    else:
                        alike.setdefault(self._of_best(values), []).append(who)
        sentences = [text.replace(WHO, "; ".join(names)) for text, names in alike.items()]
        if flat:
            text = _("{title}: {names}: hardly any dependence on {x} ({quantity}).")
            sentences.append(
                text.format(title=self._title, names="; ".join(flat), quantity=charts.quantity(self._metric), x=self._x)
            )
        return sentences + self._of_all(
            {name: self._at_best(values) for name in self._names for values in self._last_line(name).values()}
        )

    def conflicts(self) -> list[str]:
        """For each variant that uses shared memory: at which values it has bank conflicts, and at which none."""
        alike: dict[str, list[str]] = {}
        for name in self._names:
            lines: dict[str, dict[int, int]] = {}
            for point in self._sweep.points:
                if (point.variant, point.of) == (name, "submission") and point.conflict_ways:
                    lines.setdefault(self._line(point), {})[point.x] = point.conflict_ways
            for line, ways in lines.items():
                who = ", ".join(part for part in (name, line) if part)
                alike.setdefault(self._of_conflicts(ways), []).append(who)
        return [text.replace(WHO, "; ".join(names)) for text, names in alike.items()]

    def _of_conflicts(self, ways: Mapping[int, int]) -> str:
        """Yield the sentence with `WHO` for each kernel it holds for."""
        with_them = [x for x, count in sorted(ways.items()) if count > 1]
        without = [x for x, count in sorted(ways.items()) if count == 1]
        worst = max(ways, key=lambda x: ways[x])
        if not with_them:
            text = _("{title}: {who}: no bank conflicts at any tested {x}.")
        elif not without:
            text = _("{title}: {who}: bank conflicts at every tested {x}, up to {ways}-way at {x} = {worst}.")
        else:
            text = _(
                "{title}: {who}: bank conflicts at {x} = {values}, up to {ways}-way at {x} = {worst}; none at {x} = "
                "{others}."
            )
        return text.format(
            title=self._title,
            who=WHO,
            x=self._x,
            values=", ".join(map(str, with_them)),
            others=", ".join(map(str, without)),
            ways=ways[worst],
            worst=worst,
        )

    def kinds_of_memory(self) -> list[str]:
        """For each variant: the best and the worst kind of host memory, each at its best."""
        sentences = []
        for name in self._names:
            modes = {line: self._at_best(values) for line, values in self._values(name).items()}
            sentences += self._of_all(modes, f"{self._title}, {name}")
        return sentences

    def comparisons(self) -> list[str]:
        """From which value on each variant is better than the first."""
        if not self._names:
            return []
        base = self._values(self._names[0])
        alike: dict[str, list[str]] = {}
        for name in self._names[1:]:
            for line, values in self._values(name).items():
                other = base.get(line, {})
                ratios = {x: self._gain(other[x], values[x]) for x in sorted(values) if other.get(x) and values[x]}
                if ratios:
                    alike.setdefault(self._of_gain(line, ratios), []).append(name)
        return [text.replace(WHO, ", ".join(names)) for text, names in alike.items()]

    def _of_best(self, values: Mapping[int, float]) -> str:
        """Yield the sentence with `WHO` for each kernel it holds for."""
        best, worst = self._best(values), self._worst(values)
        if self._metric in charts.MEASURED:
            text = _("{title}: {who}: best at {x} = {best}, {amount}; {x} = {worst} is {times} slower.")
        else:
            text = _("{title}: {who}: least at {x} = {best}, {amount}; {x} = {worst} takes {times} as many.")
        return text.format(
            title=self._title,
            who=WHO,
            x=self._x,
            best=best,
            worst=worst,
            amount=self._amount(values[best]),
            times=self._numbers.times(max(values.values()) / min(values.values())),
        )

    def _of_all(self, bests: Mapping[str, float], title: str = "") -> list[str]:
        """Return what the best gains over the worst, each at its best point; nothing if equal."""
        if len(bests) < 2 or min(bests.values()) <= 0:
            return []
        low, high = min(bests, key=lambda n: bests[n]), max(bests, key=lambda n: bests[n])
        best, worst = (high, low) if self._metric in RATES else (low, high)
        ratio = bests[high] / bests[low]
        if ratio <= FLAT:
            return []
        if self._metric in charts.MEASURED:
            text = _(
                "{title}: each at its best, {best} is {times} faster than {worst} ({quantity}: {low} against {high})."
            )
        else:
            text = _(
                "{title}: each at its best, {best} needs {times} fewer than {worst} ({quantity}: {low} against {high})."
            )
        return [
            text.format(
                title=title or self._title,
                best=best,
                worst=worst,
                times=self._numbers.times(ratio),
                quantity=charts.quantity(self._metric),
                low=charts.amount(self._metric, bests[best], self._numbers),
                high=charts.amount(self._metric, bests[worst], self._numbers),
            )
        ]

    def _of_gain(self, line: str, ratios: Mapping[int, float]) -> str:
        """Yield the sentence with `WHO` for each kernel it holds for."""
        xs = list(ratios)
        better = [x for x in xs if ratios[x] > FLAT]
        # The first value from which on it is better everywhere.
        from_here = next((x for i, x in enumerate(xs) if all(later in better for later in xs[i:])), None)
        steady = max(ratios.values()) <= FLAT * min(ratios.values())
        if self._metric not in charts.MEASURED:
            text = self._of_fewer(bool(better), steady, from_here, xs[0])
        elif not better:
            text = _("{title}: {name}: not faster than {first} at any tested {x} ({quantity}).")
        elif from_here is None:
            text = _("{title}: {name}: faster than {first} at {x} = {values} only, by up to {most} ({quantity}).")
        elif from_here != xs[0]:
            text = _("{title}: {name}: faster than {first} from {x} = {start} on, by up to {most} ({quantity}).")
        else:
            text = _("{title}: {name}: faster than {first} at every tested {x}, by up to {most} ({quantity}).")
        return text.format(
            title=self._title,
            name=WHO,
            first=", ".join(part for part in (self._names[0], line) if part),
            x=self._x,
            values=", ".join(map(str, better)),
            start=from_here,
            quantity=charts.quantity(self._metric),
            most=self._numbers.times(max(ratios.values())),
        )

    def _of_fewer(self, any_better: bool, steady: bool, from_here: int | None, first_x: int) -> str:
        """Yield the same for counted work, which is neither better nor worse but more or less."""
        if not any_better:
            return _("{title}: {name}: no fewer {quantity} than {first} at any tested {x}.")
        if from_here is None:
            return _("{title}: {name}: up to {most} fewer {quantity} than {first}, but only at {x} = {values}.")
        if from_here != first_x:
            return _("{title}: {name}: up to {most} fewer {quantity} than {first}, fewer from {x} = {start} on.")
        if steady:
            return _("{title}: {name}: {most} fewer {quantity} than {first} at every tested {x}.")
        return _("{title}: {name}: up to {most} fewer {quantity} than {first}, fewer at every tested {x}.")

    def _amount(self, value: float) -> str:
        text = charts.amount(self._metric, value, self._numbers)
        return text if self._metric in charts.MEASURED else f"{text} {charts.quantity(self._metric)}"

    def _values(self, name: str) -> dict[str, dict[int, float]]:
        """Return values by x of the student's kernel on one line."""
        by_line: dict[str, dict[int, float]] = {}
        for point in charts.points_of(self._sweep, name, self._metric):
            by_line.setdefault(self._line(point), {})[point.x] = point.values[self._metric].value
        return by_line

    def _last_line(self, name: str) -> dict[str, dict[int, float]]:
        """Return the last line, which is that of the largest value."""
        return dict(list(self._values(name).items())[-1:])

    def _at_best(self, values: Mapping[int, float]) -> float:
        return values[self._best(values)]

    def _line(self, point: SweepPoint) -> str:
        return charts.line_name(self._sweep, self._text, point.line)

    def _best(self, values: Mapping[int, float]) -> int:
        return (max if self._metric in RATES else min)(values, key=lambda x: values[x])

    def _worst(self, values: Mapping[int, float]) -> int:
        return (min if self._metric in RATES else max)(values, key=lambda x: values[x])

    def _gain(self, base: float, value: float) -> float:
        """Return how many times better than the first variant."""
        return value / base if self._metric in RATES else base / value
