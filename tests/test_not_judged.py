"""A run that judged too little is no pass: everything that shows it says so first, with what would make it gradable."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from python_calamine import CalamineWorkbook

from grader import i18n
from grader.course.decisions import Decider, Overrides, read_overrides
from grader.course.rules import Rules
from grader.exports.entries import Entry, Table, course_percent
from grader.exports.finding_formats import write
from grader.exports.pages import overview, page
from grader.exports.systems import canvas, gradescope_results, junit, worksheet
from grader.exports.tables import gradebook, markdown, workbook
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.launching import emulator
from grader.report import terminal
from grader.report.html import document, render
from grader.report.summary import summary
from tests import sample_results
from tests.marks_only import marks_only
from tests.report.jobs import job

LAB = labs.find("transpose")
RESULT = sample_results.unjudged()
ENTRIES = [Entry("orlov", RESULT), Entry("ivanov", sample_results.passed())]
FIRST = "Not judged: of 85 points that can be judged without measuring time, 15 were."
REASON = "shared, padded, 70 points: in the program line 9 works in a margin Hand the kernel an array without a margin."


@pytest.fixture(autouse=True)
def english() -> None:
    i18n.use("en")


def on_a_terminal() -> str:
    file = io.StringIO()
    terminal.show_result(terminal.console(file), summary(job(RESULT)))
    return " ".join(file.getvalue().split())


VIEWS: dict[str, Callable[[], str]] = {
    "terminal": on_a_terminal,
    "page": lambda: render(document(job(RESULT)), []),
    "gradescope": lambda: json.loads(gradescope_results(RESULT, "en"))["output"],
    "junit": lambda: junit(ENTRIES, LAB, "en").decode(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_the_reason_and_the_remedy_stand_before_the_checks(name: str) -> None:
    text = VIEWS[name]()
    assert text.index(FIRST) < text.index(REASON)
    if name in ("terminal", "page"):
        # What is told at the head is not told again among what is pending.
        assert text.count("works in a margin") == 1


@pytest.mark.parametrize("name", ["vpl", "markdown"])
def test_comments_begin_with_it(name: str) -> None:
    text = write(name, RESULT, Path("transpose.cu"), "en").replace("\\", "")
    places = [text.index(words) for words in (FIRST, "not judged · shared, padded", "Hand the kernel")]
    assert places == sorted(places) and text.count("works in a margin") == 1


def test_a_terminal_says_it_before_its_table() -> None:
    text = on_a_terminal()
    assert text.index(REASON) < text.index("Check")
    assert "? not judged: 15 of 105 points, 90 pending" in text
    # The time of another machine is still waited for.
    assert "… 20 points pending: no GPU" in text


@pytest.mark.parametrize("name", ["gcc", "json", "sarif", "github", "gitlab"])
def test_editors_and_services_have_it_at_the_kernel(name: str) -> None:
    text = write(name, RESULT, Path("transpose.cu"), "en")
    assert "in the program line 9 works in a margin" in text
    assert "Hand the kernel an array without a margin." in text or name == "gitlab"
    if name == "gcc":
        assert "transpose.cu:6:1: warning: in the program line 9" in text
    if name == "json":
        assert json.loads(text)["status"] == "not_judged"
    if name == "sarif":
        assert json.loads(text)["runs"][0]["invocations"] == [{"executionSuccessful": False}]


def test_services_that_count_get_no_pass() -> None:
    told = json.loads(base64.b64decode(write("classroom", RESULT, Path("transpose.cu"), "en")))
    assert told["status"] == "error"
    assert {test["name"].split(" · ")[0]: test["status"] for test in told["tests"] if "correct" in test["name"]} == {
        "shared": "error",
        "padded": "error",
    }
    assert "Grade :=>>" not in write("vpl", RESULT, Path("transpose.cu"), "en")
    suite = ET.fromstring(junit(ENTRIES, LAB, "en"))[0]
    assert suite.get("errors") == "1"
    first = next(suite.iter("testcase"))
    told_there = first.find("error")
    assert told_there is not None and told_there.get("type") == "not_judged"


def test_a_group_s_tables_have_the_status_and_no_per_cent() -> None:
    rows = list(csv.reader(io.StringIO(gradebook(ENTRIES, LAB, "en").decode("utf-8-sig"), newline="")))
    orlov = dict(zip(rows[0], rows[1], strict=True))
    assert (orlov["Status"], orlov["Points"], orlov["Percent"]) == ("not judged", "15", "")
    assert orlov["Worst fault"].startswith("not judged: in the program line 9")
    (_all, lab) = CalamineWorkbook.from_filelike(io.BytesIO(workbook([Table(LAB, ENTRIES)], "en"))).sheet_names
    sheet = CalamineWorkbook.from_filelike(io.BytesIO(workbook([Table(LAB, ENTRIES)], "en"))).get_sheet_by_name(lab)
    assert "not judged" in sheet.to_python()[1]
    moodle = list(csv.reader(io.StringIO(worksheet(ENTRIES, LAB, "en").decode(), newline="")))
    assert [row[moodle[0].index("Grade")] for row in moodle[1:]] == ["", "80"]
    assert "not judged" in moodle[1][moodle[0].index("Feedback comments")]
    assert "Орлов" not in canvas(ENTRIES, LAB, "en").decode("utf-8-sig")
    assert "not judged" in markdown(ENTRIES, LAB, "en").decode()


def test_a_group_s_page_counts_and_filters_it() -> None:
    table = Table(LAB, ENTRIES)
    assert (overview(table, "en").unjudged, overview(table, "en").mean) == (1, "80\u00a0%")
    text = page(table, "en").decode()
    assert 'data-status="unjudged"' in text and '<option value="unjudged">' in text and "1 not judged" in text


def test_a_course_does_not_count_what_was_not_judged() -> None:
    tables = [Table(LAB, ENTRIES, weight=3.0), Table(LAB, ENTRIES, weight=1.0)]
    assert course_percent(tables, [ENTRIES[0], ENTRIES[1]]) == 80.0
    assert course_percent(tables, [ENTRIES[0], ENTRIES[0]]) is None


def test_points_given_by_hand_are_a_verdict(tmp_path: Path) -> None:
    path = tmp_path / "overrides.yaml"
    path.write_text("transpose:\n  orlov:\n    total: {points: 60, reason: read}\n", "utf-8")
    decided = Decider(Rules(), read_overrides(path, {})).decided(RESULT)
    assert (decided.status, decided.score.earned) == ("passed", 60.0)
    assert Decider(Rules(), Overrides(seen={})).decided(decided) == RESULT


SLOW_TO_EMULATE = """
__global__ void transpose_naive(const float *in, float *out, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols)
        for (int i = 0; i < 300; ++i)
            atomicExch(&out[c * rows + r], in[r * cols + c]);
}
"""


def test_a_kernel_that_the_interpreter_gives_up_on_loses_no_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emulator, "STEPS_PER_LAUNCH", 2000)
    (tmp_path / "transpose.cu").write_text(SLOW_TO_EMULATE)
    result = pipeline.grade(tmp_path, marks_only("transpose"), GradeOptions(backend="emulator"))
    correct = next(check for check in result.checks if check.id == "naive.correct")
    assert (correct.status, correct.earned, correct.pending, correct.line) == ("error", 0, correct.possible, 7)
    assert correct.message.endswith("whether it would come to an end is not known")
