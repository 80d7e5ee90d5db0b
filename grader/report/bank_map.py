"""The bank map: which lane of a warp addresses which of the 32 banks, and how many different words each bank serves."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from grader.report.charts import BANKS, BankMap, BankPanel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

GRID = "#e4e8ec"
TICKS = (0, 8, 16, 24, 31)
PANELS_A_ROW = 2


def draw_bank_map(chart: BankMap) -> Figure:
    """A panel per request, two a row; under each, the number of distinct words per bank (1 is free of conflicts)."""
    from matplotlib.figure import Figure

    across = min(PANELS_A_ROW, len(chart.panels))
    down = -(-len(chart.panels) // across)
    figure = Figure(figsize=(3.5 * across + 0.2, 4.35 * down), layout="constrained")
    grid = figure.add_gridspec(2 * down, across, height_ratios=[3.6, 1.0] * down)
    for index, panel in enumerate(chart.panels):
        row, column = divmod(index, across)
        lanes: Axes = figure.add_subplot(grid[2 * row, column])
        words: Axes = figure.add_subplot(grid[2 * row + 1, column], sharex=lanes)
        _draw_lanes(lanes, panel, chart.lane_axis if column == 0 else "")
        _draw_words(words, panel, chart.words_axis if column == 0 else "", chart.bank_axis)
    return figure


def words_per_bank(panel: BankPanel) -> list[int]:
    """Distinct words addressed in each bank: (32,).  Lanes that share a word are served together."""
    words = {word for lane in panel.lanes for word in lane}
    counts = [0] * BANKS
    for word in words:
        counts[word % BANKS] += 1
    return counts


def _draw_lanes(axes: Axes, panel: BankPanel, axis_label: str) -> None:
    counts = words_per_bank(panel)
    for lane, words in enumerate(panel.lanes):
        for word in words:
            bank = word % BANKS
            axes.add_patch(_cell(bank, lane, panel.colour, conflict=counts[bank] > 1))
    _frame(axes)
    axes.set_ylim(BANKS - 0.5, -0.5)
    axes.set_yticks(TICKS)
    axes.set_ylabel(axis_label)
    axes.tick_params(labelbottom=False)
    title, _, place = panel.title.partition("\n")
    heading = textwrap.shorten(title, 60, placeholder=" …") if " " in title else title[:40]
    axes.set_title(f"{heading}\n{place}", fontsize=8.5, loc="left", pad=16, linespacing=1.35)
    axes.text(0, 1.018, panel.verdict, transform=axes.transAxes, fontsize=8.5, fontweight="bold", va="bottom")


def _cell(bank: int, lane: int, colour: str, conflict: bool) -> Rectangle:
    """Solid where the bank serves one word, framed dark where several lanes must queue for it."""
    from matplotlib.patches import Rectangle

    return Rectangle(
        (bank - 0.5, lane - 0.5),
        1,
        1,
        facecolor=colour,
        edgecolor="#1f2933" if conflict else "white",
        linewidth=0.8 if conflict else 0.5,
    )


def _draw_words(axes: Axes, panel: BankPanel, axis_label: str, bank_label: str) -> None:
    counts = words_per_bank(panel)
    axes.bar(range(BANKS), counts, width=0.86, color=panel.colour, edgecolor="#1f2933", linewidth=0.4)
    highest = max(*counts, 1)
    axes.axhline(1, color="#1f2933", linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_ylim(0, max(highest * 1.12, 2))
    axes.set_yticks(sorted({0, 1, highest}) if highest < 4 else [1, highest])
    axes.set_ylabel(axis_label)
    axes.set_xticks(TICKS)
    axes.set_xlabel(bank_label)
    axes.spines[["top", "right"]].set_visible(False)


def _frame(axes: Axes) -> None:
    axes.set_xlim(-0.5, BANKS - 0.5)
    for edge in range(BANKS + 1):
        axes.axvline(edge - 0.5, color=GRID, linewidth=0.4, zorder=0)
        axes.axhline(edge - 0.5, color=GRID, linewidth=0.4, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
