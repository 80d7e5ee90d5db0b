"""What a request of a warp costs, drawn: the bank map of shared memory, and rows of wavefronts or sectors.

The bank map shows which lane addresses which of the 32 banks, and how many different words each bank serves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.devices import BANKS, SECTOR_BYTES, WARP_LANES
from grader.report.figures.charts import BankMap
from grader.result import WarpArray, WarpRequest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


GRID = "#e4e8ec"
BAR_WIDTH = 0.86
TICKS = (0, 8, 16, 24, 31)


def draw_bank_map(chart: BankMap) -> Figure:
    """Lanes against banks; below, the number of distinct words per bank (with one, there is no conflict)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6, 3.7))
    grid = figure.add_gridspec(2, 1, height_ratios=[3.6, 1.0])
    lanes: Axes = figure.add_subplot(grid[0])
    words: Axes = figure.add_subplot(grid[1], sharex=lanes)
    _draw_lanes(lanes, chart)
    _draw_words(words, chart)
    return figure


def words_per_bank(chart: BankMap) -> list[int]:
    """Distinct words addressed in each bank: (32,).  Lanes that share a word are served together."""
    words = {word for lane in chart.lanes for word in lane}
    counts = [0] * BANKS
    for word in words:
        counts[word % BANKS] += 1
    return counts


def _draw_lanes(axes: Axes, chart: BankMap) -> None:
    from matplotlib.collections import PolyCollection

    counts = words_per_bank(chart)
    cells = [(word % BANKS, lane) for lane, words in enumerate(chart.lanes) for word in words]
    conflicts = [counts[bank] > 1 for bank, _lane in cells]
    # One thing to draw instead of up to a thousand.  Solid where the bank serves one word, framed dark where several
    # lanes must queue for it.
    squares = PolyCollection(
        [_rectangle(bank - 0.5, lane - 0.5, 1, 1) for bank, lane in cells],
        facecolors=chart.colour,
        edgecolors=["#1f2933" if conflict else "white" for conflict in conflicts],
        linewidths=[0.8 if conflict else 0.5 for conflict in conflicts],
    )
    axes.add_collection(squares, autolim=False)
    _frame(axes)
    axes.set_ylim(BANKS - 0.5, -0.5)
    axes.set_yticks(TICKS)
    axes.set_ylabel(chart.lane_axis)
    axes.tick_params(labelbottom=False)
    axes.set_title(f"{_short(chart.title)}\n{_short(chart.place)}", fontsize=8.5, loc="left", pad=16, linespacing=1.35)
    axes.text(0, 1.018, chart.verdict, transform=axes.transAxes, fontsize=8.5, fontweight="bold", va="bottom")


def _short(text: str, limit: int = 46) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _rectangle(x: float, y: float, width: float, height: float) -> list[tuple[float, float]]:
    """Its corners."""
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def _draw_words(axes: Axes, chart: BankMap) -> None:
    from matplotlib.collections import PolyCollection

    counts = words_per_bank(chart)
    bars = PolyCollection(
        [_rectangle(bank - BAR_WIDTH / 2, 0, BAR_WIDTH, count) for bank, count in enumerate(counts)],
        facecolors=chart.colour,
        edgecolors="#1f2933",
        linewidths=0.4,
    )
    axes.add_collection(bars, autolim=False)
    highest = max(*counts, 1)
    axes.axhline(1, color="#1f2933", linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_ylim(0, max(highest * 1.12, 2))
    axes.set_yticks(sorted({0, 1, highest}) if highest < 4 else [1, highest])
    axes.set_ylabel(chart.words_axis)
    axes.set_xticks(TICKS)
    axes.set_xlabel(chart.bank_axis)
    axes.spines[["top", "right"]].set_visible(False)


def _frame(axes: Axes) -> None:
    axes.set_xlim(-0.5, BANKS - 0.5)
    edges = [edge - 0.5 for edge in range(BANKS + 1)]
    axes.vlines(edges, edges[0], edges[-1], color=GRID, linewidth=0.4, zorder=0)
    axes.hlines(edges, edges[0], edges[-1], color=GRID, linewidth=0.4, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)


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
    """What some lanes access at once: so many bytes from that one of the row on."""

    byte: int
    width_bytes: int
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A wavefront or a sector; array, byte: whose sector, and where it begins (0 for a wavefront)."""

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


def wavefronts(found: Sequence[LaneAccess], width_bytes: int, at_once: int) -> list[Row]:
    """The wavefronts of a request to shared memory: in each of them a bank serves one word, to all lanes that want it.

    Of lanes that are served at once the words of a bank are taken in the lanes' order.
    """
    rows = []
    for first in range(0, WARP_LANES, at_once):
        words: dict[int, list[int]] = {}
        for access in found:
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


def sectors(found: Sequence[LaneAccess], width_bytes: int) -> list[Row]:
    """The sectors that a request to global memory touches, in the order of memory."""
    touched: dict[tuple[int, int], dict[int, list[int]]] = {}
    for access in found:
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
