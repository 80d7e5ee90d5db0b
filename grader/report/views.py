"""The page of a report, as typed records of plain text: the summary and all that stands below it."""

from __future__ import annotations

from typing import TypedDict

from grader.report.summary_views import StatusView, Summary, VariantView


class StepCell(TypedDict):
    """What some lanes access at once.  lanes: their numbers, blanks between them; text: what stands in the cell."""

    x: float
    width: float
    lanes: str
    text: str


class StepRow(TypedDict):
    """A wavefront or a sector."""

    y: float
    label: str
    cells: list[StepCell]


class StepTick(TypedDict):
    """The number of a column."""

    x: float
    text: str


class StepRequest(TypedDict):
    """A request.  words: what it costs; said: a sentence for each lane; ideal_y: where its rows could end.

    grid: lines between columns, as an SVG path.
    """

    head: str
    words: str
    rows: list[StepRow]
    ticks: list[StepTick]
    left: float
    width: float
    height: float
    ideal_y: float
    grid: str
    said: list[str]


class StepsView(TypedDict):
    """The requests of a warp at a line.

    worst: the index of the one that is shown first.  is_wide: the pictures need the page's width.
    """

    title: str
    is_wide: bool
    colour: str
    note: str
    requests: list[StepRequest]
    worst: int


Token = tuple[str, str]
"""CSS class ("" for plain text) and text."""


class CaseView(StatusView):
    """A size at which a kernel ran."""

    size: str
    kind: str
    detail: str


class KernelRow(VariantView):
    """A variant's kernel; kernel: "" where none was found."""

    kernel: str
    where: str
    launch: str
    cases: list[CaseView]
    error: str


class TitledCells(TypedDict):
    """A row with a title."""

    title: str
    cells: list[str]


class CounterTable(TypedDict):
    """Counters of the memory traffic."""

    variants: list[VariantView]
    rows: list[TitledCells]
    size: str
    note: str
    sampled: str


class HeadView(TypedDict):
    """A column, or several that stand under one title."""

    title: str
    columns: list[str]


class TimeRow(VariantView):
    """Times of a variant; first: the first row of it."""

    first: bool
    size: str
    cells: list[str]


class TimeTable(TypedDict):
    """Times."""

    caption: str
    head: list[HeadView]
    rows: list[TimeRow]
    notes: list[str]


class ResourceTable(TypedDict):
    """What the kernels take of a multiprocessor."""

    variants: list[VariantView]
    rows: list[TitledCells]
    architecture: str


class WitnessCounter(VariantView):
    """A counter of another tool beside the emulator's; the variant's title gives way to the counter's."""

    value: str
    emulator: str


class WitnessFinding(VariantView):
    """Something that another tool found."""

    tool: str
    text: str
    line: int | str


class WitnessTables(TypedDict):
    """What other tools say."""

    counters: list[WitnessCounter]
    findings: list[WitnessFinding]


class NoteView(TypedDict):
    """A remark on a line."""

    kind: str
    level: str
    text: str


class NoteGroup(TypedDict):
    """Remarks on a line that hold for the same variants."""

    variants: list[VariantView]
    notes: list[NoteView]


class LineRow(TypedDict):
    """A line of the listing; number: that it is told by, of a notebook's text within its cell."""

    number: int
    tokens: list[Token]
    notes: list[NoteGroup]
    level: str


class GapRow(TypedDict):
    """Lines that are not shown."""

    gap: str


class CellRow(TypedDict):
    """Where a cell of a notebook begins."""

    cell: str


Row = LineRow | GapRow | CellRow


class Listing(TypedDict):
    """A source file."""

    file: str
    rows: list[Row]


class FactRow(TypedDict):
    """A fact about how the result came about."""

    title: str
    value: str


class Reproduce(TypedDict):
    """How to get the result again."""

    command: str
    rows: list[FactRow]


class TimeShare(TypedDict):
    """What a part of the time goes to; width: in per cent."""

    unit: str
    percent: str
    width: float
    colour: str


class LineCost(TypedDict):
    """What a line takes of a predicted time; units: what most of that goes to."""

    where: str
    code: str
    percent: str
    width: float
    units: str


class PredictedRow(VariantView):
    """A variant's predicted time; why: there is none, "" where there is one."""

    why: str
    time: str
    facts: list[str]
    shares: list[TimeShare]
    notes: list[str]
    lines: list[LineCost]


class PredictedTimes(TypedDict):
    """Predicted times of all variants."""

    caption: str
    rows: list[PredictedRow]
    notes: list[str]


class Page(Summary):
    """All that the page shows but its figures."""

    language: str
    title_page: TitleView
    aim: str
    task_html: str
    kernels: list[KernelRow]
    counters: CounterTable | None
    timing: TimeTable | None
    predicted: PredictedTimes | None
    host_memory: TimeTable | None
    resources: ResourceTable | None
    witnesses: WitnessTables | None
    sweeps_intro: str
    conclusions: list[str]
    steps: dict[str, list[StepsView]]
    listings: list[Listing]
    reproduce: Reproduce


class Picture(TypedDict):
    """An image as a data URI, and what it shows in words."""

    src: str
    alt: str


class FigureView(TypedDict):
    """A figure of one image or more."""

    kind: str
    images: list[Picture]
    caption: str


class WrongPicture(Picture):
    """An image of a wrong output; wide: needs a whole line."""

    wide: bool
    caption: str


class SweepFigure(TypedDict):
    """A graph."""

    kind: str
    image: Picture
    caption: str


class SweepNotes(TypedDict):
    """What stands beside the graphs of a sweep."""

    title: str
    notes: list[str]


class SweepSection(SweepNotes):
    """A sweep."""

    figures: list[SweepFigure]


class TitleView(TypedDict):
    """What a university wants on a title page, "" for what nobody gave."""

    university: str
    department: str
    course: str
    teacher: str
    city: str
    year: str


class Drawn(TypedDict):
    """The figures of a page; pictures by the check's id."""

    figures: list[FigureView]
    pictures: dict[str, WrongPicture]
    sweeps: list[SweepSection]


class ReportPage(Page, Drawn):
    """What the template of a report is given; paged: it goes on paper, with a title page.

    script, script_hash: what steps through a warp's accesses; "" where there is nothing to step through.
    """

    paged: bool
    script: str
    script_hash: str
