"""Sentences drawn from counters."""

from __future__ import annotations

import msgspec

from grader.measured import Ratio, Timing
from grader.report.conclusions import conclusions
from grader.result import Case
from tests import sample_results
from tests.report.jobs import job


def test_the_lectures_numbers_are_in_the_sentences() -> None:
    said = conclusions(job())
    size = "rows\u00a0=\u00a0256, cols\u00a0=\u00a0256"
    assert said == [
        "naive, shared, padded: the result is bit-exact at all tested sizes (2).",
        f"shared: up to 32-way bank conflicts at {size}; a shared-memory request takes 16.5 wavefronts on average, "
        "63,488 of 67,584 wavefronts are unnecessary; efficiency 6.06\u00a0%.",
        f"padded: no bank conflicts at {size}, every shared-memory request takes the fewest wavefronts possible; "
        "efficiency 100\u00a0%.",
        "In shared memory shared takes 16.5 times as many wavefronts as padded.",
        "naive: a store request takes 32 sectors in place of 4: 8 times the necessary traffic.",
        "shared, padded: global memory is read and written without an unnecessary sector.",
        "Times were not measured: the counters say how much memory traffic each variant causes; "
        "only a GPU can say how long it takes.",
    ]


def test_nothing_measured_leaves_nothing_to_conclude_but_that() -> None:
    (only,) = conclusions(job(sample_results.errored()))
    assert only.startswith("Times were not measured")


def test_wrong_and_inexact_variants_are_told_apart() -> None:
    result = sample_results.passed()
    size = {"n": 8}
    changed = {
        "naive": [
            Case(size=size, status="fail", max_abs_error=3.0),
            Case(size={"n": 9}, status="pass", max_abs_error=0.0),
        ],
        # One size on two data is one size, and each variant has its own largest error.
        "shared": [Case(size=size, status="pass", max_abs_error=error) for error in (0.0001, 0.0002)],
        "padded": [Case(size=size, status="error")],
    }
    variants = {n: msgspec.structs.replace(v, cases=changed[n], counters=None) for n, v in result.variants.items()}
    said = conclusions(job(msgspec.structs.replace(result, variants=variants)))
    assert said[:2] == [
        "naive: the result is wrong at 1 of the 2 tested sizes.",
        "shared: the result is right at all tested sizes (1); the largest error is 2.0e-4.",
    ]
    assert len(said) == 3


def test_the_time_at_the_largest_size_is_told() -> None:
    result = sample_results.passed()
    ratio = Ratio(value=3.31, low=3.3, high=3.32)
    behind = Ratio(value=0.511, low=0.51, high=0.52)
    padded = [
        Timing(size={"n": 2048}, median_us=98.0, gb_per_s=1831.7, over_baseline=ratio, over_reference=behind),
        Timing(size={"n": 1024}, median_us=29.4, speedup=1.05, over_baseline=Ratio(value=9.9, low=9.0, high=9.99)),
    ]
    naive = [Timing(size={"n": 64}, median_us=4.0, gflop_per_s=2.5), Timing(size={"n": 8}, median_us=2.0)]
    variants = {
        name: msgspec.structs.replace(result.variants[name], timing=timing)
        for name, timing in (("naive", naive), ("padded", padded))
    }
    said = conclusions(job(msgspec.structs.replace(result, variants={**result.variants, **variants})))
    assert said[-2:] == [
        "naive: 4.00\u00a0µs at n\u00a0=\u00a064, 2 GFLOP/s.",
        "padded: 98.00\u00a0µs at n\u00a0=\u00a02048, 1,832 GB/s; 3.31 times the speed of naive; "
        "0.51 times the speed of the lab's reference kernel.",
    ]


def test_a_launch_as_short_as_an_empty_one_says_nothing_of_a_kernel() -> None:
    result = sample_results.passed()
    timing = [Timing(size={"n": 64}, median_us=5.0), Timing(size={"n": 99}, median_us=3.1, launch_bound=True)]
    padded = msgspec.structs.replace(result.variants["padded"], timing=timing)
    said = conclusions(job(msgspec.structs.replace(result, variants={**result.variants, "padded": padded})))
    assert said[-1] == "padded: 5.00\u00a0µs at n\u00a0=\u00a064."


def test_variants_alike_share_a_sentence() -> None:
    result = sample_results.passed()
    padded = result.variants["padded"]
    variants = {"padded": padded, "again": padded}
    said = conclusions(job(msgspec.structs.replace(result, variants=variants)))
    assert len([sentence for sentence in said if "no bank conflicts" in sentence]) == 1
    assert any(sentence.startswith("padded, again: no bank conflicts") for sentence in said)


def test_loads_and_stores_alike_share_a_sentence() -> None:
    result = sample_results.passed()
    naive = result.variants["naive"]
    assert naive.counters is not None
    changes = {
        f"global_{op}_{what}_per_request": value
        for op in ("load", "store")
        for what, value in (("sectors", 32.0), ("ideal", 4.0))
    }
    counters = msgspec.structs.replace(naive.counters, **changes)
    said = conclusions(
        job(msgspec.structs.replace(result, variants={"naive": msgspec.structs.replace(naive, counters=counters)}))
    )
    assert "naive: load and store requests take 32 sectors in place of 4: 8 times the necessary traffic." in said


def test_of_a_wrong_kernel_s_memory_traffic_nothing_is_concluded() -> None:
    result = sample_results.passed()
    padded = msgspec.structs.replace(result.variants["padded"], cases=[Case(size={"n": 8}, status="fail")])
    said = conclusions(job(msgspec.structs.replace(result, variants={**result.variants, "padded": padded})))
    about = [sentence for sentence in said if "padded" in sentence]
    assert about == [
        "padded: the result is wrong at 1 of the 1 tested sizes.",
        "padded: the memory traffic says nothing, since the result is wrong.",
    ]
