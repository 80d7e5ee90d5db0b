"""A whole submission timed on a simulated device: who is compared with whom, faults, several sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from grader.gpu.bench import KernelAtSize, SpeedOrder, measure_speed, pool_of
from grader.gpu.messages import HostCopiesDone, HostTimes, KernelFacts, Prepared, Problem, Ready, RoundDone, WarmedUp
from grader.gpu.session import GpuFault, TimedKernel
from grader.lab import labs
from grader.lab.records import Sizes, TimingRule
from grader.launching.backend import LaunchRequest
from grader.timing.summary import timings

LAB = replace(
    labs.find("transpose"),
    timing=TimingRule(sizes=({"rows": 64, "cols": 64}, {"rows": 128, "cols": 128}), host_memory=("pageable", "mapped")),
)
DEVICE = Ready("Paper", "uuid", "sm_90", "580", 132, 1 << 30, 1 << 20, 2000.0, 1 << 16)
FACTS = KernelFacts(32, 4224, 0, 2, 100.0)


def launch(sizes: Sizes) -> LaunchRequest:
    return LaunchRequest(f"k{sizes['rows']}", (1, 1, 1), (32, 1, 1), 0, [])


@dataclass
class PaperBench:
    """Kernels with true times, µs at 64 × 64 (and in proportion to the elements elsewhere)."""

    times_us: dict[str, float]
    problems: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    slow_clock_from: int = 1 << 30
    device: Ready = DEVICE
    prepared: list[list[TimedKernel]] = field(default_factory=list)
    rounds: list[list[str]] = field(default_factory=list)
    keys: set[int] = field(default_factory=set)
    warmed: bool = False

    def warm_up(self, busy_ms: float) -> WarmedUp:
        self.warmed = busy_ms >= 200
        return WarmedUp(4000.0, 60_000.0, 1990.0)

    def prepare(
        self,
        kernels: Sequence[TimedKernel],
        pools: Mapping[str, Any],
        l2: str,
        clock_share: float,
        max_batch: int,
        tolerance: tuple[float, float],
    ) -> Prepared:
        assert self.warmed and l2 == "cold" and tolerance == (0.0, 0.0)
        for kernel in kernels:
            if kernel.name in self.faults:
                raise GpuFault(self.faults[kernel.name], kernel.name)
        self.prepared.append(list(kernels))
        self._elements = (int(kernels[0].request.entry[1:]) / 64) ** 2
        names = [k.name for k in kernels]
        estimates = {name: self.times_us[name] * self._elements for name in names}
        return Prepared(dict.fromkeys(names, 1), estimates, 1.0, dict.fromkeys(names, FACTS), [])

    def round(self, names: Sequence[str], key: int) -> RoundDone:
        self.rounds.append(list(names))
        assert key not in self.keys, "data must be fresh"
        self.keys.add(key)
        found = [Problem(n, self.problems[n], 1, 2) for n in names if n in self.problems and len(self.rounds) > 3]
        times = {n: self.times_us[n] * self._elements for n in names}
        slow = len(self.rounds) > self.slow_clock_from
        return RoundDone(times, found, 900.0 if slow else 1990.0, 0)

    def host_copies(self, module: str, request: LaunchRequest, modes: Sequence[str], repeats: int) -> HostCopiesDone:
        return HostCopiesDone([HostTimes(mode, 1.0, 2.0, 3.0, 6.0, 4.0) for mode in modes])


TIMES = {"student:naive": 40.0, "student:padded": 10.0, "reference:naive": 42.0, "reference:padded": 9.0}


def order(comparable: bool = True, full: float = 2.0) -> SpeedOrder:
    rule = LAB.timing
    assert rule is not None
    candidates = [
        KernelAtSize(variant, sizes, f"student:{variant}", launch(sizes), comparable)
        for sizes in rule.sizes
        for variant in ("naive", "padded")
    ]
    return SpeedOrder(
        lab=LAB,
        candidates=candidates,
        references={v: partial(lambda v, sizes: (f"reference:{v}", launch(sizes)), v) for v in ("naive", "padded")},
        baselines={"naive": ("naive", None), "padded": ("naive", full)},
        pools={},
        nvrtc="13.0",
        host_memory={"padded": candidates[-1]},
    )


def test_everything_right() -> None:
    bench = PaperBench(dict(TIMES))
    found = measure_speed(bench, order())
    assert [row.size["rows"] for row in found.sizes] == [64, 128]
    # A mark depends on the largest size alone.
    assert [{len(times) for times in row.times_us.values()} for row in found.sizes] == [{9}, {31}]
    (small, large) = timings(found, "padded", "naive", "naive", {})
    assert (small.median_us, large.median_us) == (10.0, 40.0)
    assert large.speedup == pytest.approx(4.2)
    assert large.over_baseline is not None and large.over_baseline.value == pytest.approx(4.0)
    assert not found.failure
    assert [row.mode for row in found.host_memory["padded"]] == ["pageable", "mapped"]


def test_students_are_checked_by_the_reference_of_their_own_variant() -> None:
    bench = PaperBench(dict(TIMES))
    measure_speed(bench, order())
    assert {k.name: k.checked_by for k in bench.prepared[0]} == {
        "reference:naive": "",
        "student:naive": "reference:naive",
        "reference:padded": "",
        "student:padded": "reference:padded",
    }


def test_arrays_of_other_types_are_not_checked_by_it() -> None:
    bench = PaperBench(dict(TIMES))
    measure_speed(bench, order(comparable=False))
    assert all(k.checked_by == "" for k in bench.prepared[0])


def test_a_wrong_result_takes_the_kernel_out_at_this_and_all_later_sizes() -> None:
    bench = PaperBench(dict(TIMES), problems={"student:padded": "unwritten"})
    found = measure_speed(bench, order())
    assert [(w.name, w.kind, w.count, w.total) for w in found.sizes[0].wrong] == [("student:padded", "unwritten", 1, 2)]
    assert found.failure == {"student:padded": "unwritten"}
    assert "student:padded" not in found.sizes[1].times_us
    assert len([t for t in found.sizes[1].times_us["student:naive"] if t]) == 9, "it earns no points"
    assert not found.host_memory


def test_a_fault_takes_the_kernel_out_and_the_others_are_timed() -> None:
    bench = PaperBench(dict(TIMES), faults={"student:naive": "illegal_address"})
    found = measure_speed(bench, order())
    assert found.failure == {"student:naive": "illegal_address"}
    assert set(found.sizes[0].times_us) == {"student:padded", "reference:padded", "reference:naive"}


def test_a_fault_of_the_lab_s_own_kernel_is_no_student_s() -> None:
    with pytest.raises(GpuFault):
        measure_speed(PaperBench(dict(TIMES), faults={"reference:naive": "illegal_address"}), order())


def test_only_the_largest_size_is_worth_more_rounds() -> None:
    # 42 / 21.65: right at 0.97 of the threshold, with no noise, so that the interval is a point above it.
    bench = PaperBench({**TIMES, "student:padded": 21.0})
    found = measure_speed(bench, order(full=2.0))
    assert [row.rounds for row in found.sizes] == [9, 31]
    assert not found.sizes[1].undecided


def test_a_slow_clock_makes_no_measurement() -> None:
    found = measure_speed(PaperBench(dict(TIMES), slow_clock_from=5), order())
    assert [row.valid for row in found.sizes] == [False, False]
    # More than a fifth of the rounds that were made.
    assert found.sizes[0].dropped > 1 and found.sizes[1].dropped > 6
    assert timings(found, "padded", "naive", "naive", {}) == []


@pytest.mark.parametrize(("count", "kept"), [(1, 1), (5, 4), (64, 64), (1 << 17, 1 << 16)])
def test_pools_are_powers_of_two(count: int, kept: int) -> None:
    pool = pool_of(np.arange(count, dtype=np.float32).reshape(1, count))
    assert pool.shape == (kept,) and pool[-1] == kept - 1
