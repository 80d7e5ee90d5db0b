"""What has been drawn: a chart that many reports show is drawn once.

Half of a group's charts are somebody else's too: kernels that are right are counted alike.  A chart that is wanted both
ways, for the page and for the PDF, is laid out once.  Processes that render beside each other share what they draw
through a folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from grader.i18n import language
from grader.report.figures.draw import Chart, Format, as_png, as_svg, figure_of, styled
from grader.report.figures.pdf_operators import NotVectors, Operators, pdf_operators

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
