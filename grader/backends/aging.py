"""What a program's variables would hold after many more launches, by how each launch has changed them.

A counter of launches may be compared with any number, and no number of launches that are really made reaches all of
them.  So its memory is looked at: a word that every launch changes by the same amount is carried on.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from grader.ptx.memory.arrays import MemoryArray
from grader.ptx.values.lanes import Array

_LOOKS = 4
_SMALLEST = 1e-30


class Variables:
    """The variables of a program that live on from launch to launch; `look` is called after each launch."""

    def __init__(self, arrays: Iterable[MemoryArray]) -> None:
        self._arrays = list(arrays)
        self._seen: list[list[Array]] = []

    def look(self) -> None:
        """Remember what they hold."""
        words = [array.data[: len(array.data) // 4 * 4].view(np.uint32).copy() for array in self._arrays]
        self._seen = [*self._seen[1 - _LOOKS :], words]

    def age(self, launches: int) -> bool:
        """Make of each word what it would be after so many more launches; False where none changes evenly."""
        if len(self._seen) < _LOOKS:
            return False
        found = False
        for number, array in enumerate(self._arrays):
            seen = np.stack([words[number] for words in self._seen])
            grows, numbers = _carried_on(seen.view(np.float32), launches)
            # A whole number that counts is far below any normal floating-point number.
            grows &= np.abs(seen[-1].view(np.float32)) > _SMALLEST
            counts, wholes = _carried_on(seen, launches)
            current = array.data[: seen.shape[1] * 4].view(np.uint32)
            current[counts] = wholes[counts]
            current[grows] = numbers.view(np.uint32)[grows]
            found |= bool((counts | grows).any())
        return found


def _carried_on(seen: Array, launches: int) -> tuple[Array, Array]:
    """Of (looks, words): (words,) which have changed by the same amount each time, and what they come to."""
    with np.errstate(all="ignore"):
        steps = np.diff(seen, axis=0)
        moved = (steps[0] != 0) & (steps == steps[0]).all(axis=0)
        return moved, seen[-1] + steps[0] * seen.dtype.type(launches)
