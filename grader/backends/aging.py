"""What a program's variables would hold after many more launches, by how each launch has changed them.

A counter of launches may be compared with any number, and no number of launches that are really made reaches all of
them.  So its memory is looked at: a number that every launch changes by the same amount, or by the same factor, is
carried on.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from grader.ptx.memory.device import MemoryArray
from grader.ptx.values import Array

LOOKS = 4
_SMALLEST = 1e-30
_ROUNDING = 1e-3


class Variables:
    """The variables of a program that live on from launch to launch; `look` is called after each launch."""

    def __init__(self, arrays: Iterable[MemoryArray]) -> None:
        self._arrays = list(arrays)
        self._seen: list[list[Array]] = []

    def look(self) -> None:
        """Remember what they hold."""
        self._seen = [*self._seen[1 - LOOKS :], [_whole_words(array).copy() for array in self._arrays]]

    @property
    def have_moved(self) -> bool:
        """Whether any of the launches after the first look has changed something."""
        return any(
            not np.array_equal(a, b) for other in self._seen[1:] for a, b in zip(self._seen[0], other, strict=True)
        )

    def age(self, launches: int) -> bool:
        """Make of each number what it would be after so many more launches; False where none changes evenly."""
        if len(self._seen) < LOOKS:
            return False
        found = False
        for number, array in enumerate(self._arrays):
            seen = np.stack([looks[number] for looks in self._seen])
            current = _whole_words(array)
            # A variable of eight bytes is one number, not two.
            wholes, numbers = (np.uint64, np.float64) if len(current) == 2 else (np.uint32, np.float32)
            found |= _age(seen.view(wholes), seen.view(numbers), current.view(wholes), current.view(numbers), launches)
        return found


def _whole_words(array: MemoryArray) -> Array:
    """(words,) uint32: what a variable holds; its storage goes on beyond its end."""
    words: Array = array.data[: min(-(-array.size // 4), len(array.data) // 4) * 4].view(np.uint32)
    return words


def _age(seen: Array, seen_numbers: Array, wholes: Array, numbers: Array, launches: int) -> bool:
    """Carry on `wholes`, and `numbers` in the same memory; `seen` (looks, values) is what they were."""
    counts, counted = _carried_on(seen, launches)
    # A whole number that counts is far below any normal floating-point number.
    normal = np.abs(seen_numbers[-1]) > _SMALLEST
    grows, grown = _carried_on(seen_numbers, launches)
    grows &= normal
    rises, risen = _raised(seen_numbers, launches)
    rises &= normal & ~grows & ~counts
    wholes[counts] = counted[counts]
    numbers[grows] = grown[grows]
    numbers[rises] = risen[rises]
    return bool((counts | grows | rises).any())


def _carried_on(seen: Array, launches: int) -> tuple[Array, Array]:
    """Of (looks, values): (values,) which have changed by the same amount each time, and what they come to."""
    with np.errstate(all="ignore"):
        steps = np.diff(seen, axis=0)
        return (steps[0] != 0) & _same(steps), seen[-1] + steps[0] * seen.dtype.type(launches)


def _raised(seen: Array, launches: int) -> tuple[Array, Array]:
    """The same of numbers that have changed by the same factor each time."""
    with np.errstate(all="ignore"):
        factors = seen[1:] / seen[:-1]
        return (factors[0] != 1) & _same(factors), seen[-1] * factors[0] ** seen.dtype.type(launches)


def _same(rows: Array) -> Array:
    """(values,) whether all rows hold the same: numbers as far as rounding lets them."""
    allowed = _ROUNDING * np.abs(rows[0]) if rows.dtype.kind == "f" else np.zeros_like(rows[0])
    same: Array = (np.where(rows > rows[0], rows - rows[0], rows[0] - rows) <= allowed).all(axis=0)
    return same
