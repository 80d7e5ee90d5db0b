"""What registers hold, for all threads at once: one value for all, one per thread, or one per thread plus a constant.

`Layout` numbers the threads of some blocks that run side by side; `Lanes` is a set of them that executes together, and
remembers what was found out about it.

Course kernels spend most of their instructions on addresses that advance by the same step in every thread.  Keeping
"the array of last time, plus 16" instead of a new array makes such an instruction cost nothing, and lets whatever was
found out about the array once (its bounds, its bank conflicts, its sectors) serve every later iteration.  Hence three
kinds of value:

- a Python `int` (or `bool` for predicates): the same bits in every thread, unsigned;
- `Vec`: one element per thread of a `Lanes` set, immutable;
- `Affine`: a `Vec` of integers plus a constant, modulo 2^bits.

When threads part ways (`Lanes.select`), values are selected lazily and remember where they came from, so a value nobody
touched comes back whole, at no cost, when the threads meet again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
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
        """Forget, in lasting sets, all that does not outlive the launch that is over."""
        for lanes in list(self._sets):
            if lanes.lasting:
                lanes.forget_launch()
            else:
                lanes.memo.clear()

    def forget(self) -> None:
        """Drop the sets, which hold on to this and to values that hold on to them."""
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

    __slots__ = (
        "__weakref__",
        "_blocks",
        "_warp_rows",
        "_whole",
        "ids",
        "lasting",
        "layout",
        "memo",
        "n",
        "n_warps",
        "places",
    )

    def __init__(self, layout: Layout, ids: Array) -> None:
        self.layout = layout
        self.ids = ids
        self.n = len(ids)
        self.lasting = False
        self.memo: dict[Any, Any] = {}
        warps = ids >> 5
        self.n_warps = int(np.count_nonzero(np.diff(warps))) + 1 if self.n else 0
        self._whole = self.n_warps * WARP_SIZE == self.n
        self.places = self.n_warps * WARP_SIZE
        """Threads that there are in the warps that take part."""
        if layout.threads != layout.padded and self.n:
            own = ids % layout.padded >> 5 == layout.threads >> 5
            tails = len(np.unique(ids[own] // layout.padded))
            self.places -= tails * (layout.padded - layout.threads)
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
        for key, entry in list(self.memo.items()):
            # Selected values, and positions in other sets; what else there is follows from the set alone.
            thing = entry[0] if isinstance(entry, tuple) else entry
            if not getattr(thing, "lasting", True):
                del self.memo[key]

    def select(self, positions: Array) -> Lanes:
        """The subset at the given ascending positions."""
        return Lanes(self.layout, self.ids[positions])

    def positions_in(self, ancestor: Lanes) -> Array:
        """(n,) positions of these lanes in a set that holds them all."""
        key = ("pos", id(ancestor))
        cached = self.memo.get(key)
        if cached is None:
            complete = ancestor.n == int(ancestor.ids[-1]) + 1
            positions = self.ids if complete else np.searchsorted(ancestor.ids, self.ids)
            cached = remember(self.memo, key, (ancestor, positions))
        return cached[1]


UNSIGNED: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.uint32),
    8: np.dtype(np.uint64),
}
SIGNED: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.int8),
    2: np.dtype(np.int16),
    4: np.dtype(np.int32),
    8: np.dtype(np.int64),
}
BOOL: np.dtype[Any] = np.dtype(np.bool_)


class Vec:
    """One element per lane; never changed once made.  `array` may be produced late (see `select`).

    lasting: it follows from the threads' coordinates alone, and is known to later launches of the same shape.
    """

    __slots__ = ("_array", "_signed", "_unsigned", "bits", "dtype", "lanes", "lasting", "memo", "root")

    def __init__(self, array: Array | None, lanes: Lanes, root: Vec | None = None, dtype: Any = None) -> None:
        self._array = array
        self.lanes = lanes
        self.lasting = False
        self.root = root
        self.dtype: np.dtype[Any] = dtype if array is None else array.dtype
        self.bits = self.dtype.itemsize * 8
        self.memo: dict[Any, Any] = {}
        self._unsigned: tuple[int, int] | None = None
        self._signed: tuple[int, int] | None = None

    @property
    def array(self) -> Array:
        """(n,) the elements."""
        if self._array is None:
            assert self.root is not None
            self._array = self.root.array[self.lanes.positions_in(self.root.lanes)]
        return self._array

    def unsigned_bounds(self) -> tuple[int, int]:
        """Smallest and largest element, read as unsigned integers."""
        if self._unsigned is None:
            view = self.array.view(UNSIGNED[self.dtype.itemsize])
            self._unsigned = (int(view.min()), int(view.max()))
        return self._unsigned

    def signed_bounds(self) -> tuple[int, int]:
        """Smallest and largest element, read as signed integers."""
        if self._signed is None:
            view = self.array.view(SIGNED[self.dtype.itemsize])
            self._signed = (int(view.min()), int(view.max()))
        return self._signed

    def select(self, lanes: Lanes) -> Vec:
        """The same value over a subset of the lanes, gathered only when somebody looks."""
        root = self.root or self
        if root.lanes is lanes:
            return root
        selected = lanes.memo.get(id(root))
        if selected is None:
            selected = remember(lanes.memo, id(root), Vec(None, lanes, root, self.dtype))
            if root.lasting and lanes.lasting:
                keep(selected)
        return selected


def keep(vec: Vec) -> Vec:
    """Note that a value follows from the threads' coordinates alone.

    What is derived from such values again and again is worked out once for all launches of a shape.
    """
    vec.lasting = vec.lanes.layout.keep(vec.memo, KEPT_ARRAYS * vec.lanes.n * vec.dtype.itemsize)
    return vec


def lasting_key(name: object, values: Sequence[Any]) -> tuple[list[Vec], Any] | None:
    """What operation on lasting values this is, as a key, and the values; None where any operand is of a launch only.

    Values stand in the key by their identity: whoever keeps the result keeps them as well.
    """
    per_thread: list[Vec] = []
    key: list[Any] = [name]
    for value in values:
        if isinstance(value, (Vec, Affine)):
            vec, shift = split_shift(value)
            if not vec.lasting:
                return None
            per_thread.append(vec)
            key.append((id(vec), shift))
        else:
            key.append(value)
    return (per_thread, tuple(key)) if per_thread else None


KEPT_ARRAYS = 4
"""How many arrays like its own a value comes to hold, roughly: itself, its like in 64 bits, indices."""


class Affine:
    """`vec + shift` modulo 2^bits; `shift` lies in [−2^(bits−1), 2^(bits−1))."""

    __slots__ = ("_vec", "shift", "vec")

    def __init__(self, vec: Vec, shift: int) -> None:
        self.vec = vec
        self.shift = shift
        self._vec: Vec | None = None

    def materialise(self) -> Vec:
        """The sum as an ordinary `Vec`."""
        if self._vec is None:
            vec = self.vec
            unsigned = UNSIGNED[vec.dtype.itemsize]
            addend = constant(self.shift & ((1 << vec.bits) - 1), unsigned)
            self._vec = Vec(vec.array.view(unsigned) + addend, vec.lanes)
        return self._vec


Value = int | Vec | Affine


@lru_cache(maxsize=4096)
def constant(bits: int, dtype: np.dtype[Any]) -> Array:
    """(1,) array of the given dtype with the given bit pattern (truncated to its width)."""
    if dtype == BOOL:
        return np.array([bool(bits)])
    size = dtype.itemsize
    array = np.array([bits & ((1 << (8 * size)) - 1)], UNSIGNED[size]).view(dtype)
    array.flags.writeable = False
    return array


def as_array(value: Value, dtype: np.dtype[Any]) -> Array:
    """The value as an array of `dtype`, length 1 if uniform; wider registers are truncated to their low bits."""
    if isinstance(value, Vec):
        array = value.array
    elif isinstance(value, Affine):
        array = value.materialise().array
    else:
        return constant(value, dtype)
    if array.dtype is dtype or array.dtype == dtype:
        return array
    if array.dtype.itemsize == dtype.itemsize:
        return array.view(dtype)
    if dtype == BOOL or array.dtype == BOOL:
        return array.astype(dtype)
    return array.view(UNSIGNED[array.dtype.itemsize]).astype(UNSIGNED[dtype.itemsize]).view(dtype)


def from_array(array: Array, lanes: Lanes, register_bytes: int) -> Value:
    """A computed array as a register's value; narrower results are extended by their own signedness."""
    if array.dtype != BOOL and array.dtype.itemsize < register_bytes:
        wide = SIGNED if array.dtype.kind == "i" else UNSIGNED
        if array.dtype.kind == "f":
            array = array.view(UNSIGNED[array.dtype.itemsize])
        array = array.astype(wide[register_bytes])
    if len(array) == 1:
        if array.dtype == BOOL:
            return bool(array[0])
        return int(array.view(UNSIGNED[array.dtype.itemsize])[0])
    return Vec(array, lanes)


