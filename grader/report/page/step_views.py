"""A warp's requests to be stepped through, as the template is given them; lengths in units of the picture."""

from __future__ import annotations

from typing import TypedDict


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
