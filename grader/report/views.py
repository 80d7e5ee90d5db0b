"""What pages and terminals show, as typed records of plain text: all numbers formatted, nothing left to decide.

They are dictionaries, as templates and the joining of parts want them; every key that a template names stands here, and
a test holds that.
"""

from __future__ import annotations

from typing import TypedDict

from grader.report.step_views import StepsView

Token = tuple[str, str]
"""CSS class ("" for plain text) and text."""


class StudentView(TypedDict):
    """Who handed the work in."""

    id: str
    name: str
    group: str


class LabView(TypedDict):
    """The lab."""

    id: str
    title: str


class StatusView(TypedDict):
    """How a status is shown."""

    key: str
    symbol: str
    word: str


class ScoreView(TypedDict):
    """Points as text, "" where there are none of a kind; shares of the possible ones in per cent."""

    earned: str
    possible: str
    pending: str
    lost: str
    earned_pct: float
    pending_pct: float


class VariantView(TypedDict):
    """A variant: the head of a column, or the tag beside what is told of it."""

    name: str
    title: str
    colour: str


class CellView(StatusView):
    """A check of a variant."""

    points: str
    message: str
    id: str


class MatrixRow(TypedDict):
    """A check over the variants; None where a variant has no such check."""

    check: str
    title: str
    cells: list[CellView | None]


class FaultView(TypedDict):
    """Something to mend.

    line_before, code_before: another line that it concerns, above the line itself; None and "" where there is none.
    repair: lines of a diff, [] where there is none to be seen; effect: what it does to a line's accesses.
    key, places, weight, waiting: what it was put together by.  lost, held: points that it costs, and that wait for it.
    """

    key: tuple[str, str, str]
    places: list[tuple[str | None, int | None]]
    variants: list[VariantView]
    id: str
    check: str
    status: StatusView
    message: str
    hint: str
    repair: list[str]
    effect: str
    weight: float
    waiting: float
    lost: str
    held: str
    where: str
    line_before: int | None
    code_before: str
    line: int | None
    code: str


class WaitingRow(TypedDict):
    """Why points are pending."""

    reason: str
    points: str


class InapplicableRow(TypedDict):
    """Why a check is no part of the mark."""

    check: str
    reason: str


class RemarkRow(TypedDict):
    """A remark that costs nothing; variants: none where it is on the whole submission."""

    text: str
    variants: list[VariantView]


class Summary(TypedDict):
    """Mark, table of checks against variants, and what to mend: all that a terminal shows."""

    student: StudentView
    lab: LabView
    status: StatusView
    score: ScoreView
    decisions: list[str]
    variants: list[VariantView]
    matrix: list[MatrixRow]
    totals: list[ScoreView]
    faults: list[FaultView]
    waiting: list[WaitingRow]
    inapplicable: list[InapplicableRow]
    remarks: list[RemarkRow]


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
    """A line of the listing."""

    number: int
    tokens: list[Token]
    notes: list[NoteGroup]
    level: str


class GapRow(TypedDict):
    """Lines that are not shown."""

    gap: str


class Listing(TypedDict):
    """A source file."""

    file: str
    rows: list[LineRow | GapRow]


class FactRow(TypedDict):
    """A fact about how the result came about."""

    title: str
    value: str


class Reproduce(TypedDict):
    """How to get the result again."""

    command: str
    rows: list[FactRow]


class Page(Summary):
    """All that the page shows but its figures."""

    language: str
    title_page: TitleView
    aim: str
    task_html: str
    kernels: list[KernelRow]
    counters: CounterTable | None
    timing: TimeTable | None
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
