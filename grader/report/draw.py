"""Draws charts with matplotlib: SVG for pages, PNG for the PDF where the SVG cannot be taken (`pdf_operators`).

No pyplot: it brings a window system's worth of imports and global state.  Labels are never parsed as formulas,
for they hold names that students chose.  A chart that many reports show is drawn once.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grader.i18n import language
from grader.report.bank_map import draw_bank_map
from grader.report.charts import BINARY_STEPS, BankMap, BarChart, LineChart
from grader.report.line_chart import draw_line_chart
from grader.report.numbers import FAINT, INK
from grader.report.pdf import NotVectors, Operators, pdf_operators
from grader.report.wrong_map import WrongMap, draw_wrong_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Chart = BarChart | BankMap | WrongMap | LineChart
Format = Literal["svg", "png"]
Medium = Literal["screen", "paper"]

PNG_DPI = 150
PADDING = 0.4
"""Round a figure, in heights of its letters."""
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.edgecolor": "#9aa5b1",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": "#52606d",
    "ytick.color": INK,
    "hatch.linewidth": 0.7,
    # The same input gives the same bytes.
    "svg.hashsalt": "grader",
    "svg.fonttype": "path",
}


def load() -> None:
    """Import all that drawing needs (the slow part of the first figure)."""
    # On a new machine it says that it looks for fonts, and where it keeps what it found: in a notebook, on a cell.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_svg
    import matplotlib.figure  # noqa: F401


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """While figures are made and written: the style of all of them."""
    load()
    import matplotlib

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():  # type: ignore[arg-type]  # the stub wants literal keys
        # A name in a script that the font lacks is drawn as boxes; nobody needs to be told on standard error.
        warnings.simplefilter("ignore")
        yield


def figure_of(chart: Chart) -> Figure:
    """The chart as a figure whose parts have no places yet; to be called while `styled`."""
    if isinstance(chart, BankMap):
        figure = draw_bank_map(chart)
    elif isinstance(chart, WrongMap):
        figure = draw_wrong_map(chart)
    elif isinstance(chart, LineChart):
        figure = draw_line_chart(chart)
    else:
        figure = _draw_bars(chart)
    # Measures every label once; "constrained" does so twice, which is a sixth of a figure's time.
    figure.set_layout_engine("tight", pad=PADDING)
    return figure


def as_svg(figure: Figure) -> bytes:
    """The figure as SVG; its parts have their places from then on, for finding these takes as long as drawing."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.BytesIO()
    FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})  # type: ignore[no-untyped-call]  # no types yet
    figure.set_layout_engine("none")
    return buffer.getvalue()


