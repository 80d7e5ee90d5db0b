"""Images of charts, each drawn once: kept in memory, and in the user's cache for other processes and later runs.

Half of a group's charts are somebody else's too, and most of one's own are those of the last time: kernels that are
right are counted alike.  A chart that is wanted both ways, for the page and for the PDF, is laid out once.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
from collections import OrderedDict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader import i18n
from grader.files import user_cache
from grader.i18n import language
from grader.report import bank_map, charts, draw, text, wrong_map
from grader.report.draw import Chart, Format, as_png, as_svg, figure_of, styled
from grader.report.pdf import NotVectors, Operators, pdf_operators

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BYTES = 32 << 20
"""Bytes of images that are kept in memory."""
MAX_KEPT = 500
"""Images in the folder; each is some fifty kilobytes."""
DIGEST_BYTES = 32
"""Length of the digest before each image in the folder: what is no whole image of ours is drawn anew."""
Key = tuple[str, Chart]


class Drawings:
    """Images of charts, those used last kept.

    most_bytes: of what is kept in memory.  folder: where images of other processes and runs are found; None: nowhere.
    on_paper: what figures are on paper, by the address that `address` gave them.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, folder: Path | None = None) -> None:
        self._most_bytes = most_bytes
        self.folder = folder
        self._images: OrderedDict[tuple[Key, Format], bytes] = OrderedDict()
        self._bytes = 0
        self._figures: dict[Key, Figure] = {}
        self._has_shared = False
        self.on_paper: dict[str, Operators] = {}

    def has_kept(self) -> bool:
        """Whether earlier runs have left anything: most of what is to be drawn may be there then."""
        with contextlib.suppress(OSError):
            return self.folder is not None and next(self.folder.iterdir(), None) is not None
        return False

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
        """The chart's key in `on_paper`; None if it can only be an image there."""
        address = f"figure:{_name((language(), chart), 'svg')}"
        if address not in self.on_paper:
            try:
                self.on_paper[address] = pdf_operators(self.image(chart, "svg"))
            except NotVectors:
                return None
        return address

    def end_report(self, is_on_paper: bool = True) -> None:
        """Drop what only one report needs, and the images beyond the limits; is_on_paper: its PDF is done too."""
        self._figures.clear()
        if is_on_paper:
            self.on_paper.clear()
        while self._bytes > self._most_bytes:
            _key, image = self._images.popitem(last=False)
            self._bytes -= len(image)
        if self._has_shared and self.folder is not None:
            self._has_shared = False
            with contextlib.suppress(OSError):
                _drop_oldest(self.folder)

    def _of_others(self, key: Key, image_format: Format) -> bytes | None:
        """Return the image where another process, or an earlier run, has drawn it."""
        if self.folder is None:
            return None
        place = self.folder / _name(key, image_format)
        try:
            content = place.read_bytes()
        except OSError:
            return None
        image = content[DIGEST_BYTES:]
        if content[:DIGEST_BYTES] != hashlib.sha256(image).digest():
            return None
        # Those used last are kept.
        with contextlib.suppress(OSError):
            os.utime(place)
        return image

    def _share(self, key: Key, image_format: Format) -> None:
        if self.folder is None:
            return
        place = self.folder / _name(key, image_format)
        own = place.with_suffix(f".{os.getpid()}")
        # Where it cannot be written, others draw it themselves.
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            image = self._images[key, image_format]
            own.write_bytes(hashlib.sha256(image).digest() + image)
            own.replace(place)
            self._has_shared = True

    def _keep(self, key: Key, image_format: Format, image: bytes) -> None:
        self._bytes += len(image) - len(self._images.get((key, image_format), b""))
        self._images[key, image_format] = image


def _drop_oldest(folder: Path) -> None:
    # A folder that somebody made there, or a link that leads nowhere, is no reason to keep all the rest.
    kept = [path for path in folder.iterdir() if path.is_symlink() or not path.is_dir()]
    if len(kept) > MAX_KEPT:
        for path in sorted(kept, key=lambda path: path.lstat().st_mtime)[: len(kept) - MAX_KEPT * 3 // 4]:
            path.unlink(missing_ok=True)


def _name(key: Key, image_format: Format) -> str:
    """Return a name that is equal in all processes of one version: a chart is plain data, fully in its `repr`."""
    what = f"{_own_code()} {key!r}"
    return f"{hashlib.sha256(what.encode('utf-8', 'surrogatepass')).hexdigest()}.{image_format}"


@cache
def _own_code() -> str:
    """Return a digest of what an image follows from besides its chart."""
    digest = hashlib.sha256(importlib.metadata.version("matplotlib").encode())
    for module in (draw, charts, bank_map, wrong_map, text, i18n):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()


def default_folder() -> Path:
    """The user's folder for drawings: `~/.cache/cuda-lab-grader/drawings`."""
    return user_cache() / "drawings"


DRAWINGS = Drawings()
"""Drawings of this process."""


def drawn(chart: Chart, image_format: Format) -> bytes:
    """The chart as an image file's bytes, by itself."""
    return Drawings().image(chart, image_format)
