"""What a figure's SVG holds, read from its text."""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.etree import ElementTree

from grader.report.draw import Chart, figure_of

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?")


class Shape(NamedTuple):
    """points: corners and ends, in points.  dashes: "" for a line that is drawn through."""

    fill: str
    stroke: str
    width: float
    dashes: str
    outline: str

    @property
    def points(self) -> list[tuple[float, float]]:
        numbers = [float(number) for number in _NUMBERS.findall(self.outline)]
        return list(zip(numbers[::2], numbers[1::2], strict=True))


class Row(NamedTuple):
    """A line of words, its beginning, and whether it stands upright."""

    text: str
    x: float
    y: float
    is_turned: bool


class Drawn:
    """A chart as it is drawn; width, height: in points.  shapes, rows: from the lowest to the highest."""

    def __init__(self, chart: Chart) -> None:
        self.svg = figure_of(chart).svg()
        root = ElementTree.fromstring(self.svg)
        self.width, self.height = (float(root.get(name, "").removesuffix("pt")) for name in ("width", "height"))
        self.shapes: list[Shape] = []
        self.rows: list[Row] = []
        for element in root:
            if element.tag == f"{SVG}path":
                at = element.get
                width = float(at("stroke-width", "0"))
                look = at("fill", ""), at("stroke", "none"), width, at("stroke-dasharray", "")
                self.shapes.append(Shape(*look, at("d", "")))
            elif element.tag == f"{SVG}g":
                place = element.get("transform", "")
                x, y, *_scale = map(float, _NUMBERS.findall(place))
                text = "".join(chr(int(use.get(LINK, "")[len("#l") :], base=16)) for use in element)
                self.rows.append(Row(text, x, y, "rotate(-90)" in place))

    @property
    def texts(self) -> list[str]:
        """All lines of words; blanks are no shapes."""
        return [row.text for row in self.rows]
