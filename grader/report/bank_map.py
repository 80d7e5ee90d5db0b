"""What a request of a warp costs, drawn: the bank map of shared memory, rows of wavefronts or sectors, and a warp's
requests at a line that costs points, as pictures to be stepped through.

The bank map shows which lane addresses which of the 32 banks, and how many different words each bank serves.

A picture is as high as its request is dear, and a line shows how high it need be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.devices import BANKS, SECTOR_BYTES, WARP_LANES
from grader.i18n import _, ngettext
from grader.lab.checks import SPACES
from grader.measured import LineCounters, WarpArray, WarpRequest, WarpSteps
from grader.report.charts import BankMap
from grader.report.figure import (
    AXIS,
    LETTER_HEIGHT,
    TICK,
    TICK_GAP,
    TICKS_COLOUR,
    Figure,
    Pen,
    Scale,
    Words,
    text_height,
    text_width,
)
from grader.report.job import ReportJob, variant_columns, where
from grader.report.text import visible
from grader.report.views import StepCell, StepRequest, StepRow, StepsView, StepTick
from grader.result import Result, Variant

GRID = "#e4e8ec"
BAR_WIDTH = 0.86
TICKS = (0, 8, 16, 24, 31)
TITLE, VERDICT, TICK_WORDS = Words(line=1.35), Words(is_bold=True), Words(colour=TICKS_COLOUR)


MAP_WIDTH, MAP_HEIGHT = 72 * 3.6, 72 * 3.7
WORDS_SHARE = 0.2
"""Of the height, what the words of the banks take."""
DARK = "#1f2933"
MARGIN = 3.4


def draw_bank_map(chart: BankMap) -> Figure:
    """Lanes against banks; below, the number of distinct words per bank (with one, there is no conflict)."""
    figure = Figure(MAP_WIDTH, MAP_HEIGHT)
    counts = words_per_bank(chart)
    highest = max(*counts, 1)
    numbers = sorted({0, 1, highest}) if highest < 4 else [1, highest]
    widest = max(text_width(str(number), TICK_WORDS.size) for number in (*TICKS, *numbers))
    left = MARGIN + 1.2 * TITLE.size + 3 + widest + TICK_GAP + TICK
    x = Scale(-0.5, BANKS - 0.5, left, MAP_WIDTH - MARGIN)
    head = MARGIN + text_height("\n", TITLE) + text_height("", VERDICT) + 6
    foot = MAP_HEIGHT - MARGIN - text_height("", TITLE) - 5 - LETTER_HEIGHT * TITLE.size - TICK_GAP - TICK
    share = WORDS_SHARE * (foot - head)
    title = f"{_short(chart.title)}\n{_short(chart.place)}"
    figure.words((left, MARGIN), title, TITLE, "left top")
    figure.words((left, head - 3), chart.verdict, VERDICT, "left bottom")
    _draw_lanes(figure, chart, x, Scale(-0.5, BANKS - 0.5, head, foot - share - 10))
    _draw_words(figure, chart, x, Scale(0, max(highest * 1.12, 2), foot, foot - share), numbers)
    return figure


def words_per_bank(chart: BankMap) -> list[int]:
    """Distinct words addressed in each bank: (32,).  Lanes that share a word are served together."""
    words = {word for lane in chart.lanes for word in lane}
    counts = [0] * BANKS
    for word in words:
        counts[word % BANKS] += 1
    return counts


def _draw_lanes(figure: Figure, chart: BankMap, x: Scale, y: Scale) -> None:
    counts = words_per_bank(chart)
    edges = [edge - 0.5 for edge in range(BANKS + 1)]
    grid = [((x(edge), y.start), (x(edge), y.end)) for edge in edges]
    grid += [((x.start, y(edge)), (x.end, y(edge))) for edge in edges]
    figure.segments(grid, Pen(GRID, 0.4))
    _draw_axes(figure, x, y, y.end, y.start, TICKS)
    figure.words((MARGIN, (y.start + y.end) / 2), chart.lane_axis, TITLE, "middle top", is_turned=True)
    wide, high = x(1) - x(0), y(1) - y(0)
    cells = [(word % BANKS, lane) for lane, words in enumerate(chart.lanes) for word in words]
    # Solid where the bank serves one word, framed dark where several lanes must queue for it.
    for is_conflict, pen in ((False, Pen("#ffffff", 0.5)), (True, Pen(DARK, 0.8))):
        own = [(x(bank - 0.5), y(lane - 0.5), wide, high) for bank, lane in cells if (counts[bank] > 1) is is_conflict]
        figure.boxes(own, chart.colour, pen)


def _draw_axes(figure: Figure, x: Scale, y: Scale, foot: float, head: float, numbers: Sequence[int]) -> None:
    """Draw the left axis with its numbers, and the lower one without."""
    figure.segments([((x.start, foot), (x.end, foot)), ((x.start, foot), (x.start, head))], AXIS)
    figure.segments([((x.start - TICK, y(at)), (x.start, y(at))) for at in numbers], Pen(DARK, 0.8))
    for at in numbers:
        figure.words((x.start - TICK - TICK_GAP, y(at)), str(at), TITLE, "right middle")
    figure.segments([((x(at), foot), (x(at), foot + TICK)) for at in TICKS], Pen(TICKS_COLOUR, 0.8))


def _short(text: str, limit: int = 46) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _draw_words(figure: Figure, chart: BankMap, x: Scale, y: Scale, numbers: Sequence[int]) -> None:
    wide = BAR_WIDTH * (x(1) - x(0))
    bars = [
        (x(bank) - wide / 2, y(count), wide, y.start - y(count))
        for bank, count in enumerate(words_per_bank(chart))
        if count
    ]
    figure.boxes(bars, chart.colour, Pen(DARK, 0.4))
    figure.segments([((x.start, y(1)), (x.end, y(1)))], Pen(DARK, 0.9, (3.6, 2.7)))
    _draw_axes(figure, x, y, y.start, y.end, numbers)
    figure.words((MARGIN, (y.start + y.end) / 2), chart.words_axis, TITLE, "middle top", is_turned=True)
    for at in TICKS:
        figure.words((x(at), y.start + TICK + TICK_GAP), str(at), TICK_WORDS, "middle top")
    figure.words(((x.start + x.end) / 2, MAP_HEIGHT - MARGIN), chart.bank_axis, TITLE, "middle bottom")


# What a request of a warp costs, as rows: wavefronts over the banks of shared memory, or sectors over their bytes.
#
# There are as many rows as the request costs (`WarpRequest.cost`).

WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """What a lane accesses: the first element, of an array by its index; byte: where that is, counted from a bank 0 or
    from the start of a sector."""

    lane: int
    array: int
    element: int
    byte: int


@dataclass(frozen=True, slots=True)
class Cell:
    """What some lanes access at once: a number of bytes from a byte of the row on."""

    byte: int
    width_bytes: int
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A wavefront or a sector; array, byte: the sector's array, and where in it the sector begins."""

    cells: tuple[Cell, ...]
    array: int = 0
    byte: int = 0


