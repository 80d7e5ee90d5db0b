"""Vector figures: shapes and letters with their places in points, written as SVG for a page and as operators of a PDF.

Letters are outlines (`letters.json`, of DejaVu Sans): a figure looks the same wherever it is shown, and how wide its
words are is known before it is drawn.  Operators: PDF 32000-1:2008, 8.4 and 8.5.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape
from pathlib import Path
from typing import NamedTuple

import msgspec

from grader.report.text import INK

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, width, height."""

LETTER_HEIGHT = 0.73
"""Of capital letters and digits, as a share of the letters' size."""
DESCENT = 0.24
LINE = 1.2
"""From one line of words to the next, in sizes."""


class Pen(NamedTuple):
    """How a line is drawn; dashes: lengths drawn and left out by turns."""

    colour: str
    width: float
    dashes: tuple[float, ...] = ()


class Words(NamedTuple):
    """How words look; line: from one line to the next, in sizes."""

    size: float = 8.5
    colour: str = INK
    is_bold: bool = False
    line: float = LINE


@dataclass(frozen=True, slots=True)
class Operators:
    """A figure of `width` × `height` points as operators of a PDF; y grows downwards, as in SVG."""

    width: float
    height: float
    data: bytes


class _Shape(NamedTuple):
    outline: Sequence[tuple[str, tuple[float, ...]]]
    fill: str
    pen: Pen | None


class _Row(NamedTuple):
    """A line of words from a point on."""

    x: float
    y: float
    text: str
    look: Words
    is_turned: bool


class _Letter(msgspec.Struct, frozen=True, array_like=True):
    advance: float
    outline: str


class _Letters(msgspec.Struct, frozen=True):
    units: float
    regular: dict[str, _Letter]
    bold: dict[str, _Letter]

    def of(self, text: str, is_bold: bool) -> Iterator[tuple[str, _Letter]]:
        face = self.bold if is_bold else self.regular
        for sign in text:
            name = sign if sign in face else ""
            yield name, face[name]


@cache
def _letters() -> _Letters:
    return msgspec.json.decode(Path(__file__).with_name("letters.json").read_bytes(), type=_Letters)


def text_width(text: str, size: float, is_bold: bool = False) -> float:
    """Points that the longest line of a text takes."""
    letters = _letters()
    rows = (sum(letter.advance for _name, letter in letters.of(row, is_bold)) for row in text.split("\n"))
    return max(rows) * size / letters.units


def text_height(text: str, look: Words) -> float:
    """Points from the top of the first line's capitals to the foot of the last line."""
    return look.size * (LETTER_HEIGHT + DESCENT + look.line * text.count("\n"))


