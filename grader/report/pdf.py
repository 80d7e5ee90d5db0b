"""The report as a PDF: the same page, laid out on A4 by WeasyPrint, and its figures' SVG as the operators of a page.

WeasyPrint draws any SVG, in twice the time that the rest of a report takes; this reads the few elements that matplotlib
writes.  What these operators cannot say (pixels, transparency) raises `NotVectors`, and stays an image of pixels.
Operators: PDF 32000-1:2008, 8.4 and 8.5.

WeasyPrint needs Pango from the system; where that is missing, marks and HTML are made all the same.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from grader.errors import GraderError
from grader.files import data_root
from grader.processes.limits import IS_LINUX

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from weasyprint import CSS, Document
    from weasyprint.pdf.stream import Stream


_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_DRAWN = {"g", "path", "use"}
_SILENT = {"defs", "metadata", "style", "clipPath", "pattern"}
_COMMAND = re.compile(r"([A-Za-z])([^A-Za-z]*)")
_OPERANDS = {"M": 2, "L": 2, "Q": 4, "C": 6}
_CAPS = {"butt": 0, "round": 1, "square": 2}
_JOINS = {"miter": 0, "round": 1, "bevel": 2}
_MITER_LIMIT = 4
"""SVG's; that of a PDF is larger where none is said."""

Style = Mapping[str, str]


class NotVectors(ValueError):
    """The figure holds what these operators cannot say."""


class Matrix(NamedTuple):
    """x' = a x + c y + e, y' = b x + d y + f."""

    a: float = 1.0
    b: float = 0.0
    c: float = 0.0
    d: float = 1.0
    e: float = 0.0
    f: float = 0.0

    def of(self, inner: Matrix) -> Matrix:
        """First `inner`, then this."""
        return Matrix(
            self.a * inner.a + self.c * inner.b,
            self.b * inner.a + self.d * inner.b,
            self.a * inner.c + self.c * inner.d,
            self.b * inner.c + self.d * inner.d,
            self.a * inner.e + self.c * inner.f + self.e,
            self.b * inner.e + self.d * inner.f + self.f,
        )

    def operator(self) -> str:
        """What makes it that of what follows."""
        return " ".join(f"{value:.6f}".rstrip("0").rstrip(".") for value in self) + " cm"


@dataclass(frozen=True, slots=True)
class Operators:
    """A figure of `width` × `height` points; y grows downwards, as in SVG."""

    width: float
    height: float
    data: bytes


def pdf_operators(svg: bytes) -> Operators:
    """The operators that draw an SVG of matplotlib's.

    Raises NotVectors: it holds pixels, transparency, or an element that matplotlib did not write so far.
    """
    from xml.etree import ElementTree

    root = ElementTree.fromstring(svg)
    return Operators(
        float(root.get("width", "").removesuffix("pt")),
        float(root.get("height", "").removesuffix("pt")),
        "\n".join(_Drawing(root).operators()).encode("ascii"),
    )