def as_png(figure: Figure) -> bytes:
    """The figure as PNG, its parts where `as_svg` has put them.

    Without transparency, which a PDF holds as an image of its own; hardly compressed, for the PDF compresses it anew.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    buffer = io.BytesIO()
    figure.set_dpi(PNG_DPI)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]  # no types yet
    pixels = canvas.buffer_rgba()  # type: ignore[no-untyped-call]  # no types yet
    drawn = Image.frombuffer("RGBA", canvas.get_width_height(), pixels, "raw", "RGBA", 0, 1)
    drawn.convert("RGB").save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _draw_bars(chart: BarChart) -> Figure:
    """Horizontal bars, a group per variant; loads are solid, stores hatched; a dark tick marks the ideal."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    bars = sum(len(group.bars) for group in chart.groups)
    figure = Figure(figsize=(3.9, 0.75 + 0.24 * bars + 0.22 * len(chart.groups)))
    axes: Axes = figure.add_subplot()
    position = 0.0
    ticks, labels = [], []
    widest = max(max(b.value, b.ideal) for g in chart.groups for b in g.bars)
    for group in chart.groups:
        top = position
        for index, bar in enumerate(group.bars):
            axes.barh(
                position,
                bar.value,
                height=0.78,
                color=group.colour if index == 0 else "white",
                edgecolor=group.colour,
                hatch=None if index == 0 else "////",
                linewidth=0.9,
            )
            axes.plot([bar.ideal, bar.ideal], [position - 0.5, position + 0.5], color=INK, linewidth=1.8, zorder=3)
            axes.text(
                max(bar.value, bar.ideal) + widest * 0.02, position, f"{bar.text}  {bar.label}", va="center", fontsize=8
            )
            position += 1
        ticks.append((top + position - 1) / 2)
        labels.append(_wrapped(group.label))
        position += 0.7
    axes.set_yticks(ticks, labels)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(position - 0.9, -0.8)
    axes.set_xlim(0, widest * 1.28)
    # Whole numbers look the same in every language; what warps and banks take comes in powers of two.
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=BINARY_STEPS))
    axes.set_xlabel(f"{chart.axis}    ▎{chart.ideal_label}")
    axes.grid(axis="x", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def _wrapped(label: str, width: int = 18, lines: int = 3) -> str:
    """A long label in a few short lines, cut where it is longer still."""
    import textwrap

    return "\n".join(textwrap.wrap(label, width, max_lines=lines, placeholder=" …", break_long_words=True))


# What has been drawn: a chart that many reports show is drawn once.
#
# Half of a group's charts are somebody else's too: kernels that are right are counted alike.  A chart that is wanted
# both
# ways, for the page and for the PDF, is laid out once.  Processes that render beside each other share what they draw
# through a folder.

MOST_BYTES = 32 << 20
"""Of images that are kept."""
Key = tuple[str, Chart]


class Drawings:
    """Images of charts, those used last kept.

    most_bytes: of what is kept.  folder: where other processes find them, and theirs are found; None for nowhere.
    on_paper: what one report's figures are on paper, by the address that `address` gave them.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, folder: Path | None = None) -> None:
        self._most_bytes = most_bytes
        self.folder = folder
        self._images: OrderedDict[tuple[Key, Format], bytes] = OrderedDict()
        self._bytes = 0
        self._figures: dict[Key, Figure] = {}
        self.on_paper: dict[str, Operators] = {}

    def image(self, chart: Chart, image_format: Format) -> bytes:
        """The chart, in the language in use, as an image file's bytes."""
        key = language(), chart
        kept = self._images.get((key, image_format))
        if kept is not None:
            self._images.move_to_end((key, image_format))
            return kept
        others = self._of_others(key, image_format)
        if others is not None:
            self._keep(key, image_format, others)
            return others
        with styled():
            figure = self._figures.get(key)
            if figure is None:
                self._figures[key] = figure = figure_of(chart)
                self._keep(key, "svg", as_svg(figure))
                self._share(key, "svg")
            if image_format == "png":
                self._keep(key, "png", as_png(figure))
                self._share(key, "png")
        return self._images[key, image_format]

    def address(self, chart: Chart) -> str | None:
        """What the chart is found by in `on_paper`; None if it cannot stand there but as an image."""
        address = f"figure:{_name((language(), chart), 'svg')}"
        if address not in self.on_paper:
            try:
                self.on_paper[address] = pdf_operators(self.image(chart, "svg"))
            except NotVectors:
                return None
        return address

    def end_report(self) -> None:
        """Let go of what one report alone needs, and of images that are too much."""
        self._figures.clear()
        self.on_paper.clear()
        while self._bytes > self._most_bytes:
            _key, image = self._images.popitem(last=False)
            self._bytes -= len(image)

    def _of_others(self, key: Key, image_format: Format) -> bytes | None:
        """The image, where another process has drawn it."""
        if self.folder is None:
            return None
        try:
            return (self.folder / _name(key, image_format)).read_bytes()
        except OSError:
            return None

    def _share(self, key: Key, image_format: Format) -> None:
        if self.folder is None:
            return
        place = self.folder / _name(key, image_format)
        own = place.with_suffix(f".{os.getpid()}")
        # Where it cannot be written, others draw it themselves.
        with contextlib.suppress(OSError):
            own.write_bytes(self._images[key, image_format])
            own.replace(place)

    def _keep(self, key: Key, image_format: Format, image: bytes) -> None:
        self._bytes += len(image) - len(self._images.get((key, image_format), b""))
        self._images[key, image_format] = image


def _name(key: Key, image_format: Format) -> str:
    """The same in all processes of one version: a chart is plain data, which its `repr` has all of."""
    return f"{hashlib.sha256(repr(key).encode('utf-8', 'surrogatepass')).hexdigest()}.{image_format}"


DRAWINGS = Drawings()
"""Of this process."""


def draw(chart: Chart, image_format: Format) -> bytes:
    """The chart as an image file's bytes, by itself."""
    return Drawings().image(chart, image_format)