class Figure:
    """A picture of `width` × `height` points; what is drawn later lies above.  y grows downwards."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._parts: list[_Shape | _Row] = []

    def boxes(self, boxes: Sequence[Box], fill: str = "none", pen: Pen | None = None) -> None:
        """Rectangles, filled as one shape: neighbours of one colour have no seam."""
        outline: list[tuple[str, tuple[float, ...]]] = []
        for left, top, width, height in boxes:
            right, bottom = left + width, top + height
            outline += [
                ("M", (left, top)),
                ("L", (right, top)),
                ("L", (right, bottom)),
                ("L", (left, bottom)),
                ("z", ()),
            ]
        self._add(outline, fill, pen)

    def polygon(self, points: Sequence[Point], fill: str = "none", pen: Pen | None = None) -> None:
        """A closed shape."""
        self._add([*_polyline(points), ("z", ())], fill, pen)

    def polyline(self, points: Sequence[Point], pen: Pen) -> None:
        """A line from point to point."""
        self._add(_polyline(points), "none", pen)

    def segments(self, segments: Sequence[tuple[Point, Point]], pen: Pen) -> None:
        """Lines apart from each other."""
        self._add([step for segment in segments for step in _polyline(segment)], "none", pen)

    def circle(self, centre: Point, radius: float, fill: str = "none", pen: Pen | None = None) -> None:
        """A circle, by four curves."""
        (x, y), r, k = centre, radius, 0.5523 * radius
        quarters = [
            ("C", (x + r, y + k, x + k, y + r, x, y + r)),
            ("C", (x - k, y + r, x - r, y + k, x - r, y)),
            ("C", (x - r, y - k, x - k, y - r, x, y - r)),
            ("C", (x + k, y - r, x + r, y - k, x + r, y)),
        ]
        self._add([("M", (x + r, y)), *quarters, ("z", ())], fill, pen)

    def hatching(self, boxes: Sequence[Box], step: float, pen: Pen) -> None:
        """Lines that rise to the right, `step` apart along a row; they go on from one rectangle to its neighbour."""
        segments: list[tuple[Point, Point]] = []
        for left, top, width, height in boxes:
            right, bottom = left + width, top + height
            for number in range(math.ceil((left + top) / step), math.floor((right + bottom) / step) + 1):
                both = number * step
                highest, lowest = max(top, both - right), min(bottom, both - left)
                if highest < lowest:
                    segments.append(((both - lowest, lowest), (both - highest, highest)))
        self.segments(segments, pen)

    def words(self, at: Point, text: str, look: Words, anchor: str = "left base", *, is_turned: bool = False) -> None:
        """Lines of words.

        anchor: what of them lies at the point: "left", "middle" or "right", and "base" of the first line, "top",
        "middle" or "bottom".  is_turned: upwards, with the anchor's words as before the turn.
        """
        across, down = anchor.split()
        rows = text.split("\n")
        step = look.line * look.size
        first = {
            "base": 0.0,
            "top": LETTER_HEIGHT * look.size,
            "middle": (LETTER_HEIGHT * look.size - step * (len(rows) - 1)) / 2,
            "bottom": -DESCENT * look.size - step * (len(rows) - 1),
        }[down]
        for number, row in enumerate(rows):
            along = -text_width(row, look.size, look.is_bold) * {"left": 0.0, "middle": 0.5, "right": 1.0}[across]
            below = first + step * number
            x, y = (at[0] + below, at[1] - along) if is_turned else (at[0] + along, at[1] + below)
            self._parts.append(_Row(x, y, row, look, is_turned))

    def _add(self, outline: Sequence[tuple[str, tuple[float, ...]]], fill: str, pen: Pen | None) -> None:
        if outline:
            self._parts.append(_Shape(outline, fill, pen))

    def svg(self) -> bytes:
        """The figure as an SVG file."""
        letters = _letters()
        used: dict[str, str] = {}
        body: list[str] = []
        for part in self._parts:
            if isinstance(part, _Shape):
                steps = "".join(f"{letter}{' '.join(map(_number, values))}" for letter, values in part.outline)
                body.append(f'<path d="{steps}" {_svg_look(part)}/>')
                continue
            along, scale = 0.0, part.look.size / letters.units
            signs: list[str] = []
            for name, letter in letters.of(part.text, part.look.is_bold):
                if letter.outline:
                    place = f"{'b' if part.look.is_bold else 'l'}{ord(name) if name else 0:x}"
                    used[place] = letter.outline
                    signs.append(f'<use xlink:href="#{place}" x="{_number(along)}"/>')
                along += letter.advance
            turn = "rotate(-90)" if part.is_turned else ""
            where = f"translate({_number(part.x)} {_number(part.y)}){turn}scale({scale:.5f} {-scale:.5f})"
            body.append(f'<g fill="{part.look.colour}" transform="{where}">{"".join(signs)}</g>')
        outlines = "".join(f'<path id="{place}" d="{outline}"/>' for place, outline in used.items())
        width, height = _number(self.width), _number(self.height)
        return (
            '<?xml version="1.0" encoding="utf-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" '
            f'xmlns:xlink="http://www.w3.org/1999/xlink" width="{width}pt" height="{height}pt" '
            f'viewBox="0 0 {width} {height}" stroke-linejoin="round">\n<defs>{outlines}</defs>\n'
            + "\n".join(body)
            + "\n</svg>\n"
        ).encode()

    def operators(self) -> Operators:
        """The figure as operators of a PDF."""
        letters = _letters()
        written = ["q 1 j"]
        for part in self._parts:
            if isinstance(part, _Shape):
                steps = [f"{' '.join(map(_number, values))} {_OPERATORS[letter]}" for letter, values in part.outline]
                is_filled, is_drawn = part.fill != "none", part.pen is not None
                paint = {(True, True): "B", (True, False): "f", (False, True): "S", (False, False): "n"}
                written += [_pdf_look(part), *steps, paint[is_filled, is_drawn]]
                continue
            scale = f"{part.look.size / letters.units:.6f}"
            turn = f"0 -{scale} -{scale} 0" if part.is_turned else f"{scale} 0 0 -{scale}"
            written.append(f"q {_colour(part.look.colour)} rg {turn} {_number(part.x)} {_number(part.y)} cm")
            for _name, letter in letters.of(part.text, part.look.is_bold):
                if letter.outline:
                    written.append(f"{_outline(letter.outline)} f")
                written.append(f"1 0 0 1 {_number(letter.advance)} 0 cm")
            written.append("Q")
        return Operators(self.width, self.height, "\n".join([*written, "Q"]).encode("ascii"))


def _polyline(points: Sequence[Point]) -> list[tuple[str, tuple[float, ...]]]:
    return [("L" if number else "M", point) for number, point in enumerate(points)]


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def _svg_look(shape: _Shape) -> str:
    look = f'fill="{escape(shape.fill)}"'
    if shape.pen is not None:
        pen = shape.pen
        dashes = f' stroke-dasharray="{" ".join(map(_number, pen.dashes))}"' if pen.dashes else ""
        look += f' stroke="{escape(pen.colour)}" stroke-width="{_number(pen.width)}"{dashes}'
    return look


_OPERATORS = {"M": "m", "L": "l", "C": "c", "z": "h"}


def _pdf_look(shape: _Shape) -> str:
    look = f"{_colour(shape.fill)} rg" if shape.fill != "none" else ""
    if shape.pen is not None:
        dashes = " ".join(map(_number, shape.pen.dashes))
        look += f" {_colour(shape.pen.colour)} RG {_number(shape.pen.width)} w [{dashes}] 0 d"
    return look


@lru_cache(maxsize=256)
def _colour(text: str) -> str:
    return " ".join(f"{int(text[i : i + 2], 16) / 255:.4g}" for i in (1, 3, 5))


_STEP = re.compile(r"([MLQz])([^MLQz]*)")


@lru_cache(maxsize=4096)
def _outline(path: str) -> str:
    """Return the operators of a letter's outline."""
    written: list[str] = []
    here: Point = (0.0, 0.0)
    for step, text in _STEP.findall(path):
        numbers = [float(number) for number in text.split()]
        if step == "z":
            written.append("h")
            continue
        if step == "Q":
            # A curve of the second degree is one of the third, too.
            x, y, *end = numbers
            near = [here[i] + 2 / 3 * ((x, y)[i] - here[i]) for i in (0, 1)]
            far = [end[i] + 2 / 3 * ((x, y)[i] - end[i]) for i in (0, 1)]
            written.append(" ".join(map(_number, (*near, *far, *end))) + " c")
        else:
            # `lineTo` of several points is one line to each.
            for x, y in zip(numbers[::2], numbers[1::2], strict=True):
                written.append(f"{_number(x)} {_number(y)} {_OPERATORS[step]}")
        here = (numbers[-2], numbers[-1])
    return "\n".join(written)


# Axes.

TICK, TICK_GAP = 3.5, 3.5
"""Length of a tick, and from there to its label, in points."""
AXIS = Pen("#9aa5b1", 0.7)
TICKS_COLOUR = "#52606d"


@dataclass(frozen=True, slots=True)
class Scale:
    """Where values of an axis lie: `low` at `start`, `high` at `end`, in points."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value lies: 0 to 1."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def __call__(self, value: float) -> float:
        return self.start + self.share(value) * (self.end - self.start)


def round_ticks(low: float, high: float, most: int, steps: Sequence[float], is_whole: bool = False) -> list[float]:
    """Multiples of a round step between `low` and `high`, at most `most` steps apart; steps: of a power of ten."""
    least = (high - low) / most
    if is_whole:
        least = max(least, 1.0)
    if least <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(least))
    sizes = (step * power * ten for ten in (1, 10) for step in steps)
    step = next(s for s in sizes if s >= least * (1 - 1e-9) and (not is_whole or s == int(s)))
    numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [float(f"{number * step:.10g}") for number in numbers]
