"""What came out instead: the rule that the wrong values of an output follow.

Pure functions of arrays; they know no lab.  A rule is exact (it holds for every wrong element), or its
`WrongPattern` says for how many of them it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from grader.lab.compare import sentinel
from grader.measured import WrongPattern

Array = npt.NDArray[np.generic]
Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Same = Callable[[Array, Array], Mask]
Detail = int | float | str

ENOUGH = 3
"""Fewer wrong elements than this follow some rule by chance."""
MOST = 0.75
"""A rule that holds for a smaller part of the wrong elements is not worth telling."""

_FURTHEST = 3
"""Elements that a scaled output is looked for at."""
MOST_TIMES = 65_536
"""Values that are more times too large are made of something else: of what unset memory holds, say."""
MOST_OFF = 2.0**31
"""The same of what they are too large by."""
SOME = 0.25
"""Nor is one that says nothing of most wrong elements."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """An output as it came and as it should be.

    wrong, unwritten: masks of elements; every unwritten one is wrong.  filling: wrong elements with the value that
    memory has which nobody wrote, written there or not.  inputs: what the kernel was given.
    tile: elements that one block covers along each axis, () when unknown.
    same: compares two arrays elementwise, within the lab's tolerance.
    """

    got: Array
    expected: Array
    wrong: Mask
    unwritten: Mask
    filling: Mask
    inputs: Mapping[str, Array]
    tile: tuple[int, ...]
    same: Same


def value_pattern(outcome: Outcome) -> WrongPattern | None:
    """The rule of the wrong values: the first exact one, else the one that most elements follow, else None.

    A rule is judged by the elements that can follow it: not those that nobody wrote, nor those for which it leads
    outside an array.  `holds` counts only those that do follow it.

    untouched: nothing was written at all.  unwritten: nobody wrote them.  filling: each was made from memory that
    nobody had written.
    nan, infinite, zero, constant (`value`): they are that.
    copy: each is the element of `array` that stands at the same place in memory.
    transposed_tiles, swapped_tiles: each belongs at the place mirrored within its tile; in the tile mirrored at the
    diagonal.  transposed: at the place mirrored at the main diagonal of the last two axes.
    reversed (`axis`, -1 for all): at the place counted from the other end.
    shifted (`axis`, `by`): `by` places further along the axis.
    output_pitch, input_pitch (`pitch`, `array`): index arithmetic with a wrong row length.
    constant_columns, constant_rows: along that axis all elements of the output are the same.
    onto_unset: each is the right value added to what memory holds that nobody had set.
    whole: each is a whole number where hardly any should be.
    scaled (`factor`): each is that many times what it should be, integers before they are rounded.
    scaled_shifted (`factor`, `axis`, `by`): that many times the value that belongs `by` places further along the axis.
    offset (`value`): each is too large by that.
    """
    if outcome.unwritten.all():
        return WrongPattern(id="untouched", holds=outcome.wrong.size, of=outcome.wrong.size)
    wrong = int(np.count_nonzero(outcome.wrong))
    best: WrongPattern | None = None
    for name, data, holds, able in _rules(outcome):
        count = int(np.count_nonzero(holds & outcome.wrong))
        judged = int(np.count_nonzero(able & outcome.wrong))
        if count < SOME * wrong:
            continue
        if count == judged:
            return WrongPattern(id=name, holds=count, of=wrong, data=data)
        if count >= MOST * judged and (best is None or count > best.holds):
            best = WrongPattern(id=name, holds=count, of=wrong, data=data)
    return best


Rule = tuple[str, dict[str, Detail], Mask]
"""Name, numbers, and for which elements it holds."""
Bounded = tuple[str, dict[str, Detail], Mask, Mask]
"""A rule, and which elements can follow it."""


def _rules(outcome: Outcome) -> Iterator[Bounded]:
    if np.array_equal(outcome.unwritten, outcome.wrong):
        yield "unwritten", {}, outcome.unwritten, outcome.wrong
    # What nobody wrote follows no rule of values.
    written = ~outcome.unwritten
    for name, data, holds in _plain(outcome):
        yield name, data, holds & written, written
    if np.count_nonzero(outcome.wrong & written) < ENOUGH:
        for name, data, holds in _several_times(outcome):
            yield name, data, holds & written, written
        return
    for rules in (_copies, _mirrored):
        for name, data, holds in rules(outcome):
            yield name, data, holds & written, written
    for bounded in (_shifted, _pitches):
        for name, data, holds, inside in bounded(outcome):
            if np.count_nonzero(holds & written & outcome.wrong) >= ENOUGH:
                yield name, data, holds & written, inside & written
    for rules in (_alike, _onto_unset, _arithmetic):
        for name, data, holds in rules(outcome):
            yield name, data, holds & written, written
    yield from _whole(outcome, written)
    for name, data, holds, inside in _scaled_shifted(outcome):
        yield name, data, holds & written, inside & written


def _plain(outcome: Outcome) -> Iterator[Rule]:
    got = outcome.got
    yield "filling", {}, outcome.filling
    if got.dtype.kind == "f":
        yield "nan", {}, np.isnan(got.astype(np.float64))
        yield "infinite", {}, np.isinf(got.astype(np.float64))
    yield "zero", {}, got == 0
    values = got[outcome.wrong & ~outcome.unwritten]
    if len(values) >= ENOUGH and np.all(values == values[0]):
        yield "constant", {"value": values[0].item()}, got == values[0]


def _copies(outcome: Outcome) -> Iterator[Rule]:
    got = outcome.got
    for name, array in outcome.inputs.items():
        if array.size == got.size and array.dtype == got.dtype:
            yield "copy", {"array": name}, outcome.same(got, array.reshape(got.shape))


def _mirrored(outcome: Outcome) -> Iterator[Rule]:
    got, expected, tile = outcome.got, outcome.expected, outcome.tile
    if got.ndim == 2 and len(tile) == 2 and tile[0] == tile[1] > 1:
        side = tile[0]
        rows, cols = (np.asarray(i) for i in np.indices(got.shape))
        inner = rows // side * side + cols % side, cols // side * side + rows % side
        yield "transposed_tiles", {}, _belongs(outcome, *inner)
        outer = cols // side * side + rows % side, rows // side * side + cols % side
        yield "swapped_tiles", {}, _belongs(outcome, *outer)
    if got.ndim >= 2 and got.shape[-1] == got.shape[-2]:
        yield "transposed", {}, outcome.same(got, np.ascontiguousarray(expected.swapaxes(-1, -2)))
    yield "reversed", {"axis": -1}, outcome.same(got, np.ascontiguousarray(np.flip(expected)))
    if got.ndim > 1:
        for axis in (axis for axis, length in enumerate(got.shape) if length > 2):
            # With two elements, the other end is merely the neighbour.
            yield "reversed", {"axis": axis}, outcome.same(got, np.ascontiguousarray(np.flip(expected, axis)))


def _belongs(outcome: Outcome, rows: Array, cols: Array) -> Mask:
    """Whether each value is the one expected at (rows, cols); False where that lies outside."""
    expected = outcome.expected
    inside: Mask = (rows < expected.shape[0]) & (cols < expected.shape[1])
    taken = expected[np.where(inside, rows, 0), np.where(inside, cols, 0)]
    return outcome.same(outcome.got, taken) & inside


def _shifted(outcome: Outcome) -> Iterator[Bounded]:
    got, expected = outcome.got, outcome.expected
    for axis in range(got.ndim):
        distances = {1, 2}
        if len(outcome.tile) == got.ndim:
            distances.add(outcome.tile[axis])
        for distance in sorted(distances):
            # With two elements, the next one is also the other one.
            if distance >= got.shape[axis] or got.shape[axis] < 3:
                continue
            for by in (distance, -distance):
                taken = np.roll(expected, -by, axis)
                inside = np.ones(got.shape, np.bool_)
                edge = slice(-by, None) if by > 0 else slice(0, -by)
                inside[(slice(None),) * axis + (edge,)] = False
                yield "shifted", {"axis": axis, "by": by}, outcome.same(got, taken) & inside, inside


def _pitches(outcome: Outcome) -> Iterator[Bounded]:
    """Linear indices computed with a row length that is not the array's."""
    got, expected = outcome.got, outcome.expected
    if got.ndim != 2:
        return
    lengths = {n for array in (got, *outcome.inputs.values()) for n in array.shape[-2:] if n > 1}
    lengths |= {n + 1 for n in lengths} | {n - 1 for n in lengths if n > 2}
    rows, cols = got.shape
    flat = np.arange(got.size)
    for pitch in sorted(lengths - {cols}):
        holds = np.zeros(got.size, np.bool_)
        # Rows that overlap leave the choice which of them a place was written as.
        for back in range(-(-cols // pitch)):
            row, col = flat // pitch - back, flat % pitch + back * pitch
            inside = (row >= 0) & (row < rows) & (col < cols)
            taken = expected[np.where(inside, row, 0), np.where(inside, col, 0)]
            holds |= outcome.same(got.reshape(-1), taken) & inside
        everywhere = np.ones(got.shape, np.bool_)
        yield "output_pitch", {"pitch": pitch, "right": cols}, holds.reshape(got.shape), everywhere
    row_of, col_of = (np.asarray(i) for i in np.indices(got.shape))
    for name, array in outcome.inputs.items():
        if array.ndim != 2 or array.dtype != got.dtype:
            continue
        for pitch in sorted(lengths - {array.shape[1]}):
            for slow, fast in ((row_of, col_of), (col_of, row_of)):
                index = slow * pitch + fast
                inside = index < array.size
                taken = array.reshape(-1)[np.where(inside, index, 0)]
                data: dict[str, Detail] = {"pitch": pitch, "right": array.shape[1], "array": name}
                yield "input_pitch", data, outcome.same(got, taken) & inside, inside


def _alike(outcome: Outcome) -> Iterator[Rule]:
    got = outcome.got
    if got.ndim != 2 or outcome.unwritten.any():
        return
    if got.shape[0] > 1:
        yield "constant_columns", {}, np.broadcast_to((got == got[:1]).all(), got.shape)
    if got.shape[1] > 1:
        yield "constant_rows", {}, np.broadcast_to((got == got[:, :1]).all(), got.shape)


def _onto_unset(outcome: Outcome) -> Iterator[Rule]:
    """Sums of integers that start from the content of unset memory; those of floats are NaN."""
    got, expected = outcome.got, outcome.expected
    if got.dtype.kind in "iu":
        kind = f"u{got.dtype.itemsize}"
        bits = [np.ascontiguousarray(a).view(kind) for a in (got, expected, sentinel((1,), str(got.dtype)))]
        yield "onto_unset", {}, bits[0] - bits[1] == bits[2]


def _arithmetic(outcome: Outcome) -> Iterator[Rule]:
    chosen = outcome.wrong & ~outcome.unwritten
    got, expected = outcome.got.astype(np.float64), outcome.expected.astype(np.float64)
    usable = chosen & np.isfinite(got) & np.isfinite(expected)
    if np.count_nonzero(usable) < ENOUGH:
        return
    with np.errstate(all="ignore"):
        factor, close = _factor(outcome, got, expected, usable)
        if factor not in (0.0, 1.0) and abs(factor) <= MOST_TIMES and not _is_copied(outcome, close & usable):
            yield "scaled", {"factor": _rounded(factor)}, close & usable
        differences = got - expected
        if outcome.got.dtype.kind == "u":
            # What is less than 0 begins again at the other end.
            lacking = np.subtract(outcome.got, outcome.expected)
            around = lacking.view(f"i{lacking.dtype.itemsize}").astype(np.float64)
            differences = np.where(np.abs(around) <= MOST_TIMES, around, differences)
        difference = float(np.median(differences[usable]))
        scale = np.maximum(np.abs(got), np.abs(expected))
        close = np.abs(differences - difference) <= 1e-6 * scale + 1e-4 * abs(difference)
        if 0 < abs(difference) < MOST_OFF and not _is_copied(outcome, close & usable):
            yield "offset", {"value": _rounded(difference)}, close & usable


def _several_times(outcome: Outcome) -> Iterator[Rule]:
    """An output of one or two elements, each a whole number of times what it should be."""
    got, expected = outcome.got.astype(np.float64), outcome.expected.astype(np.float64)
    chosen = outcome.wrong & (expected != 0) & np.isfinite(got)
    if outcome.got.size >= ENOUGH or outcome.got.dtype.kind != "f" or not chosen.any():
        return
    factor = float(np.round((got[chosen] / expected[chosen])[0]))
    close = np.abs(got - factor * expected) <= 1e-5 * np.abs(got)
    if 2 <= factor <= MOST_TIMES and close[chosen].all():
        yield "scaled", {"factor": _rounded(factor)}, close & chosen


def _whole(outcome: Outcome, written: Mask) -> Iterator[Bounded]:
    """Whole numbers where fractions were lost."""
    got, expected = outcome.got.astype(np.float64), outcome.expected.astype(np.float64)
    if outcome.got.dtype.kind != "f":
        return
    with np.errstate(all="ignore"):
        fractions = expected[outcome.wrong] % 1 != 0
        kept = got[outcome.wrong & written & (got != 0)]
        if kept.size and not (kept % 4).any():
            # More than fractions was lost: the numbers went through a type of lower precision.
            return
        if np.count_nonzero(fractions) > MOST * fractions.size:
            yield "whole", {}, np.isfinite(got) & (got % 1 == 0) & written, written


def _factor(outcome: Outcome, got: Numbers, expected: Numbers, usable: Mask) -> tuple[float, Mask]:
    """How many times `expected` most usable values are, and which are so."""
    ratios = (got / expected)[usable & (expected != 0)]
    factor = float(np.median(ratios)) if len(ratios) else 0.0
    # A factor is told from chance by its precision, not by the lab's tolerance.
    close: Mask = np.abs(got - factor * expected) <= 1e-4 * np.abs(got) + 1e-30
    if outcome.got.dtype.kind in "iu" and abs(factor) >= 2:
        # What is expected of integers was rounded towards zero.
        whole = float(np.trunc(factor + 0.01 * np.sign(factor)))
        rounded: Mask = (np.trunc(got / whole) == expected) & (got != 0)
        if np.count_nonzero(rounded & usable) > np.count_nonzero(close & usable):
            return whole, rounded
    return factor, close


def _scaled_shifted(outcome: Outcome) -> Iterator[Bounded]:
    """Multiples of a neighbour's value: a sum in place of a mean of a window that starts at the element."""
    if outcome.got.ndim != 1:
        return
    got, expected = outcome.got.astype(np.float64), outcome.expected.astype(np.float64)
    chosen = outcome.wrong & ~outcome.unwritten & np.isfinite(got)
    for distance in range(1, _FURTHEST + 1):
        for by in (distance, -distance):
            if distance >= got.size:
                return
            inside = np.ones(got.shape, np.bool_)
            inside[slice(-by, None) if by > 0 else slice(0, -by)] = False
            usable = chosen & inside
            if np.count_nonzero(usable) < ENOUGH:
                continue
            with np.errstate(all="ignore"):
                factor, close = _factor(outcome, got, np.roll(expected, -by), usable)
            if factor not in (0.0, 1.0) and np.isfinite(factor) and not _is_copied(outcome, close & usable):
                yield "scaled_shifted", {"factor": _rounded(factor), "axis": 0, "by": by}, close & usable, inside


def _is_copied(outcome: Outcome, chosen: Mask) -> bool:
    """Whether these elements are an input's as they stand, taken from a wrong place."""
    return any(bool(np.isin(outcome.got[chosen], array).all()) for array in outcome.inputs.values())


def _rounded(number: float) -> float:
    """Round to four significant digits, and to a whole number where it is one."""
    short = float(f"{number:.4g}")
    return float(round(number)) if abs(number - round(number)) < 1e-4 * abs(number) and round(number) else short
