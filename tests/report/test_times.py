"""Tables of times: what the sources of the labs ask for stands in them, what was not measured does not."""

from __future__ import annotations

import msgspec

from grader import i18n
from grader.measured import HostMemory, Ratio, Timing
from grader.report import html, tables
from grader.report.job import ReportJob
from grader.report.views import TimeTable
from tests import sample_results
from tests.report.jobs import job

RATIO = Ratio(value=3.72, low=3.6, high=3.8)


def timed(**changes: object) -> ReportJob:
    """A job whose last variant was timed at two sizes, and its first at one."""
    result = sample_results.passed()
    rows = [
        Timing(size={"n": 64}, median_us=1.25, ci_low_us=1.2, ci_high_us=1.3, launch_bound=True),
        Timing(
            size={"n": 4096},
            median_us=125.5,
            ci_low_us=124.0,
            ci_high_us=127.0,
            speedup=2.5,
            over_baseline=RATIO,
            over_reference=Ratio(value=0.951, low=0.94, high=0.96),
            over_cpu=1234.4,
            cpu_us=154917.2,
            cpu_threads=2,
            gb_per_s=1069.6,
            pct_of_device=24.6,
        ),
        Timing(size={"n": 9}),
    ]
    naive = msgspec.structs.replace(result.variants["naive"], timing=[Timing(size={"n": 64}, median_us=9.0)])
    padded = msgspec.structs.replace(result.variants["padded"], timing=rows)
    variants = {**result.variants, "naive": naive, "padded": padded}
    return job(msgspec.structs.replace(result, variants=variants), **changes)


def titles(table: TimeTable) -> list[str]:
    """The columns' titles, each behind the one that it stands under."""
    return [f"{group['title']} {title}".strip() for group in table["head"] for title in group["columns"] or [""]]


def test_a_row_for_every_variant_and_size_that_was_timed() -> None:
    table = tables.time_table(timed())
    assert table is not None
    assert [(row["name"], row["first"], row["size"]) for row in table["rows"]] == [
        ("naive", True, "n\u00a0=\u00a064"),
        ("padded", True, "n\u00a0=\u00a064*"),
        ("padded", False, "n\u00a0=\u00a04096"),
    ]


def test_the_columns_that_the_sources_ask_for() -> None:
    table = tables.time_table(timed())
    assert table is not None
    assert dict(zip(titles(table), table["rows"][2]["cells"], strict=True)) == {
        "time, µs": "125.5\u2007",
        "99\u00a0% interval": "124.0\u00a0…\u00a0127.0\u2007",
        "GB/\u2060s": "1,070",
        "% of the device": "24.6",
        "speedup over naive": "3.72",
        "speedup over CPU": "1,234",
        "speedup over reference": "0.95",
        "speedup over threshold": "2.50",
        "CPU, µs": "154,917",
    }


def test_columns_without_a_value_are_left_out_and_gaps_are_dashes() -> None:
    table = tables.time_table(timed())
    assert table is not None
    assert not [title for title in titles(table) if title.startswith("GFLOP")]
    first = [cell.rstrip("\u2007\u2008") for cell in table["rows"][0]["cells"]]
    assert first == ["9.00", "–", "–", "–", "–", "–", "–", "–", "–"]


def test_notes_tell_of_threads_and_of_times_that_are_mostly_a_launch() -> None:
    table = tables.time_table(timed())
    assert table is not None
    assert (table["rows"][1]["size"], table["rows"][1]["cells"][0]) == ("n\u00a0=\u00a064*", "1.25")
    assert "NumPy on the CPU used 2 threads." in table["notes"]
    assert any(note.startswith("*") for note in table["notes"])


def rows_of(*timing: Timing) -> TimeTable:
    """The table of a job whose first variant alone was timed."""
    result = sample_results.passed()
    naive = msgspec.structs.replace(result.variants["naive"], timing=list(timing))
    table = tables.time_table(job(msgspec.structs.replace(result, variants={**result.variants, "naive": naive})))
    assert table is not None
    return table


def test_what_all_sizes_share_is_said_once() -> None:
    table = rows_of(*(Timing(size={"n": n, "count": 1000}, median_us=2.0) for n in (3, 5)))
    assert table["caption"] == "In all rows count\u00a0=\u00a01000."
    assert [row["size"] for row in table["rows"]] == ["n\u00a0=\u00a03", "n\u00a0=\u00a05"]


def test_a_single_size_stands_in_its_row() -> None:
    table = rows_of(Timing(size={"n": 3, "count": 1000}, median_us=2.0))
    assert (table["caption"], table["rows"][0]["size"]) == ("", "n\u00a0=\u00a03, count\u00a0=\u00a01000")


def test_decimal_marks_stand_one_below_another() -> None:
    table = rows_of(*(Timing(size={"n": n}, median_us=us) for n, us in enumerate((1.0, 119.0, 24675.0))))
    assert [row["cells"][0] for row in table["rows"]] == ["1.00", "119.0\u2007", "24,675\u2008\u2007\u2007"]


def test_a_share_too_small_for_its_decimals_is_not_nothing() -> None:
    shares = (0.0, 0.04, 0.19, 33.5)
    table = rows_of(*(Timing(size={"n": n}, median_us=1.0, pct_of_device=pct) for n, pct in enumerate(shares)))
    assert [row["cells"][1] for row in table["rows"]] == ["0.0", "<\u00a00.1", "0.2", "33.5"]


def test_how_many_threads_numpy_kept_busy() -> None:
    table = rows_of(*(Timing(size={"n": n}, median_us=1.0, cpu_us=9.0, cpu_threads=n) for n in (1, 60, 19)))
    assert "NumPy on the CPU used 1 to 60 threads, depending on the size." in table["notes"]


def test_nothing_timed_is_no_table() -> None:
    assert tables.time_table(job()) is None
    assert tables.host_memory_table(job()) is None


def test_kinds_of_host_memory() -> None:
    result = sample_results.passed()
    rows = [
        HostMemory(
            mode="pinned", size={"n": 16}, copy_in_us=10, kernel_us=2, copy_out_us=11, total_us=23, cpu_read_us=1
        ),
        HostMemory(
            mode="mapped", size={"n": 16}, copy_in_us=0, kernel_us=30, copy_out_us=0, total_us=30, cpu_read_us=1
        ),
    ]
    naive = msgspec.structs.replace(result.variants["naive"], host_memory=rows)
    shown = job(msgspec.structs.replace(result, variants={**result.variants, "naive": naive}))
    table = tables.host_memory_table(shown)
    assert table is not None
    parts = ["copy to GPU", "kernel", "copy from GPU", "total", "CPU reads the result"]
    assert titles(table) == [f"time, µs {part}" for part in parts]
    assert [(row["first"], row["size"], row["cells"][3]) for row in table["rows"]] == [
        (True, "pinned", "23.00"),
        (False, "mapped (zero-copy)", "30.00"),
    ]
    assert "Size: n\u00a0=\u00a016." in table["notes"][0]


def test_the_page_shows_them_in_both_languages() -> None:
    for language, title in (("en", "Times"), ("ru", "Время")):
        i18n.use(language)
        page = html.render(html.document(timed(language=language)), [])
        assert f"<h2>{title}</h2>" in page
        assert ("1,070" if language == "en" else "1\u202f070") in page
    i18n.use("en")
