"""Reports and pages of groups as self-contained HTML: no script but ours, nothing fetched, every value escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from grader.files import data_root
from grader.i18n import _, ngettext
from grader.report import tables
from grader.report.bank_map import warp_steps
from grader.report.charts import bank_maps, sector_chart, sweep_charts, wavefront_chart
from grader.report.conclusions import conclusions, sweep_conclusions, sweep_notes, sweeps_intro
from grader.report.draw import Chart, Medium, figure_of
from grader.report.figure import Operators
from grader.report.job import ReportJob
from grader.report.listing import listings, on_paper
from grader.report.predicted import predicted_times
from grader.report.summary import GroupRow, summary
from grader.report.text import visible
from grader.report.views import FigureView, Page, Picture, SweepSection, TitleView, WrongPicture
from grader.report.wrong_map import wrong_maps

if TYPE_CHECKING:
    from jinja2 import Environment


ON_PAPER: dict[str, Operators] = {}
"""Figures of the report that is being printed, by the addresses that its page has for them."""


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

    Those are data URIs, on paper addresses in `ON_PAPER`.
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
    figure = figure_of(chart)
    if medium == "paper":
        address = f"figure:{len(ON_PAPER)}"
        ON_PAPER[address] = figure.operators()
        return {"src": address, "alt": chart.description}
    data = base64.b64encode(figure.svg()).decode("ascii")
    return {"src": f"data:image/svg+xml;base64,{data}", "alt": chart.description}


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
