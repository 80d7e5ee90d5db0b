"""Which input elements an output element depends on, found out from the oracle alone by changing inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
Mask = npt.NDArray[np.bool_]

MAX_EVALUATIONS = 1500
MAX_ELEMENTS = 16_384
"""Larger inputs are not searched: this is for explaining small cases."""


def dependence(
    evaluate: Callable[[Mapping[str, Array]], np.generic], base: Mapping[str, Array], other: Mapping[str, Array]
) -> dict[str, Mask] | None:
    """For each input, a mask of the elements that matter; None when none does or that took too long to find out.

    Halves the inputs again and again: a part matters when `evaluate` gives another value once that part is taken
    from `other`.  Exact for values that depend on every needed element whatever the rest is, as sums and moves do;
    an element that did not get its way at this input (in a maximum) counts as not needed.

    Parameters
    ----------
    evaluate : the value of the output element for some inputs.
    base, other : two sets of inputs of the same shapes and types, different wherever possible.
    """
    names = list(base)
    sizes = [base[name].size for name in names]
    if sum(sizes) > MAX_ELEMENTS:
        return None
    ends = np.cumsum(sizes)
    mixed = {name: base[name].copy() for name in names}
    value = evaluate(mixed).tobytes()

    def exchange(low: int, high: int, source: Mapping[str, Array]) -> None:
        for name, size, end in zip(names, sizes, ends.tolist(), strict=True):
            start = end - size
            part = slice(max(low - start, 0), max(min(high, end) - start, 0))
            mixed[name].reshape(-1)[part] = source[name].reshape(-1)[part]

    needed = np.zeros(int(ends[-1]), np.bool_)
    parts = [(end - size, end) for size, end in zip(sizes, ends.tolist(), strict=True) if size]
    evaluations = 0
    while parts:
        low, high = parts.pop()
        evaluations += 1
        if evaluations > MAX_EVALUATIONS:
            return None
        exchange(low, high, other)
        matters = evaluate(mixed).tobytes() != value
        exchange(low, high, base)
        if not matters:
            continue
        if high - low == 1:
            needed[low] = True
        else:
            middle = (low + high) // 2
            parts += [(low, middle), (middle, high)]
    if not needed.any():
        return None
    masks = np.split(needed, ends[:-1])
    return {name: mask.reshape(base[name].shape) for name, mask in zip(names, masks, strict=True)}


def boxes(mask: Mask) -> list[list[tuple[int, int]]]:
    """A mask as boxes, each a (first, last) index for every axis, in order of their first element.

    Runs along the last axis that repeat in consecutive rows are one box.
    """
    if mask.ndim == 0 or not mask.any():
        return []
    if mask.ndim == 1:
        edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
        return [[(int(a), int(b) - 1)] for a, b in edges.reshape(-1, 2)]
    found: list[list[tuple[int, int]]] = []
    growing: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
    for row in range(mask.shape[0]):
        current = {}
        for inner in boxes(mask[row]):
            box = growing.get(tuple(inner))
            if box is None:
                box = [(row, row), *inner]
                found.append(box)
            else:
                box[0] = (box[0][0], row)
            current[tuple(inner)] = box
        growing = current
    return found
