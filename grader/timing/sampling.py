"""Rounds of several kernels side by side, until every question asked of them is answered or the plan ends.

The plan says how many rounds a measurement takes, and in which order the kernels run in each.  The GPU's clock is
watched meanwhile.  The CPU's own time, for comparison, is the best of a few runs.

The answers are medians and what follows from them without assuming any distribution: intervals, verdicts, thresholds.
Whether a measured speed-up reaches what is asked, the share of points it earns, and what a speed check may ask for so
that noise never decides a mark.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import comb, exp, log, sqrt
from pathlib import Path
from typing import Literal

from grader.lab.checks import SpeedupSettings
from grader.timing import CpuTime, Problem

# Medians, and what follows from them.

TOLERANCE = 0.03
"""In the student's favour: a threshold counts as reached at 97 % of it."""
CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class Interval:
    """A median with its confidence interval.

    confidence: what the interval really covers; 0 when there were too few values for the one that was asked.
    """

    median: float
    low: float
    high: float
    confidence: float
    count: int


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The median of `values`, between two of them that enclose the true median with at least `confidence`.

    Order statistics: of n independent values the number below the true median is binomial(n, 1/2), so the interval
    from the k-th smallest to the k-th largest covers it with 1 − 2·P(B < k) (H. A. David, Order Statistics, 2.5).
    Too few values for that give the range of all of them, with confidence 0.
    Raises ValueError: no values, or confidence not between 0 and 1.
    """
    if not values:
        raise ValueError("no values")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1")
    ordered = sorted(values)
    count = len(ordered)
    rank, covered = _rank(count, confidence)
    if rank == 0:
        return Interval(quantile(ordered, 0.5), ordered[0], ordered[-1], 0.0, count)
    return Interval(quantile(ordered, 0.5), ordered[rank - 1], ordered[count - rank], covered, count)


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile by linear interpolation between the two nearest values."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def robust_deviation(values: Sequence[float]) -> float:
    """1.4826 times the median distance from the median: the standard deviation where values are normal."""
    centre = quantile(values, 0.5)
    return 1.4826 * quantile([abs(value - centre) for value in values], 0.5)


def fewest_values(confidence: float = CONFIDENCE) -> int:
    """The fewest values that an interval of this confidence can be made of: 8 for 99 %."""
    count = 1
    while 1 - 2 * 0.5**count < confidence:
        count += 1
    return count


def _rank(count: int, confidence: float) -> tuple[int, float]:
    """Return the largest k whose interval has enough confidence, and that confidence; (0, 0) when none has."""
    below = 0.0
    best = 0, 0.0
    for rank in range(1, count // 2 + 1):
        below += comb(count, rank - 1) * 0.5**count
        covered = 1 - 2 * below
        if covered < confidence:
            break
        best = rank, covered
    return best


def _sharper(count: int, most: int = 31) -> list[int]:
    """Return numbers of values above `count` of which each lets an interval leave out one more at either end."""
    return [n for n in range(count + 1, most) if _rank(n, CONFIDENCE)[0] > _rank(n - 1, CONFIDENCE)[0]]


Decision = Literal["reached", "missed", "undecided"]


def decide(low: float, high: float, threshold: float) -> Decision:
    """Where an interval of the speed-up lies relative to a threshold lowered by the tolerance."""
    asked = threshold * (1 - TOLERANCE)
    if low >= asked:
        return "reached"
    return "missed" if high < asked else "undecided"


def credit(speedup: float, minimum: float, full: float) -> float:
    """The share of points: 0 up to `minimum`, 1 from `full`, linear between; no step anywhere.

    Both are lowered by the tolerance, so that all points are there where `full` counts as reached.
    """
    minimum, full = minimum * (1 - TOLERANCE), full * (1 - TOLERANCE)
    if full <= minimum:
        return 1.0 if speedup >= full else 0.0
    return min(1.0, max(0.0, (speedup - minimum) / (full - minimum)))


def earned(settings: SpeedupSettings, speedup: float) -> float:
    """The share of the points for a speed-up on the check's scale; the tolerance works in the student's favour."""
    favoured = speedup / (1 - TOLERANCE)
    if settings.classes:
        return max((one.share for one in settings.classes if favoured >= one.least), default=0.0)
    if settings.time is None:
        return credit(speedup, settings.minimum, settings.full)
    full, none = settings.time.full, settings.time.none
    if settings.time.between == "logarithm":
        return min(1.0, max(0.0, log(none * favoured) / log(none / full)))
    return min(1.0, max(0.0, (none - 1 / favoured) / (none - full)))


@dataclass(frozen=True, slots=True)
class Marked:
    """What a speedup with its interval is worth.

    share: of the points.  open: of them, what hangs on noise: neither given nor lost, the teacher decides.
    """

    decision: Decision
    share: float
    open: float = 0.0


def mark(settings: SpeedupSettings, speedup: float, low: float, high: float) -> Marked:
    """Points follow the median where the scale has no steps.  Of classes the one counts that the whole interval
    reaches; what its other end would earn beside that is open, so that no noise decides between two classes."""
    if settings.classes:
        sure, best = earned(settings, low), earned(settings, high)
        if sure == best:
            return Marked("reached" if sure else "missed", sure)
        return Marked("undecided", sure, best - sure)
    return Marked(decide(low, high, settings.thresholds[0]), earned(settings, speedup))


DEVIATIONS = 5.0
"""A threshold stays this many robust standard deviations away from what is measured."""

NEAR_REFERENCE = 0.85
"""As a share of the reference's speed-up: who comes so near to the instructor's kernel has done what can be asked."""

Judgement = Literal["sound", "in_noise", "out_of_reach", "too_close"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Thresholds for one check.

    measured: the reference kernel's own speed-up; deviation: of its logarithm between repeated measurements.
    minimum, full: proposed; None when no threshold fits between the two kernels.
    """

    measured: float
    deviation: float
    minimum: float | None
    full: float | None


