"""What a request of a warp costs, as rows: wavefronts over the banks of shared memory, or sectors over their bytes.

There are as many rows as the request costs (`WarpRequest.cost`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.device_limits import BANKS, SECTOR_BYTES, WARP_LANES
from grader.result import WarpArray, WarpRequest

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
