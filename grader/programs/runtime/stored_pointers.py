"""Pointers that lie in memory: a program's memory of both sides has one address for the host and another for kernels.

Arguments are translated (`arguments.translated`).  What lies in memory cannot be told from numbers, so from the launch
on before which the address of such memory is found in any, kernels are given all of it where the host has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from grader.programs.runtime.arguments import is_number
from grader.programs.runtime.state import State

LOOKED_AT_BYTES = 64 << 10
"""Of each array, from its start: a program that keeps pointers has some there."""

Words = npt.NDArray[np.uint64]


class _Ranges:
    """Pieces of an address space that do not overlap, by their starts and sizes."""

    def __init__(self, pieces: Sequence[tuple[int, int]]) -> None:
        ordered = sorted(pieces)
        self.starts: Words = np.array([start for start, _size in ordered], np.uint64)
        self.ends: Words = np.array([start + size for start, size in ordered], np.uint64)

    def holding(self, words: Words) -> npt.NDArray[np.intp]:
        """(n,) the number of the piece that each word is an address in; -1 where there is none."""
        index = np.searchsorted(self.starts, words, "right") - 1
        return np.where((index >= 0) & (words < self.ends[index]), index, -1)


def _words(raw: npt.NDArray[np.uint8], size: int = LOOKED_AT_BYTES) -> Words:
    return raw[: min(len(raw), size) // 8 * 8].view(np.uint64)


def _of_the_device(state: State) -> Iterator[Words]:
    """The starts of arrays that the host has copied into, and of variables."""
    for allocation in state.memory.live.values():
        if not allocation.host and "copied" in allocation.origins and allocation.size >= 8:
            yield _words(allocation.seen(0, min(allocation.size, LOOKED_AT_BYTES)))


def are_kept(state: State, raw: Sequence[bytes], types: Sequence[str]) -> bool:
    """Whether memory that a kernel can reach, or a structure it is handed, holds an address of memory of both sides."""
    if not state.host_memory or not state.memory.takes_host_addresses:
        return False
    ranges = _Ranges([(host, allocation.size) for host, allocation in state.host_memory.items()])
    for value, type_text in zip(raw, types, strict=True):
        words = _words(np.frombuffer(value, np.uint8))
        if not type_text.endswith("*") and not is_number(type_text) and (ranges.holding(words) >= 0).any():
            return True
    for host, allocation in state.host_memory.items():
        words = _words(state.guest.view(host, min(allocation.size, LOOKED_AT_BYTES)))
        if (ranges.holding(words) >= 0).any():
            return True
    # Of numbers in an array of the device's some may well look like addresses: those of whole arrays hardly do.
    return any(np.isin(words, ranges.starts).any() for words in _of_the_device(state))


def give_back(state: State, everywhere: bool = False) -> None:
    """Addresses of the device's that kernels have left in memory of both sides become the host's.

    everywhere: those in the device's own memory as well, before kernels are given host addresses.
    """
    if not state.host_memory or not state.memory.takes_host_addresses:
        return
    shared = sorted(state.host_memory.values(), key=lambda allocation: allocation.base)
    ranges = _Ranges([(allocation.base, allocation.size) for allocation in shared])
    hosts: Words = np.array([allocation.host for allocation in shared], np.uint64)
    arrays = [(state.guest.view(a.host, a.size), LOOKED_AT_BYTES) for a in shared]
    if everywhere:
        arrays += [(data, len(data)) for data in state.memory.own_arrays()]
    for data, looked_at in arrays:
        if (ranges.holding(_words(data, looked_at)) < 0).all():
            continue
        words = _words(data, len(data))
        index = ranges.holding(words)
        moved = index >= 0
        words[moved] += hosts[index[moved]] - ranges.starts[index[moved]]
