"""The report on paper: no sheet is half empty where what stands on the next one could have stood on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from grader import i18n
from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.lab.labs import find
from grader.report import html, pdf
from grader.report.job import make_job
from grader.report.rendering import drawn
from grader.result import Result
from grader.words import told

SUBMISSIONS = Path(__file__).parents[2] / "submissions"
LEAST_FILLED = 0.5
LEAST_ON_THE_LAST = 0.1

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _pango() -> None:
    try:
        pdf.load()
    except pdf.PdfUnavailable as error:
        pytest.skip(f"no PDF on this machine: {error}")


@pytest.fixture(scope="module")
def graded() -> Callable[[str, str], Result]:
    """The result of a sample, graded once."""

    @cache
    def grade_one(student: str, lab: str) -> Result:
        return grade(SUBMISSIONS / student, find(lab, ()), GradeOptions(backend="emulator"))

    return grade_one


def filled(page: object) -> float:
    """The part of a sheet, from the top of what may be printed on, above the end of the last thing on it."""
    box = page._page_box  # type: ignore[attr-defined]
    top, height = box.content_box_y(), box.height
    bottom = top
    for root in box.children:
        if type(root).__name__ == "MarginBox":
            continue
        for one in root.descendants():
            if type(one).__name__ in ("TextBox", "InlineReplacedBox", "BlockReplacedBox"):
                bottom = max(bottom, one.position_y + one.height)
    return float((bottom - top) / height)


def begins_with_a_note(page: object) -> bool:
    """Whether the first text of a sheet is a note to what stands on the sheet before."""
    for root in page._page_box.children:  # type: ignore[attr-defined]
        if type(root).__name__ == "MarginBox":
            continue
        notes: set[int] = set()
        for one in root.descendants():
            element = getattr(one, "element", None)
            if element is not None and "aside" in (element.get("class") or "").split():
                notes |= {id(box) for box in (one, *getattr(one, "descendants", tuple)())}
            if type(one).__name__ == "TextBox":
                return id(one) in notes
    return False


def test_a_note_alone_is_seen() -> None:
    style = "<style>@page { size: 100mm 100mm; margin: 10mm } p { break-after: page }</style>"
    sheets = pdf.laid_out(f"<html><body>{style}<p>one</p><ul class='aside'><li>two</li></ul></body></html>").pages
    assert [begins_with_a_note(sheet) for sheet in sheets] == [False, True]


def test_an_empty_half_is_seen() -> None:
    style = "<style>@page { size: 100mm 100mm; margin: 10mm } p { margin: 0; height: 30mm; break-after: page }</style>"
    sheets = pdf.laid_out(f"<html><body>{style}<p>one</p><p style='padding-top: 60mm'>two</p></body></html>").pages
    shares = [filled(sheet) for sheet in sheets]
    assert shares[0] < 0.2
    assert 0.75 < shares[1] < 0.95


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize(
    ("student", "lab"), [("ivanov", "transpose"), ("sidorov", "transpose"), ("ivanov", "batch-square")]
)
def test_no_sheet_is_half_empty(graded: Callable[[str, str], Result], student: str, lab: str, language: str) -> None:
    i18n.use(language)
    try:
        job = make_job(told(graded(student, lab)), find(lab, ()), language)
        html.ON_PAPER.clear()
        page = drawn(job, html.document(job), "paper")
        sheets = pdf.laid_out(page, "report.css", html.ON_PAPER).pages
    finally:
        i18n.use("en")
    shares = [round(filled(sheet), 2) for sheet in sheets]
    # The last one ends where the report does.
    assert min(shares[:-1]) >= LEAST_FILLED, shares
    assert not any(begins_with_a_note(sheet) for sheet in sheets)
    assert shares[-1] >= LEAST_ON_THE_LAST, shares
