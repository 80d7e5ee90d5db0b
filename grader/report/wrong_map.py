"""The picture of a wrong output: which elements are wrong, and which of the inputs the explained one was made from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot, prod

from grader.i18n import _
from grader.measured import Diagnosis, ElementRange
from grader.report.figure import LETTER_HEIGHT, TICKS_COLOUR, Box, Figure, Pen, Words, text_height, text_width
from grader.report.job import ReportJob, size_text
from grader.report.text import INK

MAX_CELLS = 128 * 128
MAX_INPUTS = 2
PANEL_INCHES = 2.7
WRAP = 32
"""Elements in a row of the picture of a one-dimensional array, at most."""
TALL = 64
SHOWN_ROWS = 32
"""Of a picture with more than `TALL` rows, and more than twice as many as columns, so many rows are shown."""

RIGHT, WRONG, MISSING, USED, OUTSIDE = ".", "x", "o", "#", " "
# Told apart by lightness and by symbol or hatching, so that a grey print loses nothing.
SHADES = {RIGHT: "#f1f3f5", WRONG: "#9c3a32", MISSING: "#fbe3b5", USED: "#9fb2cc", OUTSIDE: "#ffffff"}
WITH_SYMBOLS = 20
"""Cells along an axis, up to which each has its symbol."""
WITH_LINES = 64
"""Cells along an axis, up to which they are divided by lines."""
FEW = 3
"""Marked elements that are pointed at by name."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One array as cells: "." as it should be, "x" wrong, "o" missing, "#" used, " " no element.

    tile: rows and columns of a tile, 0 where unknown.  framed: the element that the words are about.
    row_step: what the number of a row grows by: elements of a one-dimensional array, else 1.  first_row: the number
    of rows above that are not shown.
    """

    title: str
    cells: tuple[str, ...]
    tile: tuple[int, int]
    legend: tuple[tuple[str, str], ...]
    framed: tuple[int, int] | None = None
    row_step: int = 1
    first_row: int = 0
    named: tuple[tuple[str, tuple[int, int]], ...] = ()
    """Texts that point at cells."""


@dataclass(frozen=True, slots=True)
class WrongMap:
    """An output and the inputs beside it; `caption` says of what size, `description` what there is to see."""

    check: str
    panels: tuple[Panel, ...]
    description: str
    caption: str


def wrong_maps(job: ReportJob) -> list[WrongMap]:
    """A map for each check whose diagnosis has a picture."""
    return [
        _map(check.id, check.diagnosis, job.extents)
        for check in job.result.checks
        if check.diagnosis is not None and check.diagnosis.picture
    ]


def _map(check: str, diagnosis: Diagnosis, extents: Sequence[str]) -> WrongMap:
    cells = "".join(diagnosis.picture)
    legend = [(WRONG, _("wrong"))] if WRONG in cells else []
    legend += [(MISSING, _("written by no thread"))] if MISSING in cells else []
    first = int_index(diagnosis.first, diagnosis.shape)
    name = diagnosis.output + "".join(f"[{i}]" for i in diagnosis.first)
    panel = _panel(diagnosis.output, cells, diagnosis.shape, diagnosis.tile, legend, first, [(name, first)])
    panels = [replace(panel, framed=panel.named[0][1])]
    if diagnosis.compared:
        named = [r.array for r in (*diagnosis.missing, *diagnosis.surplus, *diagnosis.read)]
        for name in list(dict.fromkeys(named))[:MAX_INPUTS]:
            shape = diagnosis.inputs[name]
            if prod(shape) <= MAX_CELLS:
                panels.append(_input_panel(diagnosis, name, shape))
    caption = _("The output at {size}.").format(size=size_text(diagnosis.size, extents))
    return WrongMap(check, tuple(panels), " ".join(diagnosis.sentences), caption)


def _input_panel(diagnosis: Diagnosis, name: str, shape: list[int]) -> Panel:
    cells = [RIGHT] * prod(shape)
    for symbol, ranges in ((USED, diagnosis.read), (WRONG, diagnosis.surplus), (MISSING, diagnosis.missing)):
        for index in _elements([r for r in ranges if r.array == name], shape):
            cells[index] = symbol
    marked = [i for i, cell in enumerate(cells) if cell != RIGHT]
    words = {USED: _("used"), WRONG: _("used"), MISSING: _("needed")}
    named = [(words[cells[i]], i) for i in marked] if len(marked) <= FEW else []
    legend = [(USED, _("used, as needed")), (WRONG, _("used, not needed")), (MISSING, _("needed, not used"))]
    return _panel(name, "".join(cells), shape, [], [entry for entry in legend if entry[0] in cells], marked[0], named)


def _elements(ranges: Sequence[ElementRange], shape: Sequence[int]) -> list[int]:
    """Return places in memory of the elements of some ranges."""
    elements: list[int] = []
    for box in ranges:
        places = [0]
        for (low, high), length in zip(box.ranges, shape, strict=True):
            places = [place * length + i for place in places for i in range(low, high + 1)]
        elements += places
    return elements


def int_index(index: Sequence[int], shape: Sequence[int]) -> int:
    """The place in memory of an element."""
    place = 0
    for i, length in zip(index, shape, strict=True):
        place = place * length + i
    return place


def _panel(
    name: str,
    cells: str,
    shape: Sequence[int],
    tile: Sequence[int],
    legend: Sequence[tuple[str, str]],
    focus: int,
    named: Sequence[tuple[str, int]],
) -> Panel:
    """focus: the element that must be in sight; named: texts for elements, by place in memory."""
    title = f"{name}, " + "\u00a0×\u00a0".join(str(n) for n in shape)
    grid, row_step = (0, 0), 1
    if len(shape) == 1:
        width = row_step = min(WRAP, tile[0] if tile else WRAP, len(cells))
        if tile and tile[0] % width == 0:
            grid = (tile[0] // width, width)
    elif len(shape) == 2:
        width = shape[1]
        if len(tile) == 2:
            grid = (tile[0], tile[1])
    else:
        # A batch: a row for each of its matrices.
        width = prod(shape[1:])
        grid = (1, shape[-1])
    rows = [cells[i : i + width].ljust(width, OUTSIDE) for i in range(0, len(cells), width)]
    first_row = 0
    if len(rows) > TALL and len(rows) > 2 * width:
        first_row = max(0, min(focus // width - SHOWN_ROWS // 4, len(rows) - SHOWN_ROWS))
        rows = rows[first_row : first_row + SHOWN_ROWS]
        title = _("{title}, a part").format(title=title)
    places = [(text, (place // width - first_row, place % width)) for text, place in named]
    inside = tuple((text, place) for text, place in places if 0 <= place[0] < len(rows))
    return Panel(title, tuple(rows), grid, tuple(legend), None, row_step, first_row, inside)


def draw_wrong_map(chart: WrongMap) -> Figure:
    """The panels side by side, cells square, each with its legend below."""
    widths = [len(panel.cells[0]) for panel in chart.panels]
    heights = [len(panel.cells) for panel in chart.panels]
    tall = max(height / max(width, 1) for width, height in zip(widths, heights, strict=True))
    entries = max(len(panel.legend) for panel in chart.panels)
    high = min(4.6, 2.3 * max(tall, 0.25) + 0.75 + 0.16 * entries)
    figure = Figure(72 * PANEL_INCHES * len(chart.panels), 72 * high)
    for number, panel in enumerate(chart.panels):
        _Drawing(figure, panel, number * 72 * PANEL_INCHES, entries).draw()
    return figure


MARGIN = 4.0
TITLE, NUMBERS, LEGEND, POINTER = Words(), Words(7, TICKS_COLOUR), Words(7.5), Words(8)
TICK = 2.0
AMBER = "#a06a10"
"""Of hatching, and round what no thread writes."""
HATCHING_STEP = 3.4
LEGEND_LINE = 11.0
POINTED = 24.0, 16.0
"""How far from a cell the words are that point at it, in points."""


class _Drawing:
    """One panel in a figure, from `left` on; entries: the most that any panel's legend has."""

    def __init__(self, figure: Figure, panel: Panel, left: float, entries: int) -> None:
        self._figure, self._panel = figure, panel
        self._rows, self._columns = len(panel.cells), len(panel.cells[0])
        self._row_ticks = _ticks(self._rows, panel.tile[0], 9 if 2 * self._rows > self._columns else 3)
        labels = [str((row + panel.first_row) * panel.row_step) for row in self._row_ticks]
        self._row_labels = labels
        across = max(text_width(label, NUMBERS.size) for label in labels) + 3 + TICK
        room = 72 * PANEL_INCHES - 2 * MARGIN - across
        self._head = MARGIN + text_height("", TITLE) + 5
        below = TICK + 3 + text_height("", NUMBERS) + 4 + LEGEND_LINE * entries + MARGIN
        self._cell = min(room / self._columns, (figure.height - self._head - below) / self._rows)
        # In the middle of its panel, words and numbers with it.
        self._left = left + MARGIN + across + (room - self._cell * self._columns) / 2
        self._foot = self._head + self._cell * self._rows

    def _box(self, row: int, column: int, rows: int = 1, columns: int = 1) -> Box:
        cell = self._cell
        return (self._left + column * cell, self._head + row * cell, columns * cell, rows * cell)

    def draw(self) -> None:
        figure, panel = self._figure, self._panel
        figure.boxes([self._box(0, 0, self._rows, self._columns)], SHADES[RIGHT])
        for symbol, colour in SHADES.items():
            blocks = _blocks(panel.cells, symbol) if symbol != RIGHT else []
            figure.boxes([self._box(*block) for block in blocks], colour)
        self._draw_grid()
        self._draw_symbols()
        self._draw_tiles()
        if panel.framed is not None:
            figure.boxes([self._box(*panel.framed)], pen=Pen(INK, 1.8))
        for number, (text, place) in enumerate(panel.named):
            self._point(number, text, place)
        self._draw_words()

    def _draw_words(self) -> None:
        figure, panel, left, foot, cell = self._figure, self._panel, self._left, self._foot, self._cell
        figure.words((left, self._head - 4), panel.title, TITLE, "left bottom")
        columns = [(left + (column + 0.5) * cell, column) for column in _ticks(self._columns, panel.tile[1])]
        rows = [
            (self._head + (row + 0.5) * cell, label)
            for row, label in zip(self._row_ticks, self._row_labels, strict=True)
        ]
        pen = Pen(TICKS_COLOUR, 0.8)
        figure.segments([((x, foot), (x, foot + TICK)) for x, _column in columns], pen)
        figure.segments([((left - TICK, y), (left, y)) for y, _label in rows], pen)
        for x, column in columns:
            figure.words((x, foot + TICK + 3), str(column), NUMBERS, "middle top")
        for y, label in rows:
            figure.words((left - TICK - 3, y), label, NUMBERS, "right middle")
        is_hatched = max(self._rows, self._columns) > WITH_SYMBOLS
        signs = {} if is_hatched else {WRONG: " ×", MISSING: " ○"}
        top = foot + TICK + 3 + text_height("", NUMBERS) + 4
        for number, (symbol, text) in enumerate(panel.legend):
            box = (left, top + number * LEGEND_LINE, 9.0, 7.5)
            figure.boxes([box], SHADES[symbol])
            if symbol == MISSING and is_hatched:
                figure.hatching([box], HATCHING_STEP, Pen(AMBER, 0.7))
            figure.boxes([box], pen=Pen(AMBER if symbol == MISSING else INK, 0.4))
            figure.words((left + 15, box[1] + 3.75), text + signs.get(symbol, ""), LEGEND, "left middle")

    def _draw_symbols(self) -> None:
        """Draw × and ○ in the cells, as long as they are large enough to be seen."""
        figure, cells = self._figure, self._panel.cells
        if max(self._rows, self._columns) > WITH_SYMBOLS:
            figure.hatching([self._box(*block) for block in _blocks(cells, MISSING)], HATCHING_STEP, Pen(AMBER, 0.7))
            return
        half = min(self._cell, 110 / max(self._rows, self._columns)) / 4
        for row, symbols in enumerate(cells):
            for column, symbol in enumerate(symbols):
                x, y = self._left + (column + 0.5) * self._cell, self._head + (row + 0.5) * self._cell
                if symbol == WRONG:
                    rising = (x - half, y + half), (x + half, y - half)
                    figure.segments([rising, ((x - half, y - half), (x + half, y + half))], Pen("#ffffff", 1.1))
                elif symbol == MISSING:
                    figure.circle((x, y), half, pen=Pen(INK, 1.1))

    def _draw_grid(self) -> None:
        if max(self._rows, self._columns) <= WITH_LINES:
            self._draw_lines(range(self._rows + 1), range(self._columns + 1), Pen("#ffffff", 0.4))

    def _draw_tiles(self) -> None:
        rows, columns = self._panel.tile
        if rows and columns:
            self._draw_lines(_edges(self._rows, rows), _edges(self._columns, columns), Pen(INK, 0.8))

    def _draw_lines(self, rows: Sequence[int], columns: Sequence[int], pen: Pen) -> None:
        right, cell = self._left + self._columns * self._cell, self._cell
        across = [((self._left, self._head + row * cell), (right, self._head + row * cell)) for row in rows]
        down = [((self._left + c * cell, self._head), (self._left + c * cell, self._foot)) for c in columns]
        self._figure.segments([*across, *down], pen)

    def _point(self, number: int, text: str, place: tuple[int, int]) -> None:
        """Point at a cell by name, from the side where there is room: the middle's."""
        figure, (row, column) = self._figure, place
        x, y = self._left + (column + 0.5) * self._cell, self._head + (row + 0.5) * self._cell
        wide, high = text_width(text, POINTER.size), LETTER_HEIGHT * POINTER.size
        aside, off = POINTED[0], POINTED[1] * (1 + number)
        left = x - aside - wide if column > self._columns / 2 else x + aside
        middle = y + off + high / 2 if row <= self._rows / 2 else y - off - high / 2
        left = min(max(left, 2.0), figure.width - wide - 2)
        middle = min(max(middle, high), figure.height - high)
        start = left + wide / 2, middle
        length = hypot(x - start[0], y - start[1]) or 1.0
        ahead = (x - start[0]) / length, (y - start[1]) / length
        tip, neck = ((x - ahead[0] * back, y - ahead[1] * back) for back in (2.0, 5.2))
        figure.polyline([start, neck], Pen(INK, 0.9))
        sides = [(neck[0] - side * ahead[1], neck[1] + side * ahead[0]) for side in (1.8, -1.8)]
        figure.polygon([tip, *sides], INK)
        figure.boxes([(left - 1.5, middle - high / 2 - 2, wide + 3, high + 4)], "#ffffff")
        figure.words((left, middle), text, POINTER, "left middle")


def _blocks(cells: Sequence[str], symbol: str) -> list[tuple[int, int, int, int]]:
    """Return rectangles (row, column, rows, columns) that cover a symbol: runs, joined over equal rows."""
    blocks: list[list[int]] = []
    open_blocks: dict[tuple[int, int], list[int]] = {}
    for number, row in enumerate(cells):
        runs = [(match.start(), match.end() - match.start()) for match in re.finditer(f"{re.escape(symbol)}+", row)]
        going_on = {}
        for run in runs:
            block = open_blocks.get(run)
            if block is None:
                block = [number, run[0], 0, run[1]]
                blocks.append(block)
            block[2] += 1
            going_on[run] = block
        open_blocks = going_on
    return [(b[0], b[1], b[2], b[3]) for b in blocks]


def _edges(length: int, tile: int) -> list[int]:
    """Return where tiles begin and end."""
    return [min(at, length) for at in range(0, length + tile, tile)]


def _ticks(length: int, tile: int, most: int = 9) -> list[int]:
    """Return where tiles begin, else a few round numbers, at most `most`."""
    step = tile or 1
    while -(-length // step) > most:
        step *= 2
    return list(range(0, length, step))
