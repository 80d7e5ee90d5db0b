"""Tables of resources and of other tools' words."""

from __future__ import annotations

import msgspec

from grader.measured import Resources, Witness
from grader.report import html
from grader.report.job import ReportJob
from grader.report.tables import resource_table, witness_tables
from tests import sample_results
from tests.report.jobs import job


def measured(witnesses: list[Witness] | None = None) -> ReportJob:
    """A job whose last variant was compiled for a GPU."""
    result = sample_results.passed()
    padded = msgspec.structs.replace(
        result.variants["padded"],
        resources=Resources(
            architecture="sm_90",
            registers=14,
            shared_bytes=4224,
            local_bytes=256,
            spill_store_bytes=8,
            spill_load_bytes=12,
            blocks_per_sm=2,
            occupancy_pct=100.0,
        ),
        witnesses=witnesses or [],
    )
    return job(msgspec.structs.replace(result, variants={**result.variants, "padded": padded}))


def test_resources_of_the_variants_that_have_them() -> None:
    table = resource_table(measured())
    assert table is not None and table["architecture"] == "sm_90"
    assert [v["name"] for v in table["variants"]] == ["padded"]
    cells = [row["cells"][0].replace("\u202f", "").replace("\u00a0", " ").replace(",", "") for row in table["rows"]]
    assert cells == ["14", "4224", "256", "8 / 12", "2", "100 %"]


def test_without_a_gpu_there_is_no_table() -> None:
    assert resource_table(job()) is None
    assert witness_tables(job()) is None


def test_counters_stand_beside_the_emulators_and_findings_below() -> None:
    tables = witness_tables(
        measured(
            [
                Witness(tool="ncu", name="global_load_sectors", value=8192.0, emulator=8192.0),
                Witness(tool="ncu", name="shared_load_wavefronts", value=0.0),
                Witness(tool="compute-sanitizer", name="memcheck", text="Invalid __shared__ write", line=39),
                Witness(tool="ncu", name="failed", text="not installed"),
            ]
        )
    )
    assert tables is not None
    (row,) = tables["counters"]
    assert row["title"] == "global memory: sectors of loads" and row["value"] == row["emulator"]
    assert [(f["tool"], f["text"], f["line"]) for f in tables["findings"]] == [
        ("compute-sanitizer", "Invalid __shared__ write", 39),
        ("ncu", "could not be queried: not installed", ""),
    ]


def test_the_page_shows_both() -> None:
    page = html.render(html.document(measured([Witness(tool="ncu", name="failed", text="<b>no</b>")])), [])
    assert "Resource usage" in page and "sm_90" in page
    assert "&lt;b&gt;no&lt;/b&gt;" in page and "<b>no</b>" not in page
