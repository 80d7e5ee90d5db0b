"""Sets of threads that execute together, and how threads are numbered.

`Layout` numbers the threads of some blocks that run side by side; `Lanes` is a set of them, and remembers what was
found out about it.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

WARP_SIZE = 32

KEPT_BYTES = 16 << 20
"""What is kept for later launches of the same shape, of one part of a grid and of all together."""
MEMO_ENTRIES = 128
"""What a value or a set of lanes remembers at most: in a long loop every iteration brings something new."""


def remember(memo: dict[Any, Any], key: Any, value: Any) -> Any:
    """Keep a derived value under a key, throwing away what was kept before when that gets too much."""
    if len(memo) >= MEMO_ENTRIES:
        memo.clear()
    memo[key] = value
    return value


class Layout:
    """How the threads of a batch of blocks are numbered: thread t of the batch's block b is lane b·padded + t.

    `padded` is the block's size rounded up to whole warps, so a warp never spans two blocks.
    keeps: what follows from the threads' coordinates alone outlives the launch; kept_bytes: what that takes.
    """

    __slots__ = ("_memos", "_sets", "block", "blocks", "keeps", "kept_bytes", "padded", "root", "threads")

    def __init__(self, block: tuple[int, int, int], blocks: int, keeps: bool = False) -> None:
        self.block = block
        self.blocks = blocks
        self.threads = block[0] * block[1] * block[2]
        self.padded = -(-self.threads // WARP_SIZE) * WARP_SIZE
        if self.threads == self.padded:
            ids = np.arange(blocks * self.padded, dtype=np.int64)
        else:
            ids = (np.arange(blocks)[:, None] * self.padded + np.arange(self.threads)).ravel().astype(np.int64)
        self._sets: WeakSet[Lanes] = WeakSet()
        self.keeps = keeps
        self.kept_bytes = 2 * ids.nbytes
        self._memos: list[dict[Any, Any]] = []
        self.root = Lanes(self, ids)
        self.root.lasting = keeps

    def note(self, lanes: Lanes) -> None:
        """A set of these threads has been made."""
        self._sets.add(lanes)

    def keep(self, memo: dict[Any, Any], size_bytes: int) -> bool:
        """Whether what follows from the threads' coordinates alone outlives the launch; memo: what it remembers."""
        if not self.keeps:
            return False
        self.kept_bytes += size_bytes
        if self.kept_bytes > KEPT_BYTES:
            return False
        self._memos.append(memo)
        return True

    def forget_launch(self) -> None:
        """A launch is over: let lasting sets forget all that is not."""
        for lanes in list(self._sets):
            if lanes.lasting:
                lanes.forget_launch()
            else:
                lanes.memo.clear()

    def forget(self) -> None:
        """No thread runs any more: let go of the sets, which hold on to this and to values that hold on to them."""
        for lanes in list(self._sets):
            lanes.memo.clear()
        for memo in self._memos:
            memo.clear()
        del self.root


class Lanes:
    """A set of threads of a batch that execute together, in ascending order; compared by identity.

    `memo` holds what was derived from the set: the selection of a value (by the value's id), positions in
    another set, per-warp tables of observers.  lasting: it follows from the threads' coordinates alone, and is known
    to later launches of the same shape.
    """

    __slots__ = ("__weakref__", "_blocks", "_warp_rows", "_whole", "ids", "lasting", "layout", "memo", "n", "n_warps")

    def __init__(self, layout: Layout, ids: Array) -> None:
        self.layout = layout
        self.ids = ids
        self.n = len(ids)
        self.lasting = False
        self.memo: dict[Any, Any] = {}
        warps = ids >> 5
        self.n_warps = int(np.count_nonzero(np.diff(warps))) + 1 if self.n else 0
        self._whole = self.n_warps * WARP_SIZE == self.n
        self._warp_rows: Array | None = None
        self._blocks: Array | None = None
        layout.note(self)

    @property
    def whole_warps(self) -> bool:
        """True when every warp takes part with all its 32 lanes."""
        return self._whole

    @property
    def blocks(self) -> Array:
        """(n,) int64: index of each lane's block within the batch."""
        if self._blocks is None:
            self._blocks = self.ids // self.layout.padded
        return self._blocks

    @property
    def warp_rows(self) -> Array:
        """(n,) int64: 0-based number of each lane's warp among the warps that take part."""
        if self._warp_rows is None:
            warps = self.ids >> 5
            rows = np.zeros(self.n, np.int64)
            np.cumsum(np.diff(warps) != 0, out=rows[1:])
            self._warp_rows = rows
        return self._warp_rows

    def to_warps(self, values: Array, fill: Any) -> Array:
        """(n_warps, 32) table of per-lane values, `fill` where a lane does not take part."""
        if self._whole:
            return values.reshape(self.n_warps, WARP_SIZE)
        table = np.full((self.n_warps, WARP_SIZE), fill, values.dtype)
        table[self.warp_rows, self.ids & 31] = values
        return table

    def from_warps(self, table: Array) -> Array:
        """(n,) values of the participating lanes, out of an (n_warps, 32) table."""
        if self._whole:
            return table.reshape(-1)
        return table[self.warp_rows, self.ids & 31]

    def active_table(self) -> Array:
        """(n_warps, 32) bool: which lanes take part."""
        table = self.memo.get("active")
        if table is None:
            table = self.memo["active"] = self.to_warps(np.ones(self.n, np.bool_), fill=False)
        return table

    def keep(self) -> Lanes:
        """Note that the set follows from the threads' coordinates alone."""
        self.lasting = self.lasting or self.layout.keep(self.memo, 4 * self.ids.nbytes)
        return self

    def forget_launch(self) -> None:
        """Forget what was derived from values and sets that do not outlive a launch."""
        for key, found in list(self.memo.items()):
            # Selected values, and positions in other sets; what else there is follows from the set alone.
            thing = found[0] if isinstance(found, tuple) else found
            if not getattr(thing, "lasting", True):
                del self.memo[key]

    def select(self, positions: Array) -> Lanes:
        """The subset at the given ascending positions."""
        return Lanes(self.layout, self.ids[positions])

    def positions_in(self, ancestor: Lanes) -> Array:
        """(n,) positions of these lanes in a set that holds them all."""
        key = ("pos", id(ancestor))
        found = self.memo.get(key)
        if found is None:
            complete = ancestor.n == int(ancestor.ids[-1]) + 1
            positions = self.ids if complete else np.searchsorted(ancestor.ids, self.ids)
            found = remember(self.memo, key, (ancestor, positions))
        return found[1]