def shifted(vec: Vec, shift: int) -> Vec | Affine:
    """Return `vec + shift`, as a `Vec` where the shift is 0."""
    half = 1 << (vec.bits - 1)
    shift = ((shift + half) & (2 * half - 1)) - half
    return Affine(vec, shift) if shift else vec


def split_shift(value: Vec | Affine) -> tuple[Vec, int]:
    if isinstance(value, Affine):
        return value.vec, value.shift
    return value, 0


def select(value: Any, lanes: Lanes) -> Any:
    """A register's value over a subset of the lanes."""
    if isinstance(value, Vec):
        return value.select(lanes)
    if isinstance(value, Affine):
        return shifted(value.vec.select(lanes), value.shift)
    return value


def merge(values: Sequence[Any], parts: Sequence[Lanes], lanes: Lanes, register_bytes: int) -> Any:
    """One register's value over the union `lanes` of disjoint `parts`, from its value on each part.

    `register_bytes` is the register's width, 0 for a predicate.
    """
    first = values[0]
    if not isinstance(first, (Vec, Affine)):
        if all(value is first or (not isinstance(value, (Vec, Affine)) and value == first) for value in values):
            return first
    else:
        vec, shift = split_shift(first)
        root = vec.root or vec
        for value in values:
            if not isinstance(value, (Vec, Affine)):
                break
            other, other_shift = split_shift(value)
            if (other.root or other) is not root or other_shift != shift:
                break
        else:
            return shifted(root.select(lanes), shift) if shift else root.select(lanes)
    dtype = UNSIGNED[register_bytes] if register_bytes else BOOL
    for value in values:
        if isinstance(value, Vec) and value.dtype.itemsize == register_bytes:
            dtype = value.dtype
            break
    result = np.zeros(lanes.n, dtype)
    for value, part in zip(values, parts, strict=True):
        if value is not None:
            result[part.positions_in(lanes)] = as_array(value, dtype)
    return Vec(result, lanes)
