"""Shared and local memory of blocks that run side by side."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from grader.ptx.memory.addresses import POISON, SHARED_BYTES, WINDOW_SPACING
from grader.ptx.memory.arrays import MemoryArray
from grader.ptx.memory.device import Device
from grader.ptx.values.lanes import Array


class Window:
    """The local variables of a batch's threads."""

    def __init__(self, space: str) -> None:
        self.space = space
        self.arrays: list[MemoryArray | None] = [None]

    def next_base(self) -> int:
        """The address the next array gets."""
        return len(self.arrays) << WINDOW_SPACING | 1 << (WINDOW_SPACING - 1)

    def find(self, address: int) -> MemoryArray | None:
        """The array in whose neighbourhood an address lies (bounds are the caller's matter)."""
        return self.at(address >> WINDOW_SPACING)

    def slots(self, addresses: Array) -> Array:
        """(n,) the neighbourhood in which each address lies, see `at`."""
        return addresses >> WINDOW_SPACING

    def at(self, slot: int) -> MemoryArray | None:
        """The array of a neighbourhood, None where there is none."""
        return self.arrays[slot] if 0 < slot < len(self.arrays) else None


class SharedLayout:
    """Where shared arrays of these sizes lie in a block's window: apart as far as a device's shared memory has room.

    bases: the address of each.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        room = SHARED_BYTES - sum(-(-size // 128) * 128 for size in sizes)
        # Arrays of kernels that are not launched count as well: where they leave no room, addresses go beyond.
        gap = max(room // (len(sizes) + 1), 4096) // 128 * 128
        self.bases: list[int] = []
        self._edges = [-(1 << 20)]
        end = 0
        for size in sizes:
            self.bases.append(end + gap)
            end += gap + -(-size // 128) * 128
            self._edges.append(end + gap // 2)
        self._edges[-1] += 1 << 20

    def slot(self, address: int) -> int:
        """The number, from 1, of the array in whose neighbourhood an address lies; 0 or one too many where none is."""
        return bisect_right(self._edges, address)

    def slots(self, addresses: Array) -> Array:
        """(n,) the same for many addresses."""
        return np.searchsorted(self._edges, addresses, "right")


class SharedWindow(Window):
    """The shared arrays of a batch's blocks, laid out as for the whole module."""

    def __init__(self, layout: SharedLayout) -> None:
        super().__init__("shared")
        self._layout = layout

    def next_base(self) -> int:
        """The address the next array gets."""
        return self._layout.bases[len(self.arrays) - 1]

    def find(self, address: int) -> MemoryArray | None:
        """The array in whose neighbourhood an address lies (bounds are the caller's matter)."""
        return self.at(self._layout.slot(address))

    def slots(self, addresses: Array) -> Array:
        """(n,) the neighbourhood in which each address lies, see `at`."""
        return self._layout.slots(addresses)


def shared_window(sizes: list[tuple[str, int] | None], layout: SharedLayout, blocks: int, poison: int) -> SharedWindow:
    """Shared memory of `blocks` blocks, every byte of it `poison`: an array in each slot that has a (name, bytes).

    Every array starts at a multiple of 128 bytes of its block's storage, that is at bank 0.
    """
    window = SharedWindow(layout)
    offsets, total = [], 0
    for entry in sizes:
        offsets.append(total)
        total += -(-entry[1] // 128) * 128 if entry else 0
    row_bytes = max(total, 128)
    data = np.full(blocks * row_bytes, poison, np.uint8)
    valid = np.zeros(blocks * row_bytes, np.uint8)
    for entry, offset in zip(sizes, offsets, strict=True):
        array = None
        if entry:
            array = MemoryArray(
                entry[0],
                "shared",
                window.next_base(),
                entry[1],
                data,
                storage=offset,
                row_bytes=row_bytes,
                rows="block",
                valid=valid,
            )
        window.arrays.append(array)
    return window


def local_array(window: Window, name: str, size: int, lane_count: int) -> MemoryArray:
    """A local variable: one copy for each lane of the batch."""
    row_bytes = -(-max(size, 1) // 16) * 16
    data = np.full(lane_count * row_bytes, POISON, np.uint8)
    array = MemoryArray(name, "local", window.next_base(), size, data, row_bytes=row_bytes, rows="lane")
    window.arrays.append(array)
    return array


Space = Device | Window
