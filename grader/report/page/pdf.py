"""The report as a PDF: the same page, laid out on A4 by WeasyPrint.

WeasyPrint needs Pango from the system; where that is missing, marks and HTML are made all the same.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from grader.errors import GraderError
from grader.files import data_root

if TYPE_CHECKING:
    from weasyprint import CSS, Document
    from weasyprint.pdf.stream import Stream

    from grader.report.figures.pdf_operators import Operators

DEBIAN_PACKAGES = ("libpango-1.0-0", "libpangoft2-1.0-0", "libharfbuzz-subset0", "fonts-dejavu-core")
NO_FIGURES: Mapping[str, Operators] = MappingProxyType({})
PIXELS_PER_POINT = 150 / 72
"""Of a figure that nothing says the size of: as large as its image of 150 dots an inch is."""


class PdfUnavailable(GraderError):
    """This machine lacks what the PDF needs; the message says what is missing."""


def load() -> None:
    """Import WeasyPrint and the libraries that it needs.

    Raises
    ------
    PdfUnavailable : Pango, or a library that comes with it, is missing.
    """
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        # It prints a page of advice before it raises.
        with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import weasyprint  # noqa: F401
    except (OSError, ImportError) as error:
        raise PdfUnavailable(_missing(error)) from error


def load_styles(name: str) -> None:
    """Read a stylesheet in `templates`, which takes as long as laying out a page.

    Raises
    ------
    PdfUnavailable : see `load`.
    """
    load()
    _styles(name)


def _missing(error: OSError | ImportError) -> str:
    """What could not be loaded: the beginning of a message that goes on with every name that was tried."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line.partition(": ")[0].partition(".  ")[0][:120]


@cache
def _styles(name: str) -> CSS:
    """A stylesheet of ours, read once for all reports."""
    from weasyprint import CSS

    return CSS(string=(data_root() / "templates" / name).read_text("utf-8"))


class _Drawing:
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

    Raises
    ------
    PdfUnavailable : see `load`.
    """
    load()
    from weasyprint import HTML
    from weasyprint.urls import URLFetcher

    fetcher = URLFetcher(allowed_protocols=("data",), allow_redirects=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HTML(string=html, url_fetcher=fetcher).render(
            stylesheets=[_styles(styles)] if styles else None,
            cache={address: _Drawing(operators) for address, operators in figures.items()},
        )


def render(html: str, styles: str = "", figures: Mapping[str, Operators] = NO_FIGURES) -> bytes:
    """The PDF of a page; parameters and errors are those of `laid_out`."""
    return bytes(laid_out(html, styles, figures).write_pdf())