def propose(speedups: Sequence[float]) -> Proposal:
    """Thresholds from repeated measurements of the reference kernel's speed-up over the kernel it is measured by.

    `full` is 85 % of it, `minimum` half way (on a logarithmic scale) from no speed-up to there.  A check of a variant
    against itself has no speed-up to find: 0.85 and the half of that.
    Raises ValueError: no measurements.
    """
    if not speedups:
        raise ValueError("no measurements")
    measured = quantile(speedups, 0.5)
    deviation = robust_deviation([log(s) for s in speedups])
    if abs(log(measured)) <= max(DEVIATIONS * deviation, TOLERANCE):
        return Proposal(measured, deviation, 0.43, NEAR_REFERENCE)
    full = NEAR_REFERENCE * measured
    minimum = sqrt(full)
    if full <= exp(DEVIATIONS * deviation) or full <= 1:
        return Proposal(measured, deviation, None, None)
    return Proposal(measured, deviation, _rounded(minimum), _rounded(full))


def judge(minimum: float, full: float, proposal: Proposal) -> Judgement:
    """Whether thresholds that a lab file has are sound on this device.

    in_noise: `full`, less the tolerance, lies within the noise of the reference's own speed-up.
    out_of_reach: it lies above.  too_close: the ramp between the two is narrower than the noise.
    """
    margin = DEVIATIONS * proposal.deviation
    asked, reached = log(full * (1 - TOLERANCE)), log(proposal.measured)
    if abs(asked - reached) < margin:
        return "in_noise"
    if asked > reached:
        return "out_of_reach"
    if log(full) - log(max(minimum, 1e-9)) < margin:
        return "too_close"
    return "sound"


def _rounded(value: float) -> float:
    return round(value, 2 if value < 10 else 1)


# Rounds.

LEAST_SHARE = 0.75
"""As a share of the highest SM clock; below it a round does not count (nvbench's rule)."""

# NVML's nvmlClocksEventReasons (nvml.h) that mean the hardware is protecting itself.
HARDWARE_SLOWDOWN = 0x8
SOFTWARE_THERMAL = 0x20
HARDWARE_THERMAL = 0x40
POWER_BRAKE = 0x80
THROTTLED = HARDWARE_SLOWDOWN | SOFTWARE_THERMAL | HARDWARE_THERMAL | POWER_BRAKE


