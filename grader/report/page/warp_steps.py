"""A warp's requests at a line that costs points, as pictures to be stepped through.

A picture is as high as its request is dear, and a line shows how high it need be.
"""

from __future__ import annotations

from collections.abc import Mapping

from grader.devices import BANKS, SECTOR_BYTES, WARP_LANES
from grader.i18n import _, ngettext
from grader.lab.checks import SPACES
from grader.report.figures.bank_map import WORD_BYTES, LaneAccess, Row, accesses, sectors, wavefronts
from grader.report.job import ReportJob
from grader.report.page.views import StepCell, StepRequest, StepRow, StepsView, StepTick
from grader.report.summary import variant_columns, where
from grader.report.visible import visible
from grader.result import LineCounters, Result, Variant, WarpArray, WarpRequest, WarpSteps

BANK_WIDTH, SECTOR_WIDTH = 15.0, 256.0
ROW_HEIGHT, HEAD = 14.0, 15.0
LETTER = 6.0
"""Width of a letter beside a row."""
LONGEST_NAME = 14


def warp_steps(job: ReportJob) -> dict[str, list[StepsView]]:
    """What can be stepped through, by the id of the check that it belongs to, the check's own line first."""
    colours = {column["name"]: column["colour"] for column in variant_columns(job)}
    found: dict[str, list[StepsView]] = {}
    for check in job.result.checks:
        variant = job.result.variants.get(check.variant, Variant())
        if check.status != "fail" or check.check not in SPACES or variant.counters is None:
            continue
        rows = [c for c in variant.counters.by_line if c.steps is not None and c.space == SPACES[check.check]]
        rows.sort(key=lambda c: (c.line != check.line, c.line))
        views = [_Picture(variant, c, c.steps).view(job.result, colours[check.variant]) for c in rows if c.steps]
        if views:
            found[check.id] = views
    return found


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
        found = list(accesses(self._steps.arrays, request))
        width_bytes = self._row.width_bytes
        rows = wavefronts(found, width_bytes, request.at_once) if self._is_shared else sectors(found, width_bytes)
        labels = [str(n) if self._is_shared else self._of_sector(row) for n, row in enumerate(rows, start=1)]
        left = 10 + LETTER * max((len(label) for label in labels), default=1)
        total = self._steps.total
        head = _("Request {number}").format(number=number)
        if total is not None:
            head = _("Request {number} of {total}").format(number=number, total=total)
        return {
            "head": head,
            "words": self._words(request, len(found)),
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
            "said": self._said(found, rows),
        }

    def _words(self, request: WarpRequest, lanes: int) -> str:
        """What the request costs, and that not all lanes take part."""
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
        """Numbers of the banks; of a sector's bytes."""
        if self._is_shared:
            return [{"x": round(left + (bank + 0.5) * BANK_WIDTH, 1), "text": str(bank)} for bank in range(BANKS)]
        steps = range(0, SECTOR_BYTES, 4)
        return [{"x": round(left + (byte + 2) * self._unit, 1), "text": f"+{byte}"} for byte in steps]

    def _grid(self, left: float, height: float) -> str:
        step = BANK_WIDTH if self._is_shared else SECTOR_WIDTH * WORD_BYTES / SECTOR_BYTES
        columns = BANKS if self._is_shared else SECTOR_BYTES // WORD_BYTES
        return "".join(f"M{round(left + step * n, 1)} {HEAD}v{height}" for n in range(1, columns))

    def _said(self, found: list[LaneAccess], rows: list[Row]) -> list[str]:
        """A sentence for each of the 32 lanes."""
        served = _served(rows)
        by_lane = {access.lane: access for access in found}
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
        """As the student may have written it: `tile[5][0]`, `in[5376]` with its row and column."""
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
        """The elements that a sector holds."""
        array: WarpArray = self._steps.arrays[row.array]
        name = visible(array.name)
        name = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
        first = max(0, -(-(row.byte - array.start) // array.element_bytes))
        last = (row.byte + SECTOR_BYTES - array.start) // array.element_bytes - 1
        return f"{name}[{first}…{last}]"


def _index(index: tuple[int, int, int]) -> str:
    """x, y, and z where it is not 0."""
    return ", ".join(map(str, index if index[2] else index[:2]))


def _served(rows: list[Row]) -> dict[int, list[int]]:
    """The rows, from 1, that each lane is served in."""
    found: dict[int, list[int]] = {}
    for number, row in enumerate(rows, start=1):
        for lane in {lane for cell in row.cells for lane in cell.lanes}:
            found.setdefault(lane, []).append(number)
    return found


def _span(values: range | list[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"{values[0]}…{values[-1]}"
