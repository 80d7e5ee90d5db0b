"""The PDF, on machines that can make one."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.report import html, pdf
from tests import sample_results
from tests.report.jobs import job


@pytest.fixture(scope="module", autouse=True)
def _pango() -> None:
    try:
        pdf.load()
    except pdf.PdfUnavailable as error:
        pytest.skip(f"no PDF on this machine: {error}")


def first_sheet(page: str) -> str:
    """The words on the first sheet of paper."""
    sheet = pdf.laid_out(page, "report.css").pages[0]
    boxes = [box for root in sheet._page_box.children for box in root.descendants()]
    return " ".join(box.text for box in boxes if type(box).__name__ == "TextBox")


@pytest.mark.parametrize(("asked", "alone"), [({}, False), ({"university": "NSU"}, True), ({"city": "Томск"}, True)])
def test_the_title_stands_on_a_sheet_of_its_own_where_a_university_asks_for_one(
    asked: dict[str, str], alone: bool
) -> None:
    page = html.document(job(sample_results.failed()))
    page["title_page"].update(dict.fromkeys(page["title_page"]) | asked)  # type: ignore[typeddict-item]
    words = first_sheet(html.render(page, [], paged=True))
    assert "of 80 points" in words
    assert ("Aim" in words) is not alone


def test_the_same_page_gives_the_same_bytes() -> None:
    page = "<html><body><h1>Отчёт</h1></body></html>"
    assert pdf.render(page) == pdf.render(page)


@pytest.mark.parametrize(
    "markup",
    [
        '<img src="file://{path}">',
        '<link rel="attachment" href="file://{path}">',
        '<a rel="attachment" href="file://{path}">a</a>',
        '<object data="file://{path}"></object>',
        '<div style="background: url(file://{path})">x</div>',
    ],
)
def test_no_file_of_this_machine_gets_into_it(tmp_path: Path, markup: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("attached or not")
    with_file = pdf.render(f"<html><body>{markup.format(path=secret)}</body></html>")
    without = pdf.render(f"<html><body>{markup.format(path=tmp_path / 'nothing')}</body></html>")
    assert b"EmbeddedFile" not in with_file
    assert len(with_file) == pytest.approx(len(without), abs=60)
