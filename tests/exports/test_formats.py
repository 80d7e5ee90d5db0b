"""A group's marks in the formats of others, read as these read them."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from lxml import etree
from python_calamine import CalamineWorkbook

from grader import i18n
from grader.course.roster import Person
from grader.exports import FORMATS
from grader.exports.entries import Entry, StudentExport, Table
from grader.exports.systems import canvas, junit, worksheet
from grader.exports.tables import markdown, workbook
from grader.lab import labs
from grader.result import Result, Student
from tests import sample_results

LAB = labs.find("transpose")
FORMULA = '=HYPERLINK("http://evil","x")'


@pytest.fixture(autouse=True)
def english() -> None:
    i18n.use("en")


def named(result: Result, student: str) -> Result:
    return msgspec.structs.replace(result, student=Student(id=student, name=student))


def entries() -> list[Entry]:
    known = Person(
        id="ivanov", name="Иванов Иван", group="101", email="i@x.ru", number="77", participant="4711", canvas_id="815"
    )
    return [
        Entry("ivanov", sample_results.passed(), person=known),
        Entry("petrova", sample_results.failed()),
        Entry(FORMULA, named(sample_results.passed(), FORMULA)),
        Entry("a|b\x01<b>", reason="no .cu file \x1b\ufffe"),
    ]


def rows(raw: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline="")))


def test_moodle_finds_its_columns_and_participants() -> None:
    titles, *lines = rows(worksheet(entries(), LAB, "en"))
    # What mod/assign/feedback/offline/importgradeslib.php looks for.
    assert {"Identifier", "Grade", "Last modified (grade)", "Feedback comments"} <= set(titles)
    ivanov, petrova, formula, nobody = (dict(zip(titles, line, strict=True)) for line in lines)
    assert re.fullmatch(r"Participant (\d+)", ivanov["Identifier"])
    assert (ivanov["Grade"], ivanov["Maximum grade"], ivanov["Email address"]) == ("80", "100", "i@x.ru")
    assert ivanov["Feedback comments"] == "pending: 20 points"
    # 25 of 80 possible, on the lab's 100 points.
    assert (petrova["Grade"], petrova["Identifier"]) == ("31.25", "")
    assert formula["Full name"] == "'" + FORMULA
    assert nobody["Grade"] == ""


def test_canvas_reads_points_under_the_labs_name() -> None:
    titles, possible, *lines = rows(canvas(entries(), LAB, "en"))
    # What lib/gradebook_importer.rb takes for columns about the student, which come before those of assignments.
    assert "Student" in titles[0] and "ID" in titles[1]
    assert titles[2:5] == ["SIS User ID", "SIS Login ID", "Section"]
    assert titles[5:] == ["Matrix transposition and shared memory"]
    assert ("Points Possible" in possible[0], possible[5]) == (True, "100")
    assert lines[0] == ["Иванов Иван", "815", "77", "i@x.ru", "101", "80"]
    # An empty grade would be imported as none, over one that was given by hand.
    assert [line[5] for line in lines] == ["80", "31.25", "80"]


def test_junit_is_valid_and_counts() -> None:
    schema = etree.XMLSchema(etree.parse(Path(__file__).parent / "junit.xsd"))
    raw = junit(entries(), LAB, "en")
    schema.assertValid(etree.fromstring(raw))
    root = ET.fromstring(raw)
    checks = [check.status for result in (sample_results.passed(), sample_results.failed()) for check in result.checks]
    checks += [check.status for check in sample_results.passed().checks]
    assert int(root.get("tests", "")) == len(checks) + 1
    assert int(root.get("failures", "")) == checks.count("fail") == len(root.findall(".//failure"))
    assert int(root.get("errors", "")) == checks.count("error") + 1
    (error,) = root.findall(".//error")
    assert error.get("message") == "no .cu file ␛\ufffd"


def test_markdown_keeps_a_name_in_its_cell() -> None:
    lines = markdown(entries(), LAB, "en").decode().splitlines()
    table = [re.split(r"(?<!\\)\|", line) for line in lines if line.startswith("|")]
    assert len(table) == 6 and len({len(line) for line in table}) == 1
    assert table[-1][1].strip() == r"a\|b␁\<b\>"
    assert table[2][3:6] == [" 80 of 100 ", " 80\u00a0% ", " 20 "]


def cells(raw: bytes, sheet: int) -> list[list[Any]]:
    """The cells of a sheet, read by another library than the one that wrote them."""
    return list(CalamineWorkbook.from_filelike(io.BytesIO(raw)).get_sheet_by_index(sheet).to_python())


def test_the_workbook_has_totals_and_a_sheet_a_lab() -> None:
    other = labs.find("matmul")
    tables = [Table(LAB, entries()), Table(other, [Entry("ivanov", sample_results.failed())])]
    raw = workbook(tables, "en")
    assert raw == workbook(tables, "en")
    totals, first = cells(raw, 0), cells(raw, 1)
    assert totals[0][-4:] == ["Points", "Pending", "Maximum", "Percent"]
    # 80 of 100 with 20 pending, and 25 of 80.
    assert totals[1] == ["ivanov", "Иванов Иван", "101", 80, 80, 25, 31.25, 105, 20, 180, 58.33]
    assert first[3][0] == "'" + FORMULA
    assert first[4][-2] == "no .cu file ␛\ufffd"
    sheets = zipfile.ZipFile(io.BytesIO(raw))
    assert not any(b"<f>" in sheets.read(name) for name in sheets.namelist() if "sheet" in name)


def test_gradescope_gets_every_point() -> None:
    exporting = FORMATS["gradescope"]
    assert isinstance(exporting, StudentExport)
    made = json.loads(exporting.write(entries()[0], LAB, "en"))
    assert made["score"] == 80
    assert sum(test["score"] for test in made["tests"]) == 80
    assert json.loads(exporting.write(entries()[3], LAB, "en"))["tests"] == []


def test_gradescopes_leaderboard_counts_what_right_kernels_move() -> None:
    exporting = FORMATS["gradescope"]
    assert isinstance(exporting, StudentExport)
    right, wrong = (json.loads(exporting.write(entry, LAB, "en"))["leaderboard"] for entry in entries()[:2])
    totals = [v.counters for v in sample_results.passed().variants.values() if v.counters is not None]
    wavefronts = sum(counted.shared_wavefronts for counted in totals)
    sectors = sum(
        counted.global_load_requests * (counted.global_load_sectors_per_request or 0)
        + counted.global_store_requests * (counted.global_store_sectors_per_request or 0)
        for counted in totals
    )
    assert [(row["value"], row.get("order")) for row in right] == [(80, None), (sectors, "asc"), (wavefronts, "asc")]
    assert [row["name"] for row in wrong] == ["Points"]


def test_a_group_is_exported_without_grading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from grader.cli import main as cli
    from grader.exports.entries import roster
    from grader.result import encode

    monkeypatch.chdir(tmp_path)
    group = [Entry("ivanov", sample_results.passed()), Entry("nobody", reason="no .cu file")]
    place = tmp_path / "reports" / "ivanov" / "transpose"
    place.mkdir(parents=True)
    (place / "result.json").write_bytes(encode(sample_results.passed()))
    (tmp_path / "reports" / "transpose.json").write_bytes(roster(group, LAB, "en"))
    formats = [part for name in FORMATS if name != "pdf" for part in ("--format", name)]
    assert cli.run(["export", "reports", "--lang", "en", *formats]) == 0
    assert capsys.readouterr().err == ""
    written = {str(p.relative_to(tmp_path / "reports")) for p in (tmp_path / "reports").rglob("*") if p.is_file()}
    assert written == {
        *(f"transpose{end}" for end in (".json", ".csv", ".html", ".moodle.csv", ".canvas.csv", ".junit.xml", ".md")),
        *("gradebook.xlsx", "course.html", "ivanov/transpose/result.json", "ivanov/transpose/gradescope/results.json"),
    }
    assert "no .cu file" in (tmp_path / "reports" / "transpose.csv").read_text("utf-8-sig")
    assert cli.run(["export", "reports/ivanov", "--lang", "en", "--format", "xlsx"]) == 2
    assert "no results of a group there" in capsys.readouterr().err
