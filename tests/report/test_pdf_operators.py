"""Figures in a PDF: a reader of PDF shows there what another drawing of the same SVG shows."""

from __future__ import annotations

import base64

import numpy as np
import numpy.typing as npt
import pytest

from grader.report import pdf
from grader.report.charts import BankMap, Bar, BarChart, BarGroup, sweep_charts
from grader.report.draw import Chart, figure_of
from grader.report.figure import Operators
from grader.report.wrong_map import Panel, WrongMap
from tests.report.sweeps import memory_sweep, size_sweep, swept, tile_sweep, with_predicted

SHOWN_DPI = 96
MOST_APART = 40
"""Of 255: edges fall between pixels one way or another."""

BARS = BarChart(
    "title",
    "wavefronts",
    "least",
    (
        BarGroup("tiled", "#27468a", (Bar("load", 20, 1, "20"), Bar("store", 11, 1, "11"))),
        BarGroup("с отступом", "#d08a2e", (Bar("load", 1, 1, "1"), Bar("store", 7, 2, "7"))),
    ),
    "words",
)
BANKS = BankMap(
    "shared", "load at t.cu:28", "2-way", "#2f8068", tuple((2 * i,) for i in range(32)), "lane", "bank", "words"
)
RECORDS = (size_sweep(), tile_sweep(), memory_sweep(), with_predicted(size_sweep("gpu", "time")))
SWEPT = [(f"{record.id}{number}", sweep_charts(swept(record), record)[0]) for number, record in enumerate(RECORDS)]
LEGEND = (("x", "wrong"), ("o", "missing"))
WRONG = WrongMap("v", (Panel("out", ("..x", ".o."), (1, 1), LEGEND, (0, 2), named=(("out[2]", (0, 2)),)),), "", "")
LARGE = WrongMap("v", (Panel("out", ("o" * 20 + "." * 20 + "x" * 30,) * 70, (10, 10), LEGEND),) * 2, "", "")
CHARTS: list[tuple[str, Chart]] = [("bars", BARS), ("banks", BANKS), ("wrong", WRONG), ("large", LARGE), *SWEPT]


@pytest.fixture(autouse=True)
def _pango() -> None:
    try:
        pdf.load()
    except pdf.PdfUnavailable as error:
        pytest.skip(f"no PDF on this machine: {error}")


def shown(address: str, figure: Operators) -> npt.NDArray[np.float64]:
    """What a reader shows of a page with an image alone: (height, width), grey levels 0 to 255."""
    pdfium = pytest.importorskip("pypdfium2")
    size = f"{figure.width}pt {figure.height}pt"
    page = f"<style>@page {{ size: {size}; margin: 0 }} img {{ display: block; width: 100% }}</style>"
    html = f'<html><body style="margin: 0">{page}<img src="{address}"></body></html>'
    data = pdf.render(html, "", {"figure:1": figure})
    document = pdfium.PdfDocument(data)
    assert len(document) == 1
    return np.asarray(document[0].render(scale=SHOWN_DPI / 72).to_pil().convert("L"), dtype=np.float64)


def blurred(image: npt.NDArray[np.float64], reach: int = 8) -> npt.NDArray[np.float64]:
    """Means of squares: what stands a fraction of a pixel elsewhere looks the same."""
    height, width = (length // reach * reach for length in image.shape)
    return image[:height, :width].reshape(height // reach, reach, width // reach, reach).mean(axis=(1, 3))


@pytest.mark.parametrize("chart", [chart for _name, chart in CHARTS], ids=[name for name, _chart in CHARTS])
def test_a_pdf_shows_what_weasyprint_makes_of_the_svg(chart: Chart) -> None:
    figure = figure_of(chart)
    by_operators = shown("figure:1", figure.operators())
    # WeasyPrint reads the SVG by itself.
    data = base64.b64encode(figure.svg()).decode("ascii")
    expected = shown(f"data:image/svg+xml;base64,{data}", figure.operators())
    assert expected.min() < 200
    apart = np.abs(blurred(by_operators) - blurred(expected))
    assert apart.max() < MOST_APART and apart.mean() < 4, (apart.max(), apart.mean())