def accesses(arrays: Sequence[WarpArray], request: WarpRequest) -> Iterator[LaneAccess]:
    """The lanes that take part, in their order."""
    for array, lane, lanes, element, step in request.runs:
        bytes_each = arrays[array].element_bytes
        for number in range(lanes):
            at = element + number * step
            yield LaneAccess(lane + number, array, at, arrays[array].start + at * bytes_each)


def wavefronts(accesses: Sequence[LaneAccess], width_bytes: int, at_once: int) -> list[Row]:
    """The wavefronts of a request to shared memory: in each of them a bank serves one word, to all lanes that want it.

    Of lanes that are served at once the words of a bank are taken in the lanes' order.
    """
    rows = []
    for first in range(0, WARP_LANES, at_once):
        words: dict[int, list[int]] = {}
        for access in accesses:
            if first <= access.lane < first + at_once:
                for word in range(access.byte // WORD_BYTES, (access.byte + width_bytes - 1) // WORD_BYTES + 1):
                    words.setdefault(word, []).append(access.lane)
        of_bank: dict[int, list[int]] = defaultdict(list)
        for word in words:
            of_bank[word % BANKS].append(word)
        for number in range(max((len(queue) for queue in of_bank.values()), default=0)):
            served = sorted((bank, queue[number]) for bank, queue in of_bank.items() if number < len(queue))
            rows.append(Row(tuple(Cell(bank * WORD_BYTES, WORD_BYTES, tuple(words[word])) for bank, word in served)))
    return rows


def sectors(accesses: Sequence[LaneAccess], width_bytes: int) -> list[Row]:
    """The sectors that a request to global memory touches, in the order of memory."""
    touched: dict[tuple[int, int], dict[int, list[int]]] = {}
    for access in accesses:
        sector = access.byte // SECTOR_BYTES * SECTOR_BYTES
        touched.setdefault((access.array, sector), {}).setdefault(access.byte, []).append(access.lane)
    return [
        Row(
            tuple(Cell(byte - sector, width_bytes, tuple(lanes)) for byte, lanes in sorted(cells.items())),
            array,
            sector,
        )
        for (array, sector), cells in sorted(touched.items())
    ]


BANK_WIDTH, SECTOR_WIDTH = 15.0, 256.0
ROW_HEIGHT, HEAD = 14.0, 15.0
LETTER = 6.0
"""Width of a letter beside a row."""
LONGEST_NAME = 14


def warp_steps(job: ReportJob) -> dict[str, list[StepsView]]:
    """What can be stepped through, by the id of the check that it belongs to, the check's own line first."""
    colours = {column["name"]: column["colour"] for column in variant_columns(job)}
    by_check: dict[str, list[StepsView]] = {}
    for check in job.result.checks:
        variant = job.result.variants.get(check.variant, Variant())
        if check.status != "fail" or check.check not in SPACES or variant.counters is None:
            continue
        rows = [c for c in variant.counters.by_line if c.steps is not None and c.space == SPACES[check.check]]
        rows.sort(key=lambda c: (c.line != check.line, c.line))
        views = [_Picture(variant, c, c.steps).view(job.result, colours[check.variant]) for c in rows if c.steps]
        if views:
            by_check[check.id] = views
    return by_check


class _Picture:
    """Pictures of a warp's requests at one line."""

    def __init__(self, variant: Variant, row: LineCounters, steps: WarpSteps) -> None:
        self._variant, self._row, self._steps = variant, row, steps
        self._is_shared = row.space == "shared"
        self._block = variant.launch.block if variant.launch else (WARP_LANES, 1, 1)
        self._unit = BANK_WIDTH / WORD_BYTES if self._is_shared else SECTOR_WIDTH / SECTOR_BYTES

    def view(self, result: Result, colour: str) -> StepsView:
        """All of them; `colour`: the variant's."""
        operations = {
            ("shared", "load"): _("shared load"),
            ("shared", "store"): _("shared store"),
            ("global", "load"): _("global load"),
            ("global", "store"): _("global store"),
        }
        title = _("{place}: {operation}, warp {warp} of block ({block})").format(
            operation=operations[self._row.space, self._row.op],
            place=where(result, self._variant.file, self._row.line),
            warp=self._steps.warp,
            block=_index(self._steps.block),
        )
        if self._is_shared:
            note = _(
                "Each column is a bank, each row a wavefront. The number in a cell is the lane; ×n means that n lanes "
                "want the same word. The dashed line marks the fewest wavefronts possible."
            )
        else:
            note = _(
                "Each row is a 32-byte sector. The number in a cell is the lane; ×n means that n lanes want the same "
                "bytes. The dashed line marks the fewest sectors possible."
            )
        ratios = [request.cost / max(request.ideal, 1) for request in self._steps.requests]
        return {
            "title": title,
            "colour": colour,
            "is_wide": self._is_shared,
            "note": note,
            "requests": [
                self._request(request, number) for number, request in enumerate(self._steps.requests, self._steps.first)
            ],
            "worst": ratios.index(max(ratios)),
        }

    def _request(self, request: WarpRequest, number: int) -> StepRequest:
        touched = list(accesses(self._steps.arrays, request))
        width_bytes = self._row.width_bytes
        rows = wavefronts(touched, width_bytes, request.at_once) if self._is_shared else sectors(touched, width_bytes)
        labels = [str(n) if self._is_shared else self._of_sector(row) for n, row in enumerate(rows, start=1)]
        left = 10 + LETTER * max((len(label) for label in labels), default=1)
        total = self._steps.total
        head = _("Request {number}").format(number=number)
        if total is not None:
            head = _("Request {number} of {total}").format(number=number, total=total)
        return {
            "head": head,
            "words": self._words(request, len(touched)),
            "rows": [
                self._drawn(row, label, left, HEAD + ROW_HEIGHT * index)
                for index, (row, label) in enumerate(zip(rows, labels, strict=True))
            ],
            "ticks": self._ticks(left),
            "left": round(left, 1),
            "width": round(left + (BANKS * BANK_WIDTH if self._is_shared else SECTOR_WIDTH) + 1, 1),
            "height": HEAD + ROW_HEIGHT * len(rows) + 2,
            "ideal_y": HEAD + ROW_HEIGHT * request.ideal,
            "grid": self._grid(left, ROW_HEIGHT * len(rows)),
            "said": self._said(touched, rows),
        }

    def _words(self, request: WarpRequest, lanes: int) -> str:
        """Return what the request costs, and whether all lanes take part."""
        if self._is_shared:
            cost = ngettext("{n} wavefront", "{n} wavefronts", request.cost)
        else:
            cost = ngettext("{n} sector", "{n} sectors", request.cost)
        words = cost.format(n=request.cost)
        if request.cost > request.ideal:
            words = _("{cost} where {ideal} would do").format(cost=words, ideal=request.ideal)
        if lanes < WARP_LANES:
            words += "; " + ngettext("only {n} lane takes part", "only {n} lanes take part", lanes).format(n=lanes)
        return words

    def _drawn(self, row: Row, label: str, left: float, y: float) -> StepRow:
        cells: list[StepCell] = [
            {
                "x": round(left + cell.byte * self._unit, 1),
                "width": round(cell.width_bytes * self._unit, 1),
                "lanes": " ".join(map(str, dict.fromkeys(cell.lanes))),
                "text": str(cell.lanes[0]) if len(cell.lanes) == 1 else f"×{len(cell.lanes)}",
            }
            for cell in row.cells
        ]
        return {"y": y, "label": label, "cells": cells}

    def _ticks(self, left: float) -> list[StepTick]:
        if self._is_shared:
            return [{"x": round(left + (bank + 0.5) * BANK_WIDTH, 1), "text": str(bank)} for bank in range(BANKS)]
        steps = range(0, SECTOR_BYTES, 4)
        return [{"x": round(left + (byte + 2) * self._unit, 1), "text": f"+{byte}"} for byte in steps]

    def _grid(self, left: float, height: float) -> str:
        step = BANK_WIDTH if self._is_shared else SECTOR_WIDTH * WORD_BYTES / SECTOR_BYTES
        columns = BANKS if self._is_shared else SECTOR_BYTES // WORD_BYTES
        return "".join(f"M{round(left + step * n, 1)} {HEAD}v{height}" for n in range(1, columns))

    def _said(self, accesses: list[LaneAccess], rows: list[Row]) -> list[str]:
        """Return a sentence for each of the 32 lanes."""
        served = _served(rows)
        by_lane = {access.lane: access for access in accesses}
        return [self._of_lane(lane, by_lane.get(lane), served) for lane in range(WARP_LANES)]

    def _of_lane(self, lane: int, access: LaneAccess | None, served: Mapping[int, list[int]]) -> str:
        x, y, _z = self._block
        thread = self._steps.warp * WARP_LANES + lane
        index = _index((thread % x, thread // x % y, thread // (x * y)))
        if access is None:
            return _("Lane {lane}, thread ({thread}): takes no part.").format(lane=lane, thread=index)
        row = ", ".join(map(str, served[lane]))
        element = self._element(access)
        if not self._is_shared:
            text = _("Lane {lane}, thread ({thread}): {element}; row {row} of the picture.")
            return text.format(lane=lane, thread=index, element=element, row=row)
        words = range(access.byte // WORD_BYTES, (access.byte + self._row.width_bytes - 1) // WORD_BYTES + 1)
        text = _(
            "Lane {lane}, thread ({thread}): {element}, word {word} of shared memory, bank {bank}; wavefront {row}."
        )
        word, bank = (_span(values) for values in (words, [number % BANKS for number in words]))
        return text.format(lane=lane, thread=index, element=element, word=word, bank=bank, row=row)

    def _element(self, access: LaneAccess) -> str:
        """Return an element as a student may have written it: `tile[5][0]`, `in[5376]` with its row and column."""
        array = self._steps.arrays[access.array]
        name = visible(array.name) or (_("shared memory") if self._is_shared else _("global memory"))
        count = max(1, self._row.width_bytes // array.element_bytes)
        if len(array.shape) < 2 or access.element < 0:
            return f"{name}[{_span(range(access.element, access.element + count))}]"
        index: list[int] = []
        rest = access.element
        for size in reversed(array.shape[1:]):
            rest, at = divmod(rest, size)
            index.insert(0, at)
        places = [str(rest), *map(str, index[:-1]), _span(range(index[-1], index[-1] + count))]
        if self._is_shared:
            return name + "".join(f"[{place}]" for place in places)
        flat = f"{name}[{_span(range(access.element, access.element + count))}]"
        if len(places) > 2:
            return flat
        return _("{element} (row {row}, column {column})").format(element=flat, row=places[0], column=places[1])

    def _of_sector(self, row: Row) -> str:
        array: WarpArray = self._steps.arrays[row.array]
        name = visible(array.name)
        name = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
        first = max(0, -(-(row.byte - array.start) // array.element_bytes))
        last = (row.byte + SECTOR_BYTES - array.start) // array.element_bytes - 1
        return f"{name}[{first}…{last}]"


def _index(index: tuple[int, int, int]) -> str:
    """Return x, y, and z where it is not 0."""
    return ", ".join(map(str, index if index[2] else index[:2]))


def _served(rows: list[Row]) -> dict[int, list[int]]:
    """Return the rows, counted from 1, in which each lane is served."""
    by_lane: dict[int, list[int]] = {}
    for number, row in enumerate(rows, start=1):
        for lane in {lane for cell in row.cells for lane in cell.lanes}:
            by_lane.setdefault(lane, []).append(number)
    return by_lane


def _span(values: range | list[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"{values[0]}…{values[-1]}"
