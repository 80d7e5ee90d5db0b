"""What a report is made from: a result, the lab's own words in one language, and in words what a teacher decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.i18n import _, ngettext
from grader.lab.records import Lab, Text
from grader.measured import Record
from grader.report.text import Numbers, variant_colour, visible_line
from grader.report.views import VariantView
from grader.result import Override, Result, TitlePage
from grader.words import check_title


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


# What a teacher decided of a result, in words.


def decision_lines(result: Result, language: str) -> list[str]:
    """A line for each decision: what was given in place of what, why, what lateness cost; [] without any.

    The last one says if a decision is missing: nobody knows when the work was handed in.
    """
    lines = decided(result, language)
    if result.decisions is not None and result.decisions.asks_time:
        lines.append(_("it is not known when the work was submitted; no penalty is applied"))
    return lines


def decided(result: Result, language: str) -> list[str]:
    """A line for each decision that was made, as `decision_lines`."""
    return [visible_line(line) for line in _lines(result, Numbers(language))]


def _lines(result: Result, numbers: Numbers) -> Iterator[str]:
    for check in result.checks:
        if check.override is not None:
            title = f"{check.variant}: {check_title(check.check)}"
            yield _override(title, check.override, numbers)
    decisions = result.decisions
    if decisions is None:
        return
    late = decisions.late
    if late is not None:
        days = ngettext("{n} day late", "{n} days late", late.days).format(n=late.days)
        cost = _("−{percent} of the points earned, {points} points").format(
            percent=numbers.percent(late.penalty_pct), points=numbers.points(late.lost)
        )
        if late.lost_pending:
            cost += _(", and {points} of those pending").format(points=numbers.points(late.lost_pending))
        times = _("submitted {handed_in}, due {deadline}").format(
            handed_in=_clock(late.handed_in), deadline=_clock(late.deadline)
        )
        yield f"{days} ({times}): {cost}"
    if decisions.total is not None:
        yield _override(_("Total"), decisions.total, numbers)
    if decisions.note:
        yield _("Teacher's note: {note}").format(note=decisions.note)


def _override(what: str, override: Override, numbers: Numbers) -> str:
    line = _("{what}: the teacher gives {points} instead of {was}: {reason}").format(
        what=what, points=numbers.points(override.points), was=numbers.points(override.was), reason=override.reason
    )
    if override.outdated:
        line += " " + _("(What this replaces has changed since.)")
    return line


def _clock(time: str) -> str:
    return time[:16].replace("T", " ")


def variant_columns(job: ReportJob) -> list[VariantView]:
    """The lab's variants in its order, then any that only the result knows, each with its colour."""
    titles = {v.name: v.title for v in job.variants}
    names = list(dict.fromkeys([*titles, *job.result.variants, *(c.variant for c in job.result.checks)]))
    return [
        {"name": name, "title": titles.get(name, ""), "colour": variant_colour(index)}
        for index, name in enumerate(name for name in names if name)
    ]


def where(result: Result, file: str | None, line: int | None) -> str:
    """`file:line`, as an editor understands it, or the cell of a notebook and its line; "" when nothing is known."""
    if not file or not line:
        return file or ""
    source = next((source for source in result.sources if source.file == file), None)
    cell = source.cell_at(line) if source else None
    if source is None or cell is None:
        return f"{file}:{line}"
    return f"{source.notebook}, {in_cell(cell)}"


def in_cell(cell: tuple[int, int]) -> str:
    """A place in a notebook, in words."""
    return _("cell {cell}, line {line}").format(cell=cell[0], line=cell[1])


def size_text(size: dict[str, int], extents: Sequence[str] = ()) -> str:
    """Sizes in the lab's order: "256 × 128" where they are the `extents` of an array, else "n = 8192, radius = 2"."""
    if len(size) > 1 and tuple(size) == tuple(extents):
        return "\u00a0×\u00a0".join(str(value) for value in size.values())
    return ", ".join(f"{name}\u00a0=\u00a0{value}" for name, value in size.items())
