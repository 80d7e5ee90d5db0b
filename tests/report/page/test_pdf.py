"""The PDF, on machines that can make one."""

from __future__ import annotations

import contextlib
import re
import zlib
from pathlib import Path

import pytest

from grader.report.page import html, pdf
from tests import sample_results
from tests.report.jobs import job


@pytest.fixture(scope="module", autouse=True)
def _pango() -> None:
    try:
        pdf.load()
    except pdf.PdfUnavailable as error:
        pytest.skip(f"no PDF on this machine: {error}")


def page_count(data: bytes) -> int:
    """Pages of a PDF, its compressed object streams included."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)
    text = data
    for stream in streams:
        with contextlib.suppress(zlib.error):
            text += zlib.decompress(stream)
    return len(re.findall(rb"/Type\s*/Page\b", text))


def test_the_title_stands_on_a_page_of_its_own() -> None:
    assert page_count(pdf.render("<html><body><p>one</p></body></html>")) == 1
    page = html.document(job(sample_results.failed()))
    page.update({"listings": [], "faults": [], "kernels": [], "conclusions": [], "counters": None})
    assert page_count(pdf.render(html.render(page, []))) == 2


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
