"""Shared memory that does not hold what was put there: what a kernel makes of it shows whether it uses the values.

Not a watcher but a saboteur: whatever was stored is another value when it is first loaded.  An output that stays what
it was does not depend on what went through shared memory, however the kernel mixes it in: `x + 0 * tile[i]`,
`tile[i] - tile[i]`, a comparison that never holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.ptx.memory.access import Access
from grader.ptx.observers.interface import Observer, Scene
from grader.ptx.values.lanes import Array

_MIRROR = 0.75
_STRETCH = 1.25
"""A number x becomes 0.75 − 1.25 x: of the same magnitude, never x but for 1/3, and not x again when it is done twice.

A mean that passes through shared memory before and after it is taken would not change were it done and undone.
"""
_FACTOR, _SUMMAND = 3, 0x15
"""The same for whole numbers, which wrap around."""


class AlteredShared(Observer):
    """Alters each element of shared memory once after it was stored, before it is loaded.

    number_bytes: elements of so many bytes are floating-point numbers, whatever an instruction calls them; 0: none.
    """

    def __init__(self, number_bytes: int) -> None:
        self._number_bytes = number_bytes
        self._done: Array | None = None

    def begin(self, scene: Scene) -> None:
        self._done = None

    def access(self, event: Access) -> None:
        array = event.address.array
        if array.space != "shared":
            return
        if self._done is None or len(self._done) != len(array.data):
            # (bytes,) which stand altered since they were stored.
            self._done = np.zeros(len(array.data), np.bool_)
        size = event.spec.element_bytes
        indices, start = event.address.index(size)
        first = np.unique(np.asarray(indices) + start)
        for element in range(event.spec.count):
            elements = first + element
            if event.op != "load":
                counts = event.op == "atomic" and event.spec.operation != "exch"
                self._done[_bytes_of(elements, size)] = counts
                continue
            fresh = elements[~self._done[elements * size]]
            self._done[_bytes_of(fresh, size)] = True
            self._alter(array.view(self._type_of(event, size)), fresh)

    def _type_of(self, event: Access, size: int) -> np.dtype[Any]:
        if size == self._number_bytes:
            return np.dtype(f"f{size}")
        return event.spec.dtype

    @staticmethod
    def _alter(view: Array, elements: Array) -> None:
        if view.dtype.kind == "f":
            view[elements] = _MIRROR - _STRETCH * view[elements]
        else:
            view[elements] = view[elements] * view.dtype.type(_FACTOR) + view.dtype.type(_SUMMAND)


def _bytes_of(elements: Array, size: int) -> Array:
    """Numbers of the bytes of some elements."""
    return (elements[:, None] * size + np.arange(size)).ravel()
