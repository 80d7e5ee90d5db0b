"""What the figures show."""

from __future__ import annotations

import msgspec

from grader.measured import LineCounters
from grader.report import charts
from grader.report.bank_map import words_per_bank
from tests import sample_results
from tests.report.jobs import job


def test_wavefronts_against_their_ideal() -> None:
    chart = charts.wavefront_chart(job())
    assert chart is not None
    shown = {(g.label, b.label): (b.value, b.ideal) for g in chart.groups for b in g.bars}
    assert shown == {
        ("shared", "load"): (32.0, 1.0),
        ("shared", "store"): (1.0, 1.0),
        ("padded", "load"): (1.0, 1.0),
        ("padded", "store"): (1.0, 1.0),
    }


def test_sectors_against_their_ideal() -> None:
    chart = charts.sector_chart(job())
    assert chart is not None
    assert [(b.value, b.ideal) for b in chart.groups[0].bars] == [(4.0, 4.0), (32.0, 4.0)]


def test_the_bank_map_compares_the_padded_tile_with_the_conflict() -> None:
    shared, padded = charts.bank_maps(job())
    assert (shared.place, shared.verdict) == ("load at transpose.cu:12", "32 words in one bank: 32-way conflict")
    assert words_per_bank(shared) == [32] + [0] * 31
    # Not its store, which has no conflict either but says nothing.
    assert (padded.place, padded.verdict) == ("load at transpose.cu:12", "one word in a bank: no conflict")
    assert words_per_bank(padded) == [1] * 32


def test_lanes_that_share_a_word_do_not_conflict() -> None:
    result = sample_results.passed()
    words: list[int | None] = [7] * 16 + [39] + [None] * 15
    line = LineCounters(line=3, space="shared", op="load", requests=1, wavefronts=2, ideal=1, ways=2, lane_words=words)
    counters = result.variants["shared"].counters
    assert counters is not None
    changed = msgspec.structs.replace(
        result.variants["shared"], counters=msgspec.structs.replace(counters, by_line=[line])
    )
    shared = charts.bank_maps(job(msgspec.structs.replace(result, variants={"shared": changed})))[0]
    assert words_per_bank(shared)[7] == 2
    assert sum(words_per_bank(shared)) == 2
    assert shared.lanes[17] == ()


def test_a_wide_access_takes_several_banks() -> None:
    result = sample_results.passed()
    words: list[int | None] = [4 * lane for lane in range(32)]
    line = LineCounters(
        line=3, space="shared", op="load", width_bytes=16, requests=1, wavefronts=4, ideal=4, lane_words=words
    )
    counters = result.variants["shared"].counters
    assert counters is not None
    changed = msgspec.structs.replace(
        result.variants["shared"], counters=msgspec.structs.replace(counters, by_line=[line])
    )
    shared = charts.bank_maps(job(msgspec.structs.replace(result, variants={"shared": changed})))[0]
    assert shared.lanes[1] == (4, 5, 6, 7)


def test_no_counters_no_charts() -> None:
    nothing = job(sample_results.errored())
    assert charts.wavefront_chart(nothing) is None
    assert charts.sector_chart(nothing) is None
    assert charts.bank_maps(nothing) == []


def test_variants_with_one_and_the_same_map_share_it() -> None:
    """Two kernels without conflicts whose lanes use the same banks; the third has conflicts and its own map."""
    result = sample_results.passed()
    padded = result.variants["padded"]
    assert padded.counters is not None
    moved = [
        msgspec.structs.replace(c, line=c.line + 20, lane_words=[None if w is None else w + 64 for w in c.lane_words])
        for c in padded.counters.by_line
    ]
    twin = msgspec.structs.replace(padded, counters=msgspec.structs.replace(padded.counters, by_line=moved))
    alone = charts.bank_maps(job(result))
    together = charts.bank_maps(job(msgspec.structs.replace(result, variants={**result.variants, "naive": twin})))
    assert [chart.title for chart in alone] == ["shared", "padded"]
    assert [chart.title for chart in together] == ["naive, padded", "shared"]
    assert together[0].place.endswith(":32, 12")