def is_throttled(sm_mhz: float, reasons: int, max_sm_mhz: float) -> bool:
    """Too hot, braked, or for whatever reason under three quarters of its highest clock.

    sm_mhz of 0 stands for a clock that could not be read, and counts as well.
    """
    return bool(reasons & THROTTLED) or 0 < sm_mhz < LEAST_SHARE * max_sm_mhz


BUDGET_S = 0.4
"""Time for one size; at least one run is made."""
MAX_RUNS = 5


def time_cpu(
    work: Callable[[], object],
    size: dict[str, int],
    clock: Callable[[], float] = time.perf_counter,
    busy: Callable[[], float] = time.process_time,
) -> CpuTime:
    """The best of some runs of `work`, and the threads that were busy on average.

    clock, busy: seconds passed, and seconds of processor time used by all threads of this process.
    """
    best, threads = float("inf"), 1
    began = clock()
    for _run in range(MAX_RUNS):
        start, used = clock(), busy()
        work()
        elapsed, processor = clock() - start, busy() - used
        if elapsed < best:
            best, threads = elapsed, max(1, round(processor / elapsed)) if elapsed > 0 else 1
        if clock() - began > BUDGET_S:
            break
    return CpuTime(size=size, best_us=1e6 * best, threads=threads)


def model() -> str:
    """The processor's name as the system reports it."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


WARM_UP_MS = 200.0
"""An idle GPU runs at a sixth of its clock; it takes some ten milliseconds of work to come up."""

CLOCK_SHARE = 0.02
"""The share of a launch's time that one tick of the events' clock may come to; shorter launches are averaged over a
batch.

