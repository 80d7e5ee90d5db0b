"""The tables of the page."""

from __future__ import annotations

from grader.lab import labs
from grader.report import tables
from grader.report.job import make_job, size_text
from grader.report.summary import summary
from grader.report.text import Numbers
from grader.result import Case, Launch
from tests import sample_results
from tests.report.jobs import job


def test_variants_keep_their_colours_whatever_was_found() -> None:
    everywhere = {v["name"]: v["colour"] for v in summary(job())["variants"]}
    assert len(set(everywhere.values())) == 3
    counted = tables.counter_table(job(sample_results.failed()))
    assert counted is not None
    assert [v["colour"] for v in counted["variants"]] == [everywhere["shared"], everywhere["padded"]]


def test_counters_are_those_of_the_lecture() -> None:
    table = tables.counter_table(job(language="ru"))
    assert table is not None
    rows = {row["title"]: row["cells"] for row in table["rows"]}
    assert rows["shared memory efficiency"] == ["–", "6,06\u00a0%", "100,00\u00a0%"]
    assert rows["of these, more than needed"] == ["–", "63\u202f488", "0"]
    assert rows["worst bank conflict, ways"] == ["–", "32", "none"]
    assert rows["sectors per global store (minimum)"] == ["32 (4)", "4 (4)", "4 (4)"]


def test_nothing_counted_is_no_table() -> None:
    assert tables.counter_table(job(sample_results.errored())) is None


def test_the_way_back_to_the_result_is_complete() -> None:
    shown = tables.reproduce(job())
    assert shown["command"] == "grade submissions/petrova --lab transpose --backend emulator"
    values = {row["title"]: row["value"] for row in shown["rows"]}
    assert values["seed of the input data"] == "1"
    assert values["NVRTC"] == "13.5"
    assert "device" not in values


def test_a_case_says_how_wrong_it_is_in_a_few_words() -> None:
    wrong = Case(size={"n": 9}, status="fail", mismatches=12345, max_abs_error=3.0, message="A story. Of many words.")
    assert tables.case_view(wrong, Numbers("en"))["detail"] == "wrong elements: 12,345"
    stopped = Case(size={"n": 9}, status="fail", message="A story. Of many words.")
    assert tables.case_view(stopped, Numbers("en"))["detail"] == "A story"


def test_sizes_are_a_product_only_where_they_are_the_axes_of_an_array() -> None:
    sizes = {"transpose": ("rows", "cols"), "matmul": (), "batch-square": (), "box-blur": ()}
    assert {name: make_job(sample_results.passed(), labs.find(name), "en").extents for name in sizes} == sizes
    assert size_text({"rows": 64, "cols": 128}, ("rows", "cols")) == "64\u00a0×\u00a0128"
    assert size_text({"n": 8192, "radius": 2}) == "n\u00a0=\u00a08192, radius\u00a0=\u00a02"


def test_the_largest_error_is_told_once_for_a_kernel() -> None:
    cases = [
        Case(size={"n": 1}, status="pass", max_abs_error=2e-6),
        Case(size={"n": 2}, status="pass", max_abs_error=9e-6),
        Case(size={"n": 3}, status="fail", max_abs_error=5.0, mismatches=4),
    ]
    assert tables.largest_error(cases, Numbers("en")) == "largest error 9.0e-6"
    assert tables.largest_error([Case(size={"n": 1}, status="pass", max_abs_error=0.0)], Numbers("en")) == ""
    assert [tables.case_view(case, Numbers("en"))["detail"] for case in cases] == ["", "", "wrong elements: 4"]


def test_a_size_with_one_outcome_is_shown_once() -> None:
    size = {"n": 9}
    cases = [
        Case(size=size, status="pass"),
        Case(size=size, status="pass", kind="ragged"),
        Case(size=size, status="fail", mismatches=4),
    ]
    assert [view["key"] for view in tables.case_views(cases, Numbers("en"))] == ["pass", "fail"]


def test_a_launch_says_who_chose_it() -> None:
    def text(block: tuple[int, int, int], **given: object) -> str:
        return tables.launch_text(Launch(block, **given))  # type: ignore[arg-type]

    assert text((32, 8, 1), origin="submission", by="read") == "block 32\u00a0×\u00a08, as your program launches it"
    assert text((96, 1, 1), origin="submission", by="observed", requested=(512, 1, 1)) == (
        "block 96 at the lab's sizes; with its own sizes your program launches 512"
    )
    assert text((64, 1, 1), origin="submission", by="stated", requested=(32, 1, 1)) == (
        "block 64, as submission.yaml says"
    )
    # An impossible block is a fault of its own; the kernel is graded with the lab's.
    assert text((256, 1, 1), origin="lab", by="lab", requested=(2048, 1, 1)) == "block 256, the lab's default"
