"""A warp's accesses to be stepped through: in the page with its script, one picture on paper, as data in the result."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import msgspec
import pytest

from grader import i18n
from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.measured import WarpArray, WarpRequest, WarpSteps
from grader.report import html
from grader.report.bank_map import warp_steps
from grader.result import Result, decode, encode
from tests import browser, sample_results
from tests.marks_only import marks_only
from tests.report.jobs import job

SAMPLES = Path(__file__).parents[2] / "submissions"
COLUMN = WarpSteps(
    block=(1, 2, 0),
    warp=3,
    arrays=[WarpArray(name="t", element_bytes=4, start=128, shape=[32, 32])],
    requests=[
        WarpRequest(cost=1, ideal=1, runs=[(0, 0, 32, 64, 1)]),
        WarpRequest(cost=32, ideal=1, runs=[(0, 0, 32, 3, 32)]),
    ],
    total=2,
)


def with_steps(result: Result, line: int, op: str, steps: WarpSteps) -> Result:
    """`result` with the steps at a line of each variant whose check on it failed."""
    variants = {}
    for name, variant in result.variants.items():
        counters = variant.counters
        if counters is not None:
            rows = [
                msgspec.structs.replace(c, steps=steps) if (c.line, c.op) == (line, op) else c for c in counters.by_line
            ]
            counters = msgspec.structs.replace(counters, by_line=rows)
        variants[name] = msgspec.structs.replace(variant, counters=counters)
    return msgspec.structs.replace(result, variants=variants)


def failed() -> Result:
    result = sample_results.failed()
    (check,) = [c for c in result.checks if c.check == "bank_conflicts" and c.status == "fail"]
    (row,) = [
        c
        for c in result.variants[check.variant].counters.by_line  # type: ignore[union-attr]
        if (c.line, c.space, c.op) == (check.line, "shared", "load")
    ]
    return with_steps(result, row.line, "load", COLUMN)


def test_a_request_is_drawn_wavefront_by_wavefront_and_told_lane_by_lane() -> None:
    i18n.use("en")
    ((view,),) = warp_steps(job(failed())).values()
    assert view["title"].endswith("shared load, warp 3 of block (1, 2)")
    assert view["worst"] == 1
    row, column = view["requests"]
    assert (row["words"], len(row["rows"])) == ("1 wavefront", 1)
    assert (column["words"], len(column["rows"])) == ("32 wavefronts where 1 would do", 32)
    assert len({cell["x"] for r in column["rows"] for cell in r["cells"]}) == 1
    assert [cell["lanes"] for r in column["rows"] for cell in r["cells"]] == [str(lane) for lane in range(32)]
    assert column["said"][5].endswith("t[5][3], word 195 of shared memory, bank 3; wavefront 6.")
    assert row["said"][31].endswith("t[2][31], word 127 of shared memory, bank 31; wavefront 1.")


def test_only_the_page_s_own_script_may_run_and_only_where_there_is_something_to_step_through() -> None:
    made = html.render(html.document(job(failed())), [])
    (policy,) = re.findall(r"script-src 'sha256-([^']+)'", made)
    (script,) = re.findall(r"<script>(.*?)</script>", made, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() == policy
    assert made.count('<div class="step"') == 2
    assert "<script" not in html.render(html.document(job(sample_results.failed())), [])


def test_on_paper_the_worst_request_stands_alone() -> None:
    made = html.render(html.document(job(failed())), [], paged=True)
    assert "<script" not in made and "script-src" not in made
    assert made.count('<div class="step">') == made.count('<div class="step"') == 1
    assert "Request 2 of 2: 32 wavefronts where 1 would do" in made


def test_names_are_text() -> None:
    named = msgspec.structs.replace(COLUMN, arrays=[WarpArray(name="<script>t", element_bytes=4)])
    made = html.render(html.document(job(with_steps(failed(), 12, "load", named))), [])
    assert made.count("<script") == 1 and "&lt;script&gt;t[3]" in made


def test_a_graded_conflict_and_its_result_read_again() -> None:
    result = grade(SAMPLES / "petrova", marks_only("transpose"), GradeOptions(backend="emulator", repairs=False))
    known = {
        (name, c.line, c.space, c.op): c.steps
        for name, v in result.variants.items()
        for c in (v.counters.by_line if v.counters else ())
        if c.steps
    }
    array = WarpArray(name="buf", element_bytes=4, start=0, shape=[32, 32])
    column = WarpRequest(cost=32, ideal=1, runs=[(0, 0, 32, 0, 32)])
    expected = WarpSteps(block=(0, 0, 0), warp=0, arrays=[array], requests=[column], total=1)
    assert known == {("padded", 44, "shared", "load"): expected}
    assert decode(encode(result)) == result


@pytest.mark.slow
def test_strided_accesses_are_followed_at_the_lines_that_cost_points() -> None:
    path = Path(__file__).parents[1] / "kernels" / "box-blur" / "bad" / "strided_threads.cu"
    result = grade(path, marks_only("box-blur"), GradeOptions(backend="emulator", repairs=False))
    counters = result.variants["naive"].counters
    assert counters is not None
    found = {(c.line, c.op): c.steps for c in counters.by_line if c.steps}
    assert set(found) == {(14, "load"), (15, "store")}
    loads = found[14, "load"]
    assert loads is not None
    assert (loads.total, [r.cost for r in loads.requests], {r.ideal for r in loads.requests}) == (5, [32] * 5, {4})
    assert [a.name for a in loads.arrays] == ["in"]
    assert [r.runs[0][4] for r in loads.requests] == [256] * 5


@pytest.mark.slow
@pytest.mark.skipif(not browser.PROGRAM, reason="no Chromium here")
def test_a_reader_steps_through_the_lanes(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(html.render(html.document(job(failed())), []), "utf-8")
    with browser.Browser() as page:
        page.open(file.as_uri())
        assert page.errors == []
        shown = "document.querySelector('.step:not([hidden]) .words').textContent"
        assert page.run(shown).startswith("Request 2 of 2")
        for _lane in range(6):
            page.run("document.querySelector('button.lane.on').click()")
        assert "t[5][3], word 195" in page.run("document.querySelector('figure.steps output').textContent")
        now = "document.querySelector('.step:not([hidden]) g.now').dataset.lanes"
        assert page.run(now) == "5"
        assert page.run("document.querySelectorAll('.step:not([hidden]) g.later').length") == 26
        page.run("document.querySelector('button.request.back').click()")
        assert page.run(shown).startswith("Request 1 of 2") and page.run(now) == "5"
        assert page.run("document.querySelector('button.request.back').disabled")
