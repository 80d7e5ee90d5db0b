"""Conclusions from sweeps: which value is best, from where on a technique pays; what stands beside the graphs."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from grader import i18n
from grader.measured import SweepRecord
from grader.report import html
from grader.report.conclusions import sweep_conclusions, sweep_notes, sweeps_intro
from tests.report.sweeps import memory_sweep, point, size_sweep, swept, tile_sweep, with_predicted


def over_sizes(
    *values: float, metric: str = "sectors", backend: Literal["emulator", "gpu"] = "emulator"
) -> SweepRecord:
    """`naive` stays at 8; `shared` has these values at 2, 4, 8 …"""
    xs = [2 << i for i in range(len(values))]
    points = [point("naive", x, 8.0, size={"n": x}, metric=metric) for x in xs]
    points += [point("shared", x, v, size={"n": x}, metric=metric) for x, v in zip(xs, values, strict=True)]
    return msgspec.structs.replace(size_sweep(backend, metric), points=points)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ((4.0, 2.0), ": up to 4 times fewer {quantity} than naive, fewer at every tested N"),
        ((4.0, 4.0), ": 2 times fewer {quantity} than naive at every tested N"),
        ((8.0, 4.0, 2.0), ": up to 4 times fewer {quantity} than naive, fewer from N = 4 on"),
        ((4.0, 9.0, 2.0), ": up to 4 times fewer {quantity} than naive, fewer from N = 8 on"),
        ((4.0, 2.0, 9.0), ": up to 4 times fewer {quantity} than naive, but only at N = 2, 4"),
        ((8.0, 7.9, 9.0), ": no fewer {quantity} than naive at any tested N"),
    ],
)
def test_from_where_on_a_technique_pays(values: tuple[float, ...], sentence: str) -> None:
    (found,) = sweep_conclusions(swept(over_sizes(*values)))
    assert found == f"Size: shared{sentence.format(quantity='global-memory sectors per element')}."


def test_of_rates_more_is_better() -> None:
    record = over_sizes(4.0, 16.0, metric="gb_per_s", backend="gpu")
    assert sweep_conclusions(swept(record)) == [
        "Size: shared: faster than naive from N = 4 on, by up to 2 times (bandwidth)."
    ]


def test_the_best_value_of_each_and_the_best_of_all() -> None:
    assert sweep_conclusions(swept(tile_sweep())) == [
        "Tile: naive, N = 64: least at T = 32, 6 global-memory sectors per element; T = 8 takes 4 times as many.",
        "Tile: shared, N = 64: least at T = 32, 1.5 global-memory sectors per element; T = 8 takes 4 times as many.",
        "Tile: each at its best, shared needs 4 times fewer than naive "
        "(global-memory sectors per element: 1.5 against 6).",
    ]


def test_kernels_alike_share_a_sentence() -> None:
    points = [point(name, x, 64.0 / x) for name in ("naive", "shared") for x in (8, 32)]
    record = msgspec.structs.replace(tile_sweep(), lines="", points=points)
    assert sweep_conclusions(swept(record)) == [
        "Tile: naive; shared: least at T = 32, 2 global-memory sectors per element; T = 8 takes 4 times as many."
    ]


def test_what_does_not_matter_is_said_once() -> None:
    points = [point(name, x, 2.0, metric="time") for name in ("naive", "shared") for x in (8, 16)]
    record = msgspec.structs.replace(tile_sweep(), lines="", backend="gpu", metrics=["time"], points=points)
    assert sweep_conclusions(swept(record)) == ["Tile: naive; shared: hardly any dependence on T (time)."]


def test_kinds_of_host_memory_are_compared() -> None:
    assert sweep_conclusions(swept(memory_sweep())) == [
        "Memory, naive: each at its best, mapped (zero-copy) is 5 times faster than pageable "
        "(time with copies: 200.0\u00a0µs against 1,000.0\u00a0µs)."
    ]


def test_bank_conflicts_of_every_size_are_told_and_the_exceptions_named() -> None:
    ways = {"shared": (1, 16, 1), "padded": (1, 1, 1), "naive": (2, 4, 2)}
    points = [
        point(name, x, 1.0, size={"n": x, "count": 256}, conflict_ways=count)
        for name, counts in ways.items()
        for x, count in zip((5, 8, 9), counts, strict=True)
    ]
    # The lab's own kernels are not what is concluded about.
    points += [point("naive", 8, 1.0, of="reference", size={"n": 8, "count": 256}, conflict_ways=32)]
    record = msgspec.structs.replace(size_sweep(), points=points, left_out={})
    said = [text for text in sweep_conclusions(swept(record)) if "bank conflicts" in text]
    title, x = said[0].split(":")[0], "N"
    assert said == [
        f"{title}: naive: bank conflicts at every tested {x}, up to 4-way at {x} = 8.",
        f"{title}: shared: bank conflicts at {x} = 8, up to 16-way at {x} = 8; none at {x} = 5, 9.",
        f"{title}: padded: no bank conflicts at any tested {x}.",
    ]
    assert sweep_notes(swept(record), record)["notes"] == ["Made at count\u00a0=\u00a0256."]


def test_of_the_lab_s_kernels_alone_nothing_is_concluded() -> None:
    points = [msgspec.structs.replace(p, of="reference") for p in size_sweep().points]
    assert sweep_conclusions(swept(msgspec.structs.replace(size_sweep(), points=points))) == []


def test_notes_say_what_is_missing_and_why() -> None:
    made = swept(tile_sweep(), size_sweep())
    tile, size = (sweep_notes(made, record) for record in made.result.sweeps)
    assert tile["title"] == "Tile"
    assert tile["notes"] == [
        "Made at n\u00a0=\u00a064.",
        "× naive 64; shared 64; shared 8 (N = 32): 4096 threads per block, at most 1024 are allowed.",
    ]
    assert size["notes"] == ["Skipped: padded (it was not run)."]


def test_the_introduction_tells_work_from_time() -> None:
    assert sweeps_intro(swept(size_sweep())).startswith("Counted on the emulator")
    assert "Dashed lines" in sweeps_intro(swept(size_sweep()))
    assert sweeps_intro(swept(memory_sweep())) == "Measured on the GPU; the bars are 99 % confidence intervals."


def test_the_introduction_says_what_was_predicted_and_how_far_it_may_be_off() -> None:
    assert "predicted" not in sweeps_intro(swept(size_sweep()))
    counted = sweeps_intro(swept(with_predicted(size_sweep())))
    assert "Times are predicted for H200" in counted
    assert "off by a factor of 1.5" in counted
    timed = sweeps_intro(swept(with_predicted(size_sweep("gpu", "time"), "T4", 2.25)))
    assert "Dotted lines without markers are predicted for T4" in timed
    assert "off by a factor of 2.3" in timed


def test_what_could_not_be_predicted_is_told_only_where_nothing_was_measured() -> None:
    for backend, told in (("emulator", True), ("gpu", False)):
        record = with_predicted(size_sweep(backend, "time"))  # type: ignore[arg-type]
        notes = sweep_notes(swept(record), record)["notes"]
        assert ("× shared 512: not predicted." in notes) == told


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_page_has_a_section_with_every_graph(language: str) -> None:
    i18n.use(language)
    try:
        made = swept(size_sweep(), tile_sweep(), language=language)
        page = html.render(html.document(made), html.figures(made, "screen"), {}, html.sweep_figures(made, "screen"))
        assert page.count('<figure class="lines"><div class="scroll"><img src="data:image/svg+xml;base64,') == 1
        assert page.count('<figure class="wide"><div class="scroll"><img src="data:image/svg+xml;base64,') == 1
        assert ("Counted on the emulator" in page) is (language == "en")
        # Figures are numbered on from those of memory traffic.
        number = "Figure 5." if language == "en" else "Рис. 5."
        assert number in page
    finally:
        i18n.use("en")


def test_without_sweeps_there_is_no_section() -> None:
    made = swept()
    assert "Sweeps" not in html.render(html.document(made), [], {}, html.sweep_figures(made, "screen"))
