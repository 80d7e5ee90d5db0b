"""The tables of the page."""

from __future__ import annotations

from grader.report import tables
from grader.report.numbers import Numbers
from grader.report.view import summary
from grader.result import Case
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
    assert rows["shared memory efficiency"] == ["–", "6,06\u00a0%", "100\u00a0%"]
    assert rows["of them more than needed"] == ["–", "63\u202f488", "0"]
    assert rows["sectors per global store (least possible)"] == ["32 (4)", "4 (4)", "4 (4)"]


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
