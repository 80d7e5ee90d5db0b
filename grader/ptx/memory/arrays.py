"""A piece of memory with a name and exact bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from grader.ptx.values.lanes import Array, Lanes, remember


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom some bytes of an array belong to, for messages: its name, its first byte in the array, its bytes."""

    name: str
    start: int
    size: int


class Parts(Protocol):
    """What an array is divided into, where it is not one piece."""

    def owner(self, offset: int) -> Owner:
        """The part that a byte belongs to, or lies next to."""
        ...

    def judge(self, offsets: Array, width: int) -> Array:
        """(n,) what is wrong with accesses at byte offsets, as a fault's detail; "" where nothing is."""
        ...


class MemoryArray:
    """A contiguous piece of memory with a name: a device buffer, a shared array, a local variable.

    base: address of its first byte in its space.  size: its bytes.
    data: flat uint8 storage; row r (a block's copy of a shared array, a thread's copy of a local one)
    starts at byte `storage + r·row_bytes`.  `rows` says what numbers the rows: "" (one copy), "block", "lane".
    valid: uint8 flags like `data`, 1 where something was written; None when all of it was initialised.
    parts: what it is divided into; None when all of it is one piece.
    """

    __slots__ = (
        "base",
        "data",
        "name",
        "parts",
        "read_only",
        "row_bytes",
        "rows",
        "size",
        "space",
        "storage",
        "valid",
        "views",
    )

    def __init__(
        self,
        name: str,
        space: str,
        base: int,
        size: int,
        data: Array,
        *,
        storage: int = 0,
        row_bytes: int = 0,
        rows: str = "",
        valid: Array | None = None,
        read_only: bool = False,
    ) -> None:
        self.name = name
        self.space = space
        self.base = base
        self.size = size
        self.data = data
        self.storage = storage
        self.row_bytes = row_bytes
        self.rows = rows
        self.valid = valid
        self.read_only = read_only
        self.views: dict[Any, Array] = {}
        self.parts: Parts | None = None

    def owner(self, offset: int) -> Owner:
        """Whom a byte at an offset belongs to, or lies next to."""
        return Owner(self.name, 0, self.size) if self.parts is None else self.parts.owner(offset)

    def view(self, dtype: np.dtype[Any]) -> Array:
        """The whole storage as elements of `dtype`."""
        found = self.views.get(dtype)
        if found is None:
            found = self.views[dtype] = self.data.view(dtype)
        return found

    def row_starts(self, lanes: Lanes, element_bytes: int) -> Array | None:
        """(n,) index of each lane's row in elements, or None for a single copy."""
        if not self.rows:
            return None
        key = ("rows", self.rows, self.row_bytes, element_bytes)
        found = lanes.memo.get(key)
        if found is None:
            number = lanes.blocks if self.rows == "block" else lanes.ids
            found = remember(lanes.memo, key, number * (self.row_bytes // element_bytes))
        return found
