"""Reports and pages of groups as self-contained HTML: no script but ours, nothing fetched, every value escaped.

Images of charts are drawn once: kept in memory, and in the user's cache for other processes and later runs.  Half of a
group's charts are somebody else's too, and most of one's own are those of the last time: kernels that are right are
counted alike.  A chart that is wanted both ways, for the page and for the PDF, is laid out once.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib.metadata
import os
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from grader import i18n
from grader.files import data_root, user_cache
from grader.i18n import _, language, ngettext
from grader.report import bank_map, charts, draw, tables, text, wrong_map
from grader.report.bank_map import warp_steps
from grader.report.charts import bank_maps, sector_chart, sweep_charts, wavefront_chart
from grader.report.conclusions import conclusions, sweep_conclusions, sweep_notes, sweeps_intro
from grader.report.draw import Chart, Format, Medium, as_png, as_svg, figure_of, styled
from grader.report.job import ReportJob
from grader.report.listing import listings, on_paper
from grader.report.pdf import NotVectors, Operators, pdf_operators
from grader.report.predicted import predicted_times
from grader.report.summary import GroupRow, summary
from grader.report.text import visible
from grader.report.views import FigureView, Page, Picture, SweepSection, TitleView, WrongPicture
from grader.report.wrong_map import wrong_maps

if TYPE_CHECKING:
    from jinja2 import Environment
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


REPORT = "report.js"
GROUP = "group.js"


@cache
def script(name: str) -> str:
    return (data_root() / "templates" / name).read_text("utf-8")


@cache
def script_hash(name: str) -> str:
    """What names it in a page's policy (CSP level 3, `script-src`)."""
    digest = base64.b64encode(hashlib.sha256(script(name).encode()).digest()).decode("ascii")
    return f"sha256-{digest}"


# The report as one self-contained HTML page: no script but ours, nothing fetched, every value escaped.

NO_PICTURES: Mapping[str, WrongPicture] = MappingProxyType({})
STYLES = "report.css"
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-ZА-ЯЁ])")
_CODE = re.compile(r"(\b\w+(?:\[[^\][]*\])+|\b__\w+__\b|\b\w+\(\)|\b(?:thread|block|grid)(?:Idx|Dim)\.[xyz]\b)")
MEDIA_TYPES: dict[Format, str] = {"svg": "image/svg+xml", "png": "image/png"}


def load() -> None:
    """Import and compile all that a page needs, so that the first one is as quick as the rest."""
    import markdown_it  # noqa: F401
    import pygments.lexers.c_like  # noqa: F401

    environment().get_template("report.html.j2")


def document(job: ReportJob) -> Page:
    """All that the page shows but its figures; texts are in the language in use (`grader.i18n.use`)."""
    return {
        **summary(job),
        "language": job.language,
        "title_page": title_page(job),
        "aim": job.aim,
        "task_html": markdown(job.task),
        "kernels": tables.kernel_rows(job),
        "counters": tables.counter_table(job),
        "timing": tables.time_table(job),
        "predicted": predicted_times(job),
        "host_memory": tables.host_memory_table(job),
        "resources": tables.resource_table(job),
        "witnesses": tables.witness_tables(job),
        "sweeps_intro": sweeps_intro(job),
        "conclusions": [*conclusions(job), *sweep_conclusions(job)],
        "steps": warp_steps(job),
        "listings": listings(job),
        "reproduce": tables.reproduce(job),
    }


def title_page(job: ReportJob) -> TitleView:
    """What stands on the title page besides the names of lab and student."""
    given = job.title_page
    return {
        "university": given.university,
        "department": given.department,
        "course": given.course,
        "teacher": given.teacher,
        "city": given.city,
        "year": given.year,
    }


def figures(job: ReportJob, medium: Medium) -> list[FigureView]:
    """The figures that the result has data for: each has a kind, a caption and images.

    Those are data URIs, on paper addresses in `DRAWINGS.on_paper` too.
    """
    drawn: list[FigureView] = [
        {"kind": "bars", "images": [_image(chart, medium)], "caption": chart.title}
        for chart in (wavefront_chart(job), sector_chart(job))
        if chart is not None
    ]
    maps = bank_maps(job)
    if maps:
        caption = _(
            "Bank map: which bank each lane of a warp addresses in one request. "
            "Different words in one bank are served one after another."
        )
        drawn.append({"kind": "map", "images": [_image(chart, medium) for chart in maps], "caption": caption})
    return drawn


def charts_of(job: ReportJob) -> list[Chart]:
    """The charts of all figures; sweeps' are known last."""
    bars = [chart for chart in (wavefront_chart(job), sector_chart(job)) if chart is not None]
    swept = [chart for sweep in job.result.sweeps for chart in sweep_charts(job, sweep)]
    return [*bars, *bank_maps(job), *wrong_maps(job), *swept]


