"""The report as a PDF: the same page, laid out on A4 by WeasyPrint, and its figures as the operators of a page.

WeasyPrint draws any SVG, in twice the time that the rest of a report takes: figures are handed to it as operators.

WeasyPrint needs Pango from the system; where that is missing, marks and HTML are made all the same.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from grader.errors import GraderError
from grader.files import data_root
from grader.processes.limits import IS_LINUX
from grader.report.figure import Operators

if TYPE_CHECKING:
    from weasyprint import CSS, Document
    from weasyprint.pdf.stream import Stream


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
