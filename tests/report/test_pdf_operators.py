"""Figures in a PDF: a reader of PDF shows what matplotlib's own pixels show."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from grader.report import pdf
from grader.report.charts import BankMap, Bar, BarChart, BarGroup, sweep_charts
from grader.report.draw import Chart
from grader.report.html import Drawings
from grader.report.pdf import NotVectors, pdf_operators
from grader.report.wrong_map import Panel, WrongMap
from tests.report.sweeps import memory_sweep, size_sweep, swept, tile_sweep

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
SWEPT = [
    (f"{record.id}", sweep_charts(swept(record), record)[0]) for record in (size_sweep(), tile_sweep(), memory_sweep())
]
CHARTS: list[tuple[str, Chart]] = [("bars", BARS), ("banks", BANKS), *SWEPT]
MAP = WrongMap("v1.correct", (Panel("out", ("..x", "..."), (1, 1), (("x", "wrong"),)),), "words", "caption")


@pytest.fixture(autouse=True)
def _pango() -> None:
    try:
        pdf.load()
    except pdf.PdfUnavailable as error:
        pytest.skip(f"no PDF on this machine: {error}")


def on_paper(chart: Chart, drawings: Drawings) -> npt.NDArray[np.float64]:
    """What a reader shows of a page with the chart alone: (height, width), grey levels 0 to 255."""
    pdfium = pytest.importorskip("pypdfium2")
    address = drawings.address(chart)
    assert address is not None
    figure = drawings.on_paper[address]
    size = f"{figure.width}pt {figure.height}pt"
    page = f"<style>@page {{ size: {size}; margin: 0 }} img {{ display: block; width: 100% }}</style>"
    data = pdf.render(f'<html><body style="margin: 0">{page}<img src="{address}"></body></html>', "", drawings.on_paper)
    document = pdfium.PdfDocument(data)
    assert len(document) == 1
    return np.asarray(document[0].render(scale=SHOWN_DPI / 72).to_pil().convert("L"), dtype=np.float64)


def in_pixels(chart: Chart, drawings: Drawings, like: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    image = Image.open(BytesIO(drawings.image(chart, "png"))).convert("L")
    return np.asarray(image.resize(like.shape[::-1], Image.Resampling.BOX), dtype=np.float64)


def blurred(image: npt.NDArray[np.float64], reach: int = 8) -> npt.NDArray[np.float64]:
    """Means of squares of two hatchings: what stands a fraction of a pixel elsewhere looks the same."""
    height, width = (length // reach * reach for length in image.shape)
    return image[:height, :width].reshape(height // reach, reach, width // reach, reach).mean(axis=(1, 3))


@pytest.mark.parametrize("chart", [chart for _name, chart in CHARTS], ids=[name for name, _chart in CHARTS])
def test_a_pdf_shows_what_pixels_show(chart: Chart) -> None:
    drawings = Drawings()
    shown = on_paper(chart, drawings)
    expected = in_pixels(chart, drawings, shown)
    apart = np.abs(blurred(shown) - blurred(expected))
    assert apart.max() < MOST_APART and apart.mean() < 4, (apart.max(), apart.mean())


def test_what_has_pixels_of_its_own_stays_an_image() -> None:
    drawings = Drawings()
    with pytest.raises(NotVectors, match="image"):
        pdf_operators(drawings.image(MAP, "svg"))
    assert drawings.address(MAP) is None and not drawings.on_paper


@pytest.mark.parametrize(
    "element",
    [
        '<path d="M 0 0 L 9 0 L 9 9 z" style="fill: #000000; opacity: 0.5"/>',
        '<path d="M 0 0 L 9 0 L 9 9 z" style="fill: #000000; fill-opacity: 0.5"/>',
        '<path d="M 0 0 L 9 0 L 9 9 z" style="fill: red"/>',
        '<path d="M 0 0 A 1 1 0 0 0 9 9" style="fill: #000000"/>',
        '<path d="M 0 0 L 9 9" transform="skewX(3)" style="stroke: #000000"/>',
        '<use href="#nothing" x="1" y="2"/>',
        "<text>words</text>",
    ],
)
def test_what_it_cannot_say_is_not_said_wrongly(element: str) -> None:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt">{element}</svg>'
    with pytest.raises(NotVectors):
        pdf_operators(svg.encode())


def test_a_report_s_figures_are_let_go_with_it() -> None:
    drawings = Drawings()
    first, second = drawings.address(BARS), drawings.address(BANKS)
    assert first != second and set(drawings.on_paper) == {first, second}
    drawings.end_report()
    assert not drawings.on_paper
