"""technique, coalescing, bank_conflicts, speedup: what counters and times show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import msgspec
import pytest
from msgspec.structs import replace as replace_fields

from grader.checks import execution
from grader.lab.checks import CoalescingSettings, DivergenceSettings, SpeedClass, SpeedupSettings, TimeScale
from grader.measured import LineCounters, Ratio, Resources, Timing
from grader.message import verbatim
from grader.programs.records import CallLaunch
from grader.ptx.records import LineWork
from grader.result import Check
from grader.running.evidence import Work
from grader.submission.kernels.records import SharedArray
from grader.timing import sampling
from grader.words import text
from tests.checks.evidence_factory import check, evidence, kernel
from tests.sample_results import SIZE, counters


def test_technique_staged() -> None:
    row = check(evidence(), "technique")
    assert (row.status, row.data["shared_stored_bytes"]) == ("pass", 262144)


def test_technique_without_shared_memory() -> None:
    row = check(evidence(counters=counters(shared=False), kernel=kernel(None)), "technique")
    assert (row.status, row.line, row.message) == ("fail", 6, "The kernel does not use shared memory.")
    unused = check(evidence(counters=counters(shared=False)), "technique")
    assert (unused.status, unused.line) == ("fail", 7)
    assert unused.message.startswith("t is in shared memory, but the result does not depend on it")
    assert check(evidence(counters=counters(shared=False)), "bank_conflicts").skip_reason == "prerequisite"


def test_technique_with_only_a_part_staged() -> None:
    full = counters()
    lines = [msgspec.structs.replace(c, lanes=65536 if c.space == "global" else 32) for c in full.by_line]
    row = check(evidence(counters=msgspec.structs.replace(full, by_line=lines)), "technique")
    assert row.status == "fail"
    assert "128 bytes in, 128 bytes out" in row.message
    assert "262144 bytes" in row.hint


def test_technique_with_the_input_read_twice() -> None:
    full = counters()
    lines = [*full.by_line, full.by_line[0]]
    row = check(evidence(counters=msgspec.structs.replace(full, by_line=lines)), "technique")
    assert (row.status, row.line) == ("fail", 9)
    assert "read from global memory 2 times" in row.message


def test_technique_none_forbids_shared_memory() -> None:
    assert check(evidence("naive", counters=counters(shared=False)), "technique").status == "pass"
    row = check(evidence("naive", counters=counters()), "technique")
    assert (row.status, row.line) == ("fail", 9)


def test_coalescing() -> None:
    row = check(evidence(), "coalescing")
    assert (row.status, row.message) == ("pass", "Coalesced: 4 sectors per request for loads, 4 for stores.")


@pytest.mark.parametrize(("sectors", "earned"), [(8.0, 2.0), (8.5, 0.0), (32.0, 0.0)])
def test_coalescing_names_the_worst_line_and_gives_a_part(sectors: float, earned: float) -> None:
    row = check(evidence(counters=counters(store_sectors=sectors)), "coalescing")
    assert (row.status, row.line, row.earned) == ("fail", 12, earned)
    assert f"{sectors:g} (best: 4) for stores" in row.message
    assert f"touches {sectors:g} sectors, while 4 would hold" in row.hint
    assert "swap the block indices" in row.hint


@pytest.mark.parametrize(
    ("block", "sectors", "is_narrow"),
    [
        ((10, 10, 1), 8.5, True),  # Four pieces of 40 bytes, of which most lie in two sectors.
        ((10, 10, 1), 32.0, False),  # A sector for each lane: threadIdx.x is multiplied.
        ((32, 8, 1), 8.5, False),
        ((10, 1, 1), 8.5, False),  # No warp has a second row.
    ],
)
def test_a_narrow_block_takes_pieces_of_several_rows(
    block: tuple[int, int, int], sectors: float, is_narrow: bool
) -> None:
    row = check(evidence(block=block, counters=counters(store_sectors=sectors)), "coalescing")
    assert row.status == "fail"
    assert ("In a block 10 threads wide a warp spans 4 rows" in row.hint) == is_narrow
    assert ("not multiplied by the row length" in row.hint) != is_narrow


def test_a_block_as_wide_as_a_sector_tells_both_causes() -> None:
    row = check(evidence(block=(8, 8, 1), counters=counters(store_sectors=8.0)), "coalescing")
    assert "in a block 8 threads wide: an index in which threadIdx.x is multiplied by the row length, or" in row.hint
    assert "short pieces" not in row.hint


@pytest.mark.parametrize(
    ("lanes", "sectors", "ideal", "status"),
    [
        (10, 2.5, 1.5, "pass"),  # 16 threads load 20 neighbours, a halo's first is no sector's first.
        (16, 3.0, 2.0, "pass"),
        (16, 4.0, 2.0, "fail"),  # Every second element.
        (4, 2.0, 1.0, "fail"),  # As well two places far apart.
        (32, 6.5, 4.0, "fail"),
    ],
)
def test_where_neighbouring_addresses_begin_is_not_held_against_short_requests(
    lanes: int, sectors: float, ideal: float, status: str
) -> None:
    full = counters()
    load, *others = full.by_line
    n = load.requests
    halo = msgspec.structs.replace(load, lanes=lanes * n, sectors=int(sectors * n), ideal=int(ideal * n))
    given = evidence(counters=msgspec.structs.replace(full, by_line=[halo, *others]))
    settings = CoalescingSettings(max_ratio=1.4)
    checks = tuple(replace(c, settings=settings) if c.check == "coalescing" else c for c in given.variant.checks)
    row = check(replace(given, variant=replace(given.variant, checks=checks)), "coalescing")
    assert row.status == status
    # What touches one sector too many may well be neighbours: nothing is said of a row length.
    assert ("not multiplied by the row length" in (row.hint or "")) == (sectors > ideal + 1)


@pytest.mark.parametrize(
    ("width", "sectors", "ideal", "status"), [(1, 2, 1, "pass"), (1, 3, 1, "fail"), (2, 3, 2, "pass")]
)
def test_nor_against_requests_of_bytes(width: int, sectors: int, ideal: int, status: str) -> None:
    full = counters()
    load, *others = full.by_line
    n = load.requests
    halo = msgspec.structs.replace(load, width_bytes=width, lanes=32 * n, sectors=sectors * n, ideal=ideal * n)
    given = evidence(counters=msgspec.structs.replace(full, by_line=[halo, *others]))
    settings = CoalescingSettings(max_ratio=1.4)
    checks = tuple(replace(c, settings=settings) if c.check == "coalescing" else c for c in given.variant.checks)
    assert check(replace(given, variant=replace(given.variant, checks=checks)), "coalescing").status == status


def test_coalescing_on_either_side() -> None:
    one_side = counters(shared=False, store_sectors=32.0)
    assert check(evidence("naive", counters=one_side), "coalescing").status == "pass"
    lines = [msgspec.structs.replace(c, sectors=65536) for c in one_side.by_line]
    neither = msgspec.structs.replace(one_side, by_line=lines, global_load_sectors_per_request=32.0)
    row = check(evidence("naive", counters=neither), "coalescing")
    assert (row.status, row.earned) == ("fail", 0.0)
    assert "exchange" not in row.hint


def test_coalescing_of_the_loads_alone() -> None:
    given = evidence("naive", counters=counters(shared=False, store_sectors=32.0))
    settings = CoalescingSettings(sides="loads")
    checks = tuple(replace(c, settings=settings) if c.check == "coalescing" else c for c in given.variant.checks)
    given = replace(given, variant=replace(given.variant, checks=checks))
    assert check(given, "coalescing").status == "pass"
    assert given.counters is not None
    lines = [
        msgspec.structs.replace(c, sectors=4 * c.sectors if c.op == "load" else c.ideal) for c in given.counters.by_line
    ]
    row = check(replace(given, counters=msgspec.structs.replace(given.counters, by_line=lines)), "coalescing")
    worst = next(c for c in lines if c.space == "global" and c.op == "load")
    assert (row.status, row.line) == ("fail", worst.line)


def split(row: LineCounters, parts: int, op: str = "store") -> list[LineCounters]:
    """A line's work as that of several lines."""
    fields = ("requests", "sectors", "ideal", "unique_bytes", "lanes")
    shares = {name: getattr(row, name) // parts for name in fields}
    return [msgspec.structs.replace(row, line=row.line + n, op=op, **shares) for n in range(parts)]


@pytest.mark.parametrize(("parts", "op"), [(1, "store"), (1, "atomic"), (4, "store"), (8, "atomic")])
def test_no_other_stores_make_up_for_those_of_the_result(parts: int, op: str) -> None:
    full = counters(store_sectors=32.0)
    loads = [c for c in full.by_line if c.op != "store" or c.space != "global"]
    store = next(c for c in full.by_line if c.op == "store" and c.space == "global")
    ideal = msgspec.structs.replace(store, line=20, requests=100 * store.requests, lanes=100 * store.lanes)
    for_show = msgspec.structs.replace(ideal, sectors=100 * store.ideal, ideal=100 * store.ideal)
    rows = [*loads, *split(store, parts, op), for_show]
    row = check(evidence(counters=msgspec.structs.replace(full, by_line=rows)), "coalescing")
    assert (row.status, row.line, row.data["store_ratio"]) == ("fail", 12, 8)


def test_atomic_operations_a_lane_at_a_time() -> None:
    full = counters()
    store = next(c for c in full.by_line if c.op == "store" and c.space == "global")
    few_lanes = msgspec.structs.replace(store, line=21, op="atomic", few_requests=store.lanes, few_lanes=store.lanes)
    row = check(evidence(counters=msgspec.structs.replace(full, by_line=[*full.by_line, few_lanes])), "coalescing")
    assert (row.status, row.line) == ("fail", 21)


def test_no_bank_conflicts() -> None:
    row = check(evidence(), "bank_conflicts")
    assert (row.status, row.earned) == ("pass", 10.0)
    assert row.message == "No bank conflicts: 4096 requests in 4096 wavefronts, the fewest possible."


@pytest.mark.parametrize(
    ("words", "dims", "is_advised"),
    [
        # A tile of 16 rows of 68, stored turned: lane i goes to row i % 16 and column i / 16.
        ([68 * (i % 16) + i // 16 for i in range(32)], [(16, 68)], False),
        ([64 * (i % 16) + i // 16 for i in range(32)], [(16, 64)], False),
        ([64 * i for i in range(16)], [(16, 64)], True),
        # The second of two arrays.
        ([1024 + 32 * i for i in range(32)], [(32, 32), (32, 32)], True),
        ([1024 + 68 * (i % 16) + i // 16 for i in range(32)], [(32, 32), (16, 68)], False),
    ],
)
def test_a_word_more_in_each_row_is_advised_where_it_helps(
    words: list[int], dims: list[tuple[int, int]], is_advised: bool
) -> None:
    measured = counters(load_ways=32)
    lanes = [*words, *[None] * (32 - len(words))]
    rows = [msgspec.structs.replace(c, lane_words=lanes) if c.ways == 32 else c for c in measured.by_line]
    arrays = tuple(SharedArray(f"t{i}", 7, "float32", extents, False) for i, extents in enumerate(dims))
    given = evidence(
        counters=msgspec.structs.replace(measured, by_line=rows), kernel=replace(kernel(), shared_arrays=arrays)
    )
    hint = check(given, "bank_conflicts").hint
    assert hint.startswith("Lanes 0 and")
    rows_of, pitch = dims[-1]
    assert (f"t{len(dims) - 1}[{rows_of}][{pitch} + 1]" in hint) == is_advised
    assert ("one extra column" in hint) == is_advised


def test_bank_conflicts_of_an_unpadded_tile() -> None:
    given = evidence(counters=counters(load_ways=32), kernel=kernel((32, 32)))
    row = check(given, "bank_conflicts")
    assert (row.status, row.earned, row.line) == ("fail", 0.0, 12)
    assert row.message == (
        "32-way bank conflict in line 12 (excess wavefronts per request: 31); efficiency of shared memory 6.06 %."
    )
    assert "Lanes 0 and 1 of a warp access words 0 and 32 of shared memory; both are in bank 0" in row.hint
    assert "In total 32 different words" in row.hint
    assert "t[32][32 + 1]" in row.hint
    assert row.data == {"excess": 63488, "ways": 32, "shared_efficiency_pct": 6.06, "lines": [12]}


def test_bank_conflicts_of_a_padded_16_by_16_tile_are_two_ways_and_earn_half() -> None:
    requests = 2048
    # Threads (0..15, y) and (0..15, y + 1) are one warp: words x + 17·y when storing, 17·x + y when loading.
    stores = [lane % 16 + 17 * (lane // 16) for lane in range(32)]
    loads = [17 * (lane % 16) + lane // 16 for lane in range(32)]
    lines = [
        LineCounters(
            line=line,
            space="shared",
            op=op,  # type: ignore[arg-type]
            requests=requests,
            wavefronts=2 * requests,
            ideal=requests,
            ways=2,
            unique_bytes=128 * requests,
            lanes=65536,
            lane_words=list(words),
        )
        for line, op, words in ((9, "store", stores), (12, "load", loads))
    ]
    full = counters()
    two_ways = msgspec.structs.replace(
        full,
        by_line=[c for c in full.by_line if c.space == "global"] + lines,
        shared_wavefronts=4 * requests,
        shared_excess=2 * requests,
        worst_conflict_ways=2,
        shared_efficiency_pct=50.0,
    )
    row = check(evidence(block=(16, 16, 1), counters=two_ways, kernel=kernel((16, 17))), "bank_conflicts")
    assert (row.status, row.earned, row.line) == ("fail", 5.0, 9)
    assert "2-way bank conflict in line 9 (excess wavefronts per request: 1), also in line 12" in row.message
    assert "Lanes 0 and 31 of a warp access words 0 and 32" in row.hint
    assert "16 threads wide a warp spans 2 rows of threads" in row.hint
    assert "padding by one element is not enough" in row.hint
    assert "32×8" in row.hint


def test_rows_of_an_odd_length_may_still_be_a_word_too_short() -> None:
    # A warp of a block of one dimension takes half a column of 16 rows, and half of the next.
    words = [17 * (lane % 16) + lane // 16 for lane in range(32)]
    full = counters(load_ways=2)
    lines = [msgspec.structs.replace(c, lane_words=words) if c.ways == 2 else c for c in full.by_line]
    measured = msgspec.structs.replace(full, by_line=lines)
    row = check(evidence(block=(256, 1, 1), counters=measured, kernel=kernel((16, 17))), "bank_conflicts")
    assert "With rows of one element more, t[16][17 + 1], these words lie in banks of their own." in row.hint
    assert "odd" not in row.hint
    # Of an array without rows the words tell whether they are padded; one word more is no remedy then.
    flat = replace(kernel((16, 17)), shared_arrays=())
    assert "odd" not in check(evidence(block=(256, 1, 1), counters=measured, kernel=flat), "bank_conflicts").hint
    even = [16 * (lane % 16) + lane // 16 for lane in range(32)]
    lines = [msgspec.structs.replace(c, lane_words=even) if c.ways == 2 else c for c in full.by_line]
    unpadded = msgspec.structs.replace(full, by_line=lines)
    assert "odd" in check(evidence(block=(256, 1, 1), counters=unpadded, kernel=flat), "bank_conflicts").hint


@pytest.mark.parametrize(("ways", "earned"), [(2, 5.0), (4, 2.0), (8, 0.0)])
def test_bank_conflicts_partial_points(ways: int, earned: float) -> None:
    assert check(evidence(counters=counters(load_ways=ways)), "bank_conflicts").earned == earned


def test_counters_that_were_not_measured_wait() -> None:
    given = evidence(counters=None, unmeasured={"counters": verbatim("no counters on this GPU")})
    for name in ("technique", "coalescing"):
        row = check(given, name)
        assert (row.skip_reason, row.pending, row.message) == ("not_measured", row.possible, "no counters on this GPU")


def timed(speedup: float, low: float, high: float) -> tuple[Timing, ...]:
    return (Timing(size=SIZE, median_us=10.0, speedup=speedup, speedup_low=low, speedup_high=high),)


@pytest.mark.parametrize(
    ("timing", "status", "earned"),
    [
        (timed(2.5, 2.4, 2.6), "pass", 5.0),
        (timed(1.96, 1.95, 1.97), "pass", 5.0),  # within 3 % of what is asked; the first point is at 1.2 less 3 %
        # Whatever the interval says of what earns all points: the check is passed, the points follow the median.
        (timed(1.95, 1.90, 1.99), "pass", 5.0),
        (timed(1.93, 1.90, 1.95), "pass", 4.94),
        (timed(1.92, 1.90, 1.95), "pass", 4.87),
        (timed(1.552, 1.5, 1.6), "pass", 2.5),
        (timed(1.2, 1.1, 1.3), "borderline", 0.23),
        (timed(1.1, 1.0, 1.2), "borderline", 0.0),
        (timed(1.1, 1.05, 1.15), "fail", 0.0),
    ],
)
def test_speedup(timing: tuple[Timing, ...], status: str, earned: float) -> None:
    row = check(evidence(timing=timing), "speedup")
    assert (row.status, row.earned) == (status, earned)


def by_scale(speedup: float, low: float, high: float, **settings: Any) -> Check:
    """The verdict of the check for speed with other settings, for 10 points."""
    given = evidence(timing=timed(speedup, low, high))
    scale = SpeedupSettings(against="naive", **settings)
    specs = tuple(replace(s, points=10, settings=scale) if s.check == "speedup" else s for s in given.variant.checks)
    return check(replace(given, variant=replace(given.variant, checks=specs)), "speedup")


@pytest.mark.parametrize(
    ("between", "time", "earned", "status"),
    [
        ("linear", 1.2, 10, "pass"),
        ("linear", 5.6, 5, "pass"),
        ("linear", 10, 0, "borderline"),
        ("linear", 12, 0, "fail"),
        ("logarithm", 1.2, 10, "pass"),
        ("logarithm", (1.2 * 10) ** 0.5, 5, "pass"),
        ("logarithm", 12, 0, "fail"),
    ],
)
def test_points_fall_with_the_time(
    monkeypatch: pytest.MonkeyPatch, between: Literal["linear", "logarithm"], time: float, earned: float, status: str
) -> None:
    monkeypatch.setattr(sampling, "TOLERANCE", 0.0)
    row = by_scale(1 / time, 0.99 / time, 1.01 / time, time=TimeScale(1.2, 10, between))
    assert (row.status, row.pending) == (status, 0)
    assert row.earned == pytest.approx(earned, abs=0.01)
    assert "up to 1.2 times" in row.message and "none from 10" in row.message


@pytest.mark.parametrize(
    ("low", "high", "status", "earned", "pending"),
    [
        (8.2, 8.4, "pass", 10, 0),
        (7.5, 8.4, "borderline", 8, 2),
        (7.8, 8.4, "pass", 10, 0),  # 97 % of a threshold are enough.
        (4.1, 5, "pass", 8, 0),
        (1, 1.9, "fail", 0, 0),
        (1.5, 9, "borderline", 0, 10),
    ],
)
def test_between_classes_no_noise_decides(low: float, high: float, status: str, earned: float, pending: float) -> None:
    classes = (SpeedClass(1, speedup=8), SpeedClass(0.8, time=0.25), SpeedClass(0.4, speedup=2))
    for median in (low, (low + high) / 2, high):
        row = by_scale(median, low, high, classes=classes)
        assert (row.status, row.earned, row.pending) == (status, earned, pending)
    assert "100 % from 8 times the speed on; 80 % up to 0.25 times" in row.message


def test_the_student_s_own_first_kernel_is_what_is_compared_with() -> None:
    given = evidence(timing=(replace_fields(timed(9, 8, 10)[0], over_baseline=Ratio(value=3, low=2.9, high=3.1)),))
    own = SpeedupSettings(own=True, full=4, minimum=2)
    specs = tuple(replace(s, points=10, settings=own) if s.check == "speedup" else s for s in given.variant.checks)
    row = check(replace(given, variant=replace(given.variant, checks=specs)), "speedup")
    assert (row.status, row.data["speedup"]) == ("pass", 3)
    assert "3.00 times as fast as your own kernel naive" in row.message
    without = evidence(timing=timed(9, 8, 10))
    row = check(replace(without, variant=replace(without.variant, checks=specs)), "speedup")
    assert (row.skip_reason, "kernel naive" in row.message) == ("not_measured", True)


def test_speedup_without_a_clock_waits() -> None:
    row = check(evidence(), "speedup")
    assert (row.status, row.pending, row.message) == ("skip", 5.0, "no GPU here")


def test_where_one_side_is_enough_the_hint_is_about_the_better_one() -> None:
    given = counters()
    rows = []
    for c in given.by_line:
        if c.space == "global":
            # Loads 32 sectors of 4, as of rows' starts; stores 5.6 of 3.25, as of a block ten threads wide.
            sectors, ideal = (32, 4) if c.op == "load" else (5.6, 3.25)
            c = msgspec.structs.replace(c, sectors=int(sectors * c.requests), ideal=int(ideal * c.requests))
        rows.append(c)
    narrow = evidence("naive", counters=msgspec.structs.replace(given, by_line=rows), block=(10, 10, 1))
    row = check(narrow, "coalescing")
    assert row.status == "fail" and "In a block 10 threads wide" in row.hint


SLOW = timed(1.1, 1.05, 1.15)


def occupied(pct: float | None) -> Resources:
    return Resources(architecture="sm_90", registers=32, shared_bytes=0, occupancy_pct=pct)


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"counters": counters(load_ways=2)}, "Bank conflicts cost time here: 2048 more wavefronts than needed."),
        ({"counters": counters(store_sectors=8.0)}, "8 sectors per request, 4 at best."),
        ({"counters": counters(store_sectors=4.03)}, "The memory accesses cannot be improved."),
        ({"resources": occupied(49.0)}, "Few warps fit on a multiprocessor: 49 % of what it can hold."),
        ({"resources": occupied(50.0)}, "The memory accesses cannot be improved."),
        ({"resources": occupied(None)}, "The memory accesses cannot be improved."),
        # Nothing is said of accesses that were not counted.
        ({"counters": None}, ""),
    ],
)
def test_what_may_make_a_slow_kernel_faster(changes: dict[str, Any], hint: str) -> None:
    given = evidence(timing=SLOW, **changes)
    alone = tuple(spec for spec in given.variant.checks if spec.check == "speedup")
    row = check(replace(given, variant=replace(given.variant, checks=alone)), "speedup")
    assert row.status == "fail"
    assert hint in row.hint and bool(hint) == bool(row.hint)


def test_times_that_are_hardly_a_launch_s_wait() -> None:
    launches = (Timing(size=SIZE, median_us=2.0, launch_bound=True),)
    row = check(evidence(timing=launches, unmeasured={}), "speedup")
    assert (row.skip_reason, row.pending) == ("not_measured", row.possible)
    assert row.message.startswith("At every size the kernel takes hardly longer than an empty launch")
    assert check(evidence(unmeasured={}), "speedup").message == "The time was not measured."


def test_a_kernel_that_may_not_be_timed_has_failed() -> None:
    row = check(evidence(untimed=verbatim("it writes elsewhere")), "speedup")
    assert (row.status, row.message) == ("fail", "it writes elsewhere")


@pytest.mark.parametrize(("covers", "steps"), [(("cols",), True), (("cols", "rows"), False)])
def test_threads_that_take_neighbouring_elements_are_told_to_step(covers: tuple[str, ...], steps: bool) -> None:
    full = counters(shared=False)
    rows = [msgspec.structs.replace(c, sectors=8 * c.ideal) for c in full.by_line]
    given = evidence("naive", counters=msgspec.structs.replace(full, by_line=rows))
    lab = replace(given.lab, launch=replace(given.lab.launch, covers=covers))
    hint = check(replace(given, lab=lab), "coalescing").hint
    assert ("let it step by the number of threads" in hint) == steps
    # Where one side is as good as it can be, the threads do step.
    one = [c if c.op == "load" else r for c, r in zip(full.by_line, rows, strict=True)]
    both = replace(given, lab=lab, variant=evidence("padded").variant)
    stepping = replace(both, counters=msgspec.structs.replace(full, by_line=one))
    alone = tuple(spec for spec in both.variant.checks if spec.check == "coalescing")
    row = check(replace(stepping, variant=replace(both.variant, checks=alone)), "coalescing")
    assert row.status == "fail" and "let it step" not in row.hint


def test_a_column_of_threads_is_no_row_of_pieces() -> None:
    """Each thread takes a sector of its own, however they lie in rows: the block's width is not to blame."""
    column = check(evidence(block=(1, 16, 1), counters=counters(store_sectors=8.5)), "coalescing")
    assert column.status == "fail"
    assert "a warp spans" not in column.hint


def test_stores_that_make_up_less_than_half_of_an_output_are_judged_together() -> None:
    full = counters()
    loads = [c for c in full.by_line if c.op != "store" or c.space != "global"]
    store = next(c for c in full.by_line if c.op == "store" and c.space == "global")
    part = msgspec.structs.replace(store, lanes=store.lanes // 4)
    row = check(evidence(counters=msgspec.structs.replace(full, by_line=[*loads, part])), "coalescing")
    assert (row.status, row.data["store_ratio"]) == ("pass", 1)


@pytest.mark.parametrize(("lanes", "ratio"), [(0.25, 4040 / 1020), (0.5, 4.0)])
def test_of_several_stores_the_worst_that_make_up_half_of_an_output_count(lanes: float, ratio: float) -> None:
    full = counters()
    loads = [c for c in full.by_line if c.op != "store" or c.space != "global"]
    store = next(c for c in full.by_line if c.op == "store" and c.space == "global")
    worse = msgspec.structs.replace(store, line=20, lanes=int(lanes * store.lanes), sectors=4000, ideal=1000)
    better = msgspec.structs.replace(store, line=21, lanes=int(0.5 * store.lanes), sectors=40, ideal=20)
    row = check(evidence(counters=msgspec.structs.replace(full, by_line=[*loads, better, worse])), "coalescing")
    assert row.data["store_ratio"] == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize(
    ("unless_below", "passes", "words"),
    [
        (None, False, "now 52.5 %, needed at most 30 % (rows"),
        (401, True, "counting these in, there are 400 instructions per element, and below 401"),
        ("6.25 * rows", False, "no limit below 400 instructions per element, idle lanes included (here 400)"),
    ],
)
def test_idle_lanes_where_little_is_done(unless_below: float | str | None, passes: bool, words: str) -> None:
    """A shortcut leaves out what no lane waits in: the share of idle lanes grows though less is executed."""
    lines = (LineWork(8, executed=9_000, places=10_000), LineWork(9, executed=10_000, places=30_000))
    launch = CallLaunch("tiled", "transpose.cu", "ran", block=(32, 1, 1), work=[*lines])
    given = evidence(work=(Work("observe", {"rows": 64, "cols": 64}, 100, (launch,)),))
    verdict = execution.judge_divergence(given, DivergenceSettings(max_idle=0.3, unless_below=unless_below))
    assert (verdict.status, verdict.line) == (("pass", None) if passes else ("fail", 9))
    assert verdict.message is not None
    assert words in text(verdict.message)
