"""What a report is made from: a result, and the lab's own words in one language."""

from __future__ import annotations

from grader.lab.records import Lab, Text
from grader.result import Record, Result, TitlePage


class VariantTitle(Record, frozen=True):
    """How the lab calls a variant."""

    name: str
    title: str


class SweepText(Record, frozen=True):
    """How the lab calls a sweep, what varies along its axis, and its second parameter ("" without one)."""

    id: str
    title: str
    x_label: str
    line_label: str = ""


class ReportJob(Record, frozen=True):
    """One report to render.

    task: Markdown.  directory: where `report.html` and `report.pdf` go.  pdf: whether a PDF is wanted.
    title_page: what the submission gives for it, else what the lab gives.
    extents: sizes that are the axes of an array, slowest first; () where the lab's sizes are other things too.
    """

    result: Result
    language: str
    lab_title: str
    aim: str
    task: str
    variants: list[VariantTitle]
    sweeps: tuple[SweepText, ...] = ()
    directory: str = ""
    pdf: bool = True
    extents: tuple[str, ...] = ()
    title_page: TitlePage = TitlePage()


def in_language(text: Text, language: str) -> str:
    """`text` in `language`, else in English, else in whatever language it has."""
    return text.get(language) or text.get("en") or next(iter(text.values()), "")


def make_job(result: Result, lab: Lab, language: str, directory: str = "", pdf: bool = True) -> ReportJob:
    """The job for `result`, with the texts of `lab` in `language`."""
    return ReportJob(
        result=result,
        language=language,
        lab_title=in_language(lab.title, language),
        aim=in_language(lab.aim, language),
        task=in_language(lab.task, language),
        variants=[VariantTitle(name=v.name, title=in_language(v.title, language)) for v in lab.variants],
        sweeps=tuple(
            SweepText(
                id=sweep.id,
                title=in_language(sweep.title, language),
                x_label=in_language(sweep.x.label, language),
                line_label=in_language(sweep.lines.label, language) if sweep.lines else "",
            )
            for sweep in lab.sweeps
        ),
        directory=directory,
        pdf=pdf,
        extents=lab.size_names if any(p.shape == lab.size_names for p in lab.parameters) else (),
        title_page=_title_page(result, lab, language),
    )


def _title_page(result: Result, lab: Lab, language: str) -> TitlePage:
    given = {name: in_language(text, language) for name, text in lab.title_page.items()}
    own = result.student.title_page
    own_texts = {name: getattr(own, name) for name in own.__struct_fields__}
    return TitlePage(**given | {name: text for name, text in own_texts.items() if text})