An H200's clock ticks every 32 ns, so that one launch will do from 1.6 µs on; others tick every half microsecond.
"""

MAX_BATCH = 16
LAUNCH_BOUND_FACTOR = 5.0
"""Below this many times an empty kernel's time, what is measured is mostly the launch."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Rounds in the first stage and in the later ones, each only where the one before did not decide.

    max_dropped: more than this share of throttled rounds, and the measurement does not count.
    asked: so many rounds are made of kernels of a question, whatever comes of fewer; 0: those of the first stage.
    narrow: a kernel of no question is in later stages, up to that of `asked` where it is given, as long as the interval
    of its median is wider than this share of it; 0: it is in the first one alone.
    """

    stages: tuple[int, ...] = (31, 61, 121)
    confidence: float = CONFIDENCE
    max_dropped: float = 0.2
    asked: int = 0
    narrow: float = 0.0


NARROW = 0.02
"""Width of an interval, as a share of the median, that nobody sees in a graph."""


def series_plan(round_us: float, budget_us: float) -> Plan:
    """A plan for kernels of no question: as few rounds as make an interval; of those whose interval is wide more, until
    it is narrow, 31 at most, or what fits the budget."""
    return Plan(stages=_stages(round_us, budget_us), narrow=NARROW)


def _stages(round_us: float, budget_us: float) -> tuple[int, ...]:
    """Return numbers of rounds from the fewest that make an interval to 31, or what fits the budget."""
    few = fewest_values() + 1
    most = int(min(31, max(few, budget_us // max(round_us, 1.0))))
    return (few, *(count for count in _sharper(few) if count < most), *([most] if most > few else ()))


BUDGET_US = 1_200_000.0
"""Time for the first stage at one size."""


def plan_for(round_us: float, budget_us: float = BUDGET_US) -> Plan:
    """A plan for kernels of questions, and others beside them: 31 rounds of the former, or fewer of long kernels, but
    enough for an interval, and more where these do not decide; of the others as many as `series_plan` has."""
    stages = _stages(round_us, budget_us)
    asked = stages[-1]
    return Plan(stages=(*stages, 2 * asked - 1, 4 * asked - 3), asked=asked, narrow=NARROW)


def order(names: Sequence[str], index: int) -> list[str]:
    """The kernels of round `index`: forwards in even rounds, backwards in odd ones.

    Two kernels run as A B, B A, A B, …; a drift that is steady over two rounds then favours none of any number.
    """
    return list(names) if index % 2 == 0 else list(reversed(names))


@dataclass(frozen=True, slots=True)
class Sample:
    """What one round gave: µs by kernel, or `throttled` and then it does not count."""

    times_us: dict[str, float]
    throttled: bool = False
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """Is `name` at least `threshold` times as fast as `baseline`?"""

    name: str
    baseline: str
    threshold: float


@dataclass(slots=True)
class Samples:
    """Times of the rounds that count; `times_us[name][i]` is None where a kernel took no part in round i.

    rounds: all that were made; dropped: those of them that were throttled.
    """

    times_us: dict[str, list[float | None]]
    rounds: int = 0
    dropped: int = 0
    problems: list[Problem] = field(default_factory=list)
    undecided: list[Question] = field(default_factory=list)
    valid: bool = True

    def median(self, name: str) -> Interval | None:
        """µs; None when there is no time of it."""
        values = [t for t in self.times_us.get(name, []) if t is not None]
        return median_interval(values) if values else None

    def speedup(self, name: str, baseline: str) -> Interval | None:
        """How many times as fast `name` is as `baseline`, from rounds that have both; None when there is none."""
        return speedup(self.times_us.get(name, []), self.times_us.get(baseline, []))


def speedup(times: Sequence[float | None], baseline: Sequence[float | None]) -> Interval | None:
    """Median of the paired ratio `baseline` / `times` with its interval, taken on logarithms."""
    logs = [log(b / a) for a, b in zip(times, baseline, strict=False) if a and b]
    if not logs:
        return None
    interval = median_interval(logs)
    return Interval(exp(interval.median), exp(interval.low), exp(interval.high), interval.confidence, interval.count)


def sample(
    measure: Callable[[list[str]], Sample], names: Sequence[str], questions: Iterable[Question], plan: Plan
) -> Samples:
    """Make rounds of `measure` by the plan.

    A kernel whose result was wrong takes no part in later rounds.  Stages after the first are for the kernels of
    questions that are open still, or have more rounds by the plan, and for those with intervals that are too wide.
    """
    asked = list(questions)
    samples = Samples({name: [] for name in names})
    active = list(names)
    for stage, goal in enumerate(plan.stages):
        if stage:
            samples.undecided = [q for q in asked if _is_open(samples, q)]
            going_on = asked if goal <= plan.asked else samples.undecided
            wanted = {n for q in going_on for n in (q.name, q.baseline)}
            if plan.narrow and (goal <= plan.asked or not plan.asked):
                wanted |= {name for name in active if not _is_narrow(samples, name, plan.narrow)}
            active = [name for name in active if name in wanted]
            if not active:
                break
        # Throttled rounds are made good for, but not without end.
        attempts = samples.rounds + (goal - _counted(samples)) + int(plan.max_dropped * goal) + 1
        while _counted(samples) < goal and samples.rounds < attempts and active:
            active = _round(measure, active, samples)
        if goal >= plan.asked and samples.dropped > plan.max_dropped * samples.rounds:
            samples.valid = False
            return samples
    samples.undecided = [q for q in asked if _is_open(samples, q)]
    return samples


def _round(measure: Callable[[list[str]], Sample], active: list[str], samples: Samples) -> list[str]:
    """Sample one round; return the kernels that are still right."""
    got = measure(order(active, samples.rounds))
    samples.rounds += 1
    samples.problems += got.problems
    wrong = {problem.name for problem in got.problems}
    if got.throttled:
        samples.dropped += 1
    else:
        for name, times in samples.times_us.items():
            times.append(got.times_us.get(name) if name not in wrong else None)
    return [name for name in active if name not in wrong]


def _counted(samples: Samples) -> int:
    return samples.rounds - samples.dropped


def _is_narrow(samples: Samples, name: str, share: float) -> bool:
    interval = samples.median(name)
    return interval is not None and interval.confidence > 0 and interval.high - interval.low <= share * interval.median


def _is_open(samples: Samples, question: Question) -> bool:
    interval = samples.speedup(question.name, question.baseline)
    if interval is None or interval.count < fewest_values():
        return False
    return decide(interval.low, interval.high, question.threshold) == "undecided"