def sweep_figures(job: ReportJob, medium: Medium) -> list[SweepSection]:
    """A section for each sweep of the result: its title, its figures, and what has to be said below them."""
    return [
        {
            **sweep_notes(job, sweep),
            "figures": [
                {
                    "kind": "wide" if len(chart.panels) > 1 else "lines",
                    "image": _image(chart, medium),
                    "caption": chart.title,
                }
                for chart in sweep_charts(job, sweep)
            ],
        }
        for sweep in job.result.sweeps
    ]


def wrong_pictures(job: ReportJob, medium: Medium) -> dict[str, WrongPicture]:
    """An image of the wrong output for each check that explains one, by the check's id, with a caption.

    wide: needs a whole line.
    """
    return {
        chart.check: {**_image(chart, medium), "wide": len(chart.panels) > 2, "caption": chart.caption}
        for chart in wrong_maps(job)
    }


def _image(chart: Chart, medium: Medium) -> Picture:
    address = DRAWINGS.address(chart) if medium == "paper" else None
    return {"src": address or _data(chart, "png" if medium == "paper" else "svg"), "alt": chart.description}


def _data(chart: Chart, image_format: Format) -> str:
    data = base64.b64encode(DRAWINGS.image(chart, image_format)).decode("ascii")
    return f"data:{MEDIA_TYPES[image_format]};base64,{data}"


def render(
    page: Page,
    drawn: list[FigureView],
    pictures: Mapping[str, WrongPicture] = NO_PICTURES,
    sweeps: Sequence[SweepSection] = (),
    paged: bool = False,
) -> str:
    """The page as HTML text, for a screen or (paged) for paper.

    page, drawn, pictures, sweeps: from `document`, `figures`, `wrong_pictures` and `sweep_figures`.
    """
    template = environment().get_template("report.html.j2")
    own = {"script": "", "script_hash": ""}
    if page["steps"] and not paged:
        own = {"script": script(REPORT), "script_hash": script_hash(REPORT)}
    shown = {**page, "listings": on_paper(page["listings"])} if paged else page
    return template.render(**shown, **own, figures=drawn, pictures=pictures, sweeps=sweeps, paged=paged)


def markdown(text: str) -> str:
    """A task's Markdown as HTML.  HTML within it is shown as text, images are left out, links are not followed."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "html_block", "html_inline"])
    # The page has its own headings; a task's headings go below them.
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    return str(parser.renderer.render(tokens, parser.options, {}))


def steps(text: str) -> list[list[tuple[str, bool]]]:
    """A hint's sentences, each as pieces of text with whether they are code: `buf[32][32 + 1]`, `__syncthreads()`."""
    pieces = [_CODE.split(sentence) for sentence in _SENTENCE.split(text)]
    return [[(piece, place % 2 == 1) for place, piece in enumerate(row) if piece] for row in pieces]


@cache
def environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(data_root() / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        # Whatever a page shows, it acts neither on the browser nor on the reader.
        finalize=lambda value: visible(value) if isinstance(value, str) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(_=_, ngettext=ngettext)
    environment.filters["longest_word"] = lambda text: max(map(len, text.split()), default=0)
    environment.filters["own_markup"] = Markup
    environment.filters["steps"] = steps
    return environment


# Pages of groups and courses: self-contained HTML with a script of ours that sorts, searches and filters.

Rows = Sequence[tuple[GroupRow, tuple[float, str]]]
"""Students' rows, each with the mark in per cent, for sorting and in words."""


def group_page(rows: Rows, variants: Sequence[str], title: str, language: str, overview: object, lab: str) -> str:
    """A lab's page; overview: of `grader.exports.pages`."""
    return (
        environment()
        .get_template("group.html.j2")
        .render(rows=rows, variants=variants, title=title, language=language, overview=overview, lab=lab, **_script())
    )


def course_page(labs: Sequence[tuple[str, str]], rows: Sequence[Mapping[str, object]], language: str) -> str:
    """The page of all labs; labs: ids and titles."""
    return environment().get_template("course.html.j2").render(labs=labs, rows=rows, language=language, **_script())


def sheet_page(rows: Rows, variants: Sequence[str], title: str, language: str) -> str:
    """The marks on paper, with a line for a signature."""
    return (
        environment().get_template("sheet.html.j2").render(rows=rows, variants=variants, title=title, language=language)
    )


def similar_page(pairs: Sequence[object], too_short: Sequence[str], title: str, language: str) -> str:
    """Pairs of similar submissions; pairs: of `grader.exports.pages.PairView`."""
    return (
        environment()
        .get_template("similar.html.j2")
        .render(pairs=pairs, too_short=too_short, title=title, language=language)
    )


def _script() -> dict[str, str]:
    return {"script": script(GROUP), "script_hash": script_hash(GROUP)}
