"""Where the wrong elements of an output lie: the plainest region that holds them all.

Pure functions of a mask; they know no lab.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from grader.diagnosis.patterns import Detail, Mask
from grader.measured import WrongPattern

Ints = npt.NDArray[np.int64]

COVERED = 0.5
"""A region that holds all wrong elements is worth telling when at least this part of it is wrong."""

Region = tuple[str, dict[str, Detail], Mask]


def region_pattern(wrong: Mask, tile: tuple[int, ...]) -> WrongPattern | None:
    """The first region that is wrong altogether and no element outside it; else the smallest that holds all.

    `WrongPattern.of` counts the wrong elements, which all lie in the region; `data["size"]` counts the region's.  None
    when no region fits, or for a single element.

    wrong: mask of wrong elements, of any number of axes.
    tile: elements that one block covers along each axis; () when unknown.
    """
    count = int(np.count_nonzero(wrong))
    if wrong.all():
        return WrongPattern(id="all", holds=count, of=count, data={"size": count})
    if count < 2:
        return None
    best: WrongPattern | None = None
    for name, data, region in _regions(wrong, tile):
        size = int(np.count_nonzero(region))
        if size < count or (wrong & ~region).any():
            continue
        if size == count:
            return WrongPattern(id=name, holds=count, of=count, data=data | {"size": size})
        fits = count >= COVERED * size and size < COVERED * wrong.size
        if fits and (best is None or size < int(best.data["size"])):
            best = WrongPattern(id=name, holds=count, of=count, data=data | {"size": size})
    return best


def _regions(wrong: Mask, tile: tuple[int, ...]) -> Iterator[Region]:
    tiled = len(tile) == wrong.ndim and all(t > 0 for t in tile)
    if wrong.ndim == 2:
        yield from _lines(wrong)
        yield from _diagonals(wrong)
    if tiled:
        yield from _blocks(wrong, tile)
    yield from _runs(wrong)
    yield from _borders(wrong)
    if tiled:
        yield from _within_tiles(wrong, tile)
    yield from _strides(wrong)
    yield from _box(wrong)


def _lines(wrong: Mask) -> Iterator[Region]:
    for axis, kind in enumerate(("row", "column")):
        places = np.unique(np.nonzero(wrong)[axis])
        if len(places) != 1 or wrong.shape[axis] == 1:
            continue
        place = int(places[0])
        name = {0: f"first_{kind}", wrong.shape[axis] - 1: f"last_{kind}"}.get(place, kind)
        yield name, {"index": place}, _axis(wrong, axis) == place


def _diagonals(wrong: Mask) -> Iterator[Region]:
    rows, cols = _axis(wrong, 0), _axis(wrong, 1)
    if min(wrong.shape) > 1:
        yield "diagonal", {}, rows == cols
        yield "off_diagonal", {}, rows != cols
        yield "above_diagonal", {}, cols > rows
        yield "below_diagonal", {}, cols < rows


def _blocks(wrong: Mask, tile: tuple[int, ...]) -> Iterator[Region]:
    numbers = [_axis(wrong, axis) // t for axis, t in enumerate(tile)]
    counts = [-(-n // t) for n, t in zip(wrong.shape, tile, strict=True)]
    if max(counts) > 1:
        if wrong.ndim == 2 and min(counts) > 1:
            yield "off_diagonal_blocks", {}, numbers[0] != numbers[1]
            yield "diagonal_blocks", {}, numbers[0] == numbers[1]
        first = np.logical_and.reduce([number == 0 for number in numbers])
        yield "all_but_first_block", {}, ~first
        hit = [np.unique((np.nonzero(wrong)[axis]) // t) for axis, t in enumerate(tile)]
        if all(len(h) == 1 for h in hit):
            inside = np.logical_and.reduce([n == h[0] for n, h in zip(numbers, hit, strict=True)])
            yield "one_block", {f"block_{axis}": int(h[0]) for axis, h in enumerate(hit)}, inside
        last = [number == n // t for number, n, t in zip(numbers, wrong.shape, tile, strict=True) if n % t]
        if last:
            yield "last_tiles", {}, np.logical_or.reduce(last)


def _runs(wrong: Mask) -> Iterator[Region]:
    """The first and the last elements in memory order, and whole rows or columns from an end."""
    flat = np.flatnonzero(wrong)
    order = np.arange(wrong.size).reshape(wrong.shape)
    first, last = int(flat[0]), int(flat[-1])
    # Three axes are called matrices: a picture, whose last axis are the parts of a colour, has none.
    if wrong.ndim == 2 or (wrong.ndim > 2 and wrong.shape[-1] == wrong.shape[-2]):
        rows = np.unique(np.nonzero(wrong)[0])
        along = _axis(wrong, 0)
        if rows[-1] == wrong.shape[0] - 1 and rows[0] > 0:
            yield "last_rows", {"n": wrong.shape[0] - int(rows[0])}, along >= rows[0]
        if rows[0] == 0 and rows[-1] < wrong.shape[0] - 1:
            yield "first_rows", {"n": int(rows[-1]) + 1}, along <= rows[-1]
    if wrong.ndim == 2:
        cols = np.unique(np.nonzero(wrong)[1])
        along = _axis(wrong, 1)
        if cols[-1] == wrong.shape[1] - 1 and cols[0] > 0:
            yield "last_columns", {"n": wrong.shape[1] - int(cols[0])}, along >= cols[0]
        if cols[0] == 0 and cols[-1] < wrong.shape[1] - 1:
            yield "first_columns", {"n": int(cols[-1]) + 1}, along <= cols[-1]
    if last == wrong.size - 1:
        yield "last_elements", {"n": wrong.size - first}, order >= first
    if first == 0:
        yield "first_elements", {"n": last + 1}, order <= last


def _borders(wrong: Mask) -> Iterator[Region]:
    """All elements near an edge of the array, and all others."""
    depth = _depth([np.arange(n) for n in wrong.shape], list(wrong.shape))
    width = int(depth[wrong].max()) + 1
    if width <= int(depth.max()):
        yield "border", {"width": width}, depth < width
    inner = int(depth[wrong].min())
    if inner > 0:
        yield "interior", {"width": inner}, depth >= inner


def _within_tiles(wrong: Mask, tile: tuple[int, ...]) -> Iterator[Region]:
    """The same places in every tile."""
    if max(-(-n // t) for n, t in zip(wrong.shape, tile, strict=True)) < 2 and wrong.ndim > 1:
        return
    names = ("row", "column") if wrong.ndim == 2 else ("element",) * wrong.ndim
    for axis, t in enumerate(tile):
        places = np.unique(np.nonzero(wrong)[axis] % t)
        if len(places) == 1 and t > 2 and wrong.shape[axis] > t:
            place = int(places[0])
            name = {0: "first", t - 1: "last"}.get(place)
            within = _axis(wrong, axis) % t == place
            yield (f"{name}_{names[axis]}_of_tiles" if name else f"{names[axis]}_of_tiles"), {"index": place}, within
    for axis, t in enumerate(tile):
        if wrong.shape[axis] <= t:
            continue
        places = np.nonzero(wrong)[axis] % t
        low, high = int(places.min()), int(places.max())
        if 0 < t // 2 <= low:
            yield f"last_{names[axis]}s_of_tiles", {"n": t - low}, _axis(wrong, axis) % t >= low
        elif 0 <= high < t // 2:
            yield f"first_{names[axis]}s_of_tiles", {"n": high + 1}, _axis(wrong, axis) % t <= high
    depth = _depth([np.arange(n) % t for n, t in zip(wrong.shape, tile, strict=True)], list(tile))
    width = int(depth[wrong].max()) + 1
    if width <= int(depth.max()):
        yield "tile_edges", {"width": width}, depth < width
    inner = int(depth[wrong].min())
    if inner > 0:
        yield "tile_interiors", {"width": inner}, depth >= inner


def _strides(wrong: Mask) -> Iterator[Region]:
    """Every second, third, … row or column, and all but these."""
    names = ("rows", "columns") if wrong.ndim == 2 else ("elements",) * wrong.ndim
    for axis, n in enumerate(wrong.shape):
        places = np.nonzero(wrong)[axis]
        for step in range(2, min(33, n // 2 + 1)):
            residues = np.unique(places % step)
            along = _axis(wrong, axis) % step
            if len(residues) == 1:
                start = int(residues[0])
                yield f"every_nth_{names[axis]}", {"step": step, "start": start}, along == start
            elif len(residues) == step - 1:
                start = int(np.setdiff1d(np.arange(step), residues)[0])
                yield f"all_but_nth_{names[axis]}", {"step": step, "start": start}, along != start


def _box(wrong: Mask) -> Iterator[Region]:
    ranges = [(int(places.min()), int(places.max())) for places in np.nonzero(wrong)]
    inside = np.ones(wrong.shape, np.bool_)
    for axis, (low, high) in enumerate(ranges):
        along = _axis(wrong, axis)
        inside &= (along >= low) & (along <= high)
    data: dict[str, Detail] = {}
    for axis, (low, high) in enumerate(ranges):
        data |= {f"low_{axis}": low, f"high_{axis}": high}
    yield "box", data, inside


def _axis(wrong: Mask, axis: int) -> Ints:
    """Return the index of every element along an axis."""
    shape = [1] * wrong.ndim
    shape[axis] = wrong.shape[axis]
    return np.broadcast_to(np.arange(wrong.shape[axis]).reshape(shape), wrong.shape)


def _depth(places: list[Ints], lengths: list[int]) -> Ints:
    """Return the distance of each element to the nearest end along any axis."""
    depth: Ints | None = None
    for axis, (place, length) in enumerate(zip(places, lengths, strict=True)):
        shape = [1] * len(places)
        shape[axis] = len(place)
        distance = np.minimum(place, length - 1 - place).reshape(shape)
        depth = distance if depth is None else np.minimum(depth, distance)
    assert depth is not None
    return depth
