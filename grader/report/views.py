"""The summary and the page of a report, as typed records of plain text: all numbers formatted, nothing left to decide.

They are dictionaries, as templates and the joining of parts want them; every key that a template names stands here, and
a test holds that.
"""

from __future__ import annotations

from typing import TypedDict


class StudentView(TypedDict):
    id: str
    name: str
    group: str


class LabView(TypedDict):
    id: str
    title: str


class StatusView(TypedDict):
    key: str
    symbol: str
    word: str


class ScoreView(TypedDict):
    """Points as text, "" where there are none of a kind; shares of the possible ones in per cent.

    mark: "76 of 91 points", out_of: "of 91 points".
    """

    earned: str
    possible: str
    mark: str
    out_of: str
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
    """A check of a variant; pending, short: its points without words ("5/20"), for where there is no room for these."""

    points: str
    short: str
    pending: str
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
    follows: what comes of it, a line for each check or other words of it, with its variants, [] where that is all.
    is_mended: whether a change is known to mend it.
    key, told, places, weight, waiting: what it was put together by.  lost, held: points it costs, that wait for it.
    """

    key: tuple[str, str, str]
    told: str
    places: list[tuple[str | None, int | None]]
    variants: list[VariantView]
    id: str
    check: str
    status: StatusView
    message: str
    hint: str
    follows: list[str]
    repair: list[str]
    effect: str
    seen: bool
    is_mended: bool
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
    reason: str
    points: str


class InapplicableRow(TypedDict):
    check: str
    reason: str


class RemarkRow(TypedDict):
    """A remark that costs nothing; variants: none where it is on the whole submission."""

    text: str
    variants: list[VariantView]


class FasterView(TypedDict):
    """A change that may make variants faster; what: where it is, and of what kind.  said: a sentence of each variant.

    diff: lines of a diff, [] where there is none to be seen or a fault shows the same.
    """

    what: str
    said: list[str]
    diff: list[str]


class PredictedTable(TypedDict):
    """Predicted times: for what, a row for each variant as its `titles` say, and what else is to be known.

    changes: those that may make kernels faster; changes_note: what is known of all of them.
    """

    caption: str
    titles: list[str]
    rows: list[list[str]]
    notes: list[str]
    changes: list[FasterView]
    changes_note: str


class Summary(TypedDict):
    """Mark, table of checks against variants, and what to mend: all that a terminal shows.

    unjudged: why there is no verdict, and what would make one possible; [] where there is one.
    """

    student: StudentView
    lab: LabView
    status: StatusView
    unjudged: list[str]
    score: ScoreView
    decisions: list[str]
    variants: list[VariantView]
    matrix: list[MatrixRow]
    totals: list[ScoreView]
    faults: list[FaultView]
    waiting: list[WaitingRow]
    inapplicable: list[InapplicableRow]
    remarks: list[RemarkRow]
    predicted_table: PredictedTable | None


class StepCell(TypedDict):
    """What some lanes access at once.  lanes: their numbers, blanks between them; text: what stands in the cell."""

    x: float
    width: float
    lanes: str
    text: str


class StepRow(TypedDict):
    y: float
    label: str
    cells: list[StepCell]


class StepTick(TypedDict):
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
    title: str
    cells: list[str]


class CounterTable(TypedDict):
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
    tool: str
    text: str
    line: int | str


class WitnessTables(TypedDict):
    counters: list[WitnessCounter]
    findings: list[WitnessFinding]


class NoteView(TypedDict):
    kind: str
    level: str
    text: str


class NoteGroup(TypedDict):
    """Remarks on a line that hold for the same variants."""

    variants: list[VariantView]
    notes: list[NoteView]


class LineRow(TypedDict):
    """A line of the listing; number: that it is told by, of a notebook's text within its cell.

    On paper several, a line of `number` for each.
    """

    number: int | str
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
    file: str
    rows: list[Row]


class FactRow(TypedDict):
    title: str
    value: str


class Reproduce(TypedDict):
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
    kind: str
    images: list[Picture]
    caption: str


class WrongPicture(Picture):
    """An image of a wrong output; wide: needs a whole line."""

    wide: bool
    caption: str


class SweepFigure(TypedDict):
    kind: str
    image: Picture
    caption: str


class SweepNotes(TypedDict):
    """What stands beside the graphs of a sweep."""

    title: str
    notes: list[str]


class SweepSection(SweepNotes):
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