class _Drawing:
    def __init__(self, root: Element) -> None:
        self._root = root
        self._by_id = {element.get("id", ""): element for element in root.iter() if element.get("id")}

    def operators(self) -> Iterator[str]:
        yield f"q {_MITER_LIMIT} M"
        for element in self._root:
            yield from self._element(element, {}, Matrix())
        yield "Q"

    def _element(self, element: Element, inherited: Style, matrix: Matrix) -> Iterator[str]:
        name = element.tag.removeprefix(_SVG)
        if name in _SILENT:
            return
        if name not in _DRAWN:
            raise NotVectors(f"a figure with <{name}>")
        clip = self._clip(element)
        if clip:
            yield f"q {clip}"
        style = {**inherited, **_style_of(element)}
        matrix = matrix.of(_transform(element.get("transform", "")))
        if name == "path":
            yield from self._path(element, style, matrix)
        elif name == "use":
            matrix = matrix.of(Matrix(e=float(element.get("x", 0)), f=float(element.get("y", 0))))
            yield from self._element(self._named(element.get(_HREF, "")), style, matrix)
        else:
            for child in element:
                yield from self._element(child, style, matrix)
        if clip:
            yield "Q"

    def _named(self, address: str) -> Element:
        try:
            return self._by_id[address.removeprefix("#")]
        except KeyError:
            raise NotVectors(f"a figure with {address!r}") from None

    def _of_address(self, address: str) -> Element:
        """Return what `url(#name)` names."""
        return self._named(address.removeprefix("url(").removesuffix(")"))

    def _clip(self, element: Element) -> str:
        address = element.get("clip-path")
        if address is None:
            return ""
        shapes = "\n".join(_outline(shape) for shape in self._of_address(address))
        return f"{shapes} W n"

    def _path(self, element: Element, style: Style, matrix: Matrix) -> Iterator[str]:
        if float(style.get("opacity", 1)) != 1 or float(style.get("stroke-opacity", 1)) != 1:
            raise NotVectors("a figure with transparency")
        filled = style.get("fill", "#000000")
        share = float(style.get("fill-opacity", 1))
        if share == 0:
            filled = "none"
        elif share != 1:
            raise NotVectors("a figure with transparency")
        stroked = style.get("stroke", "none")
        outline = _outline(element)
        if not outline or filled == stroked == "none":
            return
        yield f"q {matrix.operator()}" if matrix != Matrix() else "q"
        if filled.startswith("url("):
            yield from self._hatched(outline, self._of_address(filled))
            filled = "none"
        if stroked != "none":
            yield _pen(style)
        if filled != "none":
            yield f"{_colour(filled)} rg"
        if filled != "none" or stroked != "none":
            yield outline
            yield {(True, True): "B", (True, False): "f", (False, True): "S"}[filled != "none", stroked != "none"]
        yield "Q"

    def _hatched(self, outline: str, pattern: Element) -> Iterator[str]:
        """Fill an area with a pattern that goes on from tile to tile without a seam."""
        ground, *lines = pattern
        yield "q"
        yield f"{_colour(ground.get('fill', '#ffffff'))} rg"
        yield f"{outline} f"
        yield f"{outline} W n"
        width, height = float(pattern.get("width", 0)), float(pattern.get("height", 0))
        left, top, right, bottom = _extent(outline)
        for column in range(math.floor(left / width), math.floor(right / width) + 1):
            for row in range(math.floor(top / height), math.floor(bottom / height) + 1):
                for line in lines:
                    yield from self._element(line, {}, Matrix(e=column * width, f=row * height))
        yield "Q"


def _style_of(element: Element) -> dict[str, str]:
    return _parsed_style(element.get("style", ""))


@lru_cache(maxsize=4096)
def _parsed_style(text: str) -> dict[str, str]:
    pairs = (entry.partition(":") for entry in text.split(";") if entry.strip())
    return {name.strip(): value.strip() for name, _colon, value in pairs}


def _pen(style: Style) -> str:
    """Set how lines are drawn.  matplotlib's style sheet gives the joins and caps where nothing else is said."""
    dashes = style.get("stroke-dasharray", "none").replace(",", " ")
    return (
        f"{_colour(style['stroke'])} RG {style.get('stroke-width', '1')} w"
        f" {_CAPS[style.get('stroke-linecap', 'butt')]} J {_JOINS[style.get('stroke-linejoin', 'round')]} j"
        + (f" [{dashes}] {style.get('stroke-dashoffset', '0')} d" if dashes != "none" else "")
    )


@lru_cache(maxsize=256)
def _colour(text: str) -> str:
    if not re.fullmatch("#[0-9a-f]{6}", text):
        raise NotVectors(f"a figure with the colour {text!r}")
    return " ".join(f"{int(text[i : i + 2], 16) / 255:.4g}" for i in (1, 3, 5))


def _outline(element: Element) -> str:
    """Return the operators of a shape, in the coordinates of its element."""
    if element.tag.removeprefix(_SVG) == "rect":
        return " ".join([element.get(name, "0") for name in ("x", "y", "width", "height")]) + " re"
    return _outline_of(element.get("d", ""))


@lru_cache(maxsize=4096)
def _outline_of(path: str) -> str:
    """Return the outline of a letter, whose path is the same in all figures."""
    written: list[str] = []
    here = ("0", "0")
    for command, text in _COMMAND.findall(path):
        if command in "zZ":
            written.append("h")
            continue
        numbers = text.split()
        if len(numbers) != _OPERANDS.get(command):
            raise NotVectors(f"a figure with the path {command}{text}")
        if command == "Q":
            # A curve of the second degree is one of the third, too.
            numbers = [
                *(f"{float(here[i]) + 2 / 3 * (float(numbers[i]) - float(here[i])):.6g}" for i in (0, 1)),
                *(f"{float(numbers[i + 2]) + 2 / 3 * (float(numbers[i]) - float(numbers[i + 2])):.6g}" for i in (0, 1)),
                *numbers[2:],
            ]
        here = (numbers[-2], numbers[-1])
        written.append(f"{' '.join(numbers)} {({'M': 'm', 'L': 'l'}).get(command, 'c')}")
    return "\n".join(written)


