"""The picture of a wrong output: which elements are wrong, and which of the inputs the explained one was made from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from grader.i18n import _
from grader.measured import Diagnosis, ElementRange
from grader.report.job import ReportJob, size_text
from grader.report.text import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    from matplotlib.figure import Figure

    widths = [len(panel.cells[0]) for panel in chart.panels]
    heights = [len(panel.cells) for panel in chart.panels]
    tall = max(height / max(width, 1) for width, height in zip(widths, heights, strict=True))
    entries = max(len(panel.legend) for panel in chart.panels)
    inches = (PANEL_INCHES * len(chart.panels), min(4.6, 2.3 * max(tall, 0.25) + 0.75 + 0.16 * entries))
    figure = Figure(figsize=inches)
    for number, panel in enumerate(chart.panels):
        _draw(figure.add_subplot(1, len(chart.panels), number + 1), panel)
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    from matplotlib.colors import ListedColormap

    symbols = list(SHADES)
    height, width = len(panel.cells), len(panel.cells[0])
    axes.imshow(
        [[symbols.index(symbol) for symbol in row] for row in panel.cells],
        cmap=ListedColormap(list(SHADES.values())),
        vmin=0,
        vmax=len(symbols) - 1,
        interpolation="none",
    )
    _draw_symbols(axes, panel)
    _draw_grid(axes, panel)
    if panel.framed is not None:
        from matplotlib.patches import Rectangle

        row, column = panel.framed
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=INK, linewidth=1.8, zorder=4))
    for number, (text, (row, column)) in enumerate(panel.named):
        # Towards the middle, where there is room.
        left, above = column > width / 2, row > height / 2
        axes.annotate(
            text,
            (column, row),
            xytext=(-24 if left else 24, (16 + 16 * number) * (1 if above else -1)),
            textcoords="offset points",
            ha="right" if left else "left",
            va="bottom" if above else "top",
            fontsize=8,
            arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 0.9, "shrinkB": 2},
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0},
            zorder=5,
        )
    axes.set_title(panel.title, fontsize=8.5, loc="left")
    axes.set_xticks(_ticks(width, panel.tile[1]))
    rows = _ticks(height, panel.tile[0], 9 if 2 * height > width else 3)
    axes.set_yticks(rows, [str((row + panel.first_row) * panel.row_step) for row in rows])
    axes.tick_params(labelsize=7, length=2, labeltop=False)
    axes.spines[:].set_visible(False)
    _draw_legend(axes, panel)


def _draw_legend(axes: Axes, panel: Panel) -> None:
    from matplotlib.patches import Patch

    hatched = max(len(panel.cells[0]), len(panel.cells)) > WITH_SYMBOLS
    signs = {WRONG: "", MISSING: "", USED: ""} if hatched else {WRONG: " ×", MISSING: " ○", USED: ""}
    handles = [
        Patch(
            facecolor=SHADES[symbol],
            edgecolor="#a06a10" if symbol == MISSING else INK,
            linewidth=0.4,
            hatch="/////" if symbol == MISSING and hatched else None,
            label=text + signs[symbol],
        )
        for symbol, text in panel.legend
    ]
    if handles:
        axes.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(0, 0),
            fontsize=7.5,
            frameon=False,
            borderpad=0,
            # Below the tick labels, whatever the height of the axes.
            borderaxespad=2.4,
            handlelength=1.2,
            handleheight=1.0,
            labelspacing=0.3,
        )


def _draw_symbols(axes: Axes, panel: Panel) -> None:
    """Draw × and ○ in the cells, as long as they are large enough to be seen."""
    width = max(len(panel.cells[0]), len(panel.cells))
    if width > WITH_SYMBOLS:
        for row, column, rows, columns in _blocks(panel.cells, MISSING):
            _hatch(axes, row, column, rows, columns)
        return
    size = (110 / width) ** 2 / 4
    for symbol, marker in ((WRONG, "x"), (MISSING, "o")):
        places = [(c, r) for r, row in enumerate(panel.cells) for c, cell in enumerate(row) if cell == symbol]
        if places:
            style = {"c": "white"} if marker == "x" else {"facecolors": "none", "edgecolors": INK}
            x, y = [place[0] for place in places], [place[1] for place in places]
            axes.scatter(x, y, s=size, marker=marker, linewidths=1.1, **style)  # type: ignore[arg-type]  # colours alone


def _hatch(axes: Axes, row: int, column: int, rows: int, columns: int) -> None:
    from matplotlib.patches import Rectangle

    corner = (column - 0.5, row - 0.5)
    axes.add_patch(Rectangle(corner, columns, rows, fill=False, hatch="/////", edgecolor="#a06a10", linewidth=0))


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


def _draw_grid(axes: Axes, panel: Panel) -> None:
    height, width = len(panel.cells), len(panel.cells[0])
    if max(height, width) <= WITH_LINES:
        # Not as a grid of ticks: each of these is a line and a label of its own, and takes its time.
        columns, rows = ([n - 0.5 for n in range(cells + 1)] for cells in (width, height))
        axes.vlines(columns, -0.5, height - 0.5, color="white", linewidth=0.4, zorder=0.9)
        axes.hlines(rows, -0.5, width - 0.5, color="white", linewidth=0.4, zorder=0.9)
    tile_rows, tile_columns = panel.tile
    if tile_rows and tile_columns:
        for row in range(0, height + 1, tile_rows):
            axes.axhline(min(row, height) - 0.5, color=INK, linewidth=0.8)
        for column in range(0, width + 1, tile_columns):
            axes.axvline(min(column, width) - 0.5, color=INK, linewidth=0.8)


def _ticks(length: int, tile: int, most: int = 9) -> list[int]:
    """Return where tiles begin, else a few round numbers, at most `most`."""
    step = tile or 1
    while -(-length // step) > most:
        step *= 2
    return list(range(0, length, step))
