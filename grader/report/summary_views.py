"""The summary of a result, as typed records of plain text: all numbers formatted, nothing left to decide.

They are dictionaries, as templates and the joining of parts want them; every key that a template names stands here or
in `page/views.py`, and a test holds that.
"""

from __future__ import annotations

from typing import TypedDict


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