def _extent(outline: str) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of an outline of straight lines."""
    numbers = [float(word) for word in outline.split() if word not in ("m", "l", "c", "h")]
    xs, ys = numbers[::2], numbers[1::2]
    return min(xs), min(ys), max(xs), max(ys)


@lru_cache(maxsize=4096)
def _transform(text: str) -> Matrix:
    matrix = Matrix()
    for name, operands in re.findall(r"(\w+)\(([^)]*)\)", text):
        numbers = [float(number) for number in operands.replace(",", " ").split()]
        if name == "translate":
            step = Matrix(e=numbers[0], f=numbers[1] if numbers[1:] else 0.0)
        elif name == "scale":
            step = Matrix(a=numbers[0], d=numbers[-1])
        elif name == "rotate" and len(numbers) == 1:
            turn = math.radians(numbers[0])
            step = Matrix(math.cos(turn), math.sin(turn), -math.sin(turn), math.cos(turn))
        else:
            raise NotVectors(f"a figure with the transformation {name}")
        matrix = matrix.of(step)
    return matrix


DEBIAN_PACKAGES = ("libpango-1.0-0", "libpangoft2-1.0-0", "libharfbuzz-subset0", "fonts-dejavu-core")
NO_FIGURES: Mapping[str, Operators] = MappingProxyType({})
PIXELS_PER_POINT = 150 / 72
"""Scale of a figure whose size nothing says: that of an image with 150 dots an inch."""


class PdfUnavailable(GraderError):
    """This machine lacks what the PDF needs; the message says what is missing."""


def load() -> None:
    """Import WeasyPrint and the libraries that it needs.

    Raises PdfUnavailable: Pango, or a library that comes with it, is missing.
    """
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        # It prints a page of advice before it raises.
        with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with _named_exactly() if IS_LINUX else contextlib.nullcontext():
                import weasyprint  # noqa: F401
    except (OSError, ImportError) as error:
        raise PdfUnavailable(_missing(error)) from error


@contextlib.contextmanager
def _named_exactly() -> Iterator[None]:
    """Libraries are found by their full names, which WeasyPrint tries last: for each of the others Python would ask a
    compiler where it lies, which takes longer than all imports."""
    import ctypes.util

    def is_not_asked(name: str) -> str | None:
        return None

    find_library = ctypes.util.find_library
    ctypes.util.find_library = is_not_asked
    try:
        yield
    finally:
        ctypes.util.find_library = find_library


def load_styles(name: str) -> None:
    """Read a stylesheet in `templates`, which takes as long as laying out a page.

    Raises PdfUnavailable: see `load`.
    """
    load()
    _styles(name)


def _missing(error: OSError | ImportError) -> str:
    """Return what could not be loaded: WeasyPrint's message goes on with every name that it tried."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line.partition(": ")[0].partition(".  ")[0][:120]


@cache
def _styles(name: str) -> CSS:
    from weasyprint import CSS

    return CSS(string=(data_root() / "templates" / name).read_text("utf-8"))


class _DrawnOnce:
    """A figure as WeasyPrint asks for images."""

    def __init__(self, operators: Operators) -> None:
        self._operators = operators

    def get_intrinsic_size(self, _resolution: float, _font_size: float) -> tuple[float, float, float]:
        """Width, height and their ratio, in CSS pixels."""
        width, height = self._operators.width, self._operators.height
        return width * PIXELS_PER_POINT, height * PIXELS_PER_POINT, width / height

    def draw(self, stream: Stream, width: float, height: float, _style: object) -> None:
        """Draw it `width` × `height` large at the origin."""
        with stream.stacked():
            stream.transform(a=width / self._operators.width, d=height / self._operators.height)
            stream.stream.append(self._operators.data)


def laid_out(html: str, styles: str = "", figures: Mapping[str, Operators] = NO_FIGURES) -> Document:
    """A page laid out on sheets of paper; nothing but `data:` is ever fetched.

    styles: name of the stylesheet in `templates`, for a page that holds none itself.  figures: images by address.
    Raises PdfUnavailable: Pango, or a library that comes with it, is missing.
    """
    load()
    from weasyprint import HTML
    from weasyprint.urls import URLFetcher

    fetcher = URLFetcher(allowed_protocols=("data",), allow_redirects=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HTML(string=html, url_fetcher=fetcher).render(
            stylesheets=[_styles(styles)] if styles else None,
            cache={address: _DrawnOnce(operators) for address, operators in figures.items()},
        )


def render(html: str, styles: str = "", figures: Mapping[str, Operators] = NO_FIGURES) -> bytes:
    """The PDF of a page; parameters and errors are those of `laid_out`."""
    return bytes(laid_out(html, styles, figures).write_pdf())
